"""The content of the report of an experiment."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import yaml

from populace.base.errors import PopulaceError
from populace.base.foreign import for_shell
from populace.base.formatting import plural
from populace.engine.discovery import recorded_scenario
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace
from populace.experiments.outcomes import Outcome
from populace.experiments.plan import ExperimentPlan
from populace.experiments.planned import level_text, planned_effects
from populace.experiments.reports import figures
from populace.experiments.reports.blocks import Block, Card, Code, Facts, Figure, Heading, Prose, Table, cell
from populace.experiments.reports.document import Report
from populace.experiments.results import Results
from populace.experiments.validation import ValidityCard
from populace.runs.settings_text import decider_text
from populace.statistics import p_text
from populace.statistics.intervals import mean_band

_MAX_ROWS_DRAWN = 24
_MAX_SENTENCES = 6
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini and Hochberg", "bonferroni": "Bonferroni"}
_CARD_EXPLANATION = (
    "A check that passes says that nothing was found against the result in this respect, "
    "not that people would do the same. What was not measured is not passed."
)


def experiment_report(results: Results, card: ValidityCard) -> Report:
    """Question, design, figures, tables, card, failures, how to repeat it, manifest."""
    experiment = results.experiment
    lead: list[Block] = [Heading(results.name, 1)]
    if experiment.question:
        lead.append(Prose([experiment.question], kind="question"))
    when = results.folder.manifest.created[:10]
    lead.append(Prose([f"An experiment with Populace, begun {when}. {_state(results)}"], kind="soft"))
    first, *others = _findings(results)
    summary: list[Block] = [Prose([first]), *([Prose(others, bullets=True)] if others else [])]
    summary += [Prose([f"Validity: {card.verdict}", *(f"Warning: {text}" for text in card.warnings)])]
    body = [*_design(results), *_plan(results), *_outcomes(results), *_analyses(results), *_over_time(results)]
    body += [Heading("Validity card"), Prose([_CARD_EXPLANATION], kind="soft"), Card(card)]
    body += [*_failures(results), *_repeat(results), *_manifest(results)]
    return Report(results.name, tuple(lead), tuple(summary), tuple(body), card)


def _state(results: Results) -> str:
    state = f"{results.state.capitalize()}: {results.reason}." if results.reason else f"{results.state.capitalize()}."
    return f"{state} {plural(results.runs.height, 'run')}, {results.failures.height:,} failed."


def _findings(results: Results) -> list[str]:
    """The primary outcome in sentences."""
    name = results.experiment.primary.name
    try:
        if results.experiment.design.sampled:
            return [f"{name} over {len(results.folder.arms)} points: {_spread(results.runs[name])}."]
        if results.runs[name].dtype == pl.String:
            rows = results.probabilities(name).sort("probability", descending=True).head(_MAX_SENTENCES)
            return [f"{row['arm']}: {name} is {row[name]} in {_share(row)}" for row in rows.iter_rows(named=True)]
        effects = results.effects(name)
    except PopulaceError as error:
        return [f"No effect on {name} can be told: {error.what}"]
    first = effects.row(0, named=True)
    pairs = "pair by pair" if first["paired"] else "as independent runs"
    known = effects["baseline_mean"].drop_nulls()
    mean = f", with a mean {name} of {known[0]:.3g}" if known.len() else ""
    baseline = f"The baseline is {first['baseline']}{mean}"
    alpha = 1 - results.comparison(name).level
    sentences = [difference_sentence(row, alpha) for row in effects.head(_MAX_SENTENCES).iter_rows(named=True)]
    left = effects.height - _MAX_SENTENCES
    further = [f"{left} further comparisons stand below."] if left > 0 else []
    return [f"{baseline}; compared {pairs}:", *sentences, *further]


def difference_sentence(row: dict[str, Any], alpha: float) -> str:
    """A comparison in words; a difference is one after the correction for all comparisons."""
    if row["effect"] is None:
        return f"{row['warning'] or row['arm'] + ' cannot be compared'}."
    if row["low"] is None or row["high"] is None:
        return (
            f"{row['arm']}: {row['effect']:+.3g}, without an interval: {row['warning'] or 'the values are too large'}."
        )
    interval = f"[{row['low']:.3g}, {row['high']:.3g}], n = {row['n']}"
    mark = f" ({row['planned']})" if row["planned"] in ("added after data", "not planned") else ""
    p = row["p_adjusted"]
    if p is None or p >= alpha:
        text = f"{row['arm']}: no difference that can be told from chance, {row['effect']:.3g} {interval}"
        corrected = not row["low"] <= 0 <= row["high"]
        return f"{text}, adjusted p {p_text(p, equals='= ')}{mark}." if corrected else f"{text}{mark}."
    way = "higher" if row["effect"] > 0 else "lower"
    return f"{row['arm']}: {way}, {row['effect']:+.3g} {interval}, adjusted p {p_text(p, equals='= ')}{mark}."


def _design(results: Results) -> Iterator[Block]:
    experiment = results.experiment
    yield Heading("Design")
    seeds = "replicates share their seed across arms, so that arms are compared pair by pair"
    if experiment.fork_at:
        seeds = f"arms share their history up to step {experiment.fork_at - 1}, and are compared pair by pair"
    elif not experiment.pairing:
        seeds = "every run has a seed of its own"
    scenario = scenario_of(results)
    rows = [("scenario", f"{experiment.scenario}: {scenario.summary()}" if scenario else experiment.scenario)]
    for factor in experiment.factors.values():
        levels = f"{factor.low:g} to {factor.high:g}" if factor.low is not None else ", ".join(map(cell, factor.names))
        rows.append((f"factor {factor.name}", levels))
    fixed = ", ".join(f"{name} = {cell(value)}" for name, value in experiment.parameters.items())
    arms = results.folder.arms
    models = dict.fromkeys(decider_text(arm.decider, arm.model) for arm in arms)
    heat = dict.fromkeys(f"{arm.temperature:g}" for arm in arms if arm.decider == "model")
    rows += [
        ("held fixed", fixed or "all other parameters at their defaults"),
        ("decided by", ", ".join(models) + (f", temperature {', '.join(heat)}" if heat else "")),
        ("design", f"{experiment.design.kind}, {plural(len(arms), 'arm')}"),
        ("replicates", f"{results.folder.manifest.replicates or experiment.replicates} in each arm; {seeds}"),
    ]
    rows += [(f"outcome {outcome.name}", outcome_meaning(outcome, results)) for outcome in experiment.outcomes]
    yield Facts(rows)
    yield Table(results.arms, "Arms, with what their runs used", folded=results.arms.height > _MAX_ROWS_DRAWN)


def _plan(results: Results) -> Iterator[Block]:
    """The analysis plan, and what of it was planned before there were data."""
    yield Heading("Analysis plan")
    plans = results.folder.manifest.plans
    if not plans:
        yield Prose(["No analysis plan was frozen: all comparisons below are exploratory."])
        return
    rows = [(f"plan {plan.hash}", f"frozen {plan.when}") for plan in plans]
    for contrast in plans[0].plan.contrasts:
        what = f"levels of {contrast.factor}" if contrast.factor else "arms"
        of, baseline = contrast.of or "all others", contrast.baseline or "the first"
        rows.append((f"planned on {contrast.outcome}", f"{what}: {of} against {baseline}"))
    holding = results.analysis_plan or plans[0]
    rows.append(("alpha", f"{holding.plan.alpha:g}, {holding.plan.correction}, {holding.plan.method}"))
    looks = ", ".join(map(str, holding.plan.looks)) or "one, at the end"
    excluded = "; ".join(str(each.model_dump(exclude_none=True)) for each in holding.plan.exclusions) or "none"
    rows += [("looks at replicates", looks), ("runs excluded", excluded)]
    yield Facts(rows)
    counts: dict[str, int] = {}
    for outcome in results.experiment.outcomes:
        try:
            statuses = results.effects(outcome.name)["planned"]
        except PopulaceError:
            continue
        for status in statuses:
            counts[status] = counts.get(status, 0) + 1
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    planned = planned_effects(results)
    caption = (
        f"The comparisons of the plan, with {level_text(results)} intervals; p adjusted for those on one outcome "
        f"({_CORRECTIONS[holding.plan.correction]}); low_all to high_all hold for all of them together"
    )
    yield Table(planned.drop("warning"), caption)
    yield from _notes(planned)
    yield Prose([f"Of the comparisons of arms below: {told or 'none can be made'}."])


def scenario_of(results: Results) -> type[Scenario] | None:
    """The scenario of an experiment; None where its code is not trusted or not there."""
    trusted = Workspace(results.folder.path.parent.parent).trusted
    try:
        return recorded_scenario(results.experiment.scenario, trusted, results.name)
    except PopulaceError:
        return None


def outcome_meaning(outcome: Outcome, results: Results) -> str:
    """An outcome in words, from the docstring of its metric where the scenario's code is trusted."""
    when = f"at step {outcome.at}" if outcome.at is not None else "at the end of a run"
    if outcome.metric is not None:
        scenario = scenario_of(results)
        metric = scenario.metrics().get(outcome.metric) if scenario else None
        meaning = (getattr(metric, "__doc__", None) or "").split("\n\n")[0]
        meaning = " ".join(meaning.split()).rstrip(".") or outcome.metric.replace("_", " ")
        return f"{meaning}; {outcome.over} over the steps" if outcome.over else f"{meaning}, {when}"
    if outcome.answer is not None:
        during = when if outcome.at is not None else "over all steps"
        return f"the share of valid answers that are {outcome.answer}, {during}"
    return f"by {outcome.measure}"


