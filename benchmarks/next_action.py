"""Fine-tuning on web sessions: zero-shot, fine-tuned, with, without and with shuffled reasoning, side by side.

Sessions with a known truth are made up, a model learns from training people in training shops as with `populace train`,
and next actions are predicted for unseen people and for unseen shops. With a writer, reasoning traces are added and
checked first.

    python benchmarks/next_action.py --base embedded --to build/next-action --device cuda
    python benchmarks/next_action.py --base embedded --to build/reasoning --device cuda --writer MODEL

What is done is in the folder, and `next-action.json` is written anew after each phase. The same command goes on after
an interruption. All sizes are options: `--people`, `--passes` and `--most` decide how long it takes.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, get_args

import polars as pl

from populace.base.errors import PopulaceError
from populace.evaluation.next_action import (
    NextActionCases,
    NextActionPredictions,
    NextActionReport,
    known_preferences,
    majority_predictions,
    page_majority_predictions,
    predict_actions,
    synthesise_reasoning,
)
from populace.evaluation.next_action.asking import Thinking
from populace.models import SMOLLM2
from populace.training import Look, PlannedTraining, TrainingPlan, choose_device
from populace.training.session_examples import SessionReasoning
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import WebSessions, join_sessions

SEED = 1
"""The seed of the sessions."""

THINKING: dict[SessionReasoning, Thinking] = {
    "none": "none", "hidden": "none", "recorded": "own", "shuffled": "own",
}  # fmt: skip
"""How a model that learned with reasoning of a kind is asked."""
HELD_OUT = ("unseen_people", "unseen_shops")
"""The parts that are predicted."""
PAIRS = [
    ("fine-tuned", "zero-shot"),
    ("fine-tuned", "majority"),
    ("fine-tuned", "majority by page"),
    ("fine-tuned, recorded reasoning", "fine-tuned, hidden reasoning"),
    ("fine-tuned, recorded reasoning", "fine-tuned"),
    ("fine-tuned, recorded reasoning", "fine-tuned, shuffled reasoning"),
]
"""The predictors that are compared."""


class NextActionBenchmark:
    """The phases of the benchmark; each is skipped where its result is in the folder.

    Args:
        arguments: The options of the command.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.folder = arguments, arguments.to
        self.folder.mkdir(parents=True, exist_ok=True)
        self.result = self.folder / "next-action.json"
        options = {name: str(value) for name, value in sorted(vars(arguments).items()) if name not in ("to", "workers")}
        self.figures: dict[str, Any] = {"options": options, "seconds": {}, "training": {}, "parts": {}}
        if self.result.is_file():
            before = json.loads(self.result.read_text("utf-8"))
            if before["options"] != options:
                raise SystemExit(f"{self.folder} holds another benchmark. Name another folder, or give its options.")
            self.figures = before
        self.began = time.monotonic()
        self.sessions = generate_sessions(arguments.people, shops=arguments.shops, visits=arguments.visits, seed=SEED)
        self.parts = self.sessions.split()
        self.say(f"sessions: { {name: part.table.height for name, part in self.parts.items()} } actions")
        for name in ("development", *HELD_OUT):
            if self.parts[name].table["person"].n_unique() < 2:
                raise SystemExit(f"The part {name} has fewer than two people. Raise --people, or --visits.")

    def say(self, text: str) -> None:
        """Print a line with the seconds since the beginning."""
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", flush=True)

    def write(self, phase: str, began: float) -> None:
        """Write what is known so far."""
        seconds = self.figures["seconds"]
        seconds[phase] = round(seconds.get(phase, 0.0) + time.monotonic() - began, 1)
        beside = self.result.with_suffix(".new")
        beside.write_text(json.dumps(self.figures, indent=1), "utf-8")
        beside.replace(self.result)
        self.say(f"{phase}: done")

    def run(self) -> None:
        """Do what is left."""
        conditions: tuple[SessionReasoning, ...] = get_args(SessionReasoning) if self.arguments.writer else ("none",)
        log = self.log_with_traces() if self.arguments.writer else None
        adapters = {reasoning: self.adapter(reasoning, log) for reasoning in conditions}
        for part in HELD_OUT:
            self.score(part, adapters)

    def log_with_traces(self) -> Path:
        """A log of the sessions in which training people, and those who are looked at on the way, have traces."""
        training = self.parts["training"]
        people = training.table["person"].unique(maintain_order=True).head(self.arguments.traced).to_list()
        few = WebSessions(training.table.filter(training.table["person"].is_in(people)))
        traced = [self.traces("training", few), self.traces("development", self.parts["development"])]
        # All conditions learn from the same people, so that they differ in reasoning alone. What is held out is there
        # too, so that the training holds out the same shops.
        others = [self.parts[name] for name in ("unseen_people", "unseen_shops", "unseen_both")]
        return join_sessions([*traced, *others]).write(self.folder / "sessions-with-traces.parquet")

    def traces(self, name: str, sessions: WebSessions) -> WebSessions:
        """The sessions with what the writer says that people thought."""
        path, began = self.folder / f"traces-{name}.parquet", time.monotonic()
        if f"traces, {name}" not in self.figures:
            self.say(f"traces, {name}: {sessions.table.height:,} actions")
            judge = self.arguments.judge if name == "training" else None
            traces = synthesise_reasoning(sessions, self.arguments.writer, judge=judge)
            traces.table.write_parquet(self.folder / f"traces-{name}-all.parquet")
            traces.sessions.write(path)
            share, counts = traces.consistent_share, traces.counts().to_dicts()
            self.figures[f"traces, {name}"] = {"consistent": share, "counts": counts}
            self.write(f"traces, {name}", began)
        return WebSessions.read(path)

    def plan(self, reasoning: SessionReasoning, log: Path | None) -> TrainingPlan:
        """What is trained: a plan as `populace train` takes it."""
        arguments = self.arguments
        made_up = {"people": arguments.people, "shops": arguments.shops, "visits": arguments.visits, "seed": SEED}
        licence = {} if log is None else {"licence": "CC0-1.0"}
        document = {
            "name": f"next-action-{reasoning}",
            "base": str(arguments.base),
            "licences": ["CC0-1.0"],
            "note": f"Learned from made-up web sessions, reasoning {reasoning}.",
            "data": [
                {"sessions": log or made_up, "reasoning": reasoning, "passes": arguments.passes, **licence},
            ],
            "settings": {
                "rank": arguments.rank, "batch": arguments.batch, "length": arguments.length,
                "learning_rate": arguments.rate, "pool": arguments.pool, "check_every": 1,
            },
        }  # fmt: skip
        return TrainingPlan.model_validate(document)

    def adapter(self, reasoning: SessionReasoning, log: Path | None) -> Path:
        """Train an adapter on sessions, or take the one that is there."""
        began, phase = time.monotonic(), f"training, reasoning {reasoning}"
        training = PlannedTraining(self.plan(reasoning, log), self.folder / f"training-{reasoning}")
        if phase in self.figures["seconds"]:
            return training.adapter_file
        self.say(f"{phase}: {training.manifest([], {})['data'][0]['actions']:,} actions")

        def watch(look: Look) -> None:
            self.say(f"{phase}: {look}")
            self.figures["training"][reasoning] = [vars(each) for each in training.looks()]
            self.write(f"{phase}, {look.progress:.0%}", time.monotonic())

        training.train(self.arguments.device, workers=self.arguments.workers, watch=watch)
        self.figures["training"][reasoning] = [vars(each) for each in training.looks()]
        self.figures[f"too long, reasoning {reasoning}"] = training.too_long
        self.write(phase, began)
        return training.adapter_file

    def score(self, part: str, adapters: dict[SessionReasoning, Path]) -> None:
        """Predict the actions of a part with every predictor, and report what is there after each."""
        training, base = self.parts["training"], self.arguments.base
        cases = NextActionCases.from_sessions(self.parts[part], purchase_elements=self.sessions.purchase_elements)
        cases = cases.take(self.arguments.most)
        self.say(f"{part}: {len(cases):,} cases")
        arms = [
            majority_predictions(cases, training),
            page_majority_predictions(cases, training),
            known_preferences(cases),
        ]
        device = "" if self.arguments.device == "cuda" else "?device=cpu"
        models: dict[str, tuple[str, Thinking]] = {"zero-shot": (f"transformers:{base}{device}", "none")}
        for reasoning, path in adapters.items():
            name = "fine-tuned" if reasoning == "none" else f"fine-tuned, {reasoning} reasoning"
            models[name] = f"transformers:{base}+{path}{device}", THINKING[reasoning]
        for name, (spec, thinking) in models.items():
            began = time.monotonic()
            path = self.folder / f"{part}-{name.replace(', ', '-').replace(' ', '-')}.parquet"
            known = f"{part}, {name}" in self.figures["seconds"]
            if not known:
                predictions = predict_actions(cases, spec, thinking=thinking, name=name)
                predictions.table.write_parquet(path)
            arms.append(NextActionPredictions(name, pl.read_parquet(path)))
            names = {arm.name for arm in arms}
            report = NextActionReport.of(part, cases, arms, compare=[pair for pair in PAIRS if set(pair) <= names])
            self.figures["parts"][part] = report.figures()
            if not known:
                self.write(f"{part}, {name}", began)
        report.write(self.folder)
        print(report.table(), flush=True)
        for (first, second), value in report.differences:
            print(f"{first} − {second}: {value}", flush=True)


