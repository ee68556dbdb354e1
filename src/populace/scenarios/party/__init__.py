"""A party is planned in a town, and one person knows of it."""

from populace.scenarios.party.party import Party

__all__ = ["Party"]
