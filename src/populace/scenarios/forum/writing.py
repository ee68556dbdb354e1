"""The question behind every post."""

from __future__ import annotations

import polars as pl

from populace.questions import Question, Text


def utterance(text: str, *, limit: int, title: bool) -> Question:
    """What somebody is asked to write."""
    return Text(text, max_words=max(5, limit // 6))


def titled(question: Question, values: pl.Series) -> pl.DataFrame:
    """The columns `title` and `text` of answers."""
    return pl.DataFrame({"title": pl.repeat(None, values.len(), dtype=pl.String, eager=True), "text": values})
