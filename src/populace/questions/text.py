"""Questions answered in free words."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any, ClassVar

from populace.base.errors import QuestionError
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.reply_parsing import is_refusal


@dataclass(frozen=True)
class Text(Question):
    """An answer in the person's own words.

    An empty reply is unparseable and a refusal is recorded as one; anything else is kept as said,
    without surrounding white space and control characters.

    Attributes:
        max_words: About how long the answer may be.

    Example:
        >>> Text("How was your day?").parse("  Long, but good. ")
        Answer(value='Long, but good.', status='ok')
    """

    max_words: int = field(default=60, kw_only=True)
    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_words < 1:
            raise QuestionError(f"{self.text!r}: an answer of at most {self.max_words} words is none.")

    @property
    def max_tokens(self) -> int:
        """Room for the words asked for, and to finish a sentence."""
        return self.max_words * 2 + 16

    def instruction(self) -> str:
        """How to answer."""
        return f"Answer in your own words, in at most {self.max_words} words."

    def parse(self, reply: str) -> Answer:
        """Keep the words; an empty reply is no answer."""
        said = "".join(c for c in reply if unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t").strip()
        if not said:
            return UNPARSEABLE
        return REFUSED if is_refusal(said) else Answer(said, "ok")

    def describe(self) -> dict[str, Any]:
        """Everything that makes the question what it is."""
        return super().describe() | {"max_words": self.max_words}
