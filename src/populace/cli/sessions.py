"""Commands about web sessions: making and checking them, reasoning traces, and the prediction of next actions."""

from pathlib import Path
from typing import Any

import click
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import percent, plural
from populace.cli.interruption import KEPT, repeatable_command
from populace.cli.options import call_options, call_settings, command, current_workspace, option
from populace.cli.output import facts, out, report_json, table, warn
from populace.cli.progress import fetch_missing_models
from populace.engine.run import Run
from populace.evaluation.next_action import (
    NextActionCases,
    NextActionReport,
    compare_sessions,
    known_preferences,
    majority_predictions,
    page_majority_predictions,
    predict_actions,
    synthesise_reasoning,
)
from populace.evaluation.next_action.asking import Thinking
from populace.models import MODEL_SUMMARY
from populace.scenarios.shop.report import run_sessions
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import PARTS, WebSessions

LOG = click.Path(exists=True, dir_okay=False)
HELD_OUT = ("unseen_people", "unseen_shops", "unseen_both")


@command("sessions")
@click.argument("log", required=False, metavar="[LOG]", type=LOG)
@click.option("--people", type=click.IntRange(min=1), help="Make up sessions of so many people, in place of LOG.")
@option("--shops", type=click.IntRange(min=1), default=5, help="With --people: how many shops.")
@option("--visits", type=click.IntRange(min=1), default=2, help="With --people: how many shops each visits.")
@option("--seed", type=int, default=0, help="The seed.")
@click.option("--drop-bad", is_flag=True, help="Leave out sessions in which a row is wrong, and count them.")
@click.option("--reason", metavar="MODEL", help="Let a model write why people did what they did, and check it.")
@click.option("--judge", metavar="MODEL", help="With --reason: who must find the action from what was written.")
@click.option("--against", metavar="LOG|RUN", help="Compare with another log, or with a run of the scenario shop.")
@click.option("--to", metavar="FILE", help="Where the sessions are written: .csv, .jsonl or .parquet.")
@call_options
def sessions_command(
    log: str | None,
    people: int | None,
    shops: int,
    visits: int,
    seed: int,
    drop_bad: bool,
    reason: str | None,
    judge: str | None,
    against: str | None,
    to: str | None,
    **options: Any,
) -> None:
    if (log is None) == (people is None):
        raise UsageError("name a log of sessions, or make some up.", "populace sessions LOG, or --people 100.")
    if judge and not reason:
        raise UsageError("--judge needs --reason.", "A judge checks what a model wrote.")
    if people is not None:
        sessions = generate_sessions(people, shops=shops, visits=visits, seed=seed)
    else:
        sessions = WebSessions.read(str(log), drop_bad=drop_bad)
    document = _description(sessions)
    traces = None
    if reason:
        fetch_missing_models(*[model for model in (reason, judge) if model])
        calls = call_settings(options)
        with repeatable_command("the reasoning", KEPT):
            traces = synthesise_reasoning(
                sessions, reason, judge=judge, seed=seed, calls=calls, store=current_workspace().store
            )
        sessions = traces.sessions
        document["with_reasoning"] = sessions.table["reasoning"].count()
        document["traces"] = {"consistent": traces.consistent_share, "counts": traces.counts().to_dicts()}
    comparison = None if against is None else compare_sessions(_other(against), sessions, seed=seed)
    if comparison is not None:
        document["against"] = comparison.to_dicts()
    if to:
        document["file"] = str(sessions.write(to))
    report_json(document, _warnings(sessions))
    warn(*_warnings(sessions))
    shown = {name: value for name, value in document.items() if name not in ("traces", "against")}
    facts([(name.replace("_", " "), _words(value)) for name, value in shown.items()])
    if traces is not None:
        table(traces.counts(), f"Reasoning traces: {percent(traces.consistent_share)} consistent")
    if comparison is not None:
        table(comparison.select("figure", "value", "low", "high"), f"{against} (the first) beside {log or 'these'}")


