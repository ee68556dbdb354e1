from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from populace.experiments import Experiment
from support.commands import populace
from support.odd_outcomes import Odd

KINDS = [*"zero one five nan infinite nothing text true any huge tiny rare".split(), "sometimes nan", "sometimes text"]
PAIRS = [("zero", kind) for kind in KINDS[1:]] + [("any", kind) for kind in KINDS if kind not in ("zero", "any")]


def experiment(*kinds: str, **changes: Any) -> Experiment:
    data: dict[str, Any] = {
        "name": "odd",
        "scenario": Odd,
        "factors": {"kind": list(kinds)},
        "decider": "rule",
        "replicates": 3,
        "outcomes": ["value"],
    }
    return Experiment(**(data | changes))


def written(tmp_path: Path, *kinds: str, **changes: Any) -> str:
    data = experiment(*kinds).data() | changes
    (tmp_path / "odd.yaml").write_text(yaml.safe_dump(data))
    return "odd.yaml"


@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_any_pair_of_outcomes_gives_a_table_or_a_sentence(tmp_path: Path, kinds: tuple[str, str]) -> None:
    done = populace("experiment", written(tmp_path, *kinds), "--workers", "1", "--no-check")
    assert done.returncode == 0, done.stderr
    assert "P000" not in done.stderr
    figures = done.stdout.replace("kind=nan", "").replace("kind=sometimes nan", "").replace("infinite", "")
    assert not re.search(r"\b(nan|inf)\b", figures, re.IGNORECASE)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(" kind=") and "baseline" not in line]
    assert rows or "warning" in done.stdout


def test_a_perfect_effect_has_the_p_of_exchanging_runs_and_a_wide_interval() -> None:
    results = experiment("zero", "one").run(workers=1, check=False)
    (row,) = results.effects().iter_rows(named=True)
    assert (row["effect"], row["p"]) == (1.0, pytest.approx(0.125))
    assert row["low"] < 0.3 and row["high"] == 1
    (row,) = experiment("zero", "five").run(workers=1, check=False).effects().iter_rows(named=True)
    assert (row["effect"], row["p"], row["low"], row["method"]) == (5.0, 0.25, None, "no variation")
    assert "nothing varies" in row["warning"]


def test_an_effect_without_variation_can_be_shown(tmp_path: Path) -> None:
    done = populace("experiment", written(tmp_path, "zero", "five"), "--workers", "1", "--no-check")
    assert "nothing varies" in " ".join(done.stdout.split())
    document = json.loads(populace("experiment", "odd.yaml", "--workers", "1", "--json").stdout)
    assert document["data"]["effects"]["value"][0]["low"] is None


def test_the_mean_of_a_share_has_an_interval_between_0_and_1() -> None:
    table = experiment("rare", "one").run(workers=1, check=False).outcome()
    assert table["low"].min() >= 0  # type: ignore[operator]
    assert table["high"].max() <= 1  # type: ignore[operator]
    assert table["high"][0] > table["mean"][0]
    not_shares = [{"metric": "value", "share": False}]
    assert experiment("rare", "any", outcomes=not_shares).run(workers=1, check=False).outcome()["low"][0] < 0


def test_an_outcome_that_says_nothing_about_shares_keeps_the_label_of_its_experiment() -> None:
    assert "share" not in experiment("zero", "one").data()["outcomes"][0]
    declared = experiment("zero", "one", outcomes=[{"metric": "value", "share": True}])
    assert declared.label != experiment("zero", "one").label


def test_an_infinite_outcome_is_named_and_not_averaged(tmp_path: Path) -> None:
    done = populace("experiment", written(tmp_path, "any", "infinite"), "--workers", "1", "--no-check")
    assert "is infinite in 3 of 6 runs, so it has no mean" in " ".join(done.stdout.split())


def test_missing_values_are_counted_and_left_out(tmp_path: Path) -> None:
    done = populace("experiment", written(tmp_path, "any", "nan"), "--workers", "1", "--no-check")
    assert "3 complete runs without a value" in done.stdout


def test_where_every_run_fails_the_command_fails(tmp_path: Path) -> None:
    file = written(tmp_path, "zero", "one", parameters={"size": 0})
    done = populace("experiment", file, "--workers", "1", "--no-check")
    assert done.returncode == 1
    assert "a population needs at least one person" in done.stdout


def test_one_replicate_of_points_is_one_replicate(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"design": "latin-hypercube", "replicates": 1}
    done = populace("experiment", written(tmp_path, "any", "one", **changes), "--workers", "1", "--no-check")
    assert done.returncode == 0, done.stderr
    assert "complete: 1 replicate of 16 arms" in done.stdout
    assert "1 replicates" not in done.stdout


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"replicates": -3}, "line LINE: the experiment's replicates = -3: input should be greater than or equal to 1"),
        ({"replicates": 1}, "one replicate shows no effect"),
        ({"factors": {"kind": ["one"]}}, "has one level, so nothing varies"),
        ({"factors": None}, "line LINE: the experiment's factors = None: factors are a mapping"),
        ({"factors": {}}, "line LINE: an experiment needs at least one factor"),
        ({"outcomes": None}, "line LINE: the experiment's outcomes = None: outcomes are a list"),
        ({"outcomes": []}, "line LINE: an experiment needs at least one outcome"),
        ({"outcomes": ["valu"]}, "Did you mean 'value'?"),
        ({"interventions": "x"}, "'x' is not an intervention"),
        ({"stop": {"widht": 1}}, "Did you mean 'width'?"),
        ({"replicats": 3}, "line LINE: there is no key of an experiment named 'replicats'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_words(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    done = populace("experiment", written(tmp_path, "one", "zero", **changes))
    assert done.returncode == 2
    lines = (tmp_path / "odd.yaml").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith(next(iter(changes))))
    assert sentence.replace("LINE", str(line)) in done.stderr


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_bytes(b"\xff\xfe\x00name")
    (tmp_path / "deep.yaml").write_text("[" * 2000)
    for file in ("odd.yaml", "deep.yaml"):
        done = populace("experiment", file)
        assert done.returncode == 2, done.stderr
        assert "cannot be read" in done.stderr


def test_a_level_that_cannot_be_read_is_named() -> None:
    done = populace("structure", "norms", "--vary", "initial_share=[,0.8", "--outcome", "share_blue", "--dry-run")
    assert done.returncode == 2
    assert "'[' is no value" in done.stderr
