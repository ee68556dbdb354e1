from __future__ import annotations

from pathlib import Path

import polars as pl

from populace import Run
from populace.runs.charts import draw_run, sparkline


def test_a_picture_of_a_run_is_drawn(shirts_run: Run, tmp_path: Path) -> None:
    assert draw_run(shirts_run, tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_sparkline_of_shares_keeps_its_scale() -> None:
    assert sparkline(pl.Series([0.5, 0.5])) == "▅▅"
    assert sparkline(pl.Series([0.0, 10.0])) == "▁█"
