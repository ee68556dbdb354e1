"""Files of studies that somebody may send: towns, causal studies, human data, plans and adapters; and who reads them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from populace.models import write_adapter

CAUSAL = """title: Two goods
treatment:
  name: price
  levels: [0.5, 1, 1.5]
  scale: regular_price
  statement: "Today {product} costs ${price:.2f}."
  label: "${price:.2f}"
  drawn_from: half to one and a half of the regular price
setting: "You are in a supermarket and look at {product}."
question: Do you buy it?
options: [buy, leave]
success: buy
expected: falls
population: adults who shop for food
covariates:
  - name: past_price
    statement: "Last week it cost ${past_price:.2f}."
    question: "What did {product} cost last week?"
    unit: dollars
    values: [0.6, 1, 1.3]
    scale: regular_price
    comparable: true
items:
  - {item: cola, product: a bottle of cola, regular_price: 2}
personas:
  - {age: 23, work: nurse}
  - {age: 41, work: driver}
"""
NEWS = """[[event]]
name = "fair"
what = "spring fair"
place = "park"
day = 1
begins = "14:00"
ends = "16:00"
"""
TRAINING = """name: tiny
base: no-such-file.gguf
licences: [CC0, MIT]
data:
  - decisions: tasks
    passes: 1
settings: {rank: 2, length: 64}
"""
CORRECTION = """name: tiny
base: no-such-file.gguf
scenario: {name: norms, parameters: {workers: 2, days: 1}}
held_out: {name: epidemic}
score: {prefer: {blue: 1.0, green: 0.0}}
"""
BELIEVABILITY = """runs: [RUN]
conditions:
  full mind: {}
  no reflection: {without: [reflection]}
judges: ["scripted:cast"]
"""
EVALUATE = ("evaluate", "PREDICTIONS", "HUMAN", "--others", "OTHERS", "--items", "TEA", "--to", "OUT")
PANEL = ("panel", "PANEL", "--items", "ITEMS", "--people", "2", "--estimate", "--model", "scripted:cast")
TASKS = ("tasks", "TASKS", "--estimate", "--model", "scripted:cast")
PRODUCTS = """[[product]]
name = "milk"
description = "fresh"
category = "milk"
unit = "1 litre"
price = 1.2
"""
TOWN = ("run", "party", "--days", "1", "--residents", "3", "--decider", "rule", "--news", "FILE")
STUDY_COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "causal.yaml": [("causal", "FILE", "--check")],
    "demand.csv": [("demand", "--human", "FILE", "--check")],
    "products.toml": [("demand", "--products", "FILE", "--check")],
    "people.parquet": [("survey", "FILE", "QUESTIONNAIRE", "--estimate", "--model", "scripted:cast")],
    "human.parquet": [("evaluate", "PREDICTIONS", "FILE", "--others", "OTHERS", "--items", "TEA", "--to", "OUT")],
    "predictions.csv": [EVALUATE],
    "human.csv": [EVALUATE],
    "others.csv": [EVALUATE],
    "tea.yaml": [EVALUATE],
    "panel.csv": [PANEL],
    "items.csv": [PANEL],
    "tasks/tasks.jsonl": [TASKS],
    "tasks/decisions.parquet": [TASKS],
    "news.toml": [TOWN],
    "training.yaml": [("train", "FILE", "--only-score", "--to", "OUT")],
    "correction.yaml": [("correct", "FILE", "--to", "OUT")],
    "believability.yaml": [("believability", "FILE", "--dry-run")],
    "adapter.gguf": [("models", "--describe", "FILE")],
}


def study_names(files: Path) -> dict[str, str]:
    """The files that commands name, by the words that stand for them."""
    names = {"PREDICTIONS": "predictions.csv", "HUMAN": "human.csv", "TEA": "tea.yaml"}
    names |= {"OTHERS": "others.csv", "PANEL": "panel.csv", "ITEMS": "items.csv", "TASKS": "tasks"}
    return {word: str(files / name) for word, name in names.items()}


def write_studies(files: Path, base_sha256: str, run: str) -> None:
    """Write all files; the adapter says that it belongs to a base with this hash, a study is about this run."""
    texts = {"causal.yaml": CAUSAL, "news.toml": NEWS, "training.yaml": TRAINING, "correction.yaml": CORRECTION}
    texts["products.toml"] = PRODUCTS
    texts["believability.yaml"] = BELIEVABILITY.replace("RUN", run)
    texts["tea.yaml"] = 'items:\n  - {id: tea, type: single, text: "Do you like tea?", options: ["no", "yes"]}\n'
    texts["items.csv"] = "id,text,options,role\ntea,Do you like tea?,yes|no,target\nmilk,Milk?,yes|no,context\n"
    for name, text in texts.items():
        (files / name).write_text(text)
    people = [f"p{number}" for number in range(6)]
    answers = pl.DataFrame({"person": people, "item": "tea", "answer": ["yes", "no"] * 3})
    human = answers.with_columns(retest=pl.Series(["yes", "yes", "no"] * 2))
    human.write_csv(files / "human.csv")
    human.write_parquet(files / "human.parquet")
    pl.DataFrame({"id": [1, 2], "sex": ["female", "male"], "age": [30, 41]}).write_parquet(files / "people.parquet")
    answers.write_csv(files / "predictions.csv")
    waves = [
        pl.DataFrame({"person": people, "wave": wave, "age": range(20, 26), "tea": ["yes", "no"] * 3, "milk": "yes"})
        for wave in (1, 2)
    ]
    pl.concat(waves).write_csv(files / "panel.csv")
    others = answers.with_columns(person=pl.lit("o") + pl.col("person"), retest=pl.col("answer"))
    others.write_csv(files / "others.csv")
    demand = {"item": "cola", "level": [1.0, 2.0, 3.0] * 2, "buy": ["yes", "no"] * 3, "person": people}
    pl.DataFrame(demand).write_csv(files / "demand.csv")
    pair = np.ones((2, 576)), np.zeros((192, 2))
    write_adapter(
        files / "adapter.gguf", {"blk.0.attn_v.weight": pair}, alpha=2, base_sha256=base_sha256,
        base_name="SmolLM2-135M-Instruct", manifest={"kind": "human", "figures": {"accuracy": 0.6}},
    )  # fmt: skip
    (files / "tasks").mkdir()
    write_tasks(files / "tasks")


def write_tasks(folder: Path) -> None:
    """A corpus of decisions with two tasks."""
    cards = [
        {"id": "tea", "family": "attitude", "question": "Tea or coffee?", "options": ["tea", "coffee"], "licence": "CC0"},
        {"id": "gift", "family": "game", "question": "You have {amount}. Do you give half?", "options": ["yes", "no"],
         "licence": "MIT"},
    ]  # fmt: skip
    (folder / "tasks.jsonl").write_text("\n".join(map(json.dumps, cards)))
    rows = [
        {"task": "tea", "person": person, "order": 1, "profile": '{"age": "40"}', "seen": "{}", "answer": "tea"}
        for person in "abc"
    ]
    rows.append({"task": "gift", "person": "d", "order": 1, "profile": "{}", "seen": '{"amount": 10}', "answer": "no"})
    pl.DataFrame(rows).write_parquet(folder / "decisions.parquet")
