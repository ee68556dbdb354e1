"""The ambiguity lint: what the prompts of a design leave open, found before a call is spent.

A prompt that states a level and not where it comes from asks two questions at once: what people do where the level
happens to be so (observational), and what they would do if somebody set it so (interventional). The answers differ
wherever the level goes together with something else, and no model can give both. Such a design is reported with the
wording that would settle it. Two questions that render to one prompt cannot be told apart at all, which is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from populace.base.errors import CausalStudyError
from populace.base.templates import Template
from populace.causal.lint_clauses import holds_all_levels
from populace.causal.lint_reading import SourceReading, read_source, says_constant
from populace.causal.participants import condition_lists, level_lists
from populace.causal.study import ITEM, CausalStudy
from populace.causal.wording import (
    CONDITIONS,
    DESIGNS,
    LEVEL_LIST,
    ONE_LEVEL,
    SITUATIONS,
    CausalDesign,
    design_wording,
    disclosure,
    stated_covariates,
)

CausalReading = Literal["interventional", "observational"]
LintKind = Literal["ambiguous", "other reading", "one prompt", "bundled", "units"]

_NUMBER = re.compile(r"\d[\d,]*(?:[.:/]\d+)?")
_ONE_QUANTITY = re.compile(
    r"\d[\d,.:]*\s?(?:['’′]|ft\.?|feet|foot|h|hours?|hrs?|minutes?|min|pounds?|lbs?|dollars?|euros?|"
    r"-|–|to|of|in|out of)"
    r"(?:\s?(?:and|,))?\s?[$€£]?\d[\d,.:]*",
    re.IGNORECASE,
)
"""One amount that is written with two numbers: 5'10", 1 hour 30 minutes, 10–20, 3 of 4."""
_AMOUNT = re.compile(
    r"(?P<before>[^\w\s.-]{0,3}|[A-Za-z]{1,4}\s?)-?\d[\d,.]*\s?(?P<after>[^\W\d][\w°/]*\.?|[%°€£¥][\w/]*)?"
)
_TIMES = frozenset("second sec minute min hour h day week month year".split())
"""Units of time, which are read together without a mistake: an hour, three days."""
_TIMES_OF_DAY = frozenset("am pm noon midnight h o'clock".split())
_PARTS = {
    "cent": ("$ € dollar euro", 100),
    "p": ("£ pound", 100),
    "pence": ("£ pound", 100),
    "mg": ("g", 1000),
    "milligram": ("gram", 1000),
    "g": ("kg", 1000),
    "gram": ("kilogram kilo kg", 1000),
    "cm": ("m", 100),
    "centimetre": ("metre", 100),
    "centimeter": ("meter", 100),
    "m": ("km", 1000),
    "metre": ("kilometre km", 1000),
    "meter": ("kilometer km", 1000),
    "yard": ("mile", 1760),
    "ml": ("l litre liter", 1000),
    "millilitre": ("litre", 1000),
    "milliliter": ("liter", 1000),
    "mb": ("gb", 1000),
    "megabyte": ("gigabyte", 1000),
}
"""Units that are parts of others, and how many make a whole: 80 cents beside $1.20 is how people write."""
_ITEMS_READ = 5
_YOU = re.compile(r"\b(?:you|your)\b", re.IGNORECASE)


@dataclass(frozen=True)
class LevelPrompt:
    """One prompt of a design, as it is sent.

    Attributes:
        level: How the level is written in the prompt, or the sentence that states it; empty where a prompt holds all
            levels.
        text: The whole prompt.
        question: What is asked, in words that differ wherever the right answers may differ: item, level, covariates.
    """

    level: str
    text: str
    question: str = ""


@dataclass(frozen=True)
class LintFinding:
    """Something that the prompts of a design leave open.

    Attributes:
        kind: `ambiguous`: two readings are possible; `other reading`: the prompts ask the other question than the
            study; `one prompt`: different questions have one prompt; `bundled`: levels differ in more than one thing;
            `units`: levels are amounts in different units.
        design: The design.
        text: What is wrong, in a sentence.
        wording: The wording that would settle it.
        error: Whether nothing can be learned from such prompts.
    """

    kind: LintKind
    design: str
    text: str
    wording: str
    error: bool = False

    def __str__(self) -> str:
        return f"{self.design}: {self.text} {self.wording}"


