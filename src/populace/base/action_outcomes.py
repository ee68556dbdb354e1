"""What an action in a world brought about; worlds make it, and minds remember it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ActionOutcome:
    """What an action brought about.

    Attributes:
        text: What the person did, in words to them, such as “You gave Ann an apple.”; empty for nothing to remember.
        kind: The kind of this memory.
        others: What other people noticed of it: id, kind of memory, and words to them.
    """

    text: str = ""
    kind: str = "deed"
    others: Sequence[tuple[int | str, str, str]] = ()
