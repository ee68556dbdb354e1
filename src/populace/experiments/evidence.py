"""Evidence for the validity card: a few figures of every run, stored in its row because its tables are not kept.

Every run stores counts, and the values of its outcomes' metrics step by step. A few runs of every arm, the witnesses,
also store what their questions, prompts and answers show.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.experiments.outcomes import Outcome
from populace.questions import VALID
from populace.runs.caveats import result_counts
from populace.runs.reader import RunReader

Evidence = dict[str, Any]
Floats = npt.NDArray[np.float64]

WITNESSES = 5
"""The number of runs of an arm whose answers are examined."""
_MAX_WITNESSES = 200
_MAX_QUESTIONS = 12
_MAX_POINTS = 200
_ENOUGH_PEOPLE = 5
_ROUNDS = 50
_FIELD = re.compile(r"\{(\w+)")
_PLACE = ["step", "ask", "prompt"]


def is_witness(arm: int, replicate: int) -> bool:
    """Whether the answers of this run are examined."""
    return replicate < WITNESSES and arm * WITNESSES + replicate < _MAX_WITNESSES


def run_evidence(run: RunReader, outcomes: Sequence[Outcome], *, witness: bool) -> Evidence:
    """The part of a run's row that the validity card needs.

    Args:
        run: The run.
        outcomes: The outcomes whose metrics are stored step by step.
        witness: Whether its answers are examined.
    """
    evidence: Evidence = {"facts": result_counts(run)}
    if run.manifest.status.notes:
        evidence["notes"] = list(run.manifest.status.notes)
    names = list(dict.fromkeys(outcome.metric for outcome in outcomes if outcome.metric is not None))
    evidence["paths"] = metric_paths(run, names)
    if witness:
        try:
            evidence["evidence"] = evidence_of(run)
        except Exception as error:  # noqa: BLE001 - a run that cannot be judged is still a run; the card says so.
            evidence["evidence"] = {"failed": f"{type(error).__name__}: {error}"}
    return evidence


def metric_paths(run: RunReader, names: Sequence[str]) -> dict[str, list[list[float | None]]]:
    """Metrics over the steps, each as a list of steps and a list of values; at most 200 of them."""
    metrics = run.metrics
    numeric = [name for name in names if name in metrics.columns and metrics[name].dtype.is_numeric()]
    last = metrics.height - 1
    if last >= _MAX_POINTS:
        metrics = metrics[[round(place * last / (_MAX_POINTS - 1)) for place in range(_MAX_POINTS)]]
    return {name: [metrics["step"].to_list(), metrics[name].to_list()] for name in numeric}


def evidence_of(run: RunReader) -> Evidence:
    """What the questions, prompts and answers of a run show, as plain data."""
    asks, answers, prompts = (_all(run, name) for name in ("asks", "answers", "prompts"))
    evidence: Evidence = {"questions": [], "mass": None, "asked": 0, "persona": None, "lasting": None, "alike": None}
    if not answers.height:
        return evidence
    asks = asks.with_columns(told=pl.col("question").rank("dense"))
    answers = answers.join(asks.select("step", "ask", "told"), on=["step", "ask"], maintain_order="left")
    valid = answers.filter(pl.col("status").cast(pl.String).is_in(list(VALID)))
    prompts_asked = _answered_prompts(prompts, answers)
    evidence["alike"] = _commonest_share(valid, prompts_asked)
    if prompts_asked.height:
        evidence["asked"] = int(prompts_asked["people"].sum())
        known = prompts_asked.drop_nulls("mass")
        evidence["mass"] = float(np.average(known["mass"], weights=known["people"])) if known.height else None
    kinds = asks.group_by("told", maintain_order=True).agg(pl.first("question", "profile"), pl.sum("people"))
    for row in kinds.sort("people", descending=True, maintain_order=True).head(_MAX_QUESTIONS).iter_rows(named=True):
        question = json.loads(row["question"])
        if "values" in question:
            mine = prompts_asked.filter(pl.col("told") == row["told"]) if prompts_asked.height else prompts_asked
            evidence["questions"].append(_question(question, valid.filter(pl.col("told") == row["told"]), mine))
            if evidence["persona"] is None and mine.height:
                evidence["persona"], evidence["lasting"] = _persona(row["profile"], mine, answers)
    return evidence


def _all(run: RunReader, name: str) -> pl.DataFrame:
    tables = [(step, run.record.table(step, name)) for step in run.steps]
    parts = [table.with_columns(step=pl.lit(step, pl.Int64)) for step, table in tables if table is not None]
    return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()


def _answered_prompts(prompts: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """The prompts sent to a model, with the number of people that each answered for."""
    if not prompts.height:
        return prompts
    people = answers.group_by(*_PLACE, "told").agg(people=pl.len())
    return prompts.join(people, on=_PLACE, how="inner", maintain_order="left")


def _commonest_share(valid: pl.DataFrame, prompts: pl.DataFrame) -> dict[str, Any] | None:
    """The share of the commonest answer where several people are first asked the same.

    Where a model gave distributions it is the mean probability of that answer, with its error over people.
    """
    sizes = valid.group_by("step", "ask", maintain_order=True).agg(
        n=pl.len(), most=pl.col("value").value_counts().struct.field("count").max()
    )
    first = sizes.filter(pl.col("n") >= _ENOUGH_PEOPLE).head(1)
    if not first.height:
        return None
    share: dict[str, Any] = {"share": first["most"][0] / first["n"][0], "n": first["n"][0]}
    if prompts.height:
        asked = scored_prompts(prompts.join(first.select("step", "ask"), on=["step", "ask"], how="semi"))
        if asked.height and asked["people"].sum() >= first["n"][0]:
            each, weights = distribution_matrix(asked["probabilities"]), asked["people"].to_numpy()
            means = np.average(each, axis=0, weights=weights)
            spread = each[:, means.argmax()] - means.max()
            people = int(weights.sum())
            error = float(np.sqrt((weights * spread**2).sum() / max(1, people - 1) / people))
            share |= {"share": float(means.max()), "error": error, "people": people}
    return share


def _question(question: dict[str, Any], valid: pl.DataFrame, prompts: pl.DataFrame) -> dict[str, Any]:
    """One question: counts of its values, mean and entropy of the distributions, the effect of the order of options.

    `opening` is the mean when the question was first asked, before people could influence each other.
    """
    values = [str(value) for value in question["values"]]
    counts = dict(valid.group_by(pl.col("value").cast(pl.String)).len().iter_rows())
    summary: dict[str, Any] = {
        "text": question["text"],
        "values": values,
        "words": [str(word) for word in question["words"]],
        "counts": [counts.get(value, 0) for value in values],
        "labels": bool(prompts.height and prompts["labels"].any()),
        "means": None,
        "entropy": None,
        "first": None,
        "opening": None,
    }
    scored = scored_prompts(prompts) if prompts.height else prompts
    if scored.height:
        each, weights = distribution_matrix(scored["probabilities"]), scored["people"].to_numpy()
        summary["means"] = np.average(each, axis=0, weights=weights).tolist()
        summary["entropy"] = float(np.average(_entropy(each), weights=weights))
        summary["first"] = place_effect(each, scored["arrangement"], weights, scored["system"])
        opening = (scored["step"] == scored["step"].min()).to_numpy()
        summary["opening"] = np.average(each[opening], axis=0, weights=weights[opening]).tolist()
    elif prompts.height:
        orders = prompts.select(*_PLACE, "arrangement").unique(_PLACE, keep="first", maintain_order=True)
        answered = valid.join(orders, on=_PLACE, how="inner", maintain_order="left")
        if answered.height:
            said = answered["value"].cast(pl.String).to_numpy()
            each = (np.array(values)[None, :] == said[:, None]).astype(float)
            summary["first"] = place_effect(each, answered["arrangement"], np.ones(len(each)), answered["person"])
            opening = (answered["step"] == answered["step"].min()).to_numpy()
            summary["opening"] = each[opening].mean(axis=0).tolist()
    return summary


def scored_prompts(prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts that were answered with a distribution over the options."""
    return prompts.filter(pl.col("probabilities").is_not_null() & (pl.col("status") == "ok"))


