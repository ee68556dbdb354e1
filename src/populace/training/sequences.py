"""Training examples as tokens, packed into sequences of one length.

Examples that begin alike, such as the decisions of one person, form a tree: the beginning stands once, and each example
continues it as a branch. A token sees the beginning of its tree and its own branch, never another example. So each
example is computed exactly as if it stood alone, for the price of its own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from populace.models import Request
from populace.models.pytorch.tokens import ChatTokenizer
from populace.training.examples import TrainingExamples

Integers = npt.NDArray[np.int32]

REST = 0.1
"""The weight of the tokens of a reply after its first, which decides."""


class ModelVocabulary:
    """The tokens of a model, as training needs them. It can be sent to another process.

    Args:
        path: The model: a GGUF file, or a folder in the format of transformers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tokenizer = ChatTokenizer(path)
        self._answers: dict[str, list[int]] = {}

    def __reduce__(self) -> tuple[type[ModelVocabulary], tuple[Path]]:
        return ModelVocabulary, (self.path,)

    def first_tokens(self, texts: Sequence[str]) -> list[str]:
        """The first token of each text as it is written after a lead."""
        return [self.tokenizer.texts[self.answer(f" {text}")[0]] for text in texts]

    def answer(self, text: str) -> list[int]:
        """The tokens of a reply."""
        if text not in self._answers:
            self._answers[text] = self.tokenizer.encode(text)
        return self._answers[text]


@dataclass(frozen=True)
class Sequences:
    """Packed sequences.

    Attributes:
        tokens: The tokens, a row for each sequence; unused places are 0.
        places: The place of each token in its own example.
        trees: The number of the tree of each token within its sequence; 0 where there is none.
        branches: The number of the branch; 0 for the beginning that all branches share.
        target_sequences: The sequence of each target.
        target_places: Where in the sequence the token stands after which the target is predicted.
        target_tokens: The token that is to be predicted.
        target_weights: The weight of the target.
        target_examples: The row of the example in the table that was packed.
        too_long: How many examples did not fit into a sequence.
    """

    tokens: Integers
    places: Integers
    trees: Integers
    branches: Integers
    target_sequences: Integers
    target_places: Integers
    target_tokens: Integers
    target_weights: npt.NDArray[np.float32]
    target_examples: Integers
    too_long: int = 0

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, rows: npt.NDArray[np.int64]) -> Sequences:
        """Some of the sequences, in the order given."""
        new_place = np.full(len(self), -1, np.int32)
        new_place[rows] = np.arange(len(rows), dtype=np.int32)
        kept = new_place[self.target_sequences] >= 0
        return Sequences(
            self.tokens[rows], self.places[rows], self.trees[rows], self.branches[rows],
            new_place[self.target_sequences[kept]], self.target_places[kept], self.target_tokens[kept],
            self.target_weights[kept], self.target_examples[kept], self.too_long,
        )  # fmt: skip

    @classmethod
    def concat(cls, parts: Sequence[Sequences]) -> Sequences:
        """The sequences of several parts, one after the other."""
        starts = np.cumsum([0, *(len(part) for part in parts)])[:-1].tolist()

        def join(name: str) -> npt.NDArray[np.int32]:
            return np.concatenate([getattr(part, name) for part in parts])

        owners = [part.target_sequences + np.int32(start) for part, start in zip(parts, starts, strict=True)]
        return cls(
            join("tokens"),
            join("places"),
            join("trees"),
            join("branches"),
            np.concatenate(owners),
            join("target_places"),
            join("target_tokens"),
            np.concatenate([part.target_weights for part in parts]),
            join("target_examples"),
            sum(part.too_long for part in parts),
        )


@dataclass(frozen=True)
class _Branch:
    """An example as tokens: its row, its prompt, what follows, and targets as (place, token, weight)."""

    row: int
    prompt: list[int]
    rest: list[int]
    targets: list[tuple[int, int, float]]


