"""The validity card: one page on what a result is worth."""

from populace.experiments.validation.assessment import validity
from populace.experiments.validation.card import Check, ValidityCard

__all__ = ["Check", "ValidityCard", "validity"]
