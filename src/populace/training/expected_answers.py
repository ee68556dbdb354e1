"""What people like somebody answered: targets with less chance in them than the answer of one person.

A person answers once, and by chance. How likely each answer was is estimated from other people in training: those who
saw something similar, and of whom something similar is known. Nobody's estimate is fitted on their own answers, and
people who are held out are in none.

Many tasks with the same profiles, such as the items of a survey, are fitted together (`shared_fit`); any other task has
boosted trees of its own.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.documents import parse_json_object
from populace.evaluation.human_decisions import HumanDecisions
from populace.training.base_network import training_library
from populace.training.shared_fit import fit_shared

Matrix = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

FOLDS = 3
"""Into how many groups people are divided; the answers of one are estimated from the others."""
_TASKS_TOGETHER = 20
"""From how many tasks with the same profiles on they are fitted together."""
_MOST_ROWS = 20_000
"""The most decisions that the trees of one task are fitted on."""
_FEWEST_ROWS = 60
"""With fewer decisions than this, what is expected are the shares of all answers."""
_MOST_WORDS = 200
"""A field with more different values than this is known by the numbers in it alone."""
_NUMBERS = 6
"""How many numbers of a value are features."""
_RARE = 20
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SITUATION = ["task", "profile", "seen"]
_SCHEMA: dict[str, Any] = {"task": pl.String, "profile": pl.String, "seen": pl.String, "expected": pl.List(pl.Float64)}


def expected_answers(
    decisions: HumanDecisions, *, seed: int = 0, watch: Callable[[str], None] = lambda text: None
) -> pl.DataFrame:
    """The share of each option that is expected of each person in training.

    Args:
        decisions: The decisions that may be learned from.
        seed: The seed of the fits.
        watch: Told what is fitted.

    Returns:
        A row for each situation (`task`, `profile`, `seen`) of a task with options, with `expected`: the shares of its
        options, in their declared order.
    """
    table = decisions.table.with_columns(pl.col("profile", "seen").fill_null("{}"))
    table = table.filter(pl.col("task").is_in([name for name, task in decisions.tasks.items() if task.options]))
    together, apart = _groups(decisions, table)
    parts = [pl.DataFrame(schema=_SCHEMA)]
    for number, names in enumerate(together, 1):
        watch(f"group {number} of {len(together)}: {len(names)} tasks with the same profiles")
        parts.append(_expected_together(decisions, table.filter(pl.col("task").is_in(names)), names, seed))
    for number, name in enumerate(apart, 1):
        watch(f"task {number} of {len(apart)}: {name}")
        parts.append(_expected_apart(decisions, table.filter(pl.col("task") == name), name, seed))
    return pl.concat(parts)


def _groups(decisions: HumanDecisions, table: pl.DataFrame) -> tuple[list[list[str]], list[str]]:
    """The tasks that are fitted together, in groups, and those that are fitted alone."""
    first = table.group_by("task", maintain_order=True).agg(pl.col("profile").first())
    groups: dict[tuple[str, ...], list[str]] = {}
    apart = []
    for name, profile in first.sort("task").iter_rows():
        source = decisions.tasks[name].source
        if decisions.tasks[name].fields or profile == "{}":
            apart.append(name)
        else:
            groups.setdefault((decisions.tasks[name].family, source), []).append(name)
    together = [names for _, names in sorted(groups.items()) if len(names) >= _TASKS_TOGETHER]
    apart += [name for names in groups.values() if len(names) < _TASKS_TOGETHER for name in names]
    return together, sorted(apart)


def _expected_together(decisions: HumanDecisions, rows: pl.DataFrame, names: list[str], seed: int) -> pl.DataFrame:
    profiles = rows["profile"].unique().sort()
    features = profile_features([_texts(profile) for profile in profiles])
    person = rows["profile"].replace_strict(profiles, np.arange(len(profiles)), return_dtype=pl.Int64).to_numpy()
    places = {name: place for place, name in enumerate(names)}
    task = rows["task"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    counts = np.array([len(decisions.tasks[name].options) for name in names])
    answers = _answer_codes(decisions, rows)
    shares = np.zeros((rows.height, counts.max()))
    for fold, mine in _folds(rows["person"]):
        others = ~mine
        predict = fit_shared(features, person[others], task[others], answers[others], counts, seed=seed + fold)
        shares[mine] = predict(person[mine], task[mine])
    return _by_situation(rows, shares, counts[task])


def _expected_apart(decisions: HumanDecisions, rows: pl.DataFrame, name: str, seed: int) -> pl.DataFrame:
    situations = rows.select("profile", "seen").unique(maintain_order=True)
    texts = [_texts(profile) | {f"seen {key}": value for key, value in _texts(seen).items()}
             for profile, seen in situations.iter_rows()]  # fmt: skip
    features = _tree_features(texts)
    row_of = rows.select("profile", "seen").join(
        situations.with_row_index("row"), on=["profile", "seen"], how="left", maintain_order="left"
    )["row"].to_numpy()  # fmt: skip
    answers = _answer_codes(decisions, rows)
    shares = np.zeros((rows.height, len(decisions.tasks[name].options)))
    for fold, mine in _folds(rows["person"]):
        fitted = np.flatnonzero(~mine)
        if len(fitted) > _MOST_ROWS:
            fitted = np.sort(np.random.default_rng(seed + fold).choice(fitted, _MOST_ROWS, replace=False))
        shares[mine] = _tree_shares(features[row_of], answers, fitted, mine, shares.shape[1], seed)
    return _by_situation(rows, shares, np.full(rows.height, shares.shape[1]))


def _tree_shares(features: Matrix, answers: Codes, fitted: Codes, mine: Flags, options: int, seed: int) -> Shares:
    """The shares of options that trees expect; those of all answers where there is too little to fit."""
    counts = np.bincount(answers[fitted], minlength=options).astype(np.float64)
    plain = (counts + 0.5) / (counts + 0.5).sum()
    common = np.flatnonzero(counts >= 10)  # Trees put some of each option aside to see when to end.
    if len(fitted) < _FEWEST_ROWS or len(common) < 2:
        return np.tile(plain, (int(mine.sum()), 1))
    fitted = fitted[np.isin(answers[fitted], common)]
    values, known = features[fitted], ~np.isnan(features[fitted])
    varies = np.where(known, values, np.inf).min(0) < np.where(known, values, -np.inf).max(0)
    features = features[:, varies]
    if not features.shape[1]:
        return np.tile(plain, (int(mine.sum()), 1))
    trees = training_library("sklearn.ensemble").HistGradientBoostingClassifier(
        max_iter=150, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=20, l2_regularization=1.0,
        early_stopping=True, validation_fraction=0.1, random_state=seed,
    )  # fmt: skip
    trees.fit(features[fitted], answers[fitted])
    shares: Shares = np.zeros((int(mine.sum()), options))
    shares[:, trees.classes_] = trees.predict_proba(features[mine])
    rare = plain.copy()
    rare[trees.classes_] = 0.0
    shares *= 1 - rare.sum()
    shares += rare
    return shares


def _by_situation(rows: pl.DataFrame, shares: Shares, options: Codes) -> pl.DataFrame:
    """The mean of what is expected of the people of each situation; each row has so many options."""
    situations = rows.select(_SITUATION).unique(maintain_order=True).with_row_index("situation")
    place = rows.join(situations, on=_SITUATION, how="left", maintain_order="left")["situation"].to_numpy()
    sums = np.zeros((situations.height, shares.shape[1]))
    np.add.at(sums, place, shares)
    widths = np.zeros(situations.height, np.int64)
    widths[place] = options
    means = sums / sums.sum(1, keepdims=True)
    inside = np.arange(means.shape[1]) < widths[:, None]
    flat = pl.DataFrame(
        {"situation": np.repeat(np.arange(len(means), dtype=np.uint32), widths), "expected": means[inside]}
    )
    lists = flat.group_by("situation", maintain_order=True).agg("expected")
    return situations.join(lists, on="situation", how="left", maintain_order="left").select(*_SCHEMA)


def _folds(people: pl.Series) -> Iterator[tuple[int, Flags]]:
    """For each fold its number and who is in it; the fold of a person follows from their id alone."""
    names = people.unique()
    numbers = [zlib.crc32(f"fold/{name}".encode()) % FOLDS for name in names]
    fold_of = people.replace_strict(names, pl.Series(numbers), return_dtype=pl.Int64).to_numpy()
    return ((fold, fold_of == fold) for fold in range(FOLDS))


def _answer_codes(decisions: HumanDecisions, rows: pl.DataFrame) -> Codes:
    options = pl.DataFrame(
        [(name, option, place) for name in rows["task"].unique()
         for place, option in enumerate(decisions.tasks[name].options)],
        schema={"task": pl.String, "answer": pl.String, "code": pl.Int64}, orient="row",
    )  # fmt: skip
    return rows.join(options, on=["task", "answer"], how="left", maintain_order="left")["code"].to_numpy()


def _texts(document: str) -> dict[str, str]:
    return {name: str(value) for name, value in parse_json_object(document).items()}


def _columns(texts: list[dict[str, str]]) -> dict[str, list[str]]:
    names = sorted({name for each in texts for name in each})
    return {name: [each.get(name, "") for each in texts] for name in names}


def profile_features(profiles: list[dict[str, str]]) -> Matrix:
    """Profiles as numbers: a column for each common value, and for numbers their size, its square and steps.

    Args:
        profiles: The facts of each profile.
    """
    parts = [np.empty((len(profiles), 0))]
    for values in _columns(profiles).values():
        column = pl.Series(values)
        numbers = column.cast(pl.Float64, strict=False).to_numpy()
        finite = np.isfinite(numbers)
        if finite.mean() > 0.5 and column.n_unique() > 12:
            scaled = np.where(finite, (numbers - numbers[finite].mean()) / (numbers[finite].std() or 1.0), 0.0)
            steps = np.quantile(numbers[finite], (0.2, 0.4, 0.6, 0.8))
            above = np.where(finite, numbers, -np.inf)[:, None] > steps
            parts.append(np.column_stack([scaled, scaled**2 - 1, ~finite, above]))
            continue
        counts = column.value_counts().filter(pl.col("count") >= min(_RARE, len(profiles) / 10)).sort(column.name)
        parts.append(column.to_numpy()[:, None] == counts[column.name].to_numpy()[None, :])
    return np.hstack(parts).astype(np.float32)


def _tree_features(texts: list[dict[str, str]]) -> Matrix:
    """Fields as numbers for trees: the number of each value in their order, and the numbers in it."""
    parts = [np.empty((len(texts), 0))]
    for values in _columns(texts).values():
        words = sorted(set(values))
        if len(words) <= _MOST_WORDS:
            codes = {word: place for place, word in enumerate(words)}
            parts.append(np.array([[codes[value]] for value in values], np.float64))
        numbers = {word: [float(each) for each in _NUMBER.findall(word)[:_NUMBERS]] for word in words}
        width = max(map(len, numbers.values()))
        filled = {word: [*mine, *[np.nan] * (width - len(mine))] for word, mine in numbers.items()}
        parts.append(np.array([filled[value] for value in values], np.float64).reshape(len(texts), width))
    return np.hstack(parts).astype(np.float32)
