"""Posts, replies and spoken lines: one person's words, without anything else that a model may write."""

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

    Rules remove role tags, markup, invisible characters, the writer's own name in front, loops and what exceeds the
    limit; the status stays `ok`, because the words are the writer's. Parts that repeat the prompt or speak for another
    person are removed if enough is left; otherwise the reply is `unparseable`. A refusal is `refused`. `examine`
    reports which rules removed something, and `cleaning_counts` counts them in a step of a journal.

    The writer's name is read from `You are NAME` in the prompt, and the others' from lines such as `NAME: text`.

    Attributes:
        limit: The most characters that the text may have.
        title: Whether a title is asked for; the value is then a JSON object with `title` and `text`, which
            `split_titles` separates.
        names: The names of further people who may appear as speakers.

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
            raise QuestionError(
                f"{self.text!r}: {self.limit} characters are too few for a sentence.", "Give limit=20 or more."
            )

    @property
    def max_tokens(self) -> int:
        """Enough tokens for `limit` characters, and to finish a sentence."""
        return self.limit // 3 + 16 + (TITLE // 4 if self.title else 0)

    def instruction(self) -> str:
        """How to answer; it follows the wording in the prompt."""
        words = f"at most {max(5, self.limit // 6)} words"
        if self.title:
            return f"Write a short title on the first line and then the text, in {words}. Plain words only, no names."
        return f"Write only your own words, in {words}, without a name in front."

    def parse(self, reply: str) -> Answer:
        """Read a reply without its prompt."""
        return self.read(reply, "")

    def read(self, reply: str, prompt: str) -> Answer:
        """Clean a reply, given its prompt."""
        result = self.examine(reply, prompt)
        if result.text is not None:
            return Answer(json.loads(result.text) if self.title else result.text, "ok")
        return REFUSED if result.reason == "refusal" else UNPARSEABLE

    def examine(self, reply: str, prompt: str = "") -> CleaningResult:
        """What is left of a reply, which rules removed something, and why nothing is left."""
        prompts = f"{prompt}\n{self.reminder()}" if prompt else self.reminder()
        # A speaker is followed by a colon, and most posts have none.
        may_name_speakers = ":" in reply or "：" in reply or "&" in reply
        speakers = PromptSpeakers.from_prompt(prompt, self.names) if may_name_speakers else PromptSpeakers()
        context = CleaningContext(self.limit, speakers, EchoDetector(prompts))
        if not self.title:
            return clean(reply, context)
        whole = clean(reply, replace(context, limit=self.limit + TITLE + 20))
        return whole if whole.text is None else _with_title(whole, context)

    def encode(self, value: Any) -> str:
        """The text; with a title, the object as JSON."""
        return json.dumps(value, ensure_ascii=False, sort_keys=True) if self.title else str(value)

    def split_titles(self, values: pl.Series) -> pl.DataFrame:
        """The columns `title` and `text` of answers; if no titles were asked for, every title is null."""
        if not self.title:
            return pl.DataFrame({"title": pl.repeat(None, values.len(), dtype=pl.String, eager=True), "text": values})
        parts = pl.Struct({"title": pl.String, "text": pl.String})
        return pl.DataFrame({"value": values.cast(pl.String).str.json_decode(parts)}).unnest("value")

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Self:
        """The question that a description in a journal defines."""
        fields = {name: description[name] for name in ("text", "reason", "limit", "title")}
        return cls(**fields, names=tuple(description["names"]))


def cleaning_counts(asks: pl.DataFrame, prompts: pl.DataFrame) -> pl.DataFrame:
    """How many replies to utterances each rule changed or made invalid, in one step of a journal.

    Args:
        asks: The questions of the step.
        prompts: Its prompts, with their replies.

    Returns:
        The columns `outcome` (`untouched`, `cleaned`, or `invalid`), `rule` (the rule or, for an invalid reply, the
        reason; empty for untouched ones) and `replies`. A reply that several rules changed counts for each of them, and
        once as `cleaned` with an empty rule.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for ask, description in asks.select("ask", "question").iter_rows():
        fields = json.loads(description)
        if fields["kind"] != Utterance.kind:
            continue
        question = Utterance.from_description(fields)
        rows = prompts.filter(pl.col("ask") == ask).select("system", "user", "replies")
        for system, user, replies in rows.iter_rows():
            for reply in replies or []:
                counts.update(_outcomes(question.examine(reply, f"{system}\n{user}")))
    table = [(outcome, rule, number) for (outcome, rule), number in sorted(counts.items())]
    return pl.DataFrame(table, schema={"outcome": pl.String, "rule": pl.String, "replies": pl.Int64}, orient="row")


def _outcomes(result: CleaningResult) -> list[tuple[str, str]]:
    if result.text is None:
        return [("invalid", ""), ("invalid", result.reason or "")]
    if not result.rules:
        return [("untouched", "")]
    return [("cleaned", ""), *(("cleaned", rule) for rule in result.rules)]


def _with_title(whole: CleaningResult, context: CleaningContext) -> CleaningResult:
    """Separate a clean text into title and text; if the first line is not a title, the first sentence is used."""
    content = whole.text or ""
    rules = list(whole.rules)
    label = _TITLE_LABEL.match(content)
    content = content[label.end() :] if label else content
    head, _, rest = content.partition("\n")
    body = _TEXT_LABEL.match(rest)
    rest = rest[body.end() :] if body else rest
    if not rest.strip() or len(head) > TITLE:
        head, rest = sentences(content)[0] if content else "", content
        rules.append("untitled")
    title = clean(head, replace(context, limit=TITLE))
    text = clean(rest, context)
    for part in (title, text):
        if part.text is None:
            return CleaningResult(None, (*rules, *part.rules), part.reason)
    applied = dict.fromkeys([*rules, *title.rules, *text.rules])
    line = truncate(" ".join((title.text or "").split()), TITLE)
    value = {"text": text.text, "title": line}
    return CleaningResult(json.dumps(value, ensure_ascii=False, sort_keys=True), tuple(applied))
