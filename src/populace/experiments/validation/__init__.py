"""The validity card: one page on what a result is worth."""

from populace.experiments.validation.card import Check, ValidityCard
from populace.experiments.validation.judging import validity

__all__ = ["Check", "ValidityCard", "validity"]
