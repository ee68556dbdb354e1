"""Sellers set prices round by round: do they coordinate?"""

from populace.scenarios.market.market import Market

__all__ = ["Market"]
