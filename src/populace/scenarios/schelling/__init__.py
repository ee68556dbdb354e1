"""Segregation on a grid, after Schelling."""

from populace.scenarios.schelling.schelling import Schelling

__all__ = ["Schelling"]
