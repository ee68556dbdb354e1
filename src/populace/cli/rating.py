"""Commands about ratings: real against generated conversations, and feedback on answers."""

import getpass
import math
from collections.abc import Sequence
from typing import Any

import click
import polars as pl
from rich.text import Text

from populace.base.errors import UsageError
from populace.base.foreign import for_line, for_shell
from populace.base.formatting import percent, plural
from populace.cli.interruption import KEPT, repeatable_command
from populace.cli.options import call_options, call_settings, command, current_workspace, option
from populace.cli.output import bold, dim, facts, out, report_json, table, warn
from populace.cli.progress import fetch_missing_models
from populace.community.conversations import Conversation
from populace.community.discrimination import Pair, Ratings, conversation_text
from populace.community.discrimination_result import PUBLISHED, PUBLISHED_TEST, DiscriminationResult, analyse_ratings
from populace.community.model_caller import ModelCaller
from populace.community.raters import rate_by_model
from populace.community.study import Material, Study, rater_name
from populace.engine.workspace import Workspace
from populace.feedback import FeedbackStore, Queue, RaterAgreement
from populace.feedback.items import KINDS


@command("discern")
@click.argument("runs", nargs=-1, metavar="[RUN…]")
@click.option("--real", metavar="FILE", help="Real threads as JSONL, one a line, or as a CSV with a row for each post.")
@click.option("--comments", metavar="FILE", help="Comments, where --real is the submissions of a Reddit dump.")
@click.option(
    "--crowd", metavar="FILE", help="Threads that people wrote to imitate the community, as an arm of their own."
)
@click.option("--community", metavar="NAME", help="The real community that the runs model, where names differ.")
@click.option(
    "--study",
    metavar="NAME",
    help="With runs: keep the pairs as a study of this name, and rate nothing yet. Without: rate that study.",
)
@click.option("--rater", metavar="NAME", help="Who rates.  [default: the login name]")
@option("--model", "models", multiple=True, metavar="MODEL", help="A model that rates.")
@click.option("--answers", metavar="FILE", help="Where answers are kept.  [default: discern.jsonl, or the study]")
@click.option("--pairs", "most", type=click.IntRange(min=1), help="At most this many pairs for each arm.")
@option("--seed", type=int, default=0, help="The seed that pairs threads.")
@option("--browse", type=click.IntRange(min=0), default=0, help="Real threads of each community to read before rating.")
@click.option("--between", is_flag=True, help="Each rater rates the pairs of one arm only, as in the published study.")
@click.option("--report", is_flag=True, help="Rate nothing; show the results so far.")
@call_options
def discern_command(
    runs: tuple[str, ...],
    real: str | None,
    study: str | None,
    rater: str | None,
    models: tuple[str, ...],
    answers: str | None,
    report: bool,
    **options: Any,
) -> None:
    place = current_workspace()
    if study and answers:
        raise UsageError("--study and --answers exclude one another.", "A study keeps its answers itself.")
    if study and not runs:
        saved = Study(place, study)
        pairs, ratings, browsing = saved.pairs, saved.ratings(), saved.browsing
        between = saved.between or options["between"]
    else:
        material = _material(runs, real, options)
        if study:
            _show_study(Study.make(place, study, material))
            return
        pairs, ratings = material.make_pairs(place), Ratings(answers or "discern.jsonl")
        browsing, between = material.browsing(), material.between
    calls = call_settings(options)
    for model in models if not report else ():
        fetch_missing_models(model)
        mine = ratings.pairs_of_rater(pairs, model) if between else pairs
        with repeatable_command("the rating", KEPT):
            rate_by_model(mine, ModelCaller(model, calls), ratings, workspace=place.folder)
    if not models and not report:
        name = rater_name(rater or getpass.getuser())
        mine = ratings.pairs_of_rater(pairs, name) if between else pairs
        if len(ratings.unrated(mine, name)) == len(mine):
            _show_browsing(browsing)
        _rate_by_hand(mine, ratings, name)
    if not ratings.table.height:
        report_json({"rates": []}, ["Nothing was rated yet."])
        out.print_line("Nothing was rated yet.")
        return
    result = analyse_ratings(ratings.table)
    report_json(
        {
            "rates": result.rates,
            "anova": result.anova.table() if result.anova else None,
            "tukey": result.tukey,
            "mixed": result.mixed.table() if result.mixed else None,
        },
        list(result.notes),
    )
    _show_result(result)


def _material(runs: tuple[str, ...], real: str | None, options: dict[str, Any]) -> Material:
    if not runs:
        raise UsageError("no run is named.", "Name the runs with the generated threads, or a study with --study.")
    if real is None:
        raise UsageError(
            "--real needs a value.", "Name the file with the real threads, for example --real threads.jsonl."
        )
    settings = {name: options[name] for name in ("comments", "crowd", "community", "most", "seed", "browse", "between")}
    return Material(runs, real, **settings)


def _show_study(study: Study) -> None:
    arms = pl.Series([pair.arm for pair in study.pairs]).value_counts().sort("count", descending=True).rows()
    report_json({"study": study.name, "folder": str(study.folder), "pairs": len(study.pairs), "arms": dict(arms)})
    counts = ", ".join(f"{count} of {arm}" for arm, count in arms)
    out.print_line(bold(study.name), f"  {plural(len(study.pairs), 'pair')} ({counts}), kept in {study.folder}")
    out.print_line("  ", dim("to rate them:"), f"  populace discern --study {for_shell(study.name)} --rater NAME")


def _show_browsing(threads: Sequence[Conversation]) -> None:
    """Let a rater read real threads first; one key goes on."""
    for number, thread in enumerate(threads, 1):
        out.rule(Text(for_line(f"{thread.community}: a real thread to read first, {number} of {len(threads)}")))
        out.print_text(conversation_text(thread))
        out.print_line("\n", dim("any key goes on "), end="")
        click.getchar()
        out.print_line()


