"""The panels of a run about answers, invalid answers, usage and settings."""

from __future__ import annotations

from typing import Any

import polars as pl
from nicegui import ui

from populace.runs import step_answers
from populace.runs import usage as run_usage
from populace.runs.reader import RunReader
from populace.runs.settings_text import origin_rows, settings_rows
from populace.studio.jobs import command
from populace.studio.pages.run.panels import Panel
from populace.studio.shell.frame import empty_state, run_address, test_id
from populace.studio.shell.text import display_text
from populace.studio.widgets.charts import bar_chart, bar_options, line_chart, line_options
from populace.studio.widgets.elements import note, refill
from populace.studio.widgets.tables import FrameTable

_BARS = ["share", "predicted"]
_MAX_CHARTS = 6
"""The most questions with a chart; the others have a table only."""


class AnswersPanel(Panel):
    """How each question of the step was answered."""

    title = "Answers"

    def build(self) -> None:
        """One place for all questions."""
        self._texts: list[tuple[str, str]] = []
        self._cards: list[_Question] = []
        self._more = ui.label().classes("soft small")
        self._list = ui.column().classes("w-full gap-4")

    def load(self, run: RunReader, step: int) -> Any:
        """The questions of the step."""
        return step_answers.question_summaries(run, step), step_answers.question_count(run, step)

    def draw(self, data: Any) -> None:
        """The questions; where they are those that are shown already, only the numbers change."""
        questions, count = data
        texts = [(each.text, str(each.values["value"].to_list())) for each in questions]
        self._more.set_text(
            f"The {len(questions)} questions with the most answers, of {count:,}." if count > len(questions) else ""
        )
        self._more.set_visibility(count > len(questions))
        if texts != self._texts or not questions:
            self._texts = texts
            with refill(self._list):
                if not questions:
                    empty_state("Nobody was asked anything at this step.")
                self._cards = [_Question(each, self, place < _MAX_CHARTS) for place, each in enumerate(questions)]
        for card, each in zip(self._cards, questions, strict=True):
            card.show(each)

    def decision(self, row: dict[str, Any]) -> str:
        """The address of the decision of a row."""
        if row["person"] is None:
            return "#"
        return run_address(self.name, "decision", step=self.step, person=row["person"], path=row["path"])


class _Question:
    """One question with its answers."""

    def __init__(self, question: step_answers.QuestionSummary, panel: AnswersPanel, with_chart: bool) -> None:
        self._bars = [name for name in _BARS if name == "share" or question.values["predicted"].null_count() == 0]
        with ui.column().classes("w-full gap-1 min-w-0"):
            ui.label(display_text(question.text, 300)).classes("panel-title foreign").props(
                "role=heading aria-level=3 dir=auto"
            )
            self._summary = ui.label().classes("soft small foreign")
            few = question.different <= step_answers.MOST_VALUES and question.values.height > 0
            self._chart = None
            if with_chart and few:
                self._chart = bar_chart(
                    "Share of the valid answers", question.values, "value", self._bars, name="answers"
                )
            columns = [("value", "answer"), ("people", "people"), ("interval", "share of the valid, 95 % interval")]
            columns += [("predicted", "predicted")] if len(self._bars) > 1 else []
            self._table = FrameTable(columns, key="value", link=panel.decision)
            self._table.table.props("hide-pagination")

    def show(self, question: step_answers.QuestionSummary) -> None:
        """Show the answers of another step."""
        statuses = ", ".join(f"{count:,} {status}" for status, count in question.statuses.items())
        summary = f"{question.kind} · {question.purpose} · asked {question.asked:,}: {statuses}"
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

    def build(self) -> None:
        """A chart over time, tables by question, and raw replies."""
        self._summary = test_id(ui.label().classes("foreign"), "invalid-told")
        self._chart = line_chart(
            "Share of invalid answers, by step",
            pl.DataFrame({"step": [], "share": []}),
            "step",
            ["share"],
            name="invalid",
        )
        columns = [("question", "question"), ("status", "status"), ("answers", "answers")]
        with ui.row().classes("w-full gap-6"):
            by_question = [self._table(name, columns, "question") for name in ("At this step", "Up to this step")]
        columns = [("who", "who"), ("question", "question"), ("status", "status"), ("reply", "what the model replied")]
        samples = self._table("Some of the replies at this step", columns, "who", self._decision)
        self._tables = [*by_question, samples]

    def _table(
        self, title: str, columns: list[tuple[str, str]], key: str, link: Any = None
    ) -> tuple[ui.column, FrameTable]:
        with ui.column().classes("min-w-0 gap-1").style("flex: 1 1 320px") as column:
            ui.label(title).classes("panel-title").props("role=heading aria-level=3")
            return column, FrameTable(columns, key=key, link=link)

    def load(self, run: RunReader, step: int) -> Any:
        """Counts and a sample."""
        by_step = step_answers.invalid_by_step(run, step)
        replies = step_answers.invalid_replies(run, step)
        who = pl.coalesce(pl.col("name"), pl.col("person").cast(pl.String))
        tables = [
            step_answers.invalid_by_question(run, step),
            step_answers.invalid_by_question(run, step, until=True),
            replies.with_columns(who=who),
        ]
        return by_step, tables, step_answers.status_counts(run, step), step_answers.status_counts(run, step, until=True)

    def draw(self, data: Any) -> None:
        """The counts, or that every answer was valid."""
        by_step, frames, now, so_far = data
        at_step = ", ".join(f"{count:,} {status}" for status, count in now.items()) or "nothing was asked"
        until = ", ".join(f"{count:,} {status}" for status, count in so_far.items()) or "nothing was asked"
        invalid = int(by_step["invalid"].sum()) if by_step.height else 0
        self._summary.set_text(
            f"At this step: {at_step}. Up to it: {until}." + ("" if invalid else " No answer was invalid so far.")
        )
        shares = by_step.filter(pl.col("share").is_not_null())
        self._chart.show(
            line_options(shares, "step", ["share"], bands={"share": ("low", "high")}, mark=self.step), shares
        )
        self._chart.element.set_visibility(invalid > 0)
        for (column, table), frame in zip(self._tables, frames, strict=True):
            column.set_visibility(frame.height > 0)
            table.show(frame)

    def _decision(self, row: dict[str, Any]) -> str:
        return run_address(self.name, "decision", step=self.step, person=row["person"], path=row["path"])


