"""The validity card: how far a result can be trusted, on one page."""

from populace.experiments.validation.assessment import validity
from populace.experiments.validation.card import Check, ValidityCard

__all__ = ["Check", "ValidityCard", "validity"]
