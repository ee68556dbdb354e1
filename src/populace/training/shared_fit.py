"""One fit of many tasks: what a profile means is learned from all of them, how it counts in a task from the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from populace.training.base_network import training_library

Shares = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Predict = Callable[[Codes, Codes], Shares]
"""The shares of options that are expected, for the profile and the task of each row."""

_RANK, _HIDDEN, _DROPOUT = 32, 128, 0.2
_EPOCHS, _RATE, _DECAY = 8, 0.005, 0.5
_MOST_ROWS = 8192
"""The most decisions in a step."""
_STEPS = 60
"""The fewest steps in an epoch, unless they would have less than 128 decisions."""


def fit_shared(
    features: npt.NDArray[np.float32], people: Codes, tasks: Codes, answers: Codes, options: Codes, *, seed: int = 0
) -> Predict:
    """Fit how profiles answer tasks: a small network of the profile, and for each option of a task a direction in it.

    Args:
        features: The features of each profile.
        people: The profile of each decision.
        tasks: The task of each decision.
        answers: The option that was chosen, by its number.
        options: How many options each task has.
        seed: The seed of everything that is drawn.
    """
    torch = training_library("torch")
    generator = torch.Generator().manual_seed(seed)
    width, count = int(options.max()), len(options)
    counts = np.zeros((count, width))
    np.add.at(counts, (tasks, answers), 1.0)
    exists = np.arange(width) < options[:, None]
    shares = np.where(exists, counts + 0.5, 0.0)
    shares /= shares.sum(1, keepdims=True)
    logs = np.where(exists, np.log(np.maximum(shares, 1e-9)), -1e9)

    def uniform(*shape: int) -> Any:
        bound = shape[-1] ** -0.5
        return ((torch.rand(*shape, generator=generator) * 2 - 1) * bound).requires_grad_()

    first, second = uniform(_HIDDEN, features.shape[1]), uniform(_RANK, _HIDDEN)
    first_bias, second_bias = torch.zeros(_HIDDEN, requires_grad=True), torch.zeros(_RANK, requires_grad=True)
    directions = (torch.randn(count, width, _RANK, generator=generator) * 0.05).requires_grad_()
    levels = torch.tensor(logs, dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.AdamW(
        [{"params": [first, second, directions], "weight_decay": _DECAY},
         {"params": [first_bias, second_bias, levels], "weight_decay": 0.0}], lr=_RATE,
    )  # fmt: skip
    profile_rows = torch.from_numpy(features)

    def scores(person: Any, task: Any, *, training: bool) -> Any:
        hidden = torch.nn.functional.gelu(profile_rows[person] @ first.T + first_bias)
        if training:
            kept = torch.rand(hidden.shape, generator=generator) >= _DROPOUT
            hidden = hidden * kept / (1 - _DROPOUT)
        place = hidden @ second.T + second_bias
        return torch.einsum("nwr,nr->nw", directions[task], place) + levels[task]

    person_rows, task_rows, answer_rows = map(torch.from_numpy, (people, tasks, answers))
    size = min(_MOST_ROWS, max(128, len(people) // _STEPS))
    steps = _EPOCHS * -(-len(people) // size)
    step = 0
    for _ in range(_EPOCHS):
        for rows in torch.randperm(len(people), generator=generator).split(size):
            for group in optimizer.param_groups:
                group["lr"] = _RATE * (1 - step / steps)
            loss = torch.nn.functional.cross_entropy(
                scores(person_rows[rows], task_rows[rows], training=True), answer_rows[rows]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1

    def predict(person: Codes, task: Codes) -> Shares:
        parts = []
        with torch.no_grad():
            for begin in range(0, len(person), 4 * _MOST_ROWS):
                lot = slice(begin, begin + 4 * _MOST_ROWS)
                mine = scores(torch.from_numpy(person[lot]), torch.from_numpy(task[lot]), training=False)
                parts.append(mine.double().softmax(-1).numpy())
        return np.concatenate(parts) if parts else np.empty((0, width))

    return predict
