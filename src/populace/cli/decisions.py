"""Commands about single decisions: why one came about, the same one asked again, and interviews."""

from dataclasses import asdict
from typing import Any

import click
import polars as pl
from rich.panel import Panel
from rich.text import Text

from populace import questions
from populace.base.errors import UsageError
from populace.base.foreign import for_line, for_terminal
from populace.base.formatting import percent, plural
from populace.cli.desk import LineReader
from populace.cli.options import command, model_option, recorded_model, run_argument
from populace.cli.output import bold, dim, err, facts, out, report_json, row_table, show_changes, table
from populace.cli.progress import fetch_missing_models
from populace.engine.ask_again import DecisionChanges, RepeatedDecision
from populace.engine.interviews import Interview, InterviewTurn
from populace.engine.run import Run
from populace.runs.decision import Decision
from populace.runs.decision_details import SCORES, UNRECORDED, memories_note, no_decision, recalled_memories
from populace.runs.reader import RunReader


def show_decision(run: RunReader, decision: Decision) -> None:
    """Print a decision with its prompts and how its answer came about."""
    who = decision.person.get("name", decision.person["id"])
    where = f" in {run.name}, step {decision.step} ({decision.path}): "
    out.print_line(bold(who), where, bold(decision.answer_text))
    for number, prompt in enumerate(decision.prompts):
        label = "prompt" if len(decision.prompts) == 1 else f"prompt, order {number + 1} of {len(decision.prompts)}"
        body = Text()
        if prompt["system"]:
            body.append(for_terminal(f"{prompt['system']}\n\n"), style="cyan")
        body.append(for_terminal(prompt["user"]))
        if prompt["reasoning"]:
            body.append(for_terminal(f"\n\n{prompt['reasoning']}"), style="italic")
        if prompt["lead"]:
            body.append(f"\n\n{prompt['lead']} …", style="dim")
        model = Text(for_line(prompt["model"]))
        panel = Panel(body, title=Text(label), title_align="left", subtitle=model, subtitle_align="right")
        out.print(panel, soft_wrap=False)
    facts(_rows(decision))


def _rows(decision: Decision) -> list[tuple[str, str]]:
    rows = [("status", decision.status)]
    if not decision.prompts:
        return [*rows, ("decided by", "a rule or a recording: there is no prompt")]
    first = decision.prompts[0]
    if decision.distribution and decision.draw_distribution:
        how = "labels" if first["labels"] else "words"
        mass = percent(first["mass"] or 0)
        rows.append(("scored by", f"the {how} of the options, {mass} of the probability fell on them"))
        after = decision.draw_distribution
        degree = decision.temperature
        for option, probability in decision.distribution.items():
            bar = "█" * round(probability * 30)
            also = f"  → {after[option]:.3f} at temperature {degree:g}" if degree != 1 else ""
            rows.append((option, f"{probability:.3f} {bar}{also}"))
        rows.append(("draw", f"{decision.draw:.4f}"))
    elif first["replies"]:
        rows += [("reply" if i == 0 else f"after repair {i}", text) for i, text in enumerate(first["replies"])]
    tokens = f"{first['prompt_tokens']} + {plural(first['completion_tokens'], 'token')}"
    return [*rows, ("call", f"{first['call'] or 'none'}  ({tokens})")]


def decision_document(decision: Decision) -> dict[str, Any]:
    """A decision as the data of a JSON document."""
    return {**decision.__dict__, "distribution": decision.distribution}


@command("why", workspace="existing")
@run_argument()
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decisions.")
def why_command(run: RunReader, step: int, person: str) -> None:
    who: Any = int(person) if person.isdigit() and run.people().ids.dtype.is_integer() else person
    decisions = [(decision, recalled_memories(run, decision)) for decision in run.decisions(step, who)]
    report_json([decision_document(decision) | {"recalled": memories} for decision, memories in decisions])
    if not decisions:
        out.print_line(" ".join(no_decision(run, step, who)).strip())
    for decision, memories in decisions:
        if memories.height:
            rows = memories.select("memory", "about", *SCORES, "text")
            table(rows, f"Recalled memories ({decision.purpose})", limit=40)
        elif memories_note(run, decision) == UNRECORDED:
            out.print_line(dim(UNRECORDED))
        show_decision(run, decision)


@command("ask-again", workspace="existing", code="needed")
@run_argument(kind=Run)
@click.option("--step", type=click.IntRange(min=0), required=True, help="The step of the decision.")
@click.option("--person", metavar="NAME|ID", required=True, help="Whose decision.")
@click.option("--path", metavar="PATH", help="Which decision, where there are several in the step.")
@click.option("--wording", metavar="TEXT", help="Another wording of the question; it may hold {fields}.")
@click.option("--given", metavar="TEXT", help="Another text before the question; it may hold {fields}.")
@click.option("--order", metavar="ORDER", help="The options: reversed, given (as declared), or all of them as A,B,…")
@click.option("--temperature", type=click.FloatRange(min=0), help="Another temperature.")
@click.option("--system", metavar="TEXT", help="Another system text, whole and word for word.")
@click.option("--text", metavar="TEXT", help="Another user text, whole and word for word.")
@model_option(None)
def ask_again_command(run: Run, step: int, person: str, path: str | None, order: str | None, **options: Any) -> None:
    changes = DecisionChanges(order=_order(order), **options)
    fetch_missing_models(recorded_model(run, changes.model))
    result = run.at(step).ask_again(person, path=path, changes=changes)
    names = ("differences", "lines", "same_answer", "calls", "reused", "cost")
    recorded = result.recorded
    report_json(
        {
            "run": run.name,
            "step": recorded.step,
            "path": recorded.path,
            "person": recorded.person["id"],
            "recorded": _answer_document(recorded),
            "asked": _answer_document(result.repeated),
            **{name: getattr(result, name) for name in names},
        }
    )
    _show_repeated(run, result)


