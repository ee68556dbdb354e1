"""The verdict of a structure-or-data study: orderings of arms, levels of models, and effects of the way of asking."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from populace.statistics import Effect, adjust, difference, equivalence

Direction = Literal["up", "down", "undecided"]
Holds = Literal["holds", "does not hold", "undecided"]
HoldsOrNone = Holds | Literal["none"]
Directions = dict[tuple[str, str], Direction]
TWIN = "rule twin"


def orderings(frame: pl.DataFrame, outcome: str, by: str, arms: Sequence[str], level: float) -> pl.DataFrame:
    """Every pair of arms compared within each of several groups of runs, by the direction of the difference.

    Assumes what `Effect` assumes by paired t: runs of one seed belong together across arms, different seeds are
    independent. A direction is given if the p value, corrected (Holm) for all pairs of its group, is small enough.

    Args:
        frame: One row for each run: `arm`, `seed`, the outcome, and the column to group by.
        outcome: The column of the outcome.
        by: The column whose values make the groups: models, wordings.
        arms: The arms, in the order in which they were declared.
        level: The confidence level.
    """
    rows: list[dict[str, Any]] = []
    for group in frame[by].unique(maintain_order=True).to_list():
        group_rows = [
            {by: group, "arm": b.name, "versus": a.name} | _effect_fields(difference(b, a, paired=True, level=level))
            for a, b in _pairs(frame.filter(pl.col(by) == group), outcome, "arm", arms)
        ]
        for row, p, significant in _adjusted(group_rows, level):
            way: Direction = "undecided" if not significant else "up" if row["effect"] > 0 else "down"
            rows.append(row | {"p_adjusted": p, "direction": way})
    return pl.DataFrame(rows, schema=_ORDER_SCHEMA | {by: pl.String})


_TEXTS: dict[str, Any] = dict.fromkeys(("arm", "versus"), pl.String)
_EFFECT_SCHEMA: dict[str, Any] = dict.fromkeys(("effect", "low", "high", "p"), pl.Float64) | {"n": pl.Int64}
_ORDER_SCHEMA = _TEXTS | _EFFECT_SCHEMA | {"p_adjusted": pl.Float64, "direction": pl.String}


def _pairs(frame: pl.DataFrame, outcome: str, by: str, names: Sequence[str]) -> Iterator[tuple[pl.Series, pl.Series]]:
    """Each pair of arms or models that share two seeds or more, as columns of means by seed."""
    wide = frame.pivot(on=by, index="seed", values=outcome, aggregate_function="mean").sort("seed")
    for a, b in itertools.combinations([wide[name] for name in names if name in wide.columns], 2):
        if (a.is_not_null() & b.is_not_null()).sum() >= 2:
            yield a, b


def _effect_fields(effect: Effect) -> dict[str, Any]:
    """An effect as columns, empty where there is no interval."""
    estimate = effect.estimate
    low, high = (None if math.isnan(end) else end for end in (estimate.low, estimate.high))
    return {"effect": estimate.value, "low": low, "high": high, "p": effect.p, "n": effect.n}


def _adjusted(rows: list[dict[str, Any]], level: float) -> Iterator[tuple[dict[str, Any], float, bool]]:
    """Each row with its p value, corrected for the number of rows, and whether its effect is significant."""
    for row, p in zip(rows, adjust([row["p"] for row in rows]) if rows else (), strict=True):
        yield row, float(p), bool(p < 1 - level and row["effect"] != 0)


@dataclass(frozen=True)
class Consensus:
    """The ordering that most models show, and which groups of runs show it.

    Attributes:
        pairs: For each pair of arms that some model decides, the direction that most of them give.
        status: For each group of runs, whether the ordering holds there: all pairs decided the same way; does not hold:
            a pair decided the other way; or undecided.
        share: For each group, how many of the pairs are decided the same way.
    """

    pairs: Directions
    status: dict[str, Holds]
    share: dict[str, int]

    @classmethod
    def of(cls, table: pl.DataFrame, by: str, voters: Sequence[str]) -> Consensus:
        """The consensus of the groups that vote, and whether it holds in each group."""
        directions = _directions(table, by)
        votes: dict[tuple[str, str], list[Direction]] = {}
        for pair, way in (vote for group in directions if group in voters for vote in directions[group].items()):
            if way != "undecided":
                votes.setdefault(pair, []).append(way)
        # Of two directions with equal votes the one that was met first is taken; the other models then do not hold it.
        pairs = {pair: max(dict.fromkeys(votes_cast), key=votes_cast.count) for pair, votes_cast in votes.items()}
        status = {group: _status(pairs, mine) for group, mine in directions.items()}
        share = {g: sum(mine.get(pair) == way for pair, way in pairs.items()) for g, mine in directions.items()}
        return cls(pairs, status, share)


def _directions(table: pl.DataFrame, by: str) -> dict[str, Directions]:
    """For each group of runs, the direction of each pair of arms."""
    directions: dict[str, Directions] = {}
    for row in table.iter_rows(named=True):
        directions.setdefault(row[by], {})[row["versus"], row["arm"]] = row["direction"]
    return directions


def _status(pairs: Directions, mine: Directions) -> Holds:
    """Whether an ordering of pairs holds in a group of runs."""
    if any(mine.get(pair, way) not in (way, "undecided") for pair, way in pairs.items()):
        return "does not hold"
    return "holds" if pairs and all(mine.get(pair) == way for pair, way in pairs.items()) else "undecided"


def model_differences(
    frame: pl.DataFrame, outcome: str, minds: Sequence[str], arms: Sequence[str], margin: float | None, level: float
) -> pl.DataFrame:
    """Every pair of models compared in every arm.

    With a margin by two one-sided tests (see `Equivalence`): `equivalent`, `different` beyond the margin, or
    `undecided`. Without one, a difference can be shown (paired t, corrected by Holm) and sameness cannot.
    """
    rows: list[dict[str, Any]] = []
    for arm in arms:
        for a, b in _pairs(frame.filter(pl.col("arm") == arm), outcome, "mind", minds):
            effect = difference(b, a, paired=True, level=level)
            row = {"arm": arm, "model": b.name, "versus": a.name} | _effect_fields(effect)
            if margin is not None:
                row["verdict"] = equivalence(b, a, margin, paired=True, alpha=1 - level).verdict
            rows.append(row)
    if margin is None:
        for row, _, significant in _adjusted(rows, level):
            row["verdict"] = "different" if significant else "undecided"
    columns = dict.fromkeys(("arm", "model", "versus"), pl.String)
    return pl.DataFrame(rows, schema={**columns, **_EFFECT_SCHEMA, "verdict": pl.String})


def asking_shifts(
    frame: pl.DataFrame, outcome: str, factors: Mapping[str, Sequence[str]], level: float
) -> pl.DataFrame:
    """How far each way of asking moves the outcome from where it is as written, averaged over models and arms.

    Runs of different ways of asking have seeds of their own, so they are compared as independent groups (Welch t),
    each seed being one value.
    """
    rows: list[dict[str, Any]] = []
    for part, names in factors.items():
        for name in names:
            means = frame.group_by(name, "seed").agg(pl.col(outcome).mean())
            first, *others = frame[name].unique(maintain_order=True).to_list()
            base = means.filter(pl.col(name) == first)[outcome]
            for other in others:
                effect = difference(means.filter(pl.col(name) == other)[outcome], base, paired=False, level=level)
                rows.append({"part": part, "way": str(other), "versus": str(first)} | _effect_fields(effect))
    table = pl.DataFrame(rows, schema=dict.fromkeys(("part", "way", "versus"), pl.String) | _EFFECT_SCHEMA)
    return (
        table.with_columns(p_adjusted=pl.Series(adjust(table["p"]), dtype=pl.Float64).fill_nan(None)) if rows else table
    )


@dataclass(frozen=True)
class StructureVerdict:
    """The verdict as values and in words.

    Attributes:
        ordering: Whether the ordering of arms holds in all models, does not in some, or is undecided; `none` where no
            model orders the arms.
        level: Whether models agree on the level: `holds`, `does not hold`, `undecided`, or `none` for one model.
        models: For each model, whether the ordering holds.
        twin: Whether it holds in the rule twin; None without one.
        sentences: The verdict, sentence by sentence; the first is the summary.
    """

    ordering: HoldsOrNone
    level: HoldsOrNone
    models: dict[str, Holds]
    twin: Holds | None
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def structure_verdict(
    outcome: str,
    structure: Sequence[str],
    arms: Sequence[str],
    table: pl.DataFrame,
    asking: Mapping[str, pl.DataFrame],
    differences: pl.DataFrame,
    shifts: pl.DataFrame,
    margin: float | None,
) -> StructureVerdict:
    """The verdict from the tables of a study.

    Args:
        outcome: The name of the outcome.
        structure: The parameters that make the arms.
        arms: The arms, in declared order.
        table: Orderings by `mind`, the rule twin among them.
        asking: Orderings over all models, by `way`, for each part of the way of asking.
        differences: Differences between models, from `model_differences`.
        shifts: From `asking_shifts`.
        margin: The largest difference of levels that does not matter.
    """
    models = [mind for mind in table["mind"].unique(maintain_order=True) if mind != TWIN]
    consensus = Consensus.of(table, "mind", models)
    standing = {mind: consensus.status[mind] for mind in models}
    level = _level_status(differences)
    count = f"{len(models)} model{'s' if len(models) > 1 else ''}"
    if not consensus.pairs:
        ordering: HoldsOrNone = "none"
        sentence = f"No model orders the arms: none of their comparisons of {outcome} is decided in any of {count}"
        endings = {"holds": "; levels agree", "does not hold": "; levels differ"}
    else:
        by_status = {status: [m for m in models if standing[m] == status] for status in standing.values()}
        against, undecided = by_status.get("does not hold"), by_status.get("undecided")
        ordering = "does not hold" if against else "undecided" if undecided else "holds"
        sentence = f"The ordering of arms holds in {len(by_status.get('holds', []))} of {count}"
        sentence += f", is contradicted in {', '.join(against)}" if against else ""
        sentence += f", is undecided in {', '.join(undecided)}" if undecided else ""
        endings = {
            "holds": "; so does the level",
            "does not hold": "; the level does not",
            "undecided": "; the level is undecided",
        }
    sentence += endings.get(level, "") + "."
    sentences = [sentence]
    if consensus.pairs:
        sentences.append(_ordering_sentence(outcome, structure, arms, consensus))
    sentences += _level_sentences(differences, level, margin)
    twin = consensus.status.get(TWIN) if consensus.pairs else None
    if twin is not None:
        sentences.append(_TWIN_WORDS[twin])
    for part, ways in asking.items():
        if consensus.pairs and ways.height:
            sentences.append(_asking_sentence(part, ways, consensus))
    for part in shifts["part"].unique(maintain_order=True):
        row = max(shifts.filter(pl.col("part") == part).iter_rows(named=True), key=lambda row: abs(row["effect"]))
        sentences.append(
            f"{part.capitalize()} {'move' if ' and ' in part else 'moves'} "
            f"the mean most under {row['way']}: {_interval_text(row)}."
        )
    return StructureVerdict(ordering, level, standing, twin, tuple(sentences))


_TWIN_WORDS: dict[Holds, str] = {
    "holds": "The rule twin orders the arms in the same way: the structure is enough for it, without any model.",
    "does not hold": "The rule twin orders the arms in another way: the ordering comes from the models' answers.",
    "undecided": "The rule twin does not decide the ordering.",
}


def _level_status(differences: pl.DataFrame) -> HoldsOrNone:
    if not differences.height:
        return "none"
    verdicts = set(differences["verdict"])
    return "does not hold" if "different" in verdicts else "holds" if verdicts == {"equivalent"} else "undecided"


def _level_sentences(differences: pl.DataFrame, level: str, margin: float | None) -> list[str]:
    if level == "none":
        return []
    row = max(differences.iter_rows(named=True), key=lambda row: abs(row["effect"]))
    models = f"{row['model']} and {row['versus']} at {row['arm']}, {_interval_text(row)}"
    if level == "holds":
        return [f"Models agree within ±{margin:g}; they are furthest apart in {models}."]
    reason = "" if margin is not None or level == "does not hold" else "; without a margin, agreement cannot be shown"
    return [f"Models are furthest apart in {models}{reason}."]


def _interval_text(row: Mapping[str, Any]) -> str:
    if row["low"] is None:
        return f"{row['effect']:+.2g} in every run"
    return f"{row['effect']:+.2g} [{row['low']:+.2g}, {row['high']:+.2g}]"


def _ordering_sentence(outcome: str, structure: Sequence[str], arms: Sequence[str], consensus: Consensus) -> str:
    ways = set(consensus.pairs.values())
    if len(structure) == 1 and len(ways) == 1 and len(consensus.pairs) == math.comb(len(arms), 2):
        verb = "rises" if ways == {"up"} else "falls"
        return f"That ordering: {outcome} {verb} with {structure[0]} ({', '.join(arms)})."
    comparisons = [f"{one} {'<' if way == 'up' else '>'} {two}" for (one, two), way in consensus.pairs.items()]
    return f"That ordering, in {outcome}: {'; '.join(comparisons[:6])}{'; …' if len(comparisons) > 6 else ''}."


def _asking_sentence(part: str, ways: pl.DataFrame, consensus: Consensus) -> str:
    status = {way: _status(consensus.pairs, mine) for way, mine in _directions(ways, "way").items()}
    holding = sum(each == "holds" for each in status.values())
    reversed_ways = [way for way, each in status.items() if each == "does not hold"]
    tail = f"; it turns round under {', '.join(reversed_ways)}" if reversed_ways else ""
    return f"Over all models it holds under {holding} of {len(status)} ways of {part}{tail}."
