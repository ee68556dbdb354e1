"""The panels of one decision."""

from typing import Any

import polars as pl
from nicegui import ui

from populace.broker import money_text
from populace.questions import LOW_MASS
from populace.runs.decision import Decision
from populace.runs.decision_details import DecisionDetails, ModelCall, form_fields
from populace.runs.wording import question_text
from populace.studio.shell.frame import chip, copy_button, empty_state, figure, section, test_id
from populace.studio.shell.text import display_text, prose
from populace.studio.widgets.charts import COLOURS, Chart, bar_options
from populace.studio.widgets.elements import fact_list, note

_SCORES = ("recency", "importance", "relevance")
_LARGE_LENGTH = 60
"""The most characters of an answer that is shown in large letters."""
METHODS = {"scored": "read as a distribution", "sampled": "written by the model"}


def show_answer(details: DecisionDetails, clock: str) -> None:
    """The question, the answer and its status."""
    decision = details.decision
    with section("Answer", note=clock):
        prose(question_text(decision.question["text"], details.fields), 800).classes("soft")
        with ui.row().classes("items-center gap-3"):
            fields = form_fields(decision.value) if decision.question.get("kind") == "form" else None
            if fields is None:
                test_id(show_value(decision), "answer")
            chip(decision.status)
        if fields is not None:
            fact_list(fields)
        kind = decision.question.get("kind", "question")
        note(f"{kind}, counted under “{display_text(decision.purpose, 60)}”, path {decision.path}")


def show_value(decision: Decision) -> ui.column:
    """The answer, large where it is short."""
    short = decision.value is None or len(decision.value) <= _LARGE_LENGTH
    with ui.column().classes("answer min-w-0" if short else "min-w-0") as element:
        prose("no answer" if decision.value is None else decision.value, 1200)
    return element


def show_situation(details: DecisionDetails) -> None:
    """The text before the question, with the values of its fields; the text without them below."""
    with section("Situation", note="the text before the question"):
        if not details.given:
            ui.label("There was no text before the question.").classes("soft")
            return
        prose(question_text(details.given, details.fields), 1200)
        if details.fields:
            with ui.expansion("As the scenario wrote it").classes("w-full").props("dense"):
                prose(details.given, 1200, fixed=True)
                note("The values of the fields in braces:")
                fact_list(details.fields)


def show_memories(details: DecisionDetails) -> None:
    """The recalled memories, with their scores as bars."""
    with section("Memories", note="recalled for this decision and shown in the prompt"):
        if not details.memories.height:
            empty_state(details.memories_note)
            return
        most = {name: max(float(details.memories[name].max() or 0), 1e-9) for name in (*_SCORES, "score")}  # type: ignore[arg-type]
        with test_id(ui.element("div").classes("mind"), "mind"):
            ui.label("memory").classes("head what")
            for name in (*_SCORES, "score"):
                ui.label(name).classes("head")
            for row in details.memories.head(60).iter_rows(named=True):
                with ui.column().classes("what gap-0 min-w-0"):
                    prose(row["text"], 300)
                    note(f"{row['kind']} {row['memory']}", 60)
                for name in (*_SCORES, "score"):
                    _meter(row[name], most[name], total=name == "score")


def _meter(value: float, most: float, *, total: bool) -> None:
    with ui.column().classes("gap-0"):
        ui.label(f"{value:.2f}").classes("number")
        with ui.element("div").classes("meter w-full total" if total else "meter w-full"):
            ui.element("div").style(f"width: {min(max(value / most, 0), 1) * 100:.0f}%")


def show_prompts(decision: Decision) -> None:
    """The exact prompts, with a button that copies them."""
    count = len(decision.prompts)
    with section("Exact prompt" if count < 2 else f"Exact prompts, {count} orders averaged"):
        if not decision.prompts:
            empty_state("A rule or a recording decided: there is no prompt. Ask a model below.")
        for at, prompt in enumerate(decision.prompts):
            show_prompt(prompt, f"prompt-{at}")


def show_prompt(prompt: dict[str, Any], marker: str) -> None:
    """One prompt as it was sent to the model, with the reasoning that the model wrote."""
    parts = [("system", prompt["system"]), ("user", prompt["user"]), ("reasoning", prompt["reasoning"])]
    parts += [("the reply begins with", prompt["lead"])]
    with test_id(ui.column().classes("w-full gap-1"), marker):
        how = METHODS.get(prompt["method"], prompt["method"])
        labels = ", options as letters" if prompt["labels"] else ""
        with ui.row().classes("w-full items-center justify-between no-wrap"):
            note(f"{prompt['model']}, {how}{labels}", 160)
            copy_button("the prompt", lambda: "\n\n".join(text for _, text in parts[:2] if text))
        for name, text in parts:
            if text:
                note(name)
                prose(text, 3000, fixed=True)