def _outcomes(results: Results) -> Iterator[Block]:
    for place, outcome in enumerate(results.experiment.outcomes):
        primary = ", the primary outcome" if outcome == results.experiment.primary else ""
        yield Heading(f"Outcome: {outcome.name}{primary}")
        yield Prose([f"{outcome_meaning(outcome, results).capitalize()}."])
        try:
            yield from _outcome(results, outcome, f"outcome-{place + 1}")
        except PopulaceError as error:
            yield Prose([f"Nothing can be told of {outcome.name}: {error.what}"])


def _analyses(results: Results) -> Iterator[Block]:
    """What was asked of all runs together, in sentences and as a table."""
    for analysis, table in zip(results.experiment.analyses, results.analyses().values(), strict=True):
        others = [name for name in results.experiment.factors if name != analysis.factor]
        yield Heading(f"Analysis: {analysis.name}")
        sentences = []
        for row in table.iter_rows(named=True):
            levels = ", ".join(f"{name}={cell(row[name])}" for name in others)
            sentences.append(f"{levels}: {analysis.sentence(row)}" if levels else analysis.sentence(row))
        yield Prose(sentences, bullets=len(sentences) > 1)
        yield Table(table.drop("note"), f"{analysis.name}, 95 % intervals from drawing runs anew")


