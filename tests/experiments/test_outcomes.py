from __future__ import annotations

from typing import Any

import pytest

from populace import simulate
from populace.base.errors import UnknownNameError, UsageError
from populace.experiments import Outcome
from populace.runs.reader import RunReader
from support.models import Counting
from support.scenarios import Shirts


@pytest.fixture(scope="module")
def run() -> RunReader:
    return simulate(Shirts(), model=Counting(), seed=1, keep="nothing")


def last_answers(run: RunReader) -> float:
    return float(run.answers(run.steps[-1]).height)


def test_an_outcome_is_a_metric_at_the_end_at_a_step_or_over_the_steps(run: RunReader) -> None:
    shares = run.metrics["share_blue"].to_list()
    assert Outcome.read("share_blue").of(run) == shares[-1]
    assert Outcome.read("share_blue@2").of(run) == shares[2]
    assert Outcome.read("share_blue@0").of(run) == shares[0]
    assert Outcome.read("mean(share_blue)").of(run) == pytest.approx(sum(shares[1:]) / 4)
    assert Outcome.read("max(share_blue)").of(run) == max(shares[1:])


def test_a_step_that_a_run_did_not_reach_has_no_outcome(run: RunReader) -> None:
    assert Outcome.read("share_blue@99").of(run) is None


def test_an_outcome_is_a_share_of_answers(run: RunReader) -> None:
    answers = run.answers()
    assert Outcome.read("answers(blue)").of(run) == pytest.approx((answers["value"] == "blue").mean())
    assert Outcome.read("answers(blue)@3").of(run) == pytest.approx((run.answers(3)["value"] == "blue").mean())
    assert Outcome(answer="blue", question="Which shirt").of(run) == Outcome.read("answers(blue)").of(run)
    assert Outcome(answer="blue", question="Which hat").of(run) is None


def test_an_outcome_is_a_function_of_the_run(run: RunReader) -> None:
    outcome = Outcome(name="asked", measure=f"{__name__}:last_answers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            __import__("sys").modules, __name__, __import__("types").SimpleNamespace(last_answers=last_answers)
        )
        assert outcome.of(run) == 12


@pytest.mark.parametrize(
    "written", ["share_blue", "share_blue@3", "mean(share_blue)", "answers(blue)@3", "answers(a b)"]
)
def test_an_outcome_is_called_what_it_was_written_as(written: str) -> None:
    assert Outcome.read(written).name == written


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Outcome.read("share blue")
    with pytest.raises(UnknownNameError, match="Did you mean 'mean'"):
        Outcome.read("meen(share_blue)")
    with pytest.raises(UnknownNameError, match="Did you mean 'share_blue'"):
        Outcome.read("share_bleu").check(Shirts)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "an outcome is one of a metric, an answer and a measure"),
        ({"metric": 3}, "metric of an outcome is 3"),
        ({"metrik": "a"}, "Did you mean 'metric'"),
        ({"metric": "a", "at": -1}, "at of an outcome is -1"),
    ],
)
def test_an_outcome_that_measures_nothing_is_refused_in_words(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Outcome(**fields)