def place_effect(
    each: Floats, arrangements: pl.Series, weights: npt.NDArray[Any], owners: pl.Series
) -> dict[str, float] | None:
    """How much more probable an option is when it is shown first, on average over options; None for one order only.

    Args:
        each: A distribution over options, or an answer as 0 and 1, in each row.
        arrangements: The order of options in each row.
        weights: How many people a row stands for.
        owners: Who answered; the standard error counts what one of them said as one observation.
    """
    weights = weights.astype(np.float64)  # counts are unsigned, and half of them are taken as negative below
    first = arrangements.str.split(" ").list.first().cast(pl.Int64).to_numpy()
    shifts, influence = [], np.zeros(len(each))
    for option in range(each.shape[1]):
        on_top = first == option
        if on_top.any() and not on_top.all():
            means = [np.average(each[part, option], weights=weights[part]) for part in (on_top, ~on_top)]
            shifts.append(means[0] - means[1])
            share = np.where(on_top, weights / weights[on_top].sum(), -weights / weights[~on_top].sum())
            influence += share * (each[:, option] - np.where(on_top, *means))
    if not shifts:
        return None
    owner = owners.rank("dense").cast(pl.Int64).to_numpy() - 1
    people = int(owner.max()) + 1
    error = float(np.sqrt((np.bincount(owner, influence) ** 2).sum())) / len(shifts)
    error *= float(np.sqrt(people / (people - 1))) if people > 1 else float("inf")
    return {"shift": float(np.mean(shifts)), "n": int(weights.sum()), "error": error, "people": people}


