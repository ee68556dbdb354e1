"""A part of the audit of intervals and tests (benchmarks/coverage.py), with fewer data sets."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_of_coverage", ROOT / "benchmarks" / "coverage.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_intervals_hold_the_truth_or_warn(audit: ModuleType) -> None:
    cells = [*audit.means(150, (5, 20)), *audit.differences(150, (5, 20), ("t",)), *audit.looks(60)]
    assert {"lognormal", "bistable .97 and .05", "binary .98 and .02"} <= {cell.data for cell in cells}
    for cell in cells:
        if cell.unwarned is not None and cell.kind == "coverage":
            assert cell.unwarned >= 0.88, cell


def test_the_table_in_the_docs_has_no_cell_below_its_bar() -> None:
    text = (ROOT / "docs" / "concepts" / "statistics.md").read_text(encoding="utf-8")
    table = text.split("<!-- coverage begins -->")[1].split("<!-- coverage ends -->")[0]
    rows = [line.split(" | ") for line in table.strip().splitlines()[2:]]
    assert len(rows) > 150
    assert not [row for row in rows if "**!**" in row[-1]]
