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
    evidence["alike"] = _commonest_share(valid)
    prompts_asked = _answered_prompts(prompts, answers)
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
    """The prompts sent to a model, with the number of people that each answered for, and the first answer."""
    if not prompts.height:
        return prompts
    people = answers.group_by(*_PLACE, "told").agg(people=pl.len(), said=pl.first("value"))
    return prompts.join(people, on=_PLACE, how="inner", maintain_order="left")


def _commonest_share(valid: pl.DataFrame) -> dict[str, Any] | None:
    """The share of the commonest answer where several people are first asked the same."""
    sizes = valid.group_by("step", "ask", maintain_order=True).agg(
        n=pl.len(), most=pl.col("value").value_counts().struct.field("count").max()
    )
    first = sizes.filter(pl.col("n") >= _ENOUGH_PEOPLE).head(1)
    return {"share": first["most"][0] / first["n"][0], "n": first["n"][0]} if first.height else None


def _question(question: dict[str, Any], valid: pl.DataFrame, prompts: pl.DataFrame) -> dict[str, Any]:
    """One question: counts of its values, mean and entropy of the distributions, and the effect of the order."""
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
    }
    scored = scored_prompts(prompts) if prompts.height else prompts
    if scored.height:
        each, weights = distribution_matrix(scored["probabilities"]), scored["people"].to_numpy()
        summary["means"] = np.average(each, axis=0, weights=weights).tolist()
        summary["entropy"] = float(np.average(_entropy(each), weights=weights))
        summary["first"] = place_effect(each, scored["arrangement"], weights)
    elif prompts.height:
        answered = prompts.filter(pl.col("said").is_not_null())
        if answered.height:
            each = (np.array(values)[None, :] == answered["said"].cast(pl.String).to_numpy()[:, None]).astype(float)
            summary["first"] = place_effect(each, answered["arrangement"], answered["people"].to_numpy())
    return summary


def scored_prompts(prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts that were answered with a distribution over the options."""
    return prompts.filter(pl.col("probabilities").is_not_null() & (pl.col("status") == "ok"))


def place_effect(each: Floats, arrangements: pl.Series, weights: npt.NDArray[Any]) -> dict[str, float] | None:
    """How much more probable an option is when it is shown first, on average over options; None for one order only."""
    first = arrangements.str.split(" ").list.first().cast(pl.Int64).to_numpy()
    shifts = []
    for option in range(each.shape[1]):
        on_top = first == option
        if on_top.any() and not on_top.all():
            first_mean = np.average(each[on_top, option], weights=weights[on_top])
            shifts.append(first_mean - np.average(each[~on_top, option], weights=weights[~on_top]))
    return {"shift": float(np.mean(shifts)), "n": int(weights.sum())} if shifts else None


def _persona(
    profile: str, prompts: pl.DataFrame, answers: pl.DataFrame
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The mean distance between personas in the same situation, and how stable each person's deviation is."""
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
    deviations = each - means[group]
    shift = {"kind": "traits", "shift": float(np.abs(deviations).sum(axis=1).mean() / 2), "n": scored.height}
    return shift, _persona_stability(scored.select(*_PLACE, away=pl.Series(deviations[:, 0])), answers)


def _persona_stability(deviations: pl.DataFrame, answers: pl.DataFrame) -> dict[str, Any] | None:
    """The correlation of people's deviations from others in the first and in the second half of a run."""
    people = answers.join(deviations, on=_PLACE, how="inner").select("step", "person", "away")
    middle = people["step"].median()
    halves = people.group_by("person", late=pl.col("step") > middle).agg(pl.col("away").mean())
    wide = halves.filter(~pl.col("late")).join(halves.filter("late"), on="person")
    if wide.height < _ENOUGH_PEOPLE:
        return None
    early, late = wide["away"].to_numpy(), wide["away_right"].to_numpy()
    if min(early.std(), late.std()) < 1e-9:
        return None
    return {"r": float(np.corrcoef(early, late)[0, 1]), "n": wide.height}


def distribution_matrix(lists: pl.Series) -> Floats:
    """Lists of probabilities as a matrix with one distribution in each row."""
    return np.array(lists.to_list(), dtype=np.float64)


def _entropy(each: Floats) -> Floats:
    """The entropy of distributions, one in each row, as a share of the largest possible."""
    logs = np.log(each, where=each > 0, out=np.zeros_like(each))
    spread: Floats = -(each * logs).sum(axis=1) / np.log(each.shape[1])
    return spread