def _persona(
    profile: str, prompts: pl.DataFrame, answers: pl.DataFrame
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The mean distance between personas in the same situation, and how much of a person's difference lasts."""
    fields = set(_FIELD.findall(profile))
    if fields <= {"name"}:
        return {"kind": "name" if fields else "none", "shift": None, "n": 0}, None
    scored = scored_prompts(prompts).unique(_PLACE, keep="first", maintain_order=True)
    scored = scored.filter(pl.col("system").n_unique().over("step", "ask", "user") > 1)
    if not scored.height:
        return {"kind": "apart", "shift": None, "n": 0}, None
    each = distribution_matrix(scored["probabilities"])
    group = scored.select(pl.struct("step", "ask", "user").rank("dense") - 1).to_series().to_numpy().astype(int)
    sizes = np.bincount(group)
    means = np.stack([np.bincount(group, column) / sizes for column in each.T], axis=1)
    distances = np.abs(each - means[group]).sum(axis=1) / 2
    shift = {"kind": "traits", "shift": float(distances.mean()), "n": scored.height}
    owner = scored["system"].rank("dense").cast(pl.Int64).to_numpy() - 1
    people = int(owner.max()) + 1
    spread = np.bincount(owner, distances - distances.mean())
    shift |= {"error": float(np.sqrt((spread**2).sum() * people / (people - 1))) / len(distances), "people": people}
    places = scored.select(*_PLACE).with_columns(row=np.arange(scored.height), group=group)
    return shift, _persona_stability(places, each, answers)


def _persona_stability(places: pl.DataFrame, each: Floats, answers: pl.DataFrame) -> dict[str, Any] | None:
    """How much of the way in which people differ early in a run is still there late: 1 all of it, 0 nothing.

    In each half of the run a person's difference is estimated beside those of the situations, so that it does not
    depend on who else was in a situation. The result is the slope of late on early differences over all options.
    """
    people = answers.join(places, on=_PLACE, how="inner").select("step", "person", "row", "group")
    late = (people["step"] > people["step"].median()).to_numpy()
    if late.all() or not late.any():
        return None
    who = people["person"].rank("dense").cast(pl.Int64).to_numpy() - 1
    rows, group = people["row"].to_numpy(), people["group"].to_numpy()
    both = np.intersect1d(who[late], who[~late])
    if len(both) < _ENOUGH_PEOPLE:
        return None
    early_part, late_part = (
        _person_effects(each[rows[half]], who[half], group[half], int(who.max()) + 1)[both] for half in (~late, late)
    )
    size = float((early_part**2).sum())
    if size < 1e-9 * len(both):
        return None
    slope = float((early_part * late_part).sum()) / size
    scores = (early_part * (late_part - slope * early_part)).sum(axis=1)
    error = float(np.sqrt((scores**2).sum() * len(both) / (len(both) - 1))) / size
    return {"slope": slope, "error": error, "n": len(both)}


def _person_effects(each: Floats, who: npt.NDArray[Any], group: npt.NDArray[Any], people: int) -> Floats:
    """What each person adds to the mean of their situations, by alternating least squares."""
    group = np.unique(group, return_inverse=True)[1]
    counts, sizes = np.maximum(np.bincount(who, minlength=people), 1), np.bincount(group)
    effect = np.zeros((people, each.shape[1]))
    for _ in range(_ROUNDS):
        rest = each - effect[who]
        situation = np.stack([np.bincount(group, column) / sizes for column in rest.T], axis=1)
        rest = each - situation[group]
        effect = np.stack([np.bincount(who, column, people) / counts for column in rest.T], axis=1)
        effect -= np.average(effect, axis=0, weights=np.bincount(who, minlength=people))
    return np.asarray(effect, dtype=np.float64)


def distribution_matrix(lists: pl.Series) -> Floats:
    """Lists of probabilities as a matrix with one distribution in each row."""
    return np.array(lists.to_list(), dtype=np.float64)


def _entropy(each: Floats) -> Floats:
    """The entropy of distributions, one in each row, as a share of the largest possible."""
    logs = np.log(each, where=each > 0, out=np.zeros_like(each))
    spread: Floats = -(each * logs).sum(axis=1) / np.log(each.shape[1])
    return spread
