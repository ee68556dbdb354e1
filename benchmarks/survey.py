"""Answers a second of a survey: 1,000 people × 100 items with a script, and an embedded model beside a loop.

Usage: python benchmarks/survey.py [--people N] [--items N] [--embedded MODEL]

With `--embedded`, 60 people × 6 items are put to a model by one survey, and the same prompts by a loop that asks one
person after the other.
"""

import argparse
import tempfile
import time

import polars as pl

from populace import Scripted, Survey


def questionnaire(items: int) -> dict[str, object]:
    """A questionnaire with four options for each item."""
    options = ["agree strongly", "agree", "disagree", "disagree strongly"]
    rows = [
        {"id": f"q{n}", "type": "single", "text": f"Statement {n}: do you agree?", "options": options}
        for n in range(items)
    ]
    return {"title": "benchmark", "carry": False, "items": rows}


def people(count: int) -> pl.DataFrame:
    """People who all differ."""
    return pl.DataFrame({"id": range(count)}).with_columns(age=18 + pl.col("id") % 70, town=pl.col("id") % 997)


def embedded(model: str) -> None:
    """A survey on a real model, and the same prompts one after the other."""
    items, count = 6, 60
    rates = []
    for size in (count, 1):
        with tempfile.TemporaryDirectory() as folder:
            survey = Survey.read(questionnaire(items))
            survey.ask(people(1), model=model, workspace=folder, keep="nothing")
            began = time.perf_counter()
            for first in range(0, count, size):
                some = people(count + 1)[first + 1 : first + 1 + size]
                survey.ask(some, model=model, workspace=folder, keep="calls")
            rates.append(count * items / (time.perf_counter() - began))
    print(
        f"{model}: {rates[0]:.1f} answers/s together, {rates[1]:.1f} one person at a time, {rates[0] / rates[1]:.1f} ×"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--embedded", metavar="MODEL")
    options = parser.parse_args()
    chances = {"agree strongly": 0.1, "agree": 0.4, "disagree": 0.3, "disagree strongly": 0.2}
    for keep in ("nothing", "run"):
        with tempfile.TemporaryDirectory() as folder:
            began, spent = time.perf_counter(), time.process_time()
            results = Survey.read(questionnaire(options.items)).ask(
                people(options.people), model=Scripted(lambda request: chances), workspace=folder, keep=keep
            )
            seconds, cpu = time.perf_counter() - began, time.process_time() - spent
        answers = options.people * options.items
        assert results.table.height == options.people
        rates = f"{answers / seconds:,.0f} answers/s, {answers / cpu:,.0f} for each second of the processor"
        print(f"scripted, keep={keep}: {answers:,} answers in {seconds:.2f} s, {rates}")
    if options.embedded:
        embedded(options.embedded)


if __name__ == "__main__":
    main()