def _outcome(results: Results, outcome: Outcome, key: str) -> Iterator[Block]:
    name = outcome.name
    if results.runs[name].dtype == pl.String:
        yield from _text_outcome(results, name, key)
        return
    table = results.outcome(name)
    axis = f"{name.replace('_', ' ')} ({_unit(results.runs[name])})"
    if results.experiment.design.sampled:
        for factor in results.experiment.factors:
            svg = figures.scatter(results.runs, factor, name, axis, name=f"{key}-{factor}")
            yield Figure(f"{key}-{factor}", svg, f"{name} against {factor}. A dot is a run; n = {results.runs.height}.")
        return
    dots = {arm: results.runs.filter(pl.col("arm") == arm)[name].drop_nulls().to_list() for arm in table["arm"]}
    rows = _interval_rows(table, "mean", dots=dots)
    caption = f"{name} by arm. A dot is a run (a seed); the diamond is the mean, the bar its 95 % interval."
    yield Figure(key, figures.intervals(rows, axis, name=key), caption)
    meaning = "mean, 95 % interval, standard deviation, runs, missing values and the bounds they leave, share failed"
    yield Table(table.drop("seeds", "warning"), f"{name} by arm: {meaning}")
    yield from _notes(table)
    if outcome.time:
        caption = f"{name}: runs in which it had not happened are censored, not dropped; p of the log-rank test"
        yield Table(results.survival(name).drop("seeds"), caption)
    if table.height > 1:
        yield from _effects(results, name, f"{key}-effects", axis)


