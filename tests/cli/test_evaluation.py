"""The command `evaluate`: from files to a report, with floors where profiles are given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from populace.base.errors import HumanDataError
from populace.cli import cli
from populace.cli.evaluation import _evaluation_item
from populace.runs.fidelity_figures import fidelity_sentences
from populace.surveys import Questionnaire

WORDS = np.array(["no", "yes"])


def write_files(folder: Path) -> list[str]:
    """People of two parties, of whom eight in ten answer as their party, and an agent that knows the retest."""
    rng = np.random.default_rng(1)
    party = rng.integers(0, 2, 300)
    answer = np.where(rng.random(300) < 0.8, party, 1 - party)
    retest = np.where(rng.random(300) < 0.9, answer, 1 - answer)
    people = [f"p{who}" for who in range(300)]
    table = pl.DataFrame({"person": people, "item": ["tea"] * 300, "answer": WORDS[answer], "retest": WORDS[retest]})
    table[:100].write_csv(folder / "human.csv")
    table[100:].write_csv(folder / "others.csv")
    pl.DataFrame({"person": people, "party": party}).write_csv(folder / "profiles.csv")
    table[:100].select("person", "item", answer="retest").write_csv(folder / "copy.csv")
    (folder / "tea.yaml").write_text('items:\n  - {id: tea, type: single, text: "Tea?", options: [no, yes]}\n')
    names = {"--others": "others.csv", "--items": "tea.yaml", "--profiles": "profiles.csv", "--to": "report"}
    options = [word for name, file in names.items() for word in (name, str(folder / file))]
    return ["evaluate", str(folder / "copy.csv"), str(folder / "human.csv"), *options]


def test_predictions_floors_and_ceiling_come_into_one_report(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    done = CliRunner().invoke(cli, write_files(tmp_path))
    assert done.exit_code == 0, done.output
    arms = json.loads((tmp_path / "report" / "fidelity-copy.json").read_text())["arms"]
    assert arms["copy"]["gap_closed"]["value"] == pytest.approx(1.0)
    assert arms["regression"]["accuracy"]["value"] == pytest.approx(0.8, abs=0.1)
    assert [arm["kind"] for arm in arms.values()] == ["agent", "floor", "floor"]
    assert "boosting" in (tmp_path / "report" / "fidelity-copy.md").read_text()


def test_the_figures_of_a_named_model_are_kept_for_validity_cards_and_leaks_of_training_are_listed(
    tmp_path: Path,
) -> None:
    words = write_files(tmp_path)
    place = words.index("--profiles")
    manifest = tmp_path / "adapter.json"
    manifest.write_text(json.dumps({"data": [{"name": "corpus", "tasks": ["gss_tea"], "people": ["p1", "p200"]}]}))
    words = [*words[:place], *words[place + 2 :], "--trained", str(manifest), "--workspace", str(tmp_path)]
    done = CliRunner().invoke(cli, [*words, "--model", "scripted:cast", "--subject", "drinks"])
    assert done.exit_code == 0, done.output
    assert fidelity_sentences(tmp_path, ["scripted:cast"]) == [
        "scripted:cast closes 100% of the gap between majority and retest on drinks (copy, 100 people)"
    ]
    page = (tmp_path / "report" / "fidelity-copy.md").read_text()
    assert "trained on the item 'gss_tea'" in page
    assert "trained on 1 held-out people" in page


def test_groups_need_profiles(tmp_path: Path) -> None:
    words = write_files(tmp_path)
    place = words.index("--profiles")
    done = CliRunner().invoke(cli, [*words[:place], *words[place + 2 :], "--by", "party"])
    assert "--by needs --profiles" in str(done.exception)


def test_an_item_without_options_cannot_be_compared() -> None:
    items = [
        {"id": "a", "type": "rating", "text": "A?", "low": 1, "high": 3},
        {"id": "b", "type": "text", "text": "B?"},
    ]
    rating, text = Questionnaire.read({"items": items}).items
    assert _evaluation_item(rating).options == ("1", "2", "3")
    assert _evaluation_item(rating).ordered
    with pytest.raises(HumanDataError, match="'b' has no options"):
        _evaluation_item(text)