def lint_prompts(
    prompts: Sequence[LevelPrompt],
    treatment: str,
    levels: Sequence[str],
    *,
    design: str = "design",
    estimand: CausalReading = "interventional",
    settling: str = "",
) -> list[LintFinding]:
    """What the prompts of a design leave open.

    Args:
        prompts: The prompts of all levels, or the one prompt that holds all.
        treatment: What is varied, in words.
        levels: How the levels are written.
        design: The name of the design.
        estimand: The question that the study asks: what happens if the level is set, or where it happens to be so.
        settling: The wording that would settle the reading; one is proposed by default.

    Example:
        >>> prompts = [LevelPrompt(level, f"A coffee costs {level}. Do you buy it?") for level in ("$2", "$4")]
        >>> [finding.kind for finding in lint_prompts(prompts, "price", ["$2", "$4"])]
        ['ambiguous']
    """
    return [*_repeated(prompts, design), *_open_readings(prompts, treatment, levels, design, estimand, settling)]


def lint_study(study: CausalStudy, designs: Sequence[CausalDesign] = DESIGNS) -> list[LintFinding]:
    """What the designs of a causal study leave open.

    A blind design is ambiguous by its nature, and so is one that states covariates: they are reported, so that their
    results are read beside those of the other designs.

    Example:
        >>> study = CausalStudy.read({
        ...     "treatment": {"name": "price", "levels": [1, 2], "statement": "It costs {price} dollars."},
        ...     "setting": "You see apples.", "question": "Do you buy?", "options": ["yes", "no"], "success": "yes"})
        >>> [(finding.design, finding.kind) for finding in lint_study(study)]
        [('blind', 'ambiguous')]
    """
    levels = [str(label) for label in _level_texts(study)]
    settling = Template(disclosure(study)).render({}, {LEVEL_LIST: level_lists(study)[:1]}, 1)[0]
    findings: list[LintFinding] = []
    for design in designs:
        if design == "covariates" and not stated_covariates(study):
            continue
        findings += _repeated_questions(study, design)
        # The texts of items differ in their own words alone, so some items are enough to read.
        read = list(study_prompts(study, design, _ITEMS_READ))
        findings += _open_readings(read, study.treatment.words, levels, design, "interventional", settling)
    return findings


def require_distinct_prompts(study: CausalStudy, design: CausalDesign) -> None:
    """Raise CausalStudyError where two questions of a design render to one prompt."""
    for finding in _repeated_questions(study, design):
        raise CausalStudyError(f"{finding.design}: {finding.text}", finding.wording)


def study_prompts(study: CausalStudy, design: CausalDesign, first: int | None = None) -> Iterator[LevelPrompt]:
    """The prompts of a design, for each item (or the first of them) and level, without the profiles of personas."""
    treatment = study.treatment
    items = study.item_table if first is None else study.item_table.head(first)
    columns = {name: items[name] for name in items.columns}
    lists = condition_lists(study)[: items.height]
    columns |= {LEVEL_LIST: level_lists(study)[: items.height], CONDITIONS: lists, SITUATIONS: lists}
    for covariate in stated_covariates(study):
        columns[covariate.name] = covariate.value_for(pl.Series([0] * items.height), items)
    for level in range(len(treatment.values)) if design in ONE_LEVEL else [0]:
        wording = design_wording(study, design, level)
        fields = columns | {treatment.name: treatment.value_at(level, items)}
        texts = Template(f"{wording.given}\n{wording.question.text}").render({}, fields, items.height)
        stated = pl.Series([""] * items.height)
        if design in ONE_LEVEL:
            stated = Template(treatment.sentence(level)).render({}, fields, items.height)
        where = f" at {treatment.name} {treatment.values[level]}" if design in ONE_LEVEL else ""
        for name, text, sentence in zip(items[ITEM].to_list(), texts.to_list(), stated.to_list(), strict=True):
            yield LevelPrompt(_first_sentence(sentence), text, f"item {name}{where}")


