"""The panels of a person; each is a function that shows the person at a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import polars as pl
from nicegui import ui

from populace.runs.biography import Biography, changing_columns, memory_stream
from populace.runs.clock import time_text
from populace.studio.shell.frame import empty_state, run_address, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.studio import Studio
from populace.studio.widgets.charts import COLOURS, Chart, line_options
from populace.studio.widgets.tables import PagedTable, TableQuery, page_rows

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
            left = [_profile(), interview(), _memories(studio, name)]
        with ui.column().classes("gap-4"):
            right = [_states(), _decisions(studio, name), _happenings(studio, name), _talk(studio, name)]
    return [*left, *right]


def _profile() -> Panel:
    with section("Profile", note="after the step"):
        box = test_id(ui.element("div").classes("facts"), "profile")
    before: dict[str, Any] = {}

    def show(person: Biography, step: int) -> None:
        now = person.at(step)
        if now == before:
            return
        before.clear()
        before.update(now)
        box.clear()
        with box:
            for column, value in now.items():
                ui.label(display_text(column.replace("_", " "), 60)).classes("soft small")
                prose("–" if value is None else value, 600)

    return show


def _states() -> Panel:
    with section("State over time", note="every column that changed"):
        box = ui.element("div").classes("charts")
        rest = ui.label("").classes("soft small")
    charts: dict[str, Chart] = {}
    held: dict[str, Any] = {}

    def build(person: Biography) -> None:
        numbers, words = changing_columns(person.states)
        held.update(
            states=person.states, numbers=numbers[:_MAX_CHARTS], words=words[: _MAX_CHARTS - len(numbers[:_MAX_CHARTS])]
        )
        box.clear()
        charts.clear()
        with box:
            for column in [*held["numbers"], *held["words"]]:
                chart = Chart(
                    column.replace("_", " "), {}, person.states.select("step", column), f"{person.id}-{column}"
                )
                charts[column] = chart
                if column in held["words"]:
                    values = min(person.states[column].n_unique(), _MAX_LEVELS)
                    chart.chart.style(f"height: {70 + 22 * values}px")
        left = len(numbers) + len(words) - len(charts)
        rest.set_text(f"{left} more columns changed; `populace export` writes them all." if left else "")
        rest.set_visibility(bool(left))
        if not charts:
            with box:
                empty_state("Nothing about them changed in this run.")

    def show(person: Biography, step: int) -> None:
        if held.get("states") is not person.states:
            build(person)
        for column, chart in charts.items():
            table = person.states.select("step", column)
            if column in held["numbers"]:
                plain = table.with_columns(pl.col(column).cast(pl.Float64))
                chart.show(line_options(plain, "step", [column], mark=step), table)
            else:
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
        "markLine": {
            "silent": True,
            "symbol": "none",
            "label": {"show": False},
            "lineStyle": {"color": "#8a929b", "type": "dashed"},
            "data": [{"xAxis": mark}],
        },
    }
    label = {**axis["yAxis"]["axisLabel"], "width": 150, "overflow": "truncate", "hideOverlap": False, "interval": 0}
    levelled = {**axis["yAxis"], "type": "category", "data": levels, "name": "", "scale": None, "axisLabel": label}
    return axis | {"yAxis": levelled, "series": [series]}


def _decisions(studio: Studio, name: str) -> Panel:
    held: dict[str, Any] = {"frame": pl.DataFrame(), "person": ""}

    def link(row: dict[str, Any]) -> str:
        return run_address(name, "decision", step=row["step"], person=held["person"], path=row["path"])

    with section("Decisions", note="up to the step, the latest first; open one by its path"):
        columns: list[str | tuple[str, str]] = ["path", ("clock", "when"), "question", ("value", "answer"), "status"]
        paged = PagedTable(
            lambda query: page_rows(held["frame"], query), columns, key="path", link=link, query=TableQuery(size=10)
        )
        test_id(paged.element.classes("decisions"), "decisions")

    def show(person: Biography, step: int) -> None:
        run = studio.library.run(name)
        frame = person.decisions.filter(pl.col("step") <= step).reverse()
        clocks = {each: time_text(run.record.facts(each)["now"]) for each in frame["step"].unique().to_list()}
        clock = [clocks[each] for each in frame["step"].to_list()]
        held.update(frame=frame.with_columns(pl.Series("clock", clock, dtype=pl.String)), person=person.id)
        paged.refresh()

    return show


def _happenings(studio: Studio, name: str) -> Panel:
    held: dict[str, Any] = {"frame": pl.DataFrame()}
    with section("Plans and actions", note="up to the step, the latest first"):
        with ui.column().classes("w-full") as filled:
            columns: list[str | tuple[str, str]] = ["step", ("clock", "when"), "what", "detail"]
            paged = PagedTable(
                lambda query: page_rows(held["frame"], query), columns, key="row", query=TableQuery(size=10)
            )
            test_id(paged.element.classes("events"), "events")
        with ui.column() as nothing:
            empty_state("No event is about this person up to this step.")

    def show(person: Biography, step: int) -> None:
        run = studio.library.run(name)
        frame = person.events_until(step).with_row_index("row")
        clocks = {each: time_text(run.record.facts(each)["now"]) for each in frame["step"].unique().to_list()}
        clock = [clocks[each] for each in frame["step"].to_list()]
        held["frame"] = frame.with_columns(pl.Series("clock", clock, dtype=pl.String))
        filled.set_visibility(frame.height > 0)
        nothing.set_visibility(not frame.height)
        paged.refresh()

    return show


def _memories(studio: Studio, name: str) -> Panel:
    held: dict[str, Any] = {"frame": pl.DataFrame(), "kinds": []}

    def source(query: TableQuery) -> tuple[pl.DataFrame, int]:
        frame = held["frame"]
        return page_rows(frame.filter(pl.col("kind").is_in(held["kinds"])) if held["kinds"] else frame, query)

    with section("Memory stream", note="what they remember after the step; scores of the memories recalled in it"):
        with ui.column().classes("w-full") as filled:
            kinds = ui.select([], multiple=True, label="Kinds", value=[]).props("dense outlined use-chips clearable")
            test_id(kinds.classes("w-full max-w-xs"), "memory-kinds")
            paged = PagedTable(
                source, ["memory"], key="memory", search="Search what they remember", query=TableQuery(size=10)
            )
            test_id(paged.element.classes("memories"), "memories")
        with ui.column() as nothing:
            empty_state("There are no memories: the scenario has none, or nothing has happened yet.")

    def on_kinds() -> None:
        held["kinds"] = list(kinds.value or [])
        paged.refresh()

    kinds.on_value_change(on_kinds)

    def show(person: Biography, step: int) -> None:
        frame = memory_stream(studio.library.run(name), person, step)
        held["frame"] = frame
        filled.set_visibility(frame.height > 0)
        nothing.set_visibility(not frame.height)
        if not frame.height:
            return
        all_kinds = frame["kind"].unique(maintain_order=True).to_list()
        if kinds.options != all_kinds:
            held["kinds"] = [kind for kind in held["kinds"] if kind in all_kinds]
            kinds.set_options(all_kinds, value=held["kinds"])
        scores = ["score", "recency", "relevance"] if frame["score"].count() else []
        paged.columns(
            ["text", "kind", "when", "importance", *scores, ("last_used", "last used, step"), ("used", "times used")]
        )
        paged.refresh()

    return show


def _talk(studio: Studio, name: str) -> Panel:
    with section("Conversations", note="what they said and what was said to them, the latest first"):
        box = test_id(ui.column().classes("w-full gap-3"), "talk")
    state: dict[str, Any] = {"most": _CONVERSATIONS, "shown": None}

    def show(person: Biography, step: int) -> None:
        run = studio.library.run(name)
        held = person.talk_until(step)
        if (held, state["most"]) == state["shown"]:
            return
        state["shown"] = (held, state["most"])
        box.clear()
        with box:
            if not held:
                empty_state("There are no conversations up to this step.")
            for number, lines in held[: state["most"]]:
                with ui.column().classes("talk gap-1"):
                    ui.label(f"step {number} · {time_text(run.record.facts(number)['now'])}").classes("soft small")
                    for who, said in lines:
                        with ui.column().classes("gap-0 w-full"):
                            ui.label(display_text(who, 120)).classes("small").style("font-weight: 600")
                            prose(said, 600)
            if len(held) > state["most"]:

                def more() -> None:
                    state["most"] += 4 * _CONVERSATIONS
                    show(person, step)

                ui.button(f"Show earlier ({len(held) - state['most']} steps)", on_click=more).props(
                    "flat no-caps dense"
                )

    return show
