"""The panels of a person; each is a function that shows the person at a step."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
from nicegui import ui

from populace.people import Id
from populace.runs.biography import Biography, changing_columns, memory_stream
from populace.runs.clock import time_text
from populace.runs.reader import RunReader
from populace.runs.wording import answer_text
from populace.studio.residents import has_town, resident_texts
from populace.studio.shell.addresses import run_address
from populace.studio.shell.frame import empty_state, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.charts import COLOURS, Chart, line_options, mark_line
from populace.studio.widgets.elements import action, fact_list, note, refill
from populace.studio.widgets.tables import Columns, FrameTable

Panel = Callable[[Biography, int], None]
"""Shows a person at a step."""

_MAX_CHARTS = 12
_MAX_LEVELS = 16
_CONVERSATIONS = 8


def panels(studio: Studio, name: str, interview: Callable[[], Panel]) -> list[Panel]:
    """Build every panel; each starts empty.

    Args:
        studio: The Studio.
        name: The run.
        interview: Builds the interview panel.
    """
    with ui.element("div").classes("sides"):
        with ui.column().classes("gap-4"):
            left = [_profile(studio, name), interview(), _memories(studio, name)]
        with ui.column().classes("gap-4"):
            right = [_states(), _decisions(studio, name), _events(studio, name), _talk(studio, name)]
    return [*left, *right]


def _profile(studio: Studio, name: str) -> Panel:
    with section("Profile", note="after the step"):
        box = test_id(ui.element("div").classes("w-full"), "profile")
    before: dict[str, Any] = {}

    def show(person: Biography, step: int) -> None:
        now = person.at(step)
        if has_town(studio.library.run(name)):
            now = resident_texts(pl.DataFrame([now])).row(0, named=True)
        if now == before:
            return
        before.clear()
        before.update(now)
        with refill(box):
            fact_list(now, 600)

    return show


def _states() -> Panel:
    with section("State over time", note="every column that changed"):
        box = ui.element("div").classes("charts")
        nothing = ui.label("Nothing about them changed in this run.").classes("soft")
        rest = ui.label("").classes("soft small")
    charts: dict[str, Chart] = {}

    def build(person: Biography, columns: list[str]) -> None:
        charts.clear()
        with refill(box):
            for column in columns:
                table = person.states.select("step", column)
                charts[column] = Chart(column.replace("_", " "), {}, table, f"{person.id}-{column}")

    def show(person: Biography, step: int) -> None:
        numbers, words = changing_columns(person.states)
        columns = [*numbers, *words][:_MAX_CHARTS]
        # Charts of the same columns stay, so that an open menu of one is not closed by a new step.
        if columns != list(charts):
            build(person, columns)
        more = len(numbers) + len(words) - len(columns)
        rest.set_text(f"{more} more columns changed; `populace export` writes them all." if more else "")
        rest.set_visibility(bool(more))
        nothing.set_visibility(not columns)
        for column, chart in charts.items():
            table = person.states.select("step", column)
            if column in numbers:
                plain = table.with_columns(pl.col(column).cast(pl.Float64))
                chart.show(line_options(plain, "step", [column], mark=step), table)
            else:
                chart.chart.style(f"height: {70 + 22 * min(table[column].n_unique(), _MAX_LEVELS)}px")
                chart.show(_word_options(table, column, step), table)

    return show


def _word_options(table: pl.DataFrame, column: str, mark: int) -> dict[str, Any]:
    """A column of words as steps between named levels; rare values share one level where there are too many."""
    texts = ["–" if value is None else display_text(value, 200) for value in table[column].to_list()]
    levels = list(dict.fromkeys(texts))
    if len(levels) > _MAX_LEVELS:
        common = {text for text, _ in Counter(texts).most_common(_MAX_LEVELS - 1)}
        texts = [text if text in common else "other" for text in texts]
        levels = list(dict.fromkeys(texts))
    axis = line_options(table.clear(), "step", [])
    series = {
        "type": "line",
        "step": "start",
        "data": list(map(list, zip(table["step"].to_list(), texts, strict=True))),
        "symbolSize": 5,
        "showSymbol": table.height <= 60,
        "lineStyle": {"color": COLOURS[1], "width": 2},
        "itemStyle": {"color": COLOURS[1]},
        "markLine": mark_line(mark),
    }
    label = {**axis["yAxis"]["axisLabel"], "width": 150, "overflow": "truncate", "hideOverlap": False, "interval": 0}
    levelled = {**axis["yAxis"], "type": "category", "data": levels, "name": "", "scale": None, "axisLabel": label}
    return axis | {"yAxis": levelled, "series": [series]}


def _decisions(studio: Studio, name: str) -> Panel:
    person_id: Id = ""

    def link(row: dict[str, Any]) -> str:
        return run_address(name, "decision", step=row["step"], person=person_id, path=row["path"])

    with section("Decisions", note="up to the step, the latest first; open one by its path"):
        columns: Columns = ["path", ("clock", "when"), "question", ("value", "answer"), "status"]
        table = FrameTable(columns, key="path", link=link, search="Search", size=10)
        test_id(table.element.classes("decisions"), "decisions")

    def show(person: Biography, step: int) -> None:
        nonlocal person_id
        person_id = person.id
        decisions = person.decisions.filter(pl.col("step") <= step).reverse()
        pairs = decisions.select("value", "kind").iter_rows()
        answers = pl.Series("value", [answer_text(value, kind) for value, kind in pairs], pl.String)
        decisions = decisions.with_columns(answers)
        table.show(_with_clock(studio.library.run(name), decisions))

    return show


def _with_clock(run: RunReader, frame: pl.DataFrame) -> pl.DataFrame:
    """A data frame with the simulated time of its steps as `clock`."""
    clocks = {step: time_text(run.record.facts(step)["now"]) for step in frame["step"].unique().to_list()}
    return frame.with_columns(clock=pl.Series([clocks[step] for step in frame["step"]], dtype=pl.String))


def _events(studio: Studio, name: str) -> Panel:
    with section("Plans and actions", note="up to the step, the latest first"):
        columns: Columns = ["step", ("clock", "when"), "what", "detail"]
        empty = "No event is about this person up to this step."
        table = FrameTable(columns, key="row", search="Search", size=10, empty=empty)
        test_id(table.element.classes("events"), "events")

    def show(person: Biography, step: int) -> None:
        events = person.events_until(step).with_row_index("row")
        table.show(_with_clock(studio.library.run(name), events))

    return show


def _memories(studio: Studio, name: str) -> Panel:
    with section("Memory stream", note="what they remember after the step; scores of the memories recalled in it"):
        kinds = ui.select([], multiple=True, label="Kinds", value=[]).props("dense outlined use-chips clearable")
        test_id(kinds.classes("w-full max-w-xs"), "memory-kinds")
        empty = "There are no memories: the scenario has none, or nothing has happened yet."
        table = FrameTable(["memory"], key="memory", search="Search what they remember", size=10, empty=empty)
        test_id(table.element.classes("memories"), "memories")
    memories = pl.DataFrame()

    def filter_kinds() -> None:
        table.show(memories.filter(pl.col("kind").is_in(kinds.value)) if kinds.value else memories)

    kinds.on_value_change(filter_kinds)

    def show(person: Biography, step: int) -> None:
        nonlocal memories
        memories = memory_stream(studio.library.run(name), person, step)
        kinds.set_visibility(memories.height > 0)
        if not memories.height:
            table.show(memories)
            return
        all_kinds = memories["kind"].unique(maintain_order=True).to_list()
        if kinds.options != all_kinds:
            kinds.set_options(all_kinds, value=[kind for kind in kinds.value or [] if kind in all_kinds])
        scores = ["score", "recency", "relevance"] if memories["score"].count() else []
        table.columns(
            ["text", "kind", "when", "importance", *scores, ("last_used", "last used, step"), ("used", "times used")]
        )
        filter_kinds()

    return show


def _talk(studio: Studio, name: str) -> Panel:
    with section("Conversations", note="what they said and what was said to them, the latest first"):
        box = test_id(ui.column().classes("w-full gap-3"), "talk")
    state: dict[str, Any] = {"most": _CONVERSATIONS, "shown": None}

    def show(person: Biography, step: int) -> None:
        run = studio.library.run(name)
        talks = person.talk_until(step)
        if (talks, state["most"]) == state["shown"]:
            return
        state["shown"] = (talks, state["most"])
        with refill(box):
            if not talks:
                empty_state("There are no conversations up to this step.")
            for number, lines in talks[: state["most"]]:
                with ui.column().classes("talk gap-1"):
                    note(f"step {number} · {time_text(run.record.facts(number)['now'])}")
                    for who, text in lines:
                        with ui.column().classes("gap-0 w-full"):
                            note(who, 120, classes="small").style("font-weight: 600")
                            prose(text, 600)
            if len(talks) > state["most"]:

                def more() -> None:
                    state["most"] += 4 * _CONVERSATIONS
                    show(person, step)

                action(f"Show earlier ({len(talks) - state['most']} steps)", more, look="flat dense")

    return show