def _order(text: str | None) -> str | list[str] | None:
    if text in (None, "reversed", "given"):
        return text
    return [name.strip() for name in str(text).split("|" if "|" in str(text) else ",")]


def _answer_document(decision: Decision) -> dict[str, Any]:
    names = ("value", "status", "temperature", "draw", "question", "prompts", "distribution")
    return {name: getattr(decision, name) for name in names} | {"tempered": decision.draw_distribution}


def _show_repeated(run: RunReader, result: RepeatedDecision) -> None:
    show_decision(run, result.repeated)
    out.print_line("\n", bold("What differs from the record"), ", which stays as it is")
    show_changes(result.lines)
    then, now = result.recorded.draw_distribution, result.repeated.draw_distribution
    if then and now:
        rows = [(option, share, now[option], result.differences[option]) for option, share in then.items()]
        row_table(["option", "recorded", "again", "difference"], rows)
    answer = "the same" if result.same_answer else f"{result.recorded.answer_text}  →  {result.repeated.answer_text}"
    facts([("answer", answer), ("calls", f"{result.calls} new, {result.reused} reused")])


@command("interview", code="needed")
@run_argument(kind=Run)
@click.argument("question", required=False)
@click.option("--person", "people", multiple=True, metavar="NAME|ID", help="Whom to ask; everybody by default.")
@click.option("--step", "--at", "at", type=click.IntRange(min=0), help="As of which step; the last by default.")
@click.option("--options", metavar="A,B,…", help="Ask for one of these.")
@click.option("--scale", metavar="LOW-HIGH", help="Ask for a point on a scale, such as 1-7.")
@click.option("--number", is_flag=True, help="Ask for a number.")
@click.option("--given", default="", help="What they are told before the question.")
@click.option(
    "--conversation",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Ask in a conversation, in which the person knows the earlier turns; the next number begins a new one, "
    "and so does no question.",
)
@model_option(None)
def interview_command(
    run: Run,
    question: str | None,
    people: tuple[str, ...],
    at: int | None,
    given: str,
    conversation: int | None,
    model: str | None,
    **form_options: Any,
) -> None:
    if question is None or conversation is not None:
        if given or any(form_options.values()):
            raise UsageError("a conversation is in plain words, without --given, --options, --scale or --number.")
        if len(people) != 1:
            raise UsageError("a conversation is with one person.", "Name them: --person NAME.")
        fetch_missing_models(recorded_model(run, model))
        with run.at(at).conversation(people[0], model=model, number=conversation) as talk:
            _converse(run, talk, question)
        return
    form = _question(question, **form_options)
    fetch_missing_models(recorded_model(run, model))
    answers = run.at(at).interview(form, people=list(people) or None, given=given, model=model)
    names = run.people(at).frame
    rows = answers.frame.join(names.select(pl.col("^id|name$")), on="id", how="left", maintain_order="left")
    report_json({"run": run.name, "question": form.describe(), "answers": rows})
    out.print_line(bold(run.name), f", on the side, as of step {(run.steps[-1] if at is None else at)}: {question}")
    table(rows.select(pl.col("^name$"), "id", "value", "status"), limit=60)


def _converse(run: Run, talk: Interview, question: str | None) -> None:
    """Put one question, or one for each line of standard input until it ends."""
    if question is not None:
        _show_turn(talk.ask(question))
    else:
        err.print_line(dim("One question in a line. Ctrl-D ends the conversation; nothing in the run changes."))
        lines, before = LineReader(), len(talk.turns)
        while True:
            err.print("> ", end="")
            line = lines.read_line()
            if line is None:
                break
            if line.strip():
                _show_turn(talk.ask(line))
        err.print_line("")
        err.print_line(dim(f"{plural(len(talk.turns) - before, 'turn')}, kept as conversation {talk.number}."))
    turns = [asdict(turn) for turn in talk.turns]
    report_json({"run": run.name, "conversation": talk.number, "person": talk.person, "turns": turns})


def _show_turn(turn: InterviewTurn) -> None:
    out.print_line(turn.answer if turn.answer is not None else dim(f"no answer ({turn.status})"))


def _question(text: str, options: str | None, scale: str | None, number: bool) -> questions.Question:
    if sum(bool(kind) for kind in (options, scale, number)) > 1:
        raise UsageError("--options, --scale and --number exclude one another.")
    if options:
        return questions.Choice(text, options=tuple(option.strip() for option in options.split(",")))
    if scale:
        low, sign, high = scale.partition("-")
        if not sign or not low.strip().isdecimal() or not high.strip().isdecimal():
            raise UsageError(f"--scale takes LOW-HIGH, such as 1-7, not {scale!r}.")
        return questions.Rating(text, low=int(low), high=int(high))
    return questions.Number(text) if number else questions.Text(text)
