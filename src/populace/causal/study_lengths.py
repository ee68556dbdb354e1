"""How long the texts of a causal study may be: each of them, filled, and the longest prompt that they make together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from populace.base.document_lines import at_entry
from populace.base.errors import CausalStudyError
from populace.base.templates import Template

if TYPE_CHECKING:
    from populace.causal.study import CausalStudy

MAX_TEXT = 5_000
"""The most characters of a text of a study."""
MAX_PROMPT = 30_000
"""The most characters of all texts of a prompt together, with the lists of levels."""

_NUMBER = 25
"""The most characters of a number in a text that does not say how it is written."""

Entry = tuple[int | str, ...]


def check_lengths(study: CausalStudy) -> None:
    """Raise CausalStudyError where a text is too long as it is written; the error is about its entry."""
    for entry, text in _texts(study):
        _check(entry, len(text), "has")


def check_filled_lengths(study: CausalStudy) -> None:
    """Raise CausalStudyError where a text, or a prompt, is too long once its fields are filled from the items."""
    lengths = {
        name: max(len(item[name]) if isinstance(item[name], str) else _NUMBER for item in study.items)
        for name in study.items[0]
    }
    parts = dict(_templates(study, lengths))
    for entry, length in parts.items():
        _check(entry, length, "with its fields filled has up to")
    treatment, count = study.treatment, len(study.treatment.values)
    total = sum(parts.values()) + sum(map(len, (*study.options, study.population, study.held, treatment.words)))
    if not isinstance(treatment.levels, dict):
        stated = (("treatment", "statement"), ("treatment", "label"))
        total += (count - 1) * sum(parts[entry] for entry in stated)
    if total > MAX_PROMPT:
        longest = max(parts, key=lambda entry: parts[entry])
        raise CausalStudyError(
            f"the texts of the study make prompts of up to {total:,} characters; at most {MAX_PROMPT:,} are allowed.",
            f"Shorten them; the longest is `{_path(longest)}`.",
        )


def _templates(study: CausalStudy, lengths: Mapping[str, int]) -> Iterator[tuple[Entry, int]]:
    """The entries of the templates that stand in a prompt, and the most characters of each once it is filled."""
    treatment = study.treatment
    yield ("setting",), Template(study.setting).longest(lengths)
    yield ("question",), Template(study.question).longest(lengths)
    if isinstance(treatment.levels, dict):
        for name, text in treatment.levels.items():
            yield ("treatment", "levels", name), Template(text).longest(lengths)
    else:
        word = max(len(value) if isinstance(value, str) else _NUMBER for value in treatment.values)
        known = {**lengths, treatment.name: word}
        yield ("treatment", "statement"), Template(treatment.statement).longest(known)
        yield ("treatment", "label"), Template(treatment.label or f"{{{treatment.name}}}").longest(known)
    for place, covariate in enumerate(study.covariates):
        word = max((len(value) if isinstance(value, str) else _NUMBER for value in covariate.values), default=0)
        known = {**lengths, covariate.name: word}
        yield ("covariates", place, "statement"), Template(covariate.statement).longest(known)
        yield ("covariates", place, "question"), Template(covariate.question).longest(lengths)


def _texts(study: CausalStudy) -> Iterator[tuple[Entry, str]]:
    """Every text of a study that reaches a prompt, with its entry; the cells of its items included."""
    treatment = study.treatment
    for name in ("title", "setting", "question", "success", "profile", "held", "population"):
        yield (name,), getattr(study, name)
    for name in ("statement", "label", "noun", "scale", "base", "drawn_from"):
        yield ("treatment", name), getattr(treatment, name)
    for place, value in enumerate(treatment.values):
        if isinstance(value, str):
            yield ("treatment", "levels", place), value
    if isinstance(treatment.levels, dict):
        for key, text in treatment.levels.items():
            yield ("treatment", "levels", key), text
    for place, option in enumerate(study.options):
        yield ("options", place), option
    for place, covariate in enumerate(study.covariates):
        for name in ("statement", "question", "unit", "scale"):
            yield ("covariates", place, name), getattr(covariate, name)
        for number, word in enumerate(covariate.values):
            if isinstance(word, str):
                yield ("covariates", place, "values", number), word
    for place, item in enumerate(study.items):
        for name, cell in item.items():
            if isinstance(cell, str):
                yield ("items", place, name), cell


def _check(entry: Entry, length: int, how: str) -> None:
    if length > MAX_TEXT:
        with at_entry(*entry):
            raise CausalStudyError(
                f"`{_path(entry)}` {how} {length:,} characters; at most {MAX_TEXT:,} are allowed.", "Shorten it."
            )


def _path(entry: Entry) -> str:
    """An entry as it is written in a text; list items are counted from 1."""
    return ".".join(str(part + 1 if isinstance(part, int) else part)[:40] for part in entry)