def _effects(results: Results, name: str, key: str, axis: str) -> Iterator[Block]:
    effects = results.effects(name)
    first = effects["baseline"][0]
    rows = _interval_rows(effects, "effect")
    how = "paired by replicate" if effects["paired"][0] else "independent runs"
    settings = results.comparison(name)
    caption = f"Effects: every arm minus {first}, {how}. The bar is the {level_text(results)} interval; "
    caption += "where it includes 0, chance alone would do."
    yield Figure(key, figures.intervals(rows, f"difference in {axis}", name=key, zero=True), caption)
    names = "arm planned mean effect low high p p_adjusted low_all high_all standardised n missing bound_low bound_high"
    columns = effects.select(*names.split(), "failed")
    many = f"p adjusted for {plural(effects.height, 'comparison')} ({_CORRECTIONS[settings.correction]}); "
    many += "low_all to high_all hold for all together"
    kind = effects["standardised_as"][0]
    yield Table(columns, f"Effects on {name} against {first}; {many}; standardised by {kind}")
    yield from _notes(effects)


def _notes(table: pl.DataFrame) -> Iterator[Block]:
    """What the warnings of a table say, each once."""
    texts = dict.fromkeys(part for text in table["warning"] if text for part in text.split("; "))
    if texts:
        yield Prose([f"Note: {text}." for text in texts], bullets=True)


def _text_outcome(results: Results, name: str, key: str) -> Iterator[Block]:
    table = results.probabilities(name)
    rows = _interval_rows(table.with_columns(pl.format("{}: {}", "arm", name).alias("arm")), "probability")
    caption = "How often a run ended so. The bar is the 95 % interval (mid-P)."
    yield Figure(key, figures.intervals(rows, "share of runs", name=key), caption)
    yield Table(table.drop("seeds"), f"{name}: how often each end came about")


def _over_time(results: Results) -> Iterator[Block]:
    """Means of metrics over the steps, with a confidence band over seeds."""
    arms = results.folder.arms
    if results.experiment.design.sampled:
        return
    metrics = list(dict.fromkeys(name for row in results.rows for name in row.get("paths", {})))
    if metrics:
        yield Heading("Over time")
    for name in metrics:
        lines = {}
        for arm in arms[: figures.MOST_LINES]:
            paths = [row["paths"][name] for row in results.rows if row["arm"] == arm.number and "paths" in row]
            lines[arm.name] = mean_band([path for path in paths if path])
        lines = {arm: table for arm, table in lines.items() if table.height}
        if lines:
            omission = f" The first {len(lines)} of {len(arms)} arms are drawn." if len(arms) > len(lines) else ""
            svg = figures.paths(lines, f"{name.replace('_', ' ')}", name=f"path-{name}")
            caption = f"{name} over the steps: the mean over runs, with its 95 % interval as a band.{omission}"
            yield Figure(f"path-{name}", svg, caption)


