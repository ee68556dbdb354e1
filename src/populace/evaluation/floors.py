"""What simple models reach on the same information as an agent, fitted on other people.

An agent that knows a person's profile and some of their answers is compared with a regression and with boosted trees
that know the same. All are fitted on other people; nobody's answer is predicted from a fit that saw it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from threadpoolctl import threadpool_limits

from populace.base.errors import HumanDataError, UnknownNameError
from populace.base.randomness import stream
from populace.evaluation.human_answers import HumanAnswers
from populace.evaluation.predictions import Predictions
from populace.statistics.values import library

Matrix = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

FloorKind = Literal["majority", "regression", "boosting"]
"""The shares among other people, a multinomial regression with a ridge penalty, or gradient-boosted trees."""

RIDGES = (0.01, 0.1, 1.0)
"""The inverse penalties that a regression chooses from, by the log-loss of people it was not fitted on."""
RARE = 5
"""A category that fewer other people have is not a column of its own."""
_FOLDS = 3
_NUMERIC_SHARE = 0.95
_FEWEST = 10


def fit_floor(
    kind: FloorKind,
    human: HumanAnswers,
    others: HumanAnswers,
    *,
    profile: Sequence[str] | None = None,
    context: Sequence[str] = (),
    targets: Sequence[str] | None = None,
) -> Predictions:
    """Predict the answers of people by a simple model that was fitted on others.

    A fit has no seed, and the order of the others makes no difference: the same people give the same floor.

    Args:
        kind: The model.
        human: The people whose answers are predicted.
        others: The people on whom it is fitted; nobody may be in both.
        profile: The columns of the profiles that it knows; all by default.
        context: The items whose answers it knows; the answer that is predicted is never among what it knows.
        targets: The items that it predicts; all by default.

    Raises:
        HumanDataError: If somebody is in both tables, or the items differ.

    Example:
        >>> from populace.evaluation import EvaluationItem
        >>> item = EvaluationItem("tea", "Tea?", ("yes", "no"))
        >>> others = HumanAnswers(("a", "b", "c"), (item,), np.array([[0], [0], [1]]), np.full((3, 1), -1))
        >>> human = HumanAnswers(("d",), (item,), np.array([[0]]), np.array([[-1]]))
        >>> fit_floor("majority", human, others).distributions[0].round(2).tolist()
        [[0.67, 0.33]]
    """
    shared = set(human.people) & set(others.people)
    if shared:
        raise HumanDataError(f"person {min(shared)!r} is predicted and fitted on.", "Split by person.")
    if human.items != others.items:
        raise HumanDataError("the people and the others answer different items.")
    predicted = [item.id for item in human.items] if targets is None else list(targets)
    if kind == "majority":
        return Predictions.majority(others.select(predicted), len(human.people))
    if kind not in _FITS:
        raise UnknownNameError("floor", kind, ["majority", *_FITS])
    columns = _profile_columns(human, others, profile)
    known = {item.id: place for place, item in enumerate(human.items)}
    for name in (*context, *predicted):
        if name not in known:
            raise UnknownNameError("item", name, known, "Named as context." if name in context else "")
    answers = {known[name]: _answer_columns(human, others, known[name]) for name in context}
    distributions = []
    for place in [known[name] for name in predicted]:
        parts = [columns, *(each for other, each in answers.items() if other != place)]
        fitted_on, predicted_from = (np.hstack([part[side] for part in parts]) for side in (0, 1))
        distributions.append(_distributions(_FITS[kind], others, place, fitted_on, predicted_from))
    return Predictions(kind, human.select(predicted).items, tuple(distributions))


def cross_fitted_floor(
    kind: FloorKind,
    human: HumanAnswers,
    *,
    folds: int = 5,
    profile: Sequence[str] | None = None,
    context: Sequence[str] = (),
    seed: int = 0,
) -> Predictions:
    """Predict the answers of people by a simple model, each person by a fit on the people of the other folds.

    Args:
        kind: The model.
        human: The people.
        folds: Into how many groups the people are divided, at random.
        profile: The columns of the profiles that it knows; all by default.
        context: The items whose answers it knows.
        seed: The seed of the groups.
    """
    count = len(human.people)
    if not 2 <= folds <= count:
        raise HumanDataError(f"{count} people cannot be divided into {folds} folds.", "Take 2 folds or more.")
    fold_of = stream(seed, "evaluation/floors").permutation(count) % folds
    distributions = [np.full((count, len(item.options)), np.nan) for item in human.items]
    for fold in range(folds):
        mine = np.flatnonzero(fold_of == fold)
        others = human.take(np.flatnonzero(fold_of != fold))
        floor = fit_floor(kind, human.take(mine), others, profile=profile, context=context)
        for whole, part in zip(distributions, floor.distributions, strict=True):
            whole[mine] = part
    return Predictions(kind, human.items, tuple(distributions))


def _distributions(fit: _Fit, others: HumanAnswers, place: int, fitted_on: Matrix, predicted_from: Matrix) -> Matrix:
    """The distribution of one item for each person; the shares of others where there is nothing to fit."""
    codes = others.answers[:, place]
    known = np.flatnonzero(codes >= 0)
    if len(known) < _FEWEST or len(np.unique(codes[known])) < 2 or not fitted_on.shape[1]:
        return np.tile(others.shares()[place], (len(predicted_from), 1))
    with threadpool_limits(1):  # More threads are slower on tables of this size, and sum in another order.
        model = fit(fitted_on[known], codes[known], _folds(others.people)[known])
        return _probabilities(model, predicted_from, len(others.items[place].options))


def _probabilities(model: Any, rows: Matrix, options: int) -> Matrix:
    chances = np.zeros((len(rows), options))
    chances[:, model.classes_] = model.predict_proba(rows)
    scaled: Matrix = chances / chances.sum(1, keepdims=True)
    return scaled


def _folds(people: Sequence[str]) -> Codes:
    """The fold of each person, which follows from their id alone."""
    return np.fromiter((zlib.crc32(person.encode()) % _FOLDS for person in people), np.int64, len(people))


def _fit_regression(rows: Matrix, codes: Codes, fold_of: Codes) -> Any:
    """A multinomial regression; its penalty is that with the least log-loss on people left out in turn."""
    regression = library("sklearn.linear_model").LogisticRegression
    options = int(codes.max()) + 1
    losses = []
    for ridge in RIDGES:
        loss = 0.0
        for fold in range(_FOLDS):
            fitted, left_out = fold_of != fold, fold_of == fold
            if not left_out.any() or len(np.unique(codes[fitted])) < 2:
                continue
            model = regression(C=ridge, max_iter=2_000).fit(rows[fitted], codes[fitted])
            chances = _probabilities(model, rows[left_out], options)[np.arange(left_out.sum()), codes[left_out]]
            loss -= float(np.log(np.maximum(chances, 1e-4)).sum())
        losses.append(loss)
    return regression(C=RIDGES[int(np.argmin(losses))], max_iter=2_000).fit(rows, codes)


def _fit_boosting(rows: Matrix, codes: Codes, fold_of: Codes) -> Any:
    """Boosted trees on everybody; there is nothing to choose, so the folds are of no use."""
    trees = library("sklearn.ensemble").HistGradientBoostingClassifier
    model = trees(
        max_iter=60,
        learning_rate=0.08,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    return model.fit(rows, codes)


_Fit = Callable[[Matrix, Codes, Codes], Any]
_FITS: Mapping[str, _Fit] = {"regression": _fit_regression, "boosting": _fit_boosting}


def _profile_columns(human: HumanAnswers, others: HumanAnswers, names: Sequence[str] | None) -> tuple[Matrix, Matrix]:
    """The profiles as numbers, for the others and for the people; what the numbers mean comes from the others alone."""
    chosen = others.profiles.columns if names is None else list(names)
    parts: list[tuple[Matrix, Matrix]] = [(np.empty((len(others.people), 0)), np.empty((len(human.people), 0)))]
    for name in chosen:
        for side in (others, human):
            if name not in side.profiles.columns:
                raise UnknownNameError("column of the profiles", name, side.profiles.columns)
        fitted, predicted = others.profiles[name].cast(pl.String), human.profiles[name].cast(pl.String)
        as_numbers = _number_columns(fitted, predicted)
        parts.append(as_numbers or _category_columns(fitted, predicted))
    return np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts])


def _number_columns(fitted: pl.Series, predicted: pl.Series) -> tuple[Matrix, Matrix] | None:
    """A column in units of its spread, and one for what is missing; None where it does not hold numbers."""
    values = [each.cast(pl.Float64, strict=False).to_numpy() for each in (fitted, predicted)]
    finite = np.isfinite(values[0])
    there = fitted.len() - fitted.null_count()
    if not there or finite.sum() < _NUMERIC_SHARE * there:
        return None
    centre, spread = values[0][finite].mean(), values[0][finite].std() or 1.0
    columns = [np.column_stack([np.where(np.isfinite(v), (v - centre) / spread, 0.0), ~np.isfinite(v)]) for v in values]
    return columns[0], columns[1]


def _category_columns(fitted: pl.Series, predicted: pl.Series) -> tuple[Matrix, Matrix]:
    """A column for each category that is not rare among the others."""
    counts = fitted.drop_nulls().value_counts()
    common = counts.filter(pl.col("count") >= RARE)[fitted.name].sort().to_list()
    sides = [each.fill_null("").to_numpy()[:, None] for each in (fitted, predicted)]
    names = np.array(common, dtype=object)[None, :]
    return (sides[0] == names).astype(np.float64), (sides[1] == names).astype(np.float64)


def _answer_columns(human: HumanAnswers, others: HumanAnswers, place: int) -> tuple[Matrix, Matrix]:
    """A column for each option of an item; all are 0 where the answer is missing."""
    options = np.arange(len(others.items[place].options))[None, :]
    fitted, predicted = ((side.answers[:, place, None] == options).astype(np.float64) for side in (others, human))
    return fitted, predicted
