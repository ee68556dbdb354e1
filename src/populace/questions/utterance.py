"""What somebody writes where others read it: one person's words, and nothing else that a model may write."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import polars as pl

from populace.base.errors import QuestionError
from populace.questions.base import REFUSED, UNPARSEABLE, Answer, Question
from populace.questions.cleaning import CleaningContext, CleaningResult, clean, sentences, truncate
from populace.questions.echo import EchoDetector
from populace.questions.speakers import PromptSpeakers

TITLE = 100
"""The most characters of a title."""
_TITLE_LABEL = re.compile(r"\W*(?:title|subject|headline)[*_ \t]*[:：][*_]*\s*", re.IGNORECASE)
_TEXT_LABEL = re.compile(r"\W*(?:post|text|body|content|message)[*_ \t]*[:：][*_]*\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Utterance(Question):
    """A post, a reply or a spoken line, in plain words.

    Role tags, markup, invisible characters, the writer's own name in front, loops and what goes beyond
    the limit are taken away by rule, and the status stays `ok`: the words are the writer's. What repeats
    the prompt or goes on as another person is cut away where a good part is left, and is unparseable
    where none is; a refusal is `refused`. `examine` says which rules did something, and
    `cleaning_counts` counts them over what a journal holds.

    The writer's name is known from `You are NAME` in the prompt, and the others' from lines such as
    `NAME: text`.

    Attributes:
        limit: The most characters that the text may have.
        title: Whether a title is asked for; the value is then a JSON object with `title` and `text`,
            which `split_titles` takes apart.
        names: Further people who might be taken to speak.

    Example:
        >>> post = Utterance("What do you write?", limit=80)
        >>> post.read("Ann: <b>Hi</b> all!\\nBo: Hello Ann.", "You are Ann.\\nBo: Is anybody there?")
        Answer(value=None, status='unparseable')
        >>> post.read("Ann: <b>Hello</b> to you all!\\nBo: Hello Ann.", "You are Ann.\\nBo: Is anybody there?")
        Answer(value='Hello to you all!', status='ok')
    """

    limit: int = field(default=600, kw_only=True)
    title: bool = field(default=False, kw_only=True)
    names: tuple[str, ...] = field(default=(), kw_only=True)
    kind: ClassVar[str] = "utterance"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limit < 20:
            raise QuestionError(f"{self.text!r}: {self.limit} characters hold no sentence.", "Give limit=20 or more.")

    @property
    def max_tokens(self) -> int:
        """Room for the characters asked for, and to finish a sentence."""
        return self.limit // 3 + 16 + (TITLE // 4 if self.title else 0)

    def instruction(self) -> str:
        """How to answer."""
        words = f"at most {max(5, self.limit // 6)} words"
        if self.title:
            return f"Write a short title on the first line and then the text, in {words}. Plain words only, no names."
        return f"Write only your own words, in {words}, without a name in front."

    def parse(self, reply: str) -> Answer:
        """Read a reply without knowing what was put."""
        return self.read(reply, "")

    def read(self, reply: str, prompt: str) -> Answer:
        """Clean a reply in the light of the prompt."""
        cleaned = self.examine(reply, prompt)
        if cleaned.text is not None:
            return Answer(json.loads(cleaned.text) if self.title else cleaned.text, "ok")
        return REFUSED if cleaned.reason == "refusal" else UNPARSEABLE

    def examine(self, reply: str, prompt: str = "") -> CleaningResult:
        """What becomes of a reply, by which rules, and why there is nothing left of it."""
        told = f"{prompt}\n{self.reminder()}" if prompt else self.reminder()
        # Without a colon nobody is named as speaking, and most posts have none.
        labelled = ":" in reply or "：" in reply or "&" in reply
        speakers = PromptSpeakers.from_prompt(prompt, self.names) if labelled else PromptSpeakers()
        context = CleaningContext(self.limit, speakers, EchoDetector(told))
        if not self.title:
            return clean(reply, context)
        whole = clean(reply, replace(context, limit=self.limit + TITLE + 20))
        return whole if whole.text is None else _with_title(whole, context)

    def encode(self, value: Any) -> str:
        """The text; with a title, the object as JSON."""
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if self.title else str(value)

    def split_titles(self, values: pl.Series) -> pl.DataFrame:
        """The columns `title` and `text` of answers; without titles, the title is empty everywhere."""
        if not self.title:
            return pl.DataFrame({"title": pl.repeat(None, values.len(), dtype=pl.String, eager=True), "text": values})
        parts = pl.Struct({"title": pl.String, "text": pl.String})
        return pl.DataFrame({"value": values.cast(pl.String).str.json_decode(parts)}).unnest("value")

    def describe(self) -> dict[str, Any]:
        """Everything that makes the question what it is."""
        return super().describe() | {"limit": self.limit, "title": self.title, "names": list(self.names)}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """The question that a journal describes."""
        known = {name: description[name] for name in ("text", "reason", "limit", "title")}
        return cls(**known, names=tuple(description["names"]))


def cleaning_counts(asks: pl.DataFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """What was done to the replies to utterances, from the tables of one step in a journal.

    Args:
        asks: The questions of the step.
        prompts: Its prompts, with the replies that they got.

    Returns:
        The columns `outcome` (`untouched`, `cleaned`, or `invalid`), `rule` (the rule, or the reason of what is
        invalid; empty for untouched ones) and `replies`. A reply to which several rules did something counts
        under each of them, and once under `cleaned` with an empty rule.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for ask, description in asks.select("ask", "question").iter_rows():
        known = json.loads(description)
        if known["kind"] != Utterance.kind:
            continue
        question = Utterance.from_description(known)
        rows = prompts.filter(pl.col("ask") == ask).select("system", "user", "replies")
        for system, user, replies in rows.iter_rows():
            for reply in replies or []:
                counts.update(_outcomes(question.examine(reply, f"{system}\n{user}")))
    made = [(outcome, rule, number) for (outcome, rule), number in sorted(counts.items())]
    return pl.DataFrame(made, schema={"outcome": pl.String, "rule": pl.String, "replies": pl.Int64}, orient="row")


def _outcomes(cleaned: CleaningResult) -> list[tuple[str, str]]:
    if cleaned.text is None:
        return [("invalid", ""), ("invalid", cleaned.reason or "")]
    if not cleaned.rules:
        return [("untouched", "")]
    return [("cleaned", ""), *(("cleaned", rule) for rule in cleaned.rules)]


def _with_title(whole: CleaningResult, context: CleaningContext) -> CleaningResult:
    """A clean text taken apart into title and text; where no line is a title, the opening words are."""
    said = whole.text or ""
    rules = list(whole.rules)
    label = _TITLE_LABEL.match(said)
    said = said[label.end() :] if label else said
    head, _, rest = said.partition("\n")
    body = _TEXT_LABEL.match(rest)
    rest = rest[body.end() :] if body else rest
    if not rest.strip() or len(head) > TITLE:
        head, rest = sentences(said)[0] if said else "", said
        rules.append("untitled")
    title = clean(head, replace(context, limit=TITLE))
    text = clean(rest, context)
    for part in (title, text):
        if part.text is None:
            return CleaningResult(None, (*rules, *part.rules), part.reason)
    fired = dict.fromkeys([*rules, *title.rules, *text.rules])
    line = truncate(" ".join((title.text or "").split()), TITLE)
    value = {"text": text.text, "title": line}
    return CleaningResult(json.dumps(value, ensure_ascii=False, sort_keys=True), tuple(fired))
