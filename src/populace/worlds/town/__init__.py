"""A town that people share: places, walking, who is where, what they notice, and things with a state."""

from populace.worlds.town.town import Town

__all__ = ["Town"]
