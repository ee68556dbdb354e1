"""The content of the report of a single run."""

import json
import shlex
from collections.abc import Iterator, Sequence

import polars as pl

from populace.base.errors import PopulaceError
from populace.base.foreign import for_shell
from populace.base.formatting import plural
from populace.engine.replay import scenario_class
from populace.engine.report_table import ReportTable
from populace.experiments.reports import figures
from populace.experiments.reports.blocks import Block, Card, Code, Facts, Figure, Heading, Prose, Table
from populace.experiments.reports.document import Report
from populace.experiments.validation import ValidityCard
from populace.runs.overview import overview
from populace.runs.reader import RunReader
from populace.runs.settings_text import origin_rows, settings_rows


def run_report(run: RunReader, card: ValidityCard, findings: Sequence[ReportTable] = ()) -> Report:
    """Settings, metrics, tables of the scenario and further ones, validity card, how to repeat it, manifest."""
    manifest = run.manifest
    status = manifest.status
    origin = f"A run with Populace, begun {manifest.created[:10]}. {status.state.capitalize()}: {status.reason}."
    lead = (Heading(run.name, 1), Prose([origin], kind="soft"))
    summary_facts = overview(run)
    size = f"{plural(summary_facts.steps, 'step')}, {plural(summary_facts.people, 'person', 'people')}"
    counts = f"{size}; answers: {summary_facts.statuses_text}."
    summary = (Prose([counts, f"Validity: {card.verdict}"]),)
    settings = (Heading("Settings"), Facts(settings_rows(run)))
    validity = (Heading("Validity card"), Card(card))
    body: list[Block] = [*settings, *_metrics(run), *_findings(run), *_tables(findings), *validity, *_repeat(run)]
    return Report(run.name, lead, summary, tuple(body), card)


def _metrics(run: RunReader) -> Iterator[Block]:
    metrics = run.metrics
    yield Heading("Metrics")
    for name in metrics.columns:
        if name == "step" or not metrics[name].dtype.is_numeric() or metrics[name].null_count() == metrics.height:
            continue
        table = metrics.select("step", pl.col(name).alias("mean")).drop_nulls()
        table = table.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
        svg = figures.paths({run.name: table}, name.replace("_", " "), name=f"metric-{name}")
        yield Figure(f"metric-{name}", svg, f"{name} over the steps of this one run.")
    yield Table(metrics, f"Metrics, {plural(metrics.height, 'step')}", folded=metrics.height > 15)


def _findings(run: RunReader) -> Iterator[Block]:
    try:
        tables = scenario_class(run).report(run)
    except PopulaceError as error:
        yield Prose([f"The scenario itself has nothing to add: {error.what}"])
        return
    yield from _tables(tables)


def _tables(tables: Sequence[ReportTable]) -> Iterator[Block]:
    for table in tables:
        yield Heading(table.title, 3)
        yield Table(table.table)
        if table.note:
            yield Prose([table.note])


def _repeat(run: RunReader) -> Iterator[Block]:
    manifest, regime = run.manifest, run.manifest.regimes[0]
    yield Heading("How to repeat it")
    if manifest.parent is not None or manifest.interventions:
        yield Prose(["This run forked or was intervened in; its manifest below says how. Replaying needs no model:"])
        yield Code(f"populace replay {for_shell(run.name)}\n")
    else:
        words = ["populace", "run", manifest.scenario, "--seed", str(regime.seed), "--model", regime.model]
        words += ["--temperature", f"{regime.temperature:g}"]
        words += ["--decider", regime.decider] if regime.decider != "model" else []
        for name, value in regime.parameters.items():
            flag = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            elif value is not None:
                words += [f"--{flag}", value if isinstance(value, str) else json.dumps(value)]
        yield Code(f"{shlex.join(words)}\npopulace report {for_shell(run.name)}\n")
    yield Heading("Manifest")
    yield Facts(origin_rows(run))
    yield Code(json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False), "The whole manifest")
