"""The validity card: one page on what a result is worth."""

from populace.experiments.validity.card import Check, ValidityCard
from populace.experiments.validity.judging import validity

__all__ = ["Check", "ValidityCard", "validity"]
