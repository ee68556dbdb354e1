"""Questions answered with free text."""

import unicodedata
from dataclasses import dataclass, field
from typing import ClassVar

from populace.base.errors import QuestionError
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.reply_parsing import is_refusal


@dataclass(frozen=True)
class Text(Question):
    """An answer in the person's own words.

    An empty reply is `unparseable` and a refusal is `refused`. Any other reply is the answer, without surrounding white
    space and control characters.

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
        if not isinstance(self.max_words, int) or self.max_words < 1:
            raise QuestionError(
                f"{self.text!r}: an answer cannot have at most {self.max_words!r} words.", "Write max_words=60."
            )

    @property
    def max_tokens(self) -> int:
        """Enough tokens for `max_words` words, and to finish a sentence."""
        return self.max_words * 2 + 16

    def instruction(self) -> str:
        """How to answer; it follows the wording in the prompt."""
        return f"Answer in your own words, in at most {self.max_words} words."

    def parse(self, reply: str) -> Answer:
        """Read the text of a reply."""
        text = "".join(c for c in reply if unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t").strip()
        if not text:
            return UNPARSEABLE
        return REFUSED if is_refusal(text) else Answer(text, "ok")
