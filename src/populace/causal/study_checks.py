"""Checks of a causal study: parts of a declaration that contradict each other are errors about their entry."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from populace.base.document_lines import at_entry
from populace.base.errors import CausalStudyError, QuestionError, TemplateError, nearest
from populace.base.templates import Template
from populace.causal.study_lengths import check_filled_lengths, check_lengths

if TYPE_CHECKING:
    from populace.causal.covariate import Covariate
    from populace.causal.study import CausalStudy, Treatment

RESERVED_FIELDS = frozenset(
    "people question given rule invalid temperature purpose profile about id model decider level situations "
    "conditions level_list".split()
)
"""Names that a prompt, a population or a table of answers uses for something else."""
_KEYS = ("item", "persona")
MAX_LEVELS = 26
LARGEST = 1e12
"""The largest level, value and scale."""

_NOT_NEGATIVE = "Prices and amounts are not negative. Where negative levels make sense, write `low:`."
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_FIELD = re.compile(r"\{[^{}]*\}")

Entry = tuple[int | str, ...]


def check_study(study: CausalStudy) -> None:
    """Raise CausalStudyError where parts of a declaration contradict each other; the error is about their entry."""
    check_lengths(study)
    with at_entry("treatment"):
        check_treatment(study.treatment)
    with at_entry("items"):
        _check_rows(study.items, "items")
    with at_entry("personas"):
        _check_rows(study.personas, "personas")
    _check_names(study)
    if study.success not in study.options:
        with at_entry("success"):
            raise CausalStudyError(
                f"{study.success!r}, the answer that counts, is not one of the options.",
                f"The options are: {', '.join(study.options)}.",
            )
    with at_entry("options"):
        try:
            study.answer_question  # noqa: B018 - making it checks the options
        except QuestionError as error:
            raise CausalStudyError(error.what, error.hint) from error
    for place, covariate in enumerate(study.covariates):
        with at_entry("covariates", place):
            check_covariate(covariate)
            if covariate.comparable and not (study.treatment.numeric and covariate.numeric):
                with at_entry("comparable"):
                    raise CausalStudyError(
                        f"{covariate.name!r} cannot be compared with the treatment: both must be numbers.",
                        "Leave out `comparable:`, or give both numbers.",
                    )
    for (entry, text), known in _texts(study):
        with at_entry(*entry):
            _check_text(text, known, study)
    check_filled_lengths(study)
    _check_stated_levels(study)


def check_treatment(treatment: Treatment) -> None:
    """Raise CausalStudyError where a treatment contradicts itself."""
    values = treatment.values
    if len(values) < 2:
        with at_entry("levels"):
            raise CausalStudyError(
                f"the treatment {treatment.name!r} has {len(values) or 'no'} level{'s' * (len(values) != 1)}.",
                "An effect is a difference between levels: give at least two.",
            )
    if math.isnan(treatment.low):
        with at_entry("low"):
            raise CausalStudyError("the smallest level that makes sense is not a number.", "Write a number.")
    for place, value in enumerate(values):
        with at_entry("levels", place):
            _check_level(treatment, value, values[:place])
    if len(values) > MAX_LEVELS:
        raise CausalStudyError(
            f"the treatment has {len(values)} levels; at most {MAX_LEVELS} can be listed.", "Leave some of them out."
        )
    shares = treatment.probabilities
    if shares and (len(shares) != len(values) or not all(math.isfinite(s) and s > 0 for s in shares)):
        with at_entry("probabilities"):
            raise CausalStudyError(
                f"{len(values)} levels have the probabilities {', '.join(map(str, shares))}.",
                "Give one number above 0 for each level.",
            )
    if isinstance(treatment.levels, dict):
        if treatment.statement:
            with at_entry("statement"):
                raise CausalStudyError(
                    "the levels bring sentences of their own, so there is no statement to fill.",
                    "Leave out `statement:`.",
                )
    elif treatment.name not in _template(treatment.statement, "statement").fields:
        with at_entry("statement"):
            raise CausalStudyError(
                f"the statement of the treatment lacks {{{treatment.name}}}, so all levels would read the same.",
                f'Write, for example: statement: "The {treatment.words} is {{{treatment.name}}}."',
            )
    for entry, column in (("scale", treatment.scale), ("base", treatment.base)):
        if column and not treatment.numeric:
            with at_entry(entry):
                raise CausalStudyError(
                    "levels in words cannot be put together with a column of the items.", f"Leave out `{entry}:`."
                )


def _check_level(treatment: Treatment, value: float | str, earlier: Sequence[float | str]) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise CausalStudyError(
            f"the level {value} of {treatment.name!r} is not a number.", "Write a number, or a word."
        )
    if isinstance(value, float) and abs(value) > LARGEST:
        raise CausalStudyError(
            f"the level {value:g} of {treatment.name!r} is too large to compute with.", "Use a larger unit."
        )
    if isinstance(value, float) and value < treatment.low and not treatment.base:
        raise CausalStudyError(f"the level {value:g} of {treatment.name!r} is below {treatment.low:g}.", _NOT_NEGATIVE)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        raise CausalStudyError(
            f"the level {value!r} of {treatment.name!r} is a number in quotation marks, so it would count as a word.",
            "Leave out the quotation marks, or write its unit too.",
        )
    if _plain(value) in [_plain(other) for other in earlier]:
        raise CausalStudyError(f"the level {value!r} of {treatment.name!r} is there twice.", "Leave one of them out.")
    if isinstance(value, float) is not isinstance((earlier or [value])[0], float):
        raise CausalStudyError(
            f"the levels of {treatment.name!r} are numbers and words mixed.", "Write all as numbers, or quote all."
        )


def _check_stated_levels(study: CausalStudy) -> None:
    """Refuse a level that is fine by itself and wrong in a prompt: added to a column of the items, or multiplied."""
    treatment, items = study.treatment, study.item_table
    if not treatment.numeric or not (treatment.scale or treatment.base):
        return
    for place, level in enumerate(treatment.values):
        stated = treatment.value_at(place, items)
        wrong = ((stated < treatment.low) | (stated.abs() > LARGEST)).arg_max()
        if wrong is None or treatment.low <= stated[wrong] <= LARGEST:
            continue
        bound, hint = f"below {treatment.low:g}", _NOT_NEGATIVE
        if abs(stated[wrong]) > LARGEST:
            bound, hint = f"beyond {LARGEST:g}", "Use a larger unit."
        with at_entry("treatment", "levels", place):
            raise CausalStudyError(
                f"at the level {level:g}, the {treatment.words} of the item {items['item'][wrong]!r} is "
                f"{stated[wrong]:g}, {bound}.",
                hint,
            )


def _plain(value: float | str) -> float | str:
    """A level without what a reader may not notice: upper case and spaces."""
    return " ".join(value.casefold().split()) if isinstance(value, str) else value


def _plain_name(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _check_rows(rows: Sequence[Mapping[str, Any]], what: str) -> None:
    columns = list(rows[0])
    for place, row in enumerate(rows):
        with at_entry(place):
            if list(row) != columns and set(row) != set(columns):
                odd = sorted(set(row) ^ set(columns))
                raise CausalStudyError(
                    f"the {what} do not have the same columns: {', '.join(odd)} is not in all.",
                    "Give all of them the same.",
                )
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise CausalStudyError(f"{name!r} is {value}, which is not a value.", "Write a number or a text.")
                if isinstance(value, (int, float)) and abs(value) > LARGEST:
                    raise CausalStudyError(f"{name!r} is {value:g}, which is too large.", "Use a larger unit.")
                if value is None or not isinstance(value, (str, int, float, bool)):
                    raise CausalStudyError(f"{name!r} is {value!r}.", "A cell is a text or a number.")
    for key in _KEYS:
        names = [str(row[key]) for row in rows if key in row]
        twice = next((name for name in names if names.count(name) > 1), None) if len(names) < 2000 else None
        if twice is not None:
            raise CausalStudyError(f"two {what} are named {twice!r}.", "Give each a name of its own.")


def _check_names(study: CausalStudy) -> None:
    """Refuse a field that could be filled from two places."""
    treatment = study.treatment.name
    owners: dict[str, str] = {}
    for owner, rows in (("the items", study.items), ("the personas", study.personas)):
        for name in rows[0]:
            with at_entry("items" if owner == "the items" else "personas"):
                if name in RESERVED_FIELDS:
                    raise CausalStudyError(
                        f"{name!r} cannot be a column of {owner}: it has another meaning.", "Rename it."
                    )
                if name in owners:
                    raise CausalStudyError(f"{name!r} is a column of {owners[name]} and of {owner}.", "Rename one.")
            owners[name] = owner
    with at_entry("treatment", "name"):
        if treatment in owners or treatment in RESERVED_FIELDS:
            where = f"is also a column of {owners[treatment]}" if treatment in owners else "has a meaning of its own"
            raise CausalStudyError(f"the treatment {treatment!r} {where}.", "Rename one of them.")
    for place, covariate in enumerate(study.covariates):
        with at_entry("covariates", place, "name"):
            if _names_treatment(covariate, study.treatment):
                raise CausalStudyError(
                    f"the covariate {covariate.name!r} is also the treatment.",
                    "A covariate is held fixed while the treatment varies: leave it out, or name what you mean.",
                )
            if covariate.name in owners or covariate.name in RESERVED_FIELDS:
                where = owners.get(covariate.name, "every study")
                raise CausalStudyError(
                    f"the covariate {covariate.name!r} has the name of a column of {where}.", "Rename one of them."
                )
            twin = next((other for other in study.covariates[:place] if _same_name(other, covariate)), None)
            if twin is not None:
                raise CausalStudyError(
                    f"two covariates have one name: {twin.name!r} and {covariate.name!r}.",
                    "Leave one of them out, or give it another name.",
                )


def _same_name(one: Covariate, other: Covariate) -> bool:
    return _plain_name(one.name) == _plain_name(other.name)


def _names_treatment(covariate: Covariate, treatment: Treatment) -> bool:
    """Whether a covariate is the treatment: by its name, in any case, or by a statement that says the same."""
    if _plain_name(covariate.name) in (_plain_name(treatment.name), _plain_name(treatment.words)):
        return True
    bare = [_plain_name(_FIELD.sub("x", text.statement)) for text in (covariate, treatment)]
    return bool(covariate.statement) and bare[0] == bare[1]


def check_covariate(covariate: Covariate) -> None:
    """Raise CausalStudyError where a covariate contradicts itself."""
    if not covariate.statement and not covariate.question:
        raise CausalStudyError(
            f"the covariate {covariate.name!r} is neither stated nor asked for.", "Give it a statement or a question."
        )
    if covariate.statement and covariate.name not in _template(covariate.statement, "statement").fields:
        with at_entry("statement"):
            raise CausalStudyError(
                f"the statement of {covariate.name!r} does not say {{{covariate.name}}}.",
                f'Write, for example: statement: "The {covariate.words} is {{{covariate.name}}}."',
            )
    if covariate.statement and not covariate.values:
        raise CausalStudyError(f"the covariate {covariate.name!r} is stated and has no values.", "Write `values:`.")
    low, high = covariate.bounds
    for place, value in enumerate(covariate.values):
        with at_entry("values", place):
            if isinstance(value, float) and not math.isfinite(value):
                raise CausalStudyError(f"the value {value} of {covariate.name!r} is not a number.", "Write a number.")
            if isinstance(value, float) and not (low <= value <= high and abs(value) <= LARGEST):
                raise CausalStudyError(
                    f"the value {value:g} of {covariate.name!r} is outside its bounds, {low:g} to {high:g}.",
                    "Change the value, or write `bounds: [low, high]`.",
                )
    _check_choices(covariate)
    if not low < high:
        with at_entry("bounds"):
            raise CausalStudyError(
                f"the bounds of {covariate.name!r} run from {low:g} to {high:g}.", "Write the smaller number first."
            )
    if len(set(covariate.values)) != len(covariate.values):
        raise CausalStudyError(f"a value of {covariate.name!r} is there twice.", "Leave one of them out.")


def _check_choices(covariate: Covariate) -> None:
    low, high = covariate.bounds
    with at_entry("choices"):
        if covariate.choices and not covariate.question:
            raise CausalStudyError(
                f"the covariate {covariate.name!r} has choices and no question.", "Write `question:`."
            )
        if len(covariate.choices) == 1 or len(set(covariate.choice_texts)) != len(covariate.choices):
            raise CausalStudyError(
                f"the choices of {covariate.name!r} are not two or more different numbers.", "Write each number once."
            )
        if not all(math.isfinite(number) and low <= number <= high for number in covariate.choices):
            raise CausalStudyError(
                f"a choice of {covariate.name!r} is outside its bounds, {low:g} to {high:g}.",
                "Change it, or write `bounds: [low, high]`.",
            )


def _texts(study: CausalStudy) -> Iterator[tuple[tuple[Entry, str], list[str]]]:
    """Every text of a study with its entry, and the fields that it may name."""
    items, personas = list(study.items[0]), list(study.personas[0])
    treatment = study.treatment
    yield (("setting",), study.setting), items
    yield (("question",), study.question), items
    yield (("profile",), study.profile), personas
    yield (("treatment", "statement"), treatment.statement), [*items, treatment.name]
    yield (("treatment", "label"), treatment.label), [*items, treatment.name]
    if isinstance(treatment.levels, dict):
        for name, text in treatment.levels.items():
            yield (("treatment", "levels", name), text), items
    for place, covariate in enumerate(study.covariates):
        yield (("covariates", place, "statement"), covariate.statement), [*items, covariate.name]
        yield (("covariates", place, "question"), covariate.question), items
    for part, scale in (
        (("treatment", "scale"), treatment.scale),
        (("treatment", "base"), treatment.base),
        *((("covariates", place, "scale"), each.scale) for place, each in enumerate(study.covariates)),
    ):
        if scale:
            with at_entry(*part):
                _check_scale(scale, study)


def _check_scale(scale: str, study: CausalStudy) -> None:
    if scale not in study.items[0]:
        guess = nearest(scale, list(study.items[0]))
        raise CausalStudyError(
            f"the items have no column {scale!r}.", f"Did you mean {guess!r}?" if guess else "Add it to every item."
        )
    for place, item in enumerate(study.items):
        if not isinstance(item[scale], (int, float)) or isinstance(item[scale], bool) or item[scale] <= 0:
            raise CausalStudyError(f"{scale!r} of item {place + 1} is {item[scale]!r}.", "A scale is a number above 0.")


def _template(text: str, what: str) -> Template:
    try:
        return Template(text)
    except TemplateError as error:
        with at_entry(what):
            raise CausalStudyError(error.what, error.hint) from error


def _check_text(text: str, known: Sequence[str], study: CausalStudy) -> None:
    try:
        template = Template(text)
    except TemplateError as error:
        raise CausalStudyError(error.what, error.hint) from error
    for field in template.fields:
        if field in known:
            continue
        if field == study.treatment.name:
            raise CausalStudyError(
                f"this text names the treatment {{{field}}}, which the statement of the treatment alone may do.",
                "Otherwise the treatment would reach prompts that are meant to be without it.",
            )
        if field in [covariate.name for covariate in study.covariates]:
            raise CausalStudyError(
                f"this text names the covariate {{{field}}}, which its own statement alone may do.",
                "Otherwise a blind prompt would state it.",
            )
        guess = nearest(field, list(known))
        raise CausalStudyError(
            f"nothing fills the field {{{field}}}.",
            (f"Did you mean {{{guess}}}? " if guess else "") + f"There are: {', '.join(known) or 'none'}.",
        )