def _rate_by_hand(pairs: Sequence[Pair], ratings: Ratings, rater: str) -> None:
    left = ratings.unrated(pairs, rater)
    out.print_line(
        f"{len(pairs) - len(left)} of {plural(len(pairs), 'pair')} are rated by {rater}. "
        "In each pair one conversation is real: say which. q stops."
    )
    for number, pair in enumerate(left, 1):
        first, second = pair.texts(rater)
        out.rule(Text(for_line(f"{number} of {len(left)} · {pair.real.community}")))
        if pair.goal:
            out.print_text(pair.goal, "dim")
        for label, text in (("1", first), ("2", second)):
            out.print_line("\n", bold(f"Conversation {label}"))
            out.print_text(text)
        out.print_line("\n", bold("Which one is real?"), " 1 or 2, q to stop ", end="")
        key = ""
        while key not in ("1", "2", "q"):
            key = click.getchar().lower()
        out.print_line(key)
        if key == "q":
            return
        ratings.add([pair.rating(rater, "person", "first" if key == "1" else "second")])


def _show_result(result: DiscriminationResult) -> None:
    shares = [pl.col(n).map_elements(percent, return_dtype=pl.String) for n in ("error", "low", "high", "published")]
    rates = result.rates.select("arm", "who", "raters", "answers", "wrong", *shares)
    table(rates, "Taken for real though generated (50 % is chance), with Wilson's interval, beside the published rate")
    out.print_line(
        "  ", dim("published (Park et al. 2022), every arm rated by people:"), f" {PUBLISHED['rated_by'][0]}"
    )
    for arm, by, rate in PUBLISHED.select("arm", "conversations_by", "published").iter_rows():
        out.print_line(f"    {percent(rate):>5}  {arm:<15} conversations by {by}")
    out.print_line(f"    {PUBLISHED_TEST}")
    if result.anova is not None:
        out.print_line("\n", bold("Between raters"), f"  {result.anova}")
    if result.tukey is not None:
        table(result.tukey.drop("warning"), "Tukey's test")
    if result.mixed is not None:
        table(result.mixed.table(), f"Mixed model of single answers, {' and '.join(result.mixed.levels)} random")
        out.print_line(f"  {result.mixed.words}")
    for note in result.notes:
        out.print_line("  ", dim(note))


@command("feedback", workspace="existing")
@click.argument("runs", nargs=-1, metavar="[RUN|EXPERIMENT]…")
@option(
    "--kind",
    type=click.Choice(KINDS),
    default="decision",
    help="With runs: whether decisions or utterances are to be judged.",
)
@option("--size", type=click.IntRange(1, 2000), default=30, help="With runs: how many answers.")
@click.option("--purpose", default="", metavar="WORDS", help="With runs: only questions with this purpose.")
@option("--seed", type=int, default=0, help="With runs: the seed that picks answers.")
@click.option(
    "--by",
    type=click.Choice(["run", "arm", "model", "kind", "purpose"]),
    help="Also show mean scores by this; it is not blind.",
)
def feedback_command(runs: tuple[str, ...], kind: str, size: int, purpose: str, seed: int, by: str | None) -> None:
    place = current_workspace()
    if runs:
        _make_queue(place, Queue.of(place, runs, kind, size, purpose), seed)
        return
    feedback = FeedbackStore(place)
    counts, agreement = feedback.counts(), feedback.agreement()
    means = feedback.scores(by) if by else None
    unreadable = feedback.unreadable()
    notes = (
        [f"{plural(unreadable, 'line')} could not be read; a process was killed while it wrote them."]
        if unreadable
        else []
    )
    notes += feedback.problems()
    measures, items = (agreement.measures.table(), agreement.measures.items) if agreement.measures else (None, 0)
    document = {"note": agreement.note, "measures": measures, "items": items}
    report_json({"raters": counts, "agreement": document, "scores": means}, notes)
    if not counts.height:
        begin = "Begin with: populace feedback RUN, then populace studio"
        out.print_line(f"Nobody judged anything in {feedback.folder}. {begin}")
        warn(*notes)
        return
    table(counts, "Judged so far")
    facts([("agreement", _agreement_text(agreement))])
    if means is not None:
        table(means, f"Mean score by {by}, 1 to 5, with the 95 % t interval over answers")
    warn(*notes)
    out.print_line("  ", dim("folder"), f"  {feedback.folder}")


def _agreement_text(agreement: RaterAgreement) -> str:
    """How far raters agree, in a sentence or two."""
    if agreement.measures is None or math.isnan(agreement.measures.alpha.value):
        return agreement.note
    return f"alpha {agreement.measures.alpha} answers (ordinal, 95 % interval, 1 is full agreement). {agreement.note}"


def _make_queue(place: Workspace, queue: Queue, seed: int) -> None:
    sample = queue.draw(place, seed)
    if not sample.items:
        purpose = f" for {queue.purpose}" if queue.purpose else ""
        what = f"these runs hold no {queue.kind} that a model gave{purpose}."
        raise UsageError(what, "Choose other runs, or the other kind.")
    queue.save(place)
    link = f"/feedback?queue={queue.name}&seed={seed}"
    answers, runs = len(sample.items), len(queue.sources)
    data = {"queue": queue.name, "kind": queue.kind, "runs": runs, "answers": answers}
    report_json(data | {"seed": seed, "link": link})
    out.print_line(bold(queue.name), f"  {plural(answers, 'answer')} of {plural(runs, 'run')}, to be judged blind")
    out.print_line("  ", dim("judge them:"), f"  populace studio, then {link}")
