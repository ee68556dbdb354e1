"""Designs against planted mechanisms, and how often the diagnostics are right: models whose truth is known.

Five mechanisms are put to every design through the product's own runs, so the table shows which design errs where. The
diagnostics are tried on simulated answers with and without the effect that they look for. `python
benchmarks/causal_designs.py` writes both tables into docs/concepts/causal-designs.md; the tests run a part of it.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from populace import Scripted
from populace.causal import (
    DESIGNS,
    CausalDesign,
    CausalResults,
    CausalStudy,
    Responses,
    ask_causal_study,
    drifts,
    focalism,
    range_effect,
    range_halves,
)
from populace.models import Request
from populace.statistics.crossed import crossed_logit

DOCS = Path(__file__).parents[1] / "docs" / "concepts" / "causal-designs.md"
MECHANISMS = ("none", "inferred confounder", "demand effect", "focalism", "anchoring by range")
BIASED: dict[str, tuple[CausalDesign, ...]] = {
    "none": (),
    "inferred confounder": ("blind",),
    "demand effect": ("unblinded", "within"),
    "focalism": ("covariates",),
    "anchoring by range": ("unblinded", "within", "aggregate"),
}
"""The designs in which each mechanism is at work, by theory."""

LEVELS = (0.5, 0.75, 1.0, 1.25, 1.5)
PAST = (0.6, 1.0, 1.3)
BASE, SLOPE, EFFECT = 1.0, -3.0, 2.0
"""Log-odds of buying: base + slope × (price − 1) + effect × (past price − 1), both relative to the regular price."""
INFERENCE, INSISTENCE, STEP, ANCHOR = 0.8, 1.5, 0.7, 0.5

_PRICE = re.compile(r"costs \$(\d+\.\d+)")
_PAST = re.compile(r"Last week it cost \$(\d+\.\d+)")
_TASTE = re.compile(r"taste: (-?\d+\.\d+)")


def shop_study(people: int = 40, items: int = 6) -> CausalStudy:
    """A study of prices; taste and regular prices are evenly spread."""
    tastes = np.round(np.linspace(-0.8, 0.8, people), 3)
    return CausalStudy.read(
        {
            "title": "Planted mechanisms",
            "treatment": {
                "name": "price",
                "levels": list(LEVELS),
                "scale": "regular_price",
                "statement": "Today {product} costs ${price:.4f}.",
                "label": "${price:.4f}",
            },
            "setting": "You look at {product}.",
            "question": "Do you buy it?",
            "options": ["buy", "leave"],
            "success": "buy",
            "expected": "falls",
            "covariates": [
                {
                    "name": "past_price",
                    "statement": "Last week it cost ${past_price:.4f}.",
                    "question": "What did {product} cost last week?",
                    "unit": "dollars",
                    "values": list(PAST),
                    "scale": "regular_price",
                    "comparable": True,
                }
            ],
            "items": [{"product": f"ware {n}", "regular_price": 1.0 + n} for n in range(1, items + 1)],
            "personas": [{"taste": float(taste)} for taste in tastes],
            "forecasts": 4,
        }
    )


@dataclass(frozen=True)
class PlantedShopper:
    """A model with a known response and one mechanism.

    Attributes:
        mechanism: One of `MECHANISMS`.
        tastes: The tastes of all people, for forecasts.
    """

    mechanism: str
    tastes: tuple[float, ...]

    def share(self, x: float, taste: float, past: float | None, *, span: tuple[float, float] | None) -> float:
        """The probability of buying.

        Args:
            x: The price, relative to the regular one.
            taste: The taste of the person.
            past: The stated past price, relative to the regular one; None where none is stated.
            span: The range of prices that the prompt tells; None where it tells none.
        """
        slope, price = SLOPE, x
        if self.mechanism == "demand effect" and span is not None and taste == taste and self.knows:
            slope = SLOPE * INSISTENCE
        if self.mechanism == "anchoring by range" and span is not None:
            price = (1 - ANCHOR) * x + ANCHOR * 2 * (x - span[0]) / (span[1] - span[0])
        values: tuple[float, ...] = PAST if past is None else (past,)
        if self.mechanism == "inferred confounder" and past is None and span is None:
            values = tuple(value + INFERENCE * (x - 1) for value in PAST)
        log_odds = [BASE + taste + slope * (price - 1) + EFFECT * (value - 1) for value in values]
        share = sum(1 / (1 + math.exp(-each)) for each in log_odds) / len(log_odds)
        if self.mechanism == "focalism" and past is not None:
            share = (1 - STEP) * share + STEP * (0.97 if x <= past + 1e-9 else 0.03)
        return share

    knows: bool = True

    def __call__(self, request: Request) -> dict[str, float] | str:
        """Reply to a request."""
        text = "\n".join(words for _, words in request.messages)
        regular = 1.0 + int(re.search(r"ware (\d+)", text).group(1))  # type: ignore[union-attr]
        prices = [float(price) / regular for price in _PRICE.findall(text)]
        found = _TASTE.search(text)
        taste = float(found.group(1)) if found else math.nan
        seed = 0 if request.seed is None else request.seed
        if "Researchers carry out" in text:
            curve = [100 * self.forecast(x, (min(prices), max(prices))) for x in prices]
            noise = np.random.default_rng(seed).normal(0, 1.0, len(curve))
            return json.dumps(
                {f"condition_{n}": round(float(np.clip(c, 0, 100)), 2) for n, c in enumerate(curve + noise, 1)}
            )
        if "What did" in text:
            follow = INFERENCE * (prices[0] - 1) if self.mechanism == "inferred confounder" else 0.0
            return f"{regular * max(0.01, 1 + follow + 0.25 * np.random.default_rng(seed).standard_normal()):.3f}"
        past = _PAST.search(text)
        stated = float(past.group(1)) / regular if past else None
        if "an experiment with" in text:
            draws = np.random.default_rng(seed).random(len(prices))
            span = (min(prices), max(prices))
            shares = [self.share(x, taste, stated, span=span) for x in prices]
            answers = ["buy" if draw < share else "leave" for draw, share in zip(draws, shares, strict=True)]
            return json.dumps({f"situation_{n}": answer for n, answer in enumerate(answers, 1)})
        listed = [float(price) / regular for price in re.findall(r"\$(\d+\.\d+)", text.split("Each is equally")[0])]
        told = (min(listed), max(listed)) if "randomised experiment" in text else None
        share = self.share(prices[-1], taste, stated, span=told)
        return {"buy": share, "leave": 1 - share}

    def forecast(self, x: float, span: tuple[float, float]) -> float:
        """The share of people who buy, as a forecaster who knows them sees it; nobody tells the people the design."""
        plain = PlantedShopper(self.mechanism, self.tastes, knows=False)
        return float(np.mean([plain.share(x, taste, None, span=span) for taste in self.tastes]))


def true_curve(study: CausalStudy) -> np.ndarray:
    """E[Y(do price)] over the people and the population of past prices."""
    tastes = [row["taste"] for row in study.personas]
    shopper = PlantedShopper("none", tuple(tastes))
    return np.array([np.mean([shopper.share(x, taste, None, span=None) for taste in tastes]) for x in LEVELS])


def true_slope(study: CausalStudy) -> float:
    """The slope in log-odds of the true curve."""
    design = np.column_stack([np.ones(len(LEVELS)), LEVELS])
    return float(crossed_logit(true_curve(study)[None, None, :], design).values[1])


def ask_planted(mechanism: str, study: CausalStudy, *, diagnostics: bool = False, seed: int = 1) -> CausalResults:
    """All designs of the study, put to a model with a mechanism."""
    tastes = tuple(float(row["taste"]) for row in study.personas)
    model = Scripted(PlantedShopper(mechanism, tastes), spec=f"scripted:{mechanism.replace(' ', '-')}")
    return ask_causal_study(study, model=model, diagnostics=diagnostics, keep="nothing", seed=seed)


def bias_table(study: CausalStudy, seed: int = 1) -> str:
    """The bias of every design under every mechanism, as a Markdown table; bold where a mechanism is at work."""
    truth = true_slope(study)
    lines = [
        f"| mechanism | {' | '.join(DESIGNS)} |",
        f"|---|{'---|' * len(DESIGNS)}",
    ]
    for place, mechanism in enumerate(MECHANISMS):
        results = ask_planted(mechanism, study, seed=seed + place)
        cells = []
        for design in DESIGNS:
            slope = results[design].slope
            text = f"{round(slope.value - truth, 2) + 0.0:+.2f} ± {(slope.high - slope.low) / 2:.2f}"
            cells.append(f"**{text}**" if design in BIASED[mechanism] else text)
        lines.append(f"| {mechanism} | {' | '.join(cells)} |")
    return "\n".join(lines)


PEOPLE, ITEMS = 200, 20
"""The size at which the diagnostics are tried."""


def elicited(rng: np.random.Generator, study: CausalStudy, drift: float) -> Responses:
    """Unstated values whose mean changes by `drift` standard deviations from the lowest to the highest level.

    People differ by 0.7 SD, a person's answers by as much; how far a value follows the price differs between people
    (SD 0.2) and between items (SD 0.05).
    """
    x = (np.array(LEVELS) - min(LEVELS)) / (max(LEVELS) - min(LEVELS))
    shape = (PEOPLE, ITEMS, len(LEVELS))
    person, noise = 0.5**0.5 * rng.standard_normal((PEOPLE, ITEMS, 1)), 0.5**0.5 * rng.standard_normal(shape)
    follow = drift + 0.2 * rng.standard_normal((PEOPLE, 1, 1)) + 0.05 * rng.standard_normal((1, ITEMS, 1))
    return Responses(
        study, "blind", np.full(shape, np.nan), elicited={"past_price": person + noise + follow * (x - 0.5)}
    )


def stated(rng: np.random.Generator, study: CausalStudy, step: float) -> Responses:
    """Answers, drawn, to prompts that state a past price; a share `step` of the people answer by a step at it."""
    past = rng.choice(PAST, (PEOPLE, ITEMS))
    person, item = 0.5 * rng.standard_normal((PEOPLE, 1, 1)), 0.3 * rng.standard_normal((1, ITEMS, 1))
    x = np.array(LEVELS)
    log_odds = BASE + person + item + SLOPE * (x - 1) + EFFECT * (past[:, :, None] - 1)
    follows = rng.random((PEOPLE, 1, 1)) < step
    share = np.where(follows, np.where(x <= past[:, :, None] + 1e-9, 0.97, 0.03), 1 / (1 + np.exp(-log_odds)))
    y = (rng.random(share.shape) < share).astype(float)
    return Responses(study, "covariates", y, covariates={"past_price": past})


def inside(rng: np.random.Generator, study: CausalStudy, shift: float) -> tuple[Responses, Responses]:
    """Answers, drawn, to the level in the middle inside two ranges; the upper one adds `shift` to the log-odds.

    What a range does differs between people (SD 0.3) and between items (SD 0.1).
    """
    halves = range_halves(study)
    person, item = 0.5 * rng.standard_normal((PEOPLE, 1, 1)), 0.3 * rng.standard_normal((1, ITEMS, 1))
    moved = 0.3 * rng.standard_normal((PEOPLE, 1, 1)) + 0.1 * rng.standard_normal((1, ITEMS, 1))
    answers = []
    for side, half in zip((-0.5, 0.5), halves, strict=True):
        log_odds = person + item + side * (shift + moved) + SLOPE * (np.array(half.treatment.numbers) - 1)
        share = 1 / (1 + np.exp(-log_odds))
        answers.append(Responses(half, "unblinded", (rng.random(share.shape) < share).astype(float)))
    return answers[0], answers[1]


def drift_is(verdict: str, drift: float) -> Callable[[np.random.Generator, CausalStudy], bool]:
    return lambda rng, study: drifts(elicited(rng, study, drift))[0].verdict == verdict


def step_found(step: float) -> Callable[[np.random.Generator, CausalStudy], bool]:
    return lambda rng, study: focalism(stated(rng, study, step), "past_price").verdict == "step"


def range_found(shift: float) -> Callable[[np.random.Generator, CausalStudy], bool]:
    return lambda rng, study: range_effect(*inside(rng, study, shift)).verdict == "range matters"


TRIALS: dict[tuple[str, str, str], Callable[[np.random.Generator, CausalStudy], bool]] = {
    ("drift: *constant*", "0.1 SD, the margin itself", "size"): drift_is("constant", 0.1),
    ("drift: *constant*", "0", "power"): drift_is("constant", 0.0),
    ("drift: *drifts*", "0.1 SD, the margin itself", "size"): drift_is("drifts", 0.1),
    ("drift: *drifts*", "0.25 SD", "power"): drift_is("drifts", 0.25),
    ("focalism: *step*", "no step", "size"): step_found(0.0),
    ("focalism: *step*", "a fifth of the people answer by a step", "power"): step_found(0.2),
    ("range: *range matters*", "0 in log-odds", "size"): range_found(0.0),
    ("range: *range matters*", "0.5 in log-odds", "power"): range_found(0.5),
}
"""By diagnostic and verdict, planted effect, and whether the verdict is wrong (size) or right (power)."""


def trial_rates(sets: int) -> Iterator[tuple[tuple[str, str, str], float]]:
    """How often each verdict comes, over data sets."""
    study = shop_study(people=4, items=2)
    for place, (key, found) in enumerate(TRIALS.items()):
        rng = np.random.default_rng(100 + place)
        yield key, float(np.mean([found(rng, study) for _ in range(sets)]))


def holds(kind: str, rate: float) -> bool:
    """Whether a rate meets its bar."""
    return 0.035 <= rate <= 0.065 if kind == "size" else rate >= 0.9


def write_section(name: str, content: str) -> None:
    """Put a table between its marks in the page."""
    begin, end = f"<!-- {name} begins -->", f"<!-- {name} ends -->"
    text = DOCS.read_text(encoding="utf-8")
    before, after = text.split(begin)[0], text.split(end)[1]
    DOCS.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="data sets for each diagnostic")
    parser.add_argument("--people", type=int, default=200, help="people in the table of mechanisms")
    parser.add_argument("--check", action="store_true", help="print the tables and write nothing")
    options = parser.parse_args()
    study = shop_study(people=options.people)
    biases = bias_table(study)
    print(f"true slope {true_slope(study):.3f}\n{biases}", flush=True)
    lines = ["| diagnostic and verdict | planted | kind | data sets | how often | bar |", "|---|---|---|---|---|---|"]
    failing = 0
    for (verdict, planted, kind), rate in trial_rates(options.sets):
        bar = "3.5–6.5 %" if kind == "size" else "≥ 90 %"
        mark = "" if holds(kind, rate) else " **!**"
        failing += bool(mark)
        lines.append(f"| {verdict} | {planted} | {kind} | {options.sets} | {rate * 100:.1f} %{mark} | {bar} |")
        print(lines[-1], flush=True)
    if not options.check:
        size = f"{len(study.personas)} people × {len(study.items)} goods × {len(LEVELS)} prices"
        write_section("mechanisms", f"{biases}\n\nThe true slope is {true_slope(study):.2f}; {size}.")
        write_section("diagnostics", "\n".join(lines))
    raise SystemExit(bool(failing))


if __name__ == "__main__":
    main()