class UsagePanel(Panel):
    """Calls, tokens and cost up to the step."""

    title = "Usage"

    def build(self) -> None:
        """Totals, a table by purpose, a chart by step, and cleanings."""
        self._summary = test_id(ui.label().classes("foreign"), "usage-told")
        columns: list[str | tuple[str, str]] = [
            "purpose",
            "questions",
            "answers",
            ("prompts", "distinct prompts"),
            "calls",
        ]
        columns += [
            ("prompt_tokens", "tokens read"),
            ("completion_tokens", "tokens written"),
            ("worth", "at list price"),
        ]
        self._table = FrameTable(columns, key="purpose")
        test_id(self._table.table, "usage")
        note(
            "Tokens and list price count all prompts behind the answers. Calls are those that this run made; the "
            "other replies came from the call store."
        )
        nothing = pl.DataFrame({"step": [], "calls": [], "reused": []})
        self._chart = line_chart(
            "Calls and reused replies, by step", nothing, "step", ["calls", "reused"], name="usage"
        )
        with ui.column().classes("w-full gap-1") as self._cleanings:
            ui.label("What cleaning rules did to utterances so far").classes("panel-title").props(
                "role=heading aria-level=3"
            )
            columns = ["outcome", ("rule", "rule or reason"), "replies"]
            self._rules = FrameTable(columns, key="rule")

    def load(self, run: RunReader, step: int) -> Any:
        """The usage and the cleanings so far."""
        return run_usage.usage_until(run, step), run_usage.cleanings_until(run, step)

    def draw(self, data: Any) -> None:
        """The numbers so far, and those of the step."""
        usage, cleanings = data
        total, step = usage.total, usage.step
        self._summary.set_text(
            f"Up to this step: {total.calls:,} calls, {total.reused:,} reused replies, {total.tokens:,} tokens, cost "
            f"{total.cost:,.4g}, {total.failures:,} failures, {usage.seconds:,.1f} s. In this step: {step.calls:,} "
            f"calls, {step.reused:,} reused, {step.tokens:,} tokens, cost {step.cost:,.4g}."
        )
        self._table.element.set_visibility(usage.purposes.height > 0)
        self._table.show(usage.purposes)
        self._chart.show(line_options(usage.steps, "step", ["calls", "reused"], mark=self.step), usage.steps)
        self._cleanings.set_visibility(cleanings.height > 0)
        self._rules.show(cleanings)


class SettingsPanel(Panel):
    """Everything that was set, and commands to export the run."""

    title = "Settings"

    def build(self) -> None:
        """A table, and commands."""
        self._table = FrameTable(["name", "value"], key="name", search="Search")
        test_id(self._table.table, "settings")
        ui.label("Export").classes("panel-title").props("role=heading aria-level=3")
        commands = [
            command("export", self.name, f"{self.name}-csv", "--format", "csv"),
            command("export", self.name, f"{self.name}.sqlite", "--format", "sqlite"),
            command("report", self.name),
            command("replay", self.name, "--verify"),
        ]
        for line in commands:
            ui.label(display_text(line, 300)).classes("commandline w-full")
        note("Run them in the folder of the workspace.")

    def load(self, run: RunReader, step: int) -> Any:
        """The settings."""
        return [*settings_rows(run), *origin_rows(run), ("journal", run.digest)]

    def draw(self, data: list[tuple[str, str]]) -> None:
        """The rows."""
        self._table.show(pl.DataFrame(data, schema={"name": pl.String, "value": pl.String}, orient="row"))
