"""Answers a second of a survey: 1,000 people × 100 items with a script, and the embedded model beside a naive loop.

Usage: python benchmarks/survey.py [--people N] [--items N] [--embedded-people N] [--embedded-items N] [--threads N]

The naive loop puts the prompts of the same survey to the same file through llama.cpp (xllamacpp), one after the other,
each computed whole. `--threads 1` gives both sides one thread: on a busy machine, two threads wait for each other.
"""

from __future__ import annotations

import argparse
import tempfile
import time

import polars as pl
from llama_loop import ask_one_by_one
from measure import Result, report

from populace import Scripted, Survey
from populace.models import EmbeddedModel

OPTIONS = ["agree strongly", "agree", "disagree", "disagree strongly"]
CHANCES = dict(zip("ABCD", (0.1, 0.4, 0.3, 0.2), strict=True))
"""Options with several words are shown with letters, and the model answers with one."""

COLUMNS = {
    "sex": ["female", "male"],
    "education": ["no degree", "high school", "college", "graduate school"],
    "marital status": ["never married", "married", "divorced", "widowed"],
    "employment": ["working full time", "working part time", "retired", "keeping house", "at school"],
    "religion": ["none", "protestant", "catholic", "other"],
    "party": ["democrat", "independent", "republican"],
    "region": ["northeast", "midwest", "south", "west"],
}


def questionnaire(items: int) -> dict[str, object]:
    """A questionnaire with four options for each item."""
    rows = [
        {"id": f"q{n}", "type": "single", "text": f"Statement {n}: do you agree?", "options": OPTIONS}
        for n in range(items)
    ]
    return {"title": "benchmark", "carry": False, "items": rows}


def people(count: int) -> pl.DataFrame:
    """People who all differ."""
    return pl.DataFrame({"id": range(count)}).with_columns(age=18 + pl.col("id") % 70, town=pl.col("id") % 997)


def respondents(count: int) -> pl.DataFrame:
    """People who all differ, with the usual columns of a survey."""
    texts = [pl.Series(name, [words[n % len(words)] for n in range(count)]) for name, words in COLUMNS.items()]
    return people(count).with_columns(*texts, pl.Series("number of children", [n % 5 for n in range(count)]))


def scripted(count: int, items: int) -> list[Result]:
    """Answers a second with a script."""
    results = []
    for keep in ("nothing", "run"):
        with tempfile.TemporaryDirectory() as folder:
            began, spent = time.perf_counter(), time.process_time()
            answers = Survey.read(questionnaire(items)).ask(
                people(count), model=Scripted(lambda request: CHANCES), workspace=folder, keep=keep
            )
            seconds, cpu = time.perf_counter() - began, time.process_time() - spent
            assert answers.statuses["valid"].sum() == count * items
        detail = f"{count:,} × {items}, {count * items / cpu:,.0f} for each second of processor time"
        results.append(
            Result(f"scripted survey, keep={keep}", count * items / seconds, "answers/s", 20_000, detail=detail)
        )
    return results


def embedded(count: int, items: int, threads: int | None) -> list[Result]:
    """Answers a second with the embedded model, beside a naive loop over the same prompts."""
    model = EmbeddedModel(threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        began, spent = time.perf_counter(), time.process_time()
        results = Survey.read(questionnaire(items)).ask(respondents(count), model=model, workspace=folder)
        seconds, cpu = time.perf_counter() - began, time.process_time() - spent
        prompts = results.run.prompts()
    assert prompts.height == count * items
    naive_seconds, naive_cpu = ask_one_by_one(prompts, model.threads, cache=False)
    detail = (
        f"{count} × {items}: {seconds:.0f} s against {naive_seconds:.0f} s, "
        f"processor time {cpu:.0f} s against {naive_cpu:.0f} s ({naive_cpu / cpu:.2f} times)"
    )
    return [Result("embedded survey beside a naive loop", naive_seconds / seconds, "times as fast", 2.0, detail=detail)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--embedded-people", type=int, default=10)
    parser.add_argument("--embedded-items", type=int, default=20)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    report(scripted(options.people, options.items))
    report(embedded(options.embedded_people, options.embedded_items, options.threads))


if __name__ == "__main__":
    main()
