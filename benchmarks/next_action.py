"""Fine-tuning on web sessions: zero-shot, fine-tuned, without reasoning, and with shuffled reasoning, side by side.

Sessions with a known truth are made up, a model learns from training people in training shops, and next actions are
predicted for unseen people and for unseen shops. With a writer, reasoning traces are added and checked first.

    python benchmarks/next_action.py --base BASE.gguf --to build/next-action --device cuda
    python benchmarks/next_action.py --base BASE.gguf --to build/next-action --device cuda --writer MODEL
"""

import argparse
import json
from pathlib import Path
from typing import Any

from populace.evaluation.next_action import (
    NextActionCases,
    NextActionReport,
    known_preferences,
    majority_predictions,
    page_majority_predictions,
    predict_actions,
    synthesise_reasoning,
)
from populace.training import ModelVocabulary, SupervisedSettings, Trainer, choose_device, load_base
from populace.training.base_network import add_lora
from populace.training.session_examples import SessionReasoning, SessionSource
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import WebSessions

THINKING = {"none": "none", "recorded": "own", "shuffled": "own"}
"""How a model that learned with reasoning of a kind is asked."""


def fine_tuned(
    base: Path, sessions: WebSessions, unseen: WebSessions, reasoning: SessionReasoning, arguments: argparse.Namespace
) -> Path:
    """Train an adapter on sessions; returns its folder."""
    folder = arguments.to / f"adapter-{reasoning}"
    vocabulary = ModelVocabulary(base)
    settings = SupervisedSettings(
        rank=arguments.rank, batch=arguments.batch, length=2048, learning_rate=arguments.rate, pool=8, check_every=2
    )
    model = add_lora(load_base(base, arguments.device), settings.rank, settings.seed, settings.matrices)
    source = SessionSource(sessions, vocabulary, reasoning=reasoning)
    looked_at = SessionSource(unseen, vocabulary, reasoning=reasoning).examples(0)
    trainer = Trainer(model, vocabulary, settings, folder=folder / "state", workers=arguments.workers)
    (folder / "state").mkdir(parents=True, exist_ok=True)
    print(f"{reasoning}: {len(source):,} actions, {source.left_out:,} left out", flush=True)
    trainer.train([source], [arguments.passes], unseen=looked_at, watch=lambda look: print(look, flush=True))
    model.save_pretrained(folder)
    return folder


def main() -> None:
    """Make sessions, train and score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="A GGUF file of the model that learns.")
    parser.add_argument("--to", type=Path, required=True, help="A folder for adapters and reports.")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--shops", type=int, default=12)
    parser.add_argument("--most", type=int, default=1500, help="At most so many cases of each part.")
    parser.add_argument("--passes", type=float, default=2.0)
    parser.add_argument("--rank", type=int, default=32)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--writer", help="A model that writes reasoning traces.")
    parser.add_argument("--judge", help="A model that checks them.")
    parser.add_argument("--traced", type=int, default=400, help="How many training people get traces.")
    arguments = parser.parse_args()
    arguments.device = choose_device(arguments.device)
    arguments.to.mkdir(parents=True, exist_ok=True)
    sessions = generate_sessions(arguments.people, shops=arguments.shops, visits=2, seed=1)
    parts = sessions.split()
    learned: dict[SessionReasoning, WebSessions] = {"none": parts["training"]}
    looked_at = parts["development"]
    if arguments.writer:
        people = parts["training"].table["person"].unique(maintain_order=True).head(arguments.traced).to_list()
        few = WebSessions(parts["training"].table.filter(parts["training"].table["person"].is_in(people)))
        traces = synthesise_reasoning(few, arguments.writer, judge=arguments.judge)
        print(traces.counts(), flush=True)
        looked_at = synthesise_reasoning(looked_at, arguments.writer).sessions
        # All conditions learn from the same people, so that they differ in reasoning alone.
        learned = {"none": few, "recorded": traces.sessions, "shuffled": traces.sessions}
    folders = {
        reasoning: fine_tuned(arguments.base, mine, looked_at, reasoning, arguments)
        for reasoning, mine in learned.items()
    }
    figures: dict[str, Any] = {}
    for part in ("unseen_people", "unseen_shops"):
        cases = NextActionCases.from_sessions(parts[part], purchase_elements=sessions.purchase_elements)
        cases = cases.take(arguments.most)
        arms = [majority_predictions(cases, parts["training"]), page_majority_predictions(cases, parts["training"])]
        arms.append(predict_actions(cases, f"transformers:{arguments.base}", name="zero-shot"))
        for reasoning, folder in folders.items():
            name = "fine-tuned" if reasoning == "none" else f"fine-tuned, {reasoning} reasoning"
            spec = f"transformers:{arguments.base}+{folder}"
            arms.append(predict_actions(cases, spec, thinking=THINKING[reasoning], name=name))  # type: ignore[arg-type]
        arms.append(known_preferences(cases))
        names = [arm.name for arm in arms]
        pairs = [("fine-tuned", "zero-shot"), ("fine-tuned", "majority by page")]
        pairs += [
            ("fine-tuned, recorded reasoning", other) for other in ("fine-tuned", "fine-tuned, shuffled reasoning")
        ]
        report = NextActionReport.of(part, cases, arms, compare=[pair for pair in pairs if set(pair) <= set(names)])
        report.write(arguments.to)
        figures[part] = report.figures()
        print(report.table(), report.differences, flush=True)
    (arguments.to / "next-action.json").write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