def show_probabilities(details: DecisionDetails) -> None:
    """The distribution before and after temperature and the draw; or the reply in words and how it was cleaned."""
    decision = details.decision
    if decision.distribution is None:
        _replies(details)
        return
    with section("Distribution", note=f"temperature {decision.temperature:g}"):
        table = decision.distribution_table.rename({"before": "before temperature", "after": "after temperature"})
        probability_chart("Probability of each option", table, "distribution")
        mass = decision.prompts[0]["mass"]
        if mass is not None:
            low = ": little, so interpret it with care" if mass < LOW_MASS else ""
            note(f"{mass:.1%} of the model's probability fell on the options{low}.")
        if decision.has_draw:
            draw_chart(decision, "The draw", "draw")
        else:
            ui.label("The options got too little probability to draw an answer.").classes("soft")


def probability_chart(title: str, table: pl.DataFrame, name: str) -> Chart:
    """The probabilities of the options side by side, on a scale from 0 to 1."""
    options = bar_options(table, "option", [column for column in table.columns if column != "option"])
    options["yAxis"] |= {"min": 0, "max": 1}
    return Chart(title, options, table, name)


def draw_chart(decision: Decision, title: str, name: str) -> Chart:
    """The line from 0 to 1, divided among the options, with the random number as a marker."""
    edges = decision.draw_intervals
    table = pl.DataFrame(edges, schema={"option": pl.String, "from": pl.Float64, "to": pl.Float64}, orient="row")
    series: list[dict[str, Any]] = []
    for at, (option, low, high) in enumerate(edges):
        look = {"barWidth": 26, "itemStyle": {"color": COLOURS[at % len(COLOURS)]}}
        series.append({"type": "bar", "stack": "line", "name": display_text(option, 40), "data": [high - low], **look})
    if series and decision.draw is not None:
        series[-1]["markLine"] = {
            "silent": True,
            "symbol": ["triangle", "none"],
            "lineStyle": {"color": "#8a929b", "width": 3, "type": "solid"},
            "label": {"formatter": f"{decision.draw:.4f}", "position": "end"},
            "data": [{"xAxis": decision.draw}],
        }
    options = {
        "grid": {"left": 10, "right": 40, "top": 48, "bottom": 4, "containLabel": True},
        "legend": {"top": 0, "type": "scroll"},
        "xAxis": {"type": "value", "min": 0, "max": 1, "splitLine": {"show": False}},
        "yAxis": {"type": "category", "data": [""], "show": False},
        "tooltip": {"trigger": "item"},
        "series": series,
    }
    with ui.column().classes("w-full draw-line gap-0"):
        chart = Chart(title, options, table, name)
        if decision.draw is not None and decision.value is not None:
            outcome = f"The random number {decision.draw:.4f} fell on “{display_text(decision.value, 80)}”."
            test_id(note(outcome, classes="small"), f"{name}-fell")
    return chart


def _replies(details: DecisionDetails) -> None:
    with section("Reply", note="as the model wrote it"):
        replies = [reply for prompt in details.decision.prompts for reply in prompt["replies"] or []]
        if not replies:
            empty_state("There is no reply in words.")
        for at, reply in enumerate(replies):
            if len(replies) > 1:
                note("reply" if at == 0 else f"after reminder {at}")
            prose(reply, 3000, fixed=True)
        for cleaning in details.cleaning:
            rules = ", ".join(cleaning["rules"]) or "none"
            rest = f"; nothing was left: {cleaning['reason']}" if cleaning["left"] is None else ""
            note(f"Cleaning rules that applied: {rules}{rest}.", 400, classes="small")


def show_calls(details: DecisionDetails) -> None:
    """The calls behind the decision: tokens, cost, and whether the reply was reused."""
    with section("Calls"):
        if not details.calls:
            empty_state("No model was called for it.")
        for call in details.calls:
            _call(call)


def _call(call: ModelCall) -> None:
    with ui.row().classes("w-full items-start gap-6"):
        figure(f"{call.prompt_tokens:,} + {call.completion_tokens:,}", "tokens read + written")
        cost, price = "unknown", "no price is known for this model"
        if call.cost is not None:
            cost = money_text(call.cost, 6) if call.cost else "none"
            price = "free" if call.cost == 0 else "by the price table"
        figure(cost, "cost", note=price)
        if call.seconds is not None:
            figure(f"{call.seconds:.3g} s" if call.seconds >= 0.001 else "under 1 ms", "time of the call")
        figure(str(call.shared), "person got it" if call.shared == 1 else "people share it")
    source = "The reply came from the call store and cost nothing." if call.reused else "The call was made in this run."
    note("The call store of this workspace does not have it." if call.reused is None else source)
    text = f"call {call.key} to {display_text(call.model, 120)}"
    test_id(note(text, classes="soft small commandline w-full"), "call")
