"""A group discusses a topic: positions before and after, and who spoke."""

from populace.scenarios.discussion.discussion import Discussion

__all__ = ["Discussion"]
