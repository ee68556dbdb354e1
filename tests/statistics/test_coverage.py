"""A part of the audit of intervals and tests (benchmarks/coverage.py), with fewer data sets."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from support.benchmark_modules import benchmark_module

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    return benchmark_module("coverage")


def test_intervals_hold_the_truth_or_warn(audit: ModuleType) -> None:
    cells = [*audit.means(150, (5, 20)), *audit.differences(150, (5, 20), ("t",)), *audit.looks(60)]
    assert {"lognormal", "bistable .97 and .05", "binary .98 and .02"} <= {cell.data for cell in cells}
    for cell in cells:
        if cell.unwarned is not None and cell.kind == "coverage":
            assert cell.unwarned >= 0.88, cell


def test_models_hold_the_truth_or_warn(audit: ModuleType) -> None:
    cells = [*audit.regressions(15, (20,)), *audit.designs(15, (20,))]
    names = " ".join(cell.procedure for cell in cells)
    for name in ("fit_regression", "factorial_tests", "kruskal_wallis", "dunn", "survival"):
        assert name in names
    for cell in cells:
        if cell.unwarned is not None and cell.warned < 0.5:
            assert cell.unwarned >= 0.7 if cell.kind == "coverage" else cell.unwarned <= 0.3, cell


def test_the_table_in_the_docs_has_no_cell_below_its_bar() -> None:
    text = (ROOT / "docs" / "concepts" / "statistics.md").read_text(encoding="utf-8")
    table = text.split("<!-- coverage begins -->")[1].split("<!-- coverage ends -->")[0]
    rows = [line.split(" | ") for line in table.strip().splitlines()[2:]]
    assert len(rows) > 350
    procedures = {row[0].strip("| ") for row in rows}
    assert {"`kruskal_wallis`", "`survival`, median", "`fit_regression`, binomial"} <= procedures
    assert not [row for row in rows if "**!**" in row[-1]]
    assert not [row for row in rows if int(row[3]) < 1000]