def pack(
    examples: TrainingExamples, vocabulary: ModelVocabulary, length: int, *, every_option: bool = False
) -> Sequences:
    """The examples as packed sequences.

    Args:
        examples: The examples; those with the same system message become neighbours.
        vocabulary: The tokens of the model.
        length: The length of a sequence in tokens; longer examples are left out and counted.
        every_option: Whether the first token of every answer becomes a target, also with a share of 0; for scoring.
    """
    table = examples.table.with_row_index("row").sort("system", maintain_order=True)
    requests = [
        Request((("system", system), ("user", user)) if system else (("user", user),), lead)
        for system, user, lead in table.select("system", "user", "lead").iter_rows()
    ]
    prompts = vocabulary.tokenizer.prompts(requests)
    rows = table.select("row", "system", "answers", "shares", "weight").iter_rows()
    packer, last, too_long = _Packer(length), None, 0
    group: list[_Branch] = []
    for prompt, (row, system, answers, shares, weight) in zip(prompts, rows, strict=True):
        pairs = [(vocabulary.answer(text), weight * share) for text, share in zip(answers, shares, strict=True)]
        branch = _first_tokens(row, prompt, pairs) if every_option else _branch(row, prompt, pairs, vocabulary)
        if len(prompt) + len(branch.rest) > length:
            too_long += 1
            continue
        if system != last and group:
            packer.add(group)
            group = []
        group.append(branch)
        last = system
    if group:
        packer.add(group)
    return packer.sequences(too_long)


def _branch(row: int, prompt: list[int], pairs: list[tuple[list[int], float]], vocabulary: ModelVocabulary) -> _Branch:
    """One reply is learned to its end; of several, the first token of each."""
    possible = [(tokens, weight) for tokens, weight in pairs if weight > 0]
    if len(possible) > 1:
        return _first_tokens(row, prompt, possible)
    tokens, weight = possible[0]
    reply, at = [*tokens, vocabulary.tokenizer.end], len(prompt) - 1
    targets = [(at + step, token, weight if step == 0 else weight * REST) for step, token in enumerate(reply)]
    return _Branch(row, prompt, tokens, targets)


def _first_tokens(row: int, prompt: list[int], pairs: list[tuple[list[int], float]]) -> _Branch:
    return _Branch(row, prompt, [], [(len(prompt) - 1, tokens[0], weight) for tokens, weight in pairs])


class _Packer:
    """Fills sequences with trees, in the order in which they come."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.rows: list[tuple[list[int], list[int], list[int], list[int]]] = []
        self.targets: list[tuple[int, int, int, float, int]] = []
        self.tree = 0

    def add(self, group: list[_Branch]) -> None:
        """Add examples that begin alike, at least up to the end of the system message."""
        shared = _common_prefix([branch.prompt for branch in group])
        start, branch_number = None, 0
        for branch in group:
            own = branch.prompt[shared:] + branch.rest
            needed = len(own) + (0 if start is not None else shared)
            if not self.rows or len(self.rows[-1][0]) + needed > self.length:
                self.rows.append(([], [], [], []))
                self.tree, start = 0, None
            row = self.rows[-1]
            if start is None:
                self.tree, branch_number = self.tree + 1, 0
                start = len(row[0])
                self._append(branch.prompt[:shared], range(shared), 0)
            branch_number += 1
            first = len(row[0])
            self._append(own, range(shared, shared + len(own)), branch_number)
            for place, token, weight in branch.targets:
                at = start + place if place < shared else first + place - shared
                self.targets.append((len(self.rows) - 1, at, token, weight, branch.row))

    def _append(self, tokens: list[int], places: range, branch: int) -> None:
        row = self.rows[-1]
        row[0].extend(tokens)
        row[1].extend(places)
        row[2].extend([self.tree] * len(tokens))
        row[3].extend([branch] * len(tokens))

    def sequences(self, too_long: int) -> Sequences:
        """What was packed, as arrays."""
        arrays = np.zeros((4, len(self.rows), self.length), np.int32)
        for number, row in enumerate(self.rows):
            for array, values in zip(arrays, row, strict=True):
                array[number, : len(values)] = values
        owners, places, tokens, weights, examples = zip(*self.targets, strict=True) if self.targets else ((),) * 5
        token_array, place_array, tree_array, branch_array = arrays
        return Sequences(
            token_array,
            place_array,
            tree_array,
            branch_array,
            np.array(owners, np.int32),
            np.array(places, np.int32),
            np.array(tokens, np.int32),
            np.array(weights, np.float32),
            np.array(examples, np.int32),
            too_long,
        )


def _common_prefix(prompts: list[list[int]]) -> int:
    """How many tokens all prompts begin with; the last token of the shortest is never shared."""
    low, high = min(prompts), max(prompts)
    most = min(len(prompt) for prompt in prompts) - 1
    place = 0
    while place < most and low[place] == high[place]:
        place += 1
    return place
