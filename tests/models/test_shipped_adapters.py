"""The adapters that ship say of themselves what the documentation says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import populace.models
from populace.models.adapters import read_card

DOCUMENTATION = Path(__file__).parents[2] / "docs/concepts/training.md"


def file_of(name: str) -> Path:
    return Path(populace.models.__file__).parent / "adapter_files" / f"{name}.gguf"


@pytest.mark.parametrize("name", ["people", "people-calibrated"])
def test_a_shipped_adapter_says_where_it_fails(name):
    limits = read_card(file_of(name)).manifest["limits"]
    assert len(limits) >= 3 and any(limit.startswith("Do not use it") or "do not use it" in limit for limit in limits)


def test_the_figures_in_the_calibrated_adapter_are_those_of_the_documentation():
    rows = dict(re.findall(r"^\| (.+?) \| ([\d. ]+) \|$", DOCUMENTATION.read_text(encoding="utf-8"), re.MULTILINE))
    figures = read_card(file_of("people-calibrated")).figures
    for row, figure in {
        "`norms`, P(blue) with 0, 5, 10, 15, 20 of 20 in blue": "norms, P(first) with 0, 5, 10, 15, 20 of 20 in the first",
        "… the words blue and green exchanged, P(green)": "the same, words exchanged",
        "… extremely conformist, wore blue": "extremely conformist",
        "… non-conformist, wore blue": "non-conformist",
        "`epidemic`, stays at home: normal, light cough, fever": "epidemic, stays at home: normal, cough, fever",
        "… normal, with news of 0, 1, 3.5, 7 %": "epidemic, normal, news of 0, 1, 3.5, 7 %",
        "coffee that usually costs 6, bought at 1, 2, 4, 6, 8, 12, 20": "coffee usually 6, at 1, 2, 4, 6, 8, 12, 20",
        "the same in the words of the scenario `demand`": "the same in the words of the scenario demand",
    }.items():
        assert figures[figure] == [float(value) for value in rows[row].split()], row
