"""A grid of cells with their neighbours, with edges or closed to a torus."""

from typing import Any

import numpy as np
import numpy.typing as npt

from populace.base.errors import WorldError

_WIDEST, _HIGHEST = 76, 40
"""The most characters and lines of a grid in a terminal."""

Cells = npt.NDArray[np.int64]


class Grid:
    """Cells in rows, numbered from the upper left.

    Args:
        width: The number of cells in a row.
        height: The number of rows.
        torus: Whether the last column touches the first, and the last row the first.
        radius: The reach of the neighbourhood, diagonals included; 1 gives eight neighbours.

    Attributes:
        neighbours: A row for each cell with the numbers of the cells around it, -1 beyond the edge.

    Example:
        >>> Grid(3, 3).neighbours[0].tolist()
        [-1, -1, -1, -1, 1, -1, 3, 4]
        >>> Grid(3, 3, torus=True).neighbours[0].tolist()
        [8, 6, 7, 2, 1, 5, 3, 4]
    """

    def __init__(self, width: int, height: int, *, torus: bool = False, radius: int = 1) -> None:
        if radius < 1 or width < 1 or height < 1:
            raise WorldError(f"a grid of {width} by {height} with radius {radius} has no cells or no neighbours.")
        if torus and min(width, height) < 2 * radius + 1:
            raise WorldError(
                f"on a torus of {width} by {height} a cell would be its own neighbour within {radius}.",
                f"Make both sides at least {2 * radius + 1}.",
            )
        self.width, self.height = width, height
        reach = np.arange(-radius, radius + 1)
        down, right = (part.ravel() for part in np.meshgrid(reach, reach, indexing="ij"))
        around = (down != 0) | (right != 0)
        row, column = np.divmod(np.arange(width * height), width)
        rows, columns = row[:, None] + down[around], column[:, None] + right[around]
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        numbers = (rows % height) * width + columns % width
        self.neighbours: Cells = numbers if torus else np.where(inside, numbers, -1)

    def __len__(self) -> int:
        return self.width * self.height

    def around(self, values: npt.NDArray[Any], beyond: Any) -> npt.NDArray[Any]:
        """For each cell the values of its neighbours, with `beyond` where there is no cell."""
        return np.append(values, np.array([beyond], values.dtype))[self.neighbours]

    def text_lines(self, marks: npt.NDArray[np.str_]) -> list[str]:
        """The grid as lines of text, a mark for each cell; none where it is too large for a terminal."""
        if 2 * self.width > _WIDEST or self.height > _HIGHEST:
            return []
        return [" ".join(line) for line in marks.reshape(self.height, self.width).tolist()]
