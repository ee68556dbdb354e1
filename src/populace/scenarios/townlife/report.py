"""What the words of a run were like: faults of speech, time without an activity, plans, and invalid answers."""

import json
from collections import Counter
from typing import Any

import polars as pl

from populace.base.formatting import plural
from populace.engine.scenario import ReportTable
from populace.questions import Speech
from populace.runs.reader import RunReader

FAULTS = ("narration", "echo", "addresses the speaker", "speaks for another", "other")
"""Why a line was refused; `other` is what no rule of speech names, such as a refusal to speak."""
_VALID = ("ok", "repaired")


def words_report(run: RunReader) -> list[ReportTable]:
    """The tables about words that a run of a town has data for."""
    return [*_speech_table(run), *_time_table(run), *_invalid_table(run)]


def speech_faults(run: RunReader) -> pl.DataFrame:
    """How often each fault of speech occurred: in first replies, in all refused replies, and in lines that were said.

    Lines that were said are judged by the same rules as those that were refused.
    """
    question = Speech("{transcript}")
    first: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    said = asked = 0
    for step in run.steps:
        for prompt in _dialogue_prompts(run, step):
            text = f"{prompt['system']}\n{prompt['user']}"
            replies = prompt["replies"] or []
            is_valid = prompt["status"] in _VALID
            asked += 1
            said += is_valid
            for number, reply in enumerate(replies):
                is_said = is_valid and number == len(replies) - 1
                fault = question.fault(reply, text) or ("" if is_said else "other")
                if fault:
                    (accepted if is_said else refused)[fault] += 1
                    first[fault] += number == 0
    rows = [*((fault, first[fault], refused[fault], accepted[fault]) for fault in FAULTS)]
    rows.append(("any", first.total(), refused.total(), accepted.total()))
    return pl.DataFrame(
        {
            "fault": [row[0] for row in rows],
            "first replies": [row[1] for row in rows],
            "of first replies": [row[1] / asked if asked else None for row in rows],
            "refused replies": [row[2] for row in rows],
            "said": [row[3] for row in rows],
            "of what was said": [row[3] / said if said else None for row in rows],
        },
        schema_overrides={"of first replies": pl.Float64, "of what was said": pl.Float64},
    )


def _dialogue_prompts(run: RunReader, step: int) -> list[dict[str, Any]]:
    asks, prompts = run.record.table(step, "asks"), run.record.table(step, "prompts")
    if asks is None or prompts is None:
        return []
    spoken = asks.filter(pl.col("purpose") == "dialogue")["ask"]
    return prompts.filter(pl.col("ask").is_in(spoken.implode())).to_dicts()


def _speech_table(run: RunReader) -> list[ReportTable]:
    table = speech_faults(run)
    said = run.events.filter(pl.col("kind") == "said").height
    if not said and not table["first replies"].sum():
        return []
    note = (
        f"{plural(said, 'line')} were said. A line with a fault is refused and asked for again. First replies are what "
        "was answered before that; lines that were said are judged by the same rules."
    )
    return [ReportTable("Faults of speech", table, note)]


def _time_table(run: RunReader) -> list[ReportTable]:
    waking = run.history("waking")
    if not waking.height:
        return []
    plans = [json.loads(data) for data in run.events.filter(pl.col("kind") == "planned")["data"]]
    own = [plan for plan in plans if plan.get("by") == "plan"]
    whole = [plan for plan in own if plan["begins"] <= plan["at"] and plan["ends"] >= plan["bedtime"]]
    awake, idle = int(waking["awake"].sum()), int(waking["idle"].sum())
    rows = [
        ("steps awake, over all people", awake, None),
        ("of them without an activity", idle, idle / awake if awake else None),
        ("times that somebody planned", len(plans), None),
        ("of them with a valid plan", len(own), len(own) / len(plans) if plans else None),
        ("of these from then to bedtime", len(whole), len(whole) / len(own) if own else None),
    ]
    table = pl.DataFrame(rows, schema={"what": pl.String, "count": pl.Int64, "share": pl.Float64}, orient="row")
    note = (
        "Who has no valid plan follows the routine; without an activity is getting ready, waiting, resting or nothing."
    )
    return [ReportTable("How time was spent", table, note)]


def _invalid_table(run: RunReader) -> list[ReportTable]:
    answers = run.answers()
    if not answers.height:
        return []
    invalid = ~pl.col("status").cast(pl.String).is_in(_VALID)
    table = answers.group_by("purpose").agg(answers=pl.len(), invalid=invalid.sum()).sort("purpose")
    table = table.with_columns(share=pl.col("invalid") / pl.col("answers"))
    return [ReportTable("Invalid answers by purpose", table)]
