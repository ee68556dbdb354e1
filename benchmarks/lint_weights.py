"""Fit the weights of the ambiguity lint, and tell how it does on the designs of an author whom it has not seen.

    python benchmarks/lint_weights.py            # alarms and misses, each author held out in turn
    python benchmarks/lint_weights.py --write    # fit to all authors and write src/populace/causal/lint_weights.csv

The weights are those of a logistic regression with a ridge penalty. Only evidence that several authors use is weighed,
so that the subjects of one author's designs are not taken for a sign. `held_out.toml`, `poll.toml` and
`product.toml` are never used.
"""

import argparse
import csv
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from populace.causal import lint_evidence
from populace.causal.lint_clauses import clauses
from populace.causal.lint_evidence import evidence, evidence_value

DESIGNS = Path(__file__).parent.parent / "tests" / "causal" / "designs"
WEIGHTS = Path(lint_evidence.__file__).with_name("lint_weights.csv")
AUTHORS = {
    "ambiguous": "first",
    "clean": "first",
    "later": "first",
    "unseen": "second",
    "fresh": "third",
    "independent": "fourth",
    "stranger": "fifth",
    "outsider": "sixth",
    "mechanisms": "seventh",
    "registers": "eighth",
    "field": "ninth",
    "market": "tenth",
    "public": "eleventh",
    "clinic": "twelfth",
}
PENALTY = 3.0
"""The ridge penalty."""
LEAST_AUTHORS = 3
"""How many authors must use a piece of evidence before it is weighed."""


@dataclass(frozen=True)
class Example:
    """A design with its author, its evidence, and whether its prompts say that the level was set."""

    author: str
    names: frozenset[str]
    settled: bool


@dataclass(frozen=True)
class Fit:
    """The names that are weighed, and their weights with the intercept at the end."""

    names: list[str]
    weights: np.ndarray

    def scores(self, examples: Sequence[Example]) -> np.ndarray:
        return _matrix(examples, self.names) @ self.weights


def examples() -> list[Example]:
    """The designs of all authors. One that is about the world as it is found does not say that a level was set."""
    rows = []
    for name, author in AUTHORS.items():
        path = DESIGNS / f"{name}.toml"
        tables = tomllib.loads(path.read_text("utf-8"))
        for kind, designs in tables.items():
            clean = kind == "clean" or (kind == "design" and name == "clean")
            for design in designs:
                if "{level}" not in design["prompt"]:
                    continue  # a prompt with all levels, or without any, is read in another way
                rows.append(Example(author, _names(design), clean and design.get("estimand") != "observational"))
    return rows


def _names(design: dict[str, object]) -> frozenset[str]:
    text, levels, treatment = str(design["prompt"]), [str(x) for x in design["levels"]], str(design["treatment"])
    read = clauses(text.replace("{level}", levels[0]), treatment, levels[0], levels)
    return evidence(read, treatment, levels)


def _matrix(examples: Sequence[Example], names: Sequence[str]) -> np.ndarray:
    place = {name: number for number, name in enumerate(names)}
    matrix = np.zeros((len(examples), len(names) + 1))
    matrix[:, -1] = 1
    for row, example in enumerate(examples):
        for name in example.names:
            if name in place:
                matrix[row, place[name]] = evidence_value(name)
    return matrix


def fit(examples: Sequence[Example], penalty: float = PENALTY, least: int = LEAST_AUTHORS) -> Fit:
    """Weights that tell settled designs from the others, with both counted as equally frequent."""
    authors: dict[str, set[str]] = {}
    for example in examples:
        for name in example.names:
            authors.setdefault(name, set()).add(example.author)
    names = sorted(name for name, users in authors.items() if len(users) >= least)
    matrix = _matrix(examples, names)
    sign = np.array([1.0 if example.settled else -1.0 for example in examples])
    share = np.where(sign > 0, (sign > 0).mean(), (sign < 0).mean())
    ridge = np.full(matrix.shape[1], penalty)
    ridge[-1] = 0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (matrix @ weights)
        slope = -sign / (1 + np.exp(margin)) / (2 * share)
        value = (np.logaddexp(0, -margin) / (2 * share)).sum() + 0.5 * (ridge * weights**2).sum()
        return value, matrix.T @ slope + ridge * weights

    minimum = minimize(loss, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000})
    return Fit(names, minimum.x)


def held_out_scores(examples: Sequence[Example], penalty: float = PENALTY, least: int = LEAST_AUTHORS) -> np.ndarray:
    """The score of each design by weights that were fitted to the other authors."""
    scores = np.zeros(len(examples))
    for author in {example.author: None for example in examples}:
        others = fit([example for example in examples if example.author != author], penalty, least)
        rows = [row for row, example in enumerate(examples) if example.author == author]
        scores[rows] = others.scores([examples[row] for row in rows])
    return scores


def table(examples: Sequence[Example], scores: np.ndarray) -> list[str]:
    """For each author: clean designs that are not recognised, and ambiguous ones that are not found."""
    settled = np.array([example.settled for example in examples])
    lines = ["| author | clean, alarm | not clean, silent |", "|---|---|---|"]
    for author in {example.author: None for example in examples}:
        rows = np.array([example.author == author for example in examples])
        alarms, silent = (scores[rows & settled] < 0).sum(), (scores[rows & ~settled] >= 0).sum()
        lines.append(f"| {author} | {alarms} of {(rows & settled).sum()} | {silent} of {(rows & ~settled).sum()} |")
    loss = np.logaddexp(0, -np.where(settled, scores, -scores)).mean()
    return [*lines, f"mean log loss {loss:.3f}"]


def write(result: Fit, path: Path) -> None:
    """Write weights to a file, in the order of their names."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["evidence", "weight"])
        for name, weight in sorted(zip([*result.names, "~intercept"], result.weights, strict=True)):
            if abs(weight) >= 0.0005:
                writer.writerow([name, f"{weight:.3f}"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="fit to all authors and write the weights")
    options = parser.parse_args()
    designs = examples()
    if options.write:
        write(fit(designs), WEIGHTS)
    else:
        print("\n".join(table(designs, held_out_scores(designs))))
