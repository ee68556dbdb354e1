"""The notebooks in the documentation run as they stand, and put out what they were saved with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

BOOKS = sorted((Path(__file__).parent.parent / "docs" / "notebooks").glob("*.ipynb"))


def output_texts(book: object) -> list[str]:
    """The outputs of all cells, without digits that depend on a source file or on a library's version."""
    cells = [cell for cell in book.cells if cell.cell_type == "code"]  # type: ignore[attr-defined]
    outputs = [output for cell in cells for output in cell.outputs]
    parts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs]
    stable = [re.sub(r"\b(norms|tipping)-[0-9a-f]{4}", r"\1", part) for part in parts]
    return [re.sub(r"\d+\.\d+", lambda match: f"{float(match[0]):.4g}", part) for part in stable]


def test_there_are_two_notebooks() -> None:
    assert [book.stem for book in BOOKS] == ["experiment", "first-run"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_puts_out_what_it_was_saved_with(path: Path, tmp_path: Path) -> None:
    recorded, executed = nbformat.read(path, 4), nbformat.read(path, 4)
    nbclient.NotebookClient(executed, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert output_texts(executed) == output_texts(recorded)


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_saved_with_outputs_and_without_machine_paths(path: Path) -> None:
    book = nbformat.read(path, 4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in cells)
    assert all(output.output_type != "error" for cell in cells for output in cell.outputs)
    assert not re.search(r"/(tmp|home|root|work|Users)/", path.read_text())
