"""What comes to people's minds before a question: the memories, and the text that stands for them in the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.lists import list_column


@dataclass(frozen=True)
class Recollection:
    """The memories behind a question, a row for each person asked.

    A scenario passes it to `ask` as the value of a field: the prompt shows the text, and the run records the ids with
    the answers.

    Attributes:
        texts: What stands in the prompt of each person.
        ids: The ids of the memories that each person is shown, in the order shown.

    Example:
        >>> recollection = Recollection.of([[(4, "It rains."), (2, "Bo is ill.")], []])
        >>> recollection.texts.to_list(), recollection.ids.to_list()
        (['- It rains.\\n- Bo is ill.', '- nothing'], [[4, 2], []])
    """

    texts: pl.Series
    ids: pl.Series

    @classmethod
    def of(cls, memories: Iterable[Sequence[tuple[int, str]]], *, numbered: bool = False) -> Recollection:
        """Lists of memories as they stand in a prompt, a line each; `- nothing` where a list is empty.

        Args:
            memories: For each person the memories, each as id and text.
            numbered: Number the lines from 1, so that an answer can refer to them.
        """
        texts, ids, counts = [], [], []
        for mine in memories:
            lines = [f"{number}. {text}" if numbered else f"- {text}" for number, (_, text) in enumerate(mine, 1)]
            texts.append("\n".join(lines) or "- nothing")
            ids += [memory for memory, _ in mine]
            counts.append(len(mine))
        column = list_column(pl.Series("memories", ids, pl.Int64), np.array(counts, np.int64))
        return cls(pl.Series("text", texts, pl.String), column)

    @classmethod
    def nothing(cls, count: int) -> Recollection:
        """The recollection of this many people who recall nothing."""
        return cls.of([()] * count)

    def __len__(self) -> int:
        return self.texts.len()

    def under(self, heading: str) -> Recollection:
        """The same memories with a heading above them; the text of a person who recalls nothing is empty."""
        counted = zip(self.texts.to_list(), self.ids.list.len().to_list(), strict=True)
        texts = [f"{heading}\n{text}" if count else "" for text, count in counted]
        return Recollection(pl.Series("text", texts, pl.String), self.ids)

    def rows(self, rows: npt.NDArray[np.int64]) -> Recollection:
        """The recollection of some of the people."""
        return Recollection(self.texts[rows], self.ids[rows])