def _open_readings(
    prompts: Sequence[LevelPrompt],
    treatment: str,
    levels: Sequence[str],
    design: str,
    estimand: CausalReading,
    settling: str,
) -> list[LintFinding]:
    """What prompts leave open about the source of their levels."""
    findings: list[LintFinding] = []
    if len(levels) < 2 or not prompts:
        return findings
    if _bundled(levels):
        findings.append(
            LintFinding(
                "bundled",
                design,
                f"the levels of {treatment} differ in more than one number ({levels[0]!r}, {levels[-1]!r}).",
                "Vary one thing, or declare the others as covariates.",
            )
        )
    if units := _units(levels):
        findings.append(
            LintFinding(
                "units",
                design,
                f"the levels of {treatment} are in different units ({', '.join(units)}).",
                "Write all of them in one unit: people and models compare the numbers.",
            )
        )
    readings = [_reading(prompt, treatment, levels) for prompt in prompts]
    unclear = [p for p, r in zip(prompts, readings, strict=True) if not (r.intervention or r.observation)]
    wrong = [p for p, r in zip(prompts, readings, strict=True) if _asks_other(r, estimand)]
    proposal = settling or _proposal(treatment, levels, estimand)
    if unclear:
        some = "" if len(unclear) == len(prompts) else f" at {unclear[0].level or 'some level'}"
        findings.append(
            LintFinding(
                "ambiguous",
                design,
                f"the prompts{some} do not say where the {treatment} comes from: they read the same whether somebody "
                f"set it or it happens to be so.",
                f"This would settle it: {proposal}",
            )
        )
    elif wrong:
        asks = "where it happens to be so" if estimand == "interventional" else "if somebody sets it"
        findings.append(
            LintFinding(
                "other reading",
                design,
                f"the study is {estimand}, and the prompts ask what people do {asks}.",
                f"This would be the question of the study: {proposal}",
            )
        )
    return findings


def _level_texts(study: CausalStudy) -> pl.Series:
    """How each level is written for the first item."""
    items = study.item_table[:1]
    columns = {name: items[name] for name in items.columns}
    texts = []
    for level in range(len(study.treatment.values)):
        fields = columns | {study.treatment.name: study.treatment.value_at(level, items)}
        texts.append(Template(study.treatment.list_entry(level)).render({}, fields, 1)[0])
    return pl.Series(texts)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?!:;])\s+|\n+", text.strip())[0].rstrip(".?!:;")


def _reading(prompt: LevelPrompt, treatment: str, levels: Sequence[str]) -> SourceReading:
    reading = read_source(prompt.text, treatment, prompt.level, levels)
    if (proposal := _proposal(treatment, levels, "interventional").strip('"')) in prompt.text:
        return SourceReading(proposal, reading.observation)
    if prompt.level or reading.intervention or not holds_all_levels(prompt.text, levels):
        return reading
    # Whoever compares all levels for themselves compares nothing else.
    constant = says_constant(prompt.text) or ("all levels for one person" if _YOU.search(prompt.text) else "")
    return SourceReading(constant, reading.observation)


def _asks_other(reading: SourceReading, estimand: CausalReading) -> bool:
    if estimand == "interventional":
        return not reading.intervention
    return bool(reading.intervention) or not reading.observation


def _proposal(treatment: str, levels: Sequence[str], estimand: CausalReading) -> str:
    if estimand == "observational":
        return f'"Take the cases in which the {treatment} happens to be so, with all that goes together with it."'
    return f'"The {treatment} was chosen by lot from {", ".join(levels)}. Nothing else depends on it."'


def _bundled(levels: Sequence[str]) -> bool:
    """Whether the texts of levels hold several numbers that vary."""
    numbers = [tuple(_NUMBER.findall(_ONE_QUANTITY.sub(_as_one, level))) for level in levels]
    if len({len(each) for each in numbers}) != 1 or len(numbers[0]) < 2:
        return False
    return sum(len(set(column)) > 1 for column in zip(*numbers, strict=True)) > 1


