"""The panels of a run about answers, invalid answers, usage and settings."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl
from nicegui import ui

from populace.broker import FREE, cost_text, currency, price_of
from populace.runs import step_answers
from populace.runs import usage as run_usage
from populace.runs.reader import RunReader
from populace.runs.settings_text import origin_rows, settings_rows
from populace.runs.wording import answer_text, question_text
from populace.studio.jobs import command
from populace.studio.pages.run.panels import Panel
from populace.studio.shell.frame import empty_state, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.charts import bar_chart, bar_options, line_chart, line_options
from populace.studio.widgets.elements import heading, note, refill
from populace.studio.widgets.tables import Columns, FrameTable

_BARS = ["share", "predicted"]
_MAX_CHARTS = 6
"""The most questions with a chart; the others have a table only."""

Link = Callable[[dict[str, Any]], str]


class AnswersPanel(Panel):
    """How each question of the step was answered."""

    title = "Answers"

    def _build(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._cards: list[_Question] = []
        self._more = ui.label().classes("soft small")
        self._list = ui.column().classes("w-full gap-4")

    def _load(self, run: RunReader, step: int) -> Any:
        questions = [_in_words(each) for each in step_answers.question_summaries(run, step)]
        return questions, step_answers.question_count(run, step)

    def _draw(self, data: Any) -> None:
        questions, count = data
        texts = [(each.text, str(each.values["value"].to_list())) for each in questions]
        self._more.set_text(f"The {len(questions)} questions with the most answers, of {count:,}.")
        self._more.set_visibility(count > len(questions))
        if texts != self._texts or not questions:
            self._texts = texts
            with refill(self._list):
                if not questions:
                    empty_state("Nobody was asked anything at this step.")
                self._cards = [
                    _Question(each, self._decision, place < _MAX_CHARTS) for place, each in enumerate(questions)
                ]
        for card, each in zip(self._cards, questions, strict=True):
            card.show(each)


class _Question:
    def __init__(self, question: step_answers.QuestionSummary, link: Link, with_chart: bool) -> None:
        self._bars = [name for name in _BARS if name == "share" or question.values["predicted"].null_count() == 0]
        with ui.column().classes("w-full gap-1 min-w-0"):
            heading(question.text, classes="panel-title foreign", level=3)
            self._summary = ui.label().classes("soft small foreign")
            few = question.different <= step_answers.MOST_VALUES and question.values.height > 0
            self._chart = None
            if with_chart and few:
                title = "Share of the valid answers"
                self._chart = bar_chart(title, question.values, "value", self._bars, name="answers")
            columns = [("value", "answer"), ("people", "people"), ("interval", "share of the valid, 95 % interval")]
            columns += [("predicted", "predicted")] if len(self._bars) > 1 else []
            self._table = FrameTable(columns, key="value", link=link)
            self._table.table.props("hide-pagination")

    def show(self, question: step_answers.QuestionSummary) -> None:
        """Show the answers of another step."""
        summary = f"{question.kind} · {question.purpose} · asked {question.asked:,}: {_counts_text(question.statuses)}"
        if question.mean is not None:
            summary += f" · mean {question.mean}"
        if question.different > question.values.height:
            summary += f" · {question.different:,} different answers, the most common ones shown"
        self._summary.set_text(display_text(summary, 500))
        if self._chart is not None:
            self._chart.show(bar_options(question.values, "value", self._bars), question.values)
        intervals = [
            "–" if share is None else f"{share:.1%} ({low:.1%} to {high:.1%})"
            for share, low, high in question.values.select("share", "low", "high").iter_rows()
        ]
        self._table.show(question.values.with_columns(interval=pl.Series(intervals, dtype=pl.String)))


class InvalidPanel(Panel):
    """Invalid answers."""

    title = "Invalid"

    def _build(self) -> None:
        self._summary = test_id(ui.label().classes("foreign"), "invalid-told")
        nothing = pl.DataFrame({"step": [], "share": []})
        self._chart = line_chart("Share of invalid answers, by step", nothing, "step", ["share"], name="invalid")
        columns: Columns = ["question", "status", "answers"]
        with ui.row().classes("w-full gap-6"):
            by_question = [self._table(name, columns, "question") for name in ("At this step", "Up to this step")]
        columns = ["who", "question", "status", ("reply", "what the model replied")]
        samples = self._table("Some of the replies at this step", columns, "who", self._decision)
        self._tables = [*by_question, samples]

    def _table(self, title: str, columns: Columns, key: str, link: Link | None = None) -> tuple[ui.column, FrameTable]:
        with ui.column().classes("min-w-0 gap-1").style("flex: 1 1 320px") as column:
            heading(title, level=3)
            return column, FrameTable(columns, key=key, link=link)

    def _load(self, run: RunReader, step: int) -> Any:
        who = pl.coalesce(pl.col("name"), pl.col("person").cast(pl.String))
        counts = [step_answers.status_counts(run, step, until=until) for until in (False, True)]
        tables = [step_answers.invalid_by_question(run, step, until=until) for until in (False, True)]
        tables.append(step_answers.invalid_replies(run, step).with_columns(who=who))
        tables = [
            table.with_columns(pl.Series("question", map(question_text, table["question"]), pl.String))
            for table in tables
        ]
        return step_answers.invalid_by_step(run, step), tables, *counts

    def _draw(self, data: Any) -> None:
        by_step, frames, now, so_far = data
        at_step, until = (_counts_text(each) or "nothing was asked" for each in (now, so_far))
        invalid = int(by_step["invalid"].sum()) if by_step.height else 0
        self._summary.set_text(
            f"At this step: {at_step}. Up to it: {until}." + ("" if invalid else " No answer was invalid so far.")
        )
        shares = by_step.filter(pl.col("share").is_not_null())
        options = line_options(shares, "step", ["share"], bands={"share": ("low", "high")}, mark=self.step)
        self._chart.show(options, shares)
        self._chart.element.set_visibility(invalid > 0)
        for (column, table), frame in zip(self._tables, frames, strict=True):
            column.set_visibility(frame.height > 0)
            table.show(frame)


class UsagePanel(Panel):
    """Calls, tokens and cost up to the step."""

    title = "Usage"

    def _build(self) -> None:
        self._summary = test_id(ui.label().classes("foreign"), "usage-told")
        columns: Columns = ["purpose", "questions", "answers", ("prompts", "distinct prompts"), "calls"]
        tokens = [("prompt_tokens", "tokens read"), ("completion_tokens", "tokens written")]
        self._table = FrameTable([*columns, *tokens, ("worth", "at list price")], key="purpose", name="usage")
        note(
            "Tokens and list price count all prompts behind the answers. Calls are those that this run made; the "
            "other replies came from the call store."
        )
        nothing = pl.DataFrame({"step": [], "calls": [], "reused": []})
        title = "Calls and reused replies, by step"
        self._chart = line_chart(title, nothing, "step", ["calls", "reused"], name="usage")
        with ui.column().classes("w-full gap-1") as self._cleanings:
            heading("What cleaning rules did to utterances so far", level=3)
            self._rules = FrameTable(["outcome", ("rule", "rule or reason"), "replies"], key="rule")

    def _load(self, run: RunReader, step: int) -> Any:
        prices = [price_of(model) for model in run.manifest.models]
        return run_usage.usage_until(run, step), run_usage.cleanings_until(run, step), prices

    def _draw(self, data: Any) -> None:
        usage, cleanings, prices = data
        total, step = usage.total, usage.step
        priced = any(price not in (None, FREE) for price in prices)
        unit = f" List prices are in {currency() or 'a currency that the price table does not name'}." if priced else ""
        estimates = f" The tokens of {total.estimated:,} calls are estimated." if total.estimated else ""
        self._summary.set_text(
            f"Up to this step: {total.calls:,} calls, {total.reused:,} reused replies, {total.tokens:,} tokens, "
            f"{cost_text(total.cost, *prices)}, {total.failures:,} failures, {usage.seconds:,.1f} s. In this step: "
            f"{step.calls:,} calls, {step.reused:,} reused, {step.tokens:,} tokens, {cost_text(step.cost, *prices)}."
            f"{unit}{estimates}"
        )
        self._table.element.set_visibility(usage.purposes.height > 0)
        self._table.show(usage.purposes)
        self._chart.show(line_options(usage.steps, "step", ["calls", "reused"], mark=self.step), usage.steps)
        self._cleanings.set_visibility(cleanings.height > 0)
        self._rules.show(cleanings)


class SettingsPanel(Panel):
    """Everything that was set, and commands to export the run."""

    title = "Settings"

    def _build(self) -> None:
        self._table = FrameTable(["name", "value"], key="name", search="Search", name="settings")
        heading("Export", level=3)
        commands = [
            command("export", self.name, f"{self.name}-csv", "--format", "csv"),
            command("export", self.name, f"{self.name}.sqlite", "--format", "sqlite"),
            command("report", self.name),
            command("replay", self.name, "--verify"),
        ]
        for line in commands:
            note(line, 300, classes="commandline w-full")
        note("Run them in the folder of the workspace.")

    def _load(self, run: RunReader, step: int) -> Any:
        return [*settings_rows(run), *origin_rows(run), ("journal", run.digest)]

    def _draw(self, data: list[tuple[str, str]]) -> None:
        self._table.show(pl.DataFrame(data, schema={"name": pl.String, "value": pl.String}, orient="row"))


def _in_words(question: step_answers.QuestionSummary) -> step_answers.QuestionSummary:
    """A question without the names of its fields, and the answers to a form without JSON."""
    values = question.values
    texts = pl.Series("value", [answer_text(each, question.kind) for each in values["value"]], pl.String)
    return replace(question, text=question_text(question.text), values=values.with_columns(texts))


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.items())