@command("next-action")
@click.argument("log", metavar="LOG", type=LOG)
@option("--model", "models", multiple=True, metavar="MODEL", help=f"Who predicts: {MODEL_SUMMARY}.")
@option(
    "--thinking",
    multiple=True,
    type=click.Choice(["none", "own", "shuffled"]),
    default=("none",),
    help="Whether models act at once, think first, or see thoughts of another case; several are compared.",
)
@option("--part", type=click.Choice(HELD_OUT), default="unseen_people", help="What is held out.")
@click.option("--most", type=click.IntRange(min=1), help="At most so many cases, of people drawn at random.")
@option("--salt", default="", metavar="TEXT", help="Another text makes another split of people and shops.")
@option("--seed", type=int, default=0, help="The seed of draws and of the bootstrap.")
@click.option("--drop-bad", is_flag=True, help="Leave out sessions in which a row is wrong, and count them.")
@click.option("--name", metavar="NAME", help="The name of the report.  [default: that of the log]")
@option("--to", metavar="FOLDER", default=".", help="Where the report is written.")
@call_options
def next_action_command(
    log: str,
    models: tuple[str, ...],
    thinking: tuple[Thinking, ...],
    part: str,
    most: int | None,
    salt: str,
    seed: int,
    drop_bad: bool,
    name: str | None,
    to: str,
    **options: Any,
) -> None:
    sessions = WebSessions.read(log, drop_bad=drop_bad)
    parts = sessions.split(salt=salt)
    for each in ("training", part):
        if not parts[each].table.height:
            raise UsageError(
                f"no session falls into the part {each}.",
                f"Parts: {', '.join(f'{name} {len(parts[name])}' for name in PARTS)}. Try another --salt or --part.",
            )
    cases = NextActionCases.from_sessions(parts[part], purchase_elements=sessions.purchase_elements)
    cases = cases if most is None else cases.take(most, seed=seed)
    if cases.table["person"].n_unique() < 2:
        raise UsageError(
            f"the {plural(len(cases), 'case')} are those of one person, and an interval over people needs two.",
            "Take more cases with --most, or another --part or --salt.",
        )
    predictions = [majority_predictions(cases, parts["training"]), page_majority_predictions(cases, parts["training"])]
    fetch_missing_models(*models)
    calls = call_settings(options)
    pairs: list[tuple[str, str]] = []
    for model in dict.fromkeys(models):
        named = {each: model if each == "none" else f"{model}, {each} reasoning" for each in dict.fromkeys(thinking)}
        for each, title in named.items():
            store = current_workspace().store()
            with repeatable_command("the prediction", KEPT):
                predictions.append(
                    predict_actions(cases, model, thinking=each, name=title, seed=seed, calls=calls, store=store)
                )
            pairs.append((title, "majority by page"))
        for other in ("none", "shuffled"):
            if "own" in named and other in named:
                pairs.append((named["own"], named[other]))
    if "likely_action" in cases.table.columns:
        predictions.append(known_preferences(cases))
    report = NextActionReport.of(name or Path(log).stem, cases, predictions, compare=pairs, seed=seed)
    files = report.write(to)
    report_json(report.figures() | {"part": part, "files": [str(file) for file in files]}, _warnings(sessions))
    warn(*_warnings(sessions))
    table(report.table().select("predictor", "accuracy", "macro F1", "distance", "length", "invalid"), report.name)
    for (first, second), value in report.differences:
        out.print_line(f"  {first} − {second}: {value}")
    for file in files:
        out.print_line(f"  wrote {file}")


def _other(name: str) -> WebSessions:
    """The sessions of a log, or of a run of the workspace."""
    if Path(name).is_file():
        return WebSessions.read(name)
    return run_sessions(Run(current_workspace().open(name)))


def _warnings(sessions: WebSessions) -> list[str]:
    """What was left out of a log."""
    if not sessions.left_out.height:
        return []
    row = sessions.left_out.row(0, named=True)
    count = plural(sessions.left_out["session"].n_unique(), "session")
    return [f"{count} left out; line {row['line']}: {row['problem']}."]


def _description(sessions: WebSessions) -> dict[str, Any]:
    """What a log holds, as plain data."""
    outcomes = sessions.outcomes
    return {
        "sessions": len(sessions),
        "people": sessions.table["person"].n_unique(),
        "shops": sessions.table["shop"].drop_nulls().n_unique(),
        "actions": _counts(sessions.table["action"]),
        "outcomes": _counts(outcomes["outcome"]),
        "mean_length": round(float(outcomes["length"].sum()) / outcomes.height, 3),
        "with_reasoning": sessions.table["reasoning"].count(),
        "sessions_by_part": {name: len(part) for name, part in sessions.split().items()},
        "left_out": sessions.left_out["session"].n_unique() if sessions.left_out.height else 0,
    }


def _counts(values: pl.Series) -> dict[str, int]:
    counts = values.alias("value").value_counts().sort("count", "value", descending=[True, False])
    return {name or "unknown": count for name, count in counts.iter_rows()}


def _words(value: Any) -> str:
    return ", ".join(f"{key} {number}" for key, number in value.items()) if isinstance(value, dict) else str(value)