def _as_one(quantity: re.Match[str]) -> str:
    return ":".join(_NUMBER.findall(quantity.group())[:2]).replace(".", "").replace(",", "")


def _units(levels: Sequence[str]) -> list[str]:
    """The units of levels that are all one number and its unit, where they differ; a level without a number is none."""
    units: dict[str, str] = {}
    largest: dict[str, float] = {}
    for level in levels:
        match = _AMOUNT.fullmatch(level.strip())
        if match is not None:
            unit = (match["before"] + (match["after"] or "")).strip()
            if not unit and not level.strip("0., "):
                continue  # nothing has no unit
            name = unit.casefold().removesuffix("s").replace(".", "")
            units.setdefault(name, unit)
            number = _NUMBER.findall(level)[0].replace(",", "").replace(":", ".")
            largest[name] = max(largest.get(name, 0.0), float(number))
        elif _NUMBER.search(level):
            return []
    together = set(units) <= _TIMES or set(units) <= _TIMES_OF_DAY
    if len(units) < 2 or together or _part_and_whole(largest) or _one_and_many(largest):
        return []
    return list(units.values())


def _part_and_whole(largest: dict[str, float]) -> bool:
    """Whether amounts are in two units, one of them a part of the other, and none in parts makes a whole."""
    if len(largest) != 2:
        return False
    pairs = [(part, whole) for part in largest for whole in _PARTS.get(part, ("", 1))[0].split() if whole in largest]
    return any(largest[part] < _PARTS[part][1] for part, _ in pairs)


def _one_and_many(largest: dict[str, float]) -> bool:
    """Whether two units are the words for one thing and for several of it: 1 child, 3 children."""
    if len(largest) != 2:
        return False
    first, second = largest
    return first[:3] == second[:3] and first.isalpha() and second.isalpha() and 1 in largest.values()


def _repeated(prompts: Sequence[LevelPrompt], design: str) -> Iterator[LintFinding]:
    """The first prompt that stands for several questions, if there is one."""
    questions: dict[str, str] = {}
    for place, prompt in enumerate(prompts):
        question = prompt.question or prompt.level or str(place)
        first = questions.setdefault(prompt.text, question)
        if first != question:
            yield LintFinding(
                "one prompt",
                design,
                f"{first} and {question} have the same prompt, word for word.",
                "No model can answer both: write in the prompt what tells them apart, such as more digits of a number.",
                error=True,
            )
            return


def _repeated_questions(study: CausalStudy, design: CausalDesign) -> list[LintFinding]:
    """Different questions of a design that cannot be told apart: in prompts, in lists of levels, in covariates."""
    findings = list(_repeated(list(study_prompts(study, design)), design))
    if design == "covariates":
        findings += _repeated_covariates(study)
    if design not in ONE_LEVEL:
        findings += _repeated(list(_situations(study)), design)
    return findings


def _situations(study: CausalStudy) -> Iterator[LevelPrompt]:
    """The levels as they stand in a prompt that holds all."""
    items, treatment = study.item_table, study.treatment
    for level, value in enumerate(treatment.values):
        fields = {name: items[name] for name in items.columns} | {treatment.name: treatment.value_at(level, items)}
        texts = Template(treatment.situation(level)).render({}, fields, items.height)
        for name, text in zip(items[ITEM].to_list(), texts.to_list(), strict=True):
            yield LevelPrompt("", f"{name}: {text}", f"item {name} at {treatment.name} {value}")


def _repeated_covariates(study: CausalStudy) -> Iterator[LintFinding]:
    items = study.item_table[:1]
    for covariate in stated_covariates(study):
        texts: dict[str, object] = {}
        for place, value in enumerate(covariate.values):
            fields = {name: items[name] for name in items.columns}
            fields[covariate.name] = covariate.value_for(pl.Series([place]), items)
            text = Template(covariate.statement).render({}, fields, 1)[0]
            if text in texts:
                yield LintFinding(
                    "one prompt",
                    "covariates",
                    f"{covariate.name} {texts[text]} and {covariate.name} {value} have the same prompt, word for word.",
                    "No model can answer both: write the value in the statement, with all its digits.",
                    error=True,
                )
                return
            texts[text] = value
