"""How a person becomes a prompt."""

from populace.minds.mind import HEARD, Mind, Prompts, Situation

__all__ = ["HEARD", "Mind", "Prompts", "Situation"]