def _model_file(name: str) -> Path:
    return SMOLLM2.fetch() if name == "embedded" else Path(name)


def parse_arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--base", type=_model_file, required=True, help="The model that learns: `embedded`, or a GGUF file."
    )
    parser.add_argument("--to", type=Path, required=True, help="A folder for adapters and reports.")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--shops", type=int, default=12)
    parser.add_argument("--visits", type=int, default=2)
    parser.add_argument("--most", type=int, default=1000, help="At most so many cases of each part.")
    parser.add_argument("--passes", type=float, default=2.0)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--length", type=int, default=2048, help="Tokens in a packed sequence.")
    parser.add_argument("--batch", type=int, default=16, help="Sequences in a step.")
    parser.add_argument("--pool", type=int, default=4, help="Parts of 500 actions between two looks.")
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--writer", help="A model that writes reasoning traces.")
    parser.add_argument("--judge", help="A model that checks them.")
    parser.add_argument("--traced", type=int, default=400, help="How many training people get traces.")
    arguments = parser.parse_args(words)
    arguments.device = choose_device(arguments.device)
    return arguments


if __name__ == "__main__":
    try:
        NextActionBenchmark(parse_arguments()).run()
    except KeyboardInterrupt:
        print("Interrupted. The same command goes on.", file=sys.stderr)
        sys.exit(130)
    except PopulaceError as error:
        print(error.paragraph(), file=sys.stderr)
        sys.exit(error.exit_code)