def _failures(results: Results) -> Iterator[Block]:
    yield Heading("Failures")
    if not results.failures.height:
        yield Prose([f"None of {plural(results.runs.height, 'run')} failed."])
        return
    yield Prose(["These runs ended with an error and are in no figure above."])
    yield Table(results.failures, f"{results.failures.height} failed runs", folded=results.failures.height > 10)


def _repeat(results: Results) -> Iterator[Block]:
    experiment = results.experiment
    file = f"{experiment.name}.yaml"
    yield Heading("How to repeat it")
    yield Prose([f"Save this as {file}:"])
    yield Code(experiment_yaml(experiment))
    yield Prose(["Then run it, and write this report again:"])
    yield Code(f"populace experiment {for_shell(file)}\npopulace report {for_shell(results.name)}\n")
    digest = results.digest
    yield Prose([f"The same scenario, models and versions give the same table of runs; its digest is {digest}."])
    columns = [name for name in results.runs.columns if name not in ("run", "failure")]
    yield Table(results.runs.select(columns), f"All runs ({results.runs.height:,})", folded=True)


def _manifest(results: Results) -> Iterator[Block]:
    manifest = results.folder.manifest
    yield Heading("Manifest")
    yield Facts([("begun", manifest.created), *sorted(manifest.environment.items()), ("table of runs", results.digest)])
    yield Code(json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False), "The whole manifest")


def experiment_yaml(experiment: ExperimentPlan) -> str:
    """An experiment as the shortest YAML file that makes it."""
    changed: dict[str, Any] = {}
    for name, value in experiment.data().items():
        default = type(experiment).model_fields[name].get_default(call_default_factory=True)
        default_data = default.model_dump(mode="json") if hasattr(default, "model_dump") else default
        if value != default_data:
            changed[name] = value
    for name in ("design", "stop"):
        if name in changed:
            changed[name] = {key: value for key, value in changed[name].items() if value is not None}
    changed["outcomes"] = [_shortest_outcome(outcome) for outcome in experiment.outcomes]
    if experiment.analyses:
        changed["analyses"] = [analysis.name for analysis in experiment.analyses]
    order = ("name", "question", "scenario", "factors")
    ordered = {name: changed.pop(name) for name in order if name in changed} | changed
    return yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)


def _shortest_outcome(outcome: Outcome) -> Any:
    try:
        if Outcome.read(outcome.name) == outcome:
            return outcome.name
    except PopulaceError:
        pass  # a name of its own: the outcome is written out
    return outcome.model_dump(mode="json", exclude_defaults=True)


def _unit(values: pl.Series) -> str:
    known = values.drop_nulls()
    return "from 0 to 1" if known.len() and known.is_between(0, 1).all() else "in the scenario's own unit"


def _interval_rows(
    table: pl.DataFrame, value: str, dots: Mapping[str, Sequence[float]] | None = None
) -> list[figures.IntervalRow]:
    """The first rows of a table as rows of a figure; `value` is the column of the estimate."""
    rows = []
    for arm, estimate, low, high, n in table.select("arm", value, "low", "high", "n").head(_MAX_ROWS_DRAWN).iter_rows():
        interval = "" if low is None or high is None else f" [{low:.3g}, {high:.3g}]"
        note = f"n = {n}" if estimate is None else f"{estimate:.3g}{interval}, n = {n}"
        rows.append(figures.IntervalRow(arm, estimate, low, high, note, (dots or {}).get(arm, ())))
    return rows


def _share(row: dict[str, Any]) -> str:
    return f"{row['probability']:.2f} [{row['low']:.2f}, {row['high']:.2f}] of runs, n = {row['n']}."


def _spread(values: pl.Series) -> str:
    known = values.drop_nulls()
    if known.dtype == pl.String or not known.len():
        return f"{plural(known.n_unique(), 'different end')} in {plural(known.len(), 'run')}"
    numbers = known.to_numpy()
    return f"from {numbers.min():.3g} to {numbers.max():.3g}, mean {numbers.mean():.3g}, n = {known.len()}"
