"""Small corpora of decisions with a known rule, in the form that `HumanDecisions.read` takes."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

TASKS = [
    {"id": "walk", "family": "game", "question": "It is {weather}. Walk?", "licence": "CC0-1.0", "options": ["yes", "no"]},
    {"id": "tea", "family": "attitude", "question": "Tea?", "licence": "CC0-1.0", "options": ["good", "bad"], "topics": ["Core"]},
    {"id": "price", "family": "price", "question": "Pay?", "licence": "MIT", "options": {"min": 0, "max": 9}},
]  # fmt: skip


def small_corpus(folder: Path, people: int = 60, *, first: int = 0) -> Path:
    """People who walk when it is dry, like tea when they are old, and pay what their number ends with."""
    rows = []
    for number in range(first, first + people):
        age = ("old", "young")[number % 2]
        weather = ("dry", "wet")[number // 2 % 2]
        profile = json.dumps({"age": age})
        who = f"person-{number}"
        seen = json.dumps({"weather": weather})
        rows += [
            ("walk", who, profile, seen, "yes" if weather == "dry" else "no", None),
            ("tea", who, profile, None, "good" if age == "old" else "bad", "good"),
            ("price", who, profile, None, str(number % 10), None),
        ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tasks.jsonl").write_text("\n".join(json.dumps(task) for task in TASKS), "utf-8")
    columns = ["task", "person", "profile", "seen", "answer", "retest"]
    pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row").write_csv(folder / "decisions.csv")
    return folder
