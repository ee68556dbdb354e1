"""Commands about communities: what else could have happened, what judges say, and what stands out."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import polars as pl

from populace.base.errors import PopulaceError, UsageError
from populace.base.foreign import for_line
from populace.base.formatting import percent, plural
from populace.broker import CallSettings
from populace.cli.interruption import KEPT, repeatable_command, running_command
from populace.cli.options import (
    COUNT,
    CommandT,
    call_options,
    call_settings,
    command,
    command_line,
    current_workspace,
    model_option,
    option,
    recorded_model,
    run_argument,
)
from populace.cli.output import as_json, bold, dim, out, report_json, row_table, table, warn
from populace.cli.progress import RunDisplay, fetch_missing_models
from populace.cli.running import resumable_run
from populace.community import Community
from populace.community.design_comparison import design_effects
from populace.community.digest import Digest, digest
from populace.community.judgements import Judgements
from populace.community.judges import judge_posts, read_judgements
from populace.community.model_caller import ModelCaller
from populace.community.multiverse import multiverse
from populace.community.terminal import thread_lines
from populace.community.what_if import find_post, what_if
from populace.engine.run import Run
from populace.engine.session import Session
from populace.questions import VALID
from populace.runs.caveats import script_caveat
from populace.runs.reader import RunReader
from populace.statistics import Agreement


def show_thread(run: RunReader, post: int) -> None:
    """Print the thread that holds a post."""
    community = Community(run)
    thread = community.thread(post)
    report_json({"run": run.name, "thread": thread.number, "title": thread.title, "posts": thread.posts.drop("place")})
    width = min(out.width, 100)
    for line in thread_lines(community, thread, width=width, focus=None if post == thread.number else post):
        out.print(line)


def reply_options(command: CommandT) -> CommandT:
    """The options of a command that continues a thread: which post is answered, by whom and with what."""
    for decorate in (
        click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature from there on."),
        model_option(None),
        click.option("--say", "line", metavar="TEXT", help="The answer, word for word; otherwise the model writes it."),
        click.option("--person", metavar="NAME|ID", help="Who answers: somebody of the community."),
        click.option("--as", "as_", metavar="WORDS", help='Who answers, in words, such as "a troll".'),
        click.option("--post", type=click.IntRange(min=1), help="The number of the post that is answered."),
    ):
        command = decorate(command)
    return command


def fetch_model_of_fork(run: Run, model: str | None) -> None:
    """Fetch the model that a fork needs, where it is not there: that of the run by default."""
    if run.manifest.regime.decider == "model":
        fetch_missing_models(recorded_model(run, model))


@contextmanager
def _resumable_runs() -> Iterator[RunDisplay]:
    """Show the progress of several runs; where one stops, the error says how to resume it and to compare all."""
    display: RunDisplay | None = None
    try:
        with resumable_run() as display:
            yield display
    except PopulaceError as error:
        if display is not None and display.journal is not None:
            again = "To compare all runs, repeat the command, which takes the replies that are there:"
            error.hint = f"{error.hint}\n{again} {running_command()}"
        raise


def thread_posts(run: RunReader, post: int) -> pl.DataFrame:
    """The posts of the thread that holds a post, with the names of their authors."""
    posts = run.history("posts").filter(pl.col("thread") == find_post(run, post)["thread"])
    names = run.people().frame.select(author="id", name="name")
    return posts.join(names, on="author", how="left", maintain_order="left")


def invalid_notes(run: RunReader) -> list[str]:
    """Which answers after the fork of a run were invalid, as sentences; none where all were valid."""
    at = run.manifest.parent.at if run.manifest.parent else 0
    answers = run.answers().filter(pl.col("step") >= at, ~pl.col("status").cast(pl.String).is_in(list(VALID)))
    counts = answers.group_by("purpose", maintain_order=True).len().iter_rows()
    lost = {"opening": ("thread", "threads"), "reply": ("reply", "replies")}
    notes = []
    for purpose, count in counts:
        one, many = lost.get(purpose, ("answer", "answers"))
        what = f"{count:,} {one if count == 1 else many}" + ("" if purpose in lost else f" to “{purpose}”")
        missing = f"{'is' if count == 1 else 'are'} missing from the forum" if purpose in lost else "changed nothing"
        notes.append(f"{what} could not be read and {missing}.")
    return notes


def show_changed_thread(run: RunReader, post: int) -> None:
    """Print the thread of a post, with a mark at the posts that its parent run does not have."""
    out.print_line(bold(run.name))
    at = run.manifest.parent.at if run.manifest.parent else 0
    for row in thread_posts(run, post).iter_rows(named=True):
        new = row["step"] >= at
        text = f"{row['title']} — {row['text']}" if row["title"] else row["text"]
        mark = "▸" if new else " "
        out.print_line((f" {mark} {row['post']:>4}  {row['name']}: {for_line(text)}", "" if new else "dim"))


@command("whatif", workspace="existing", code="needed")
@run_argument(kind=Run)
@reply_options
@click.option("--seed", type=int, help="Another seed from there on; other threads then change as well.")
@call_options
def whatif_command(run: Run, post: int | None, **options: Any) -> None:
    if post is None:
        page = command_line("export", run.name, "page.html", "--format", "html")
        raise UsageError(
            "--post needs the number of the post that is answered.", f"`{page}` shows the posts with their numbers."
        )
    if not any(options[name] is not None for name in ("as_", "person", "line")):
        raise UsageError("nobody is named who answers.", 'Give --as "a troll", --person NAME or --say "an answer".')
    fetch_model_of_fork(run, options["model"])
    with resumable_run() as display:
        changed = what_if(run, post, observer=display, **options)
    thread = find_post(changed, post)["thread"]
    notes = invalid_notes(changed)
    report_json(
        {"run": changed.name, "parent": run.name, "thread": thread, "posts": thread_posts(changed, post)}, notes
    )
    show_changed_thread(changed, post)
    warn(*notes)
    out.print_line("\n  ", dim("the thread before:"), f"  {command_line('show', run.name, '--thread', str(thread))}")
    out.print_line("  ", dim("the thread now:"), f"     {command_line('show', changed.name, '--thread', str(thread))}")


@command("multiverse", workspace="existing", code="needed")
@run_argument(kind=Run)
@option("--n", "n", type=COUNT, default=5, help="How many runs.")
@click.option(
    "--people",
    type=click.Choice(["same", "new"]),
    default="same",
    show_default=True,
    help="Whether the people stay the same, or are drawn again from the design.",
)
@reply_options
@click.option("--judge", "judged_by", metavar="MODEL", help="Have this model judge all of them, to compare violations.")
@call_options
def multiverse_command(run: Run, n: int, post: int | None, judged_by: str | None, **options: Any) -> None:
    fetch_model_of_fork(run, options["model"])
    with _resumable_runs() as display:
        runs = multiverse(run, n, post, observer=display, **options)
    if judged_by is not None:
        with repeatable_command("the judging", KEPT):
            for each in (run, *runs):
                judge_posts(Community(each), judged_by)
    comparison = runs.compare()
    calls = {each.name: each.usage().calls for each in runs}
    notes = [f"{each.name}: {note}" for each in runs for note in invalid_notes(each)]
    report_json({"run": run.name, "post": post, "runs": list(calls), "calls": calls, "compare": comparison}, notes)
    if post is not None:
        for each in runs:
            show_changed_thread(each, post)
            out.print_line()
    table(comparison, f"{run.name} and what else could have happened")
    warn(*notes)
    out.print_line(
        "  ", dim("calls of each:"), f"  {', '.join((f'{name} {count:,}' for name, count in calls.items()))}"
    )


@command("judge", workspace="existing")
@click.argument("runs", nargs=-1, required=True, metavar="RUN…")
@option("--model", "models", multiple=True, metavar="MODEL", help="The model that judges.")
@click.option("--ask", "questions", multiple=True, metavar="QUESTION", help="Such as civil or rule_1; all by default.")
@click.option("--after", multiple=True, metavar="RUN", help="Runs of another design with the same seeds, to compare.")
@option("--sample", nargs=2, type=(COUNT, str), metavar="N FILE", help="Write N posts to check by hand.")
@click.option("--check", metavar="FILE", help="Read such a file back, filled in, and see how far judges agree with it.")
@call_options
def judge_command(
    runs: tuple[str, ...],
    models: tuple[str, ...],
    questions: tuple[str, ...],
    after: tuple[str, ...],
    sample: tuple[int, str] | None,
    check: str | None,
    **options: Any,
) -> None:
    if len(runs) > 1 and (sample or check):
        raise UsageError("--sample and --check take one run.")
    calls = call_settings(options)
    fetch_missing_models(*models)
    with repeatable_command("the judging", KEPT):
        judgements = {name: _judgements(name, models, questions, calls) for name in (*runs, *after)}
    warnings = [text for each in judgements.values() for text in _unread_warnings(each)]
    if text := script_caveat(sorted({judge for each in judgements.values() for judge in each.judges})):
        warnings.append(text)
    first = judgements[runs[0]]
    if sample:
        file = first.sample(*sample)
        if not as_json():
            out.print_line(f"written: {file}")
    if check:
        first = judgements[runs[0]] = first.with_check(check)
    before, later = ([judgements[name] for name in names] for names in (runs, after))
    change = design_effects(before, later) if after else None
    if as_json():
        documents = {
            each.community.run.name: {
                "rates": each.rates(),
                "agreement": {name: agreement.table() for name, agreement in each.agreement().items()},
            }
            for each in judgements.values()
        }
        report_json({"runs": documents, "change": change}, warnings)
    for each in judgements.values():
        _show_judgements(each)
    warn(*warnings)
    if change is not None:
        table(change, "After minus before, paired by seed, with intervals of 95 %")


def _judgements(name: str, models: Sequence[str], questions: Sequence[str], calls: CallSettings) -> Judgements:
    """The judgements of a run by the models named, or by all earlier judges where none is named."""
    community = Community(RunReader(current_workspace().open(name)))
    if not models:
        before = read_judgements(community)
        if not before.judges:
            raise UsageError(f"no judge has looked at {name} yet.", "Name one with --model.")
        return before
    callers = [ModelCaller(model, calls) for model in models]
    parts = [judge_posts(community, caller, questions=questions or None).table for caller in callers]
    return Judgements(pl.concat(parts), community)


def _show_judgements(judgements: Judgements) -> None:
    rates = judgements.rates()
    count, judges = judgements.table["post"].n_unique(), ", ".join(judgements.judges)
    out.print_line(bold(judgements.community.run.name), f"  {plural(count, 'post')} judged by {judges}")
    columns = ["rate", "low", "high", "low_by_thread", "high_by_thread"]
    percentages = rates.with_columns(
        pl.col(name).map_elements(percent, return_dtype=pl.String) for name in columns if name in rates.columns
    )
    table(percentages.drop("invalid"), "The share of posts with the answer yes")
    agreements = judgements.agreement()
    if agreements:
        rows = [(name, _alpha(each), percent(each.share.value), each.items) for name, each in agreements.items()]
        row_table(["question", "Krippendorff's alpha", "same answer", "posts"], rows, "How far judges agree")


def _alpha(agreement: Agreement) -> str:
    return "undefined: all answers are alike" if math.isnan(agreement.alpha.value) else str(agreement.alpha)


def _unread_warnings(judgements: Judgements) -> list[str]:
    name, table = judgements.community.run.name, judgements.table
    unread = int(table["value"].null_count())
    return [f"{name}: {unread} of {plural(table.height, 'verdict')} could not be read."] if unread else []


@command("digest", workspace="existing")
@run_argument()
@option("--embedder", "embedder_name", default="hashing", metavar="NAME", help="hashing or minilm.")
@option("--most", type=COUNT, default=10, help="How many unusual posts to show.")
def digest_command(run: RunReader, embedder_name: str, most: int) -> None:
    community = Community(run)
    session = Session(current_workspace().store())

    async def summarise() -> Digest:
        return digest(community, read_judgements(community), embedder=session.embedder(embedder_name), most=most)

    summary = session.finish(summarise())
    report_json({"run": run.name, **summary.__dict__})
    count, threads = community.posts.height, community.posts["thread"].n_unique()
    out.print_line(bold(run.name), f"  {plural(count, 'post')} in {plural(threads, 'thread')}")
    table(_readable(summary.unusual), f"The most unusual posts (farthest from the centre, by {summary.embedder})")
    if summary.by_rule.height:
        table(summary.by_rule, "By rule")
    if not summary.judges:
        out.print_line("  ", dim("no judge was asked yet:"), f"  {command_line('judge', run.name, '--model', 'MODEL')}")
    elif summary.uncovered.height:
        table(_readable(summary.uncovered), "Flagged, though no rule covers it", limit=20)
    else:
        out.print_line("  Nothing was flagged that no rule covers.")


def _readable(posts: pl.DataFrame) -> pl.DataFrame:
    return posts.with_columns(pl.Series("text", [for_line(text)[:160] for text in posts["text"]]))
