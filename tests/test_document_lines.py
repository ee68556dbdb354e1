"""Every error about what a file says names the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace.base.document_lines import DocumentLines
from populace.base.errors import PopulaceError, UsageError
from populace.evaluation.believability import BelievabilityPlan
from populace.experiments import Experiment
from populace.surveys import Questionnaire

PLAN = """\
name: shirts
scenario: norms
parameters:
  days: 3
factors:
  initial_share:
    - 0.3
    - 0.7
outcomes:
  - share_blue
  - mean(share_blue)
analyses:
  - path_dependence(share_blue, initial_share)
analysis_plan:
  contrasts:
    - outcome: share_blue
      factor: initial_share
stop:
  width: 0.1
replicates: 4
model: scripted:uniform
decider: model
pairing:
  - initial_share
"""


@pytest.mark.parametrize(
    ("before", "after", "line", "text"),
    [
        ("scenario: norms", "scenario: norm5", 2, "no scenario"),
        ("  days: 3", "  dayz: 3", 4, "no parameter"),
        ("  initial_share:\n    - 0.3\n    - 0.7", "  initial_share: [0.3]", 6, "one level"),
        ("    - 0.7", "    - 0.3", 6, "twice"),
        ("    - 0.3\n    - 0.7", "    low: 1\n    high: 0", 6, "nothing between"),
        ("  initial_share:\n    - 0.3\n", "  initial_shares:\n    - 0.3\n", 6, "initial_shares"),
        ("  - share_blue\n", "  - share_blu\n", 10, "no metric"),
        ("  - mean(share_blue)", "  - moan(share_blue)", 11, "moan"),
        ("  - mean(share_blue)", "  - share_blue", 11, "declared twice"),
        ("  - mean(share_blue)", "  - {name: seed, metric: share_blue}", 11, "column of every table"),
        ("path_dependence(share_blue,", "path_dependance(share_blue,", 13, "no analysis"),
        ("path_dependence(share_blue,", "path_dependence(share_red,", 13, "no outcome"),
        ("    - outcome: share_blue", "    - outcome: share_red", 16, "no outcome"),
        ("      factor: initial_share", "      factor: share", 17, "no factor"),
        ("  width: 0.1", "  width: -1", 19, "greater than 0"),
        ("  width: 0.1", "  widht: 0.1", 19, "widht"),
        ("replicates: 4", "replicates: 1", 20, "one replicate"),
        ("replicates: 4", "replicates: four", 20, "four"),
        ("scripted:uniform", "scripted:unifrom", 21, "unifrom"),
        ("decider: model", "decider: nobody", 22, "nobody"),
        ("pairing:\n  - initial_share", "pairing:\n  - seeds", 24, "no factor"),
        ("replicates: 4", "replicate: 4", 20, "no key"),
    ],
)
def test_every_mistake_in_an_experiment_file_has_its_line(
    tmp_path: Path, before: str, after: str, line: int, text: str
) -> None:
    assert PLAN.count(before) >= 1
    file = tmp_path / "shirts.yaml"
    file.write_text(PLAN.replace(before, after, 1))
    with pytest.raises(PopulaceError) as raised:
        Experiment.read(file)
    assert raised.value.what.startswith(f"shirts.yaml, line {line}: "), raised.value.what
    assert text in str(raised.value)


ITEMS = """\
title: Tea
items:
  - id: tea
    type: single
    text: Do you like tea?
    options: [yes, no]
    skip: {no: age}
  - id: cups
    type: number
    text: How many cups?
    low: 0
    high: 20
  - id: age
    type: number
    text: How old are you?
    show_if: {tea: yes}
"""


@pytest.mark.parametrize(
    ("before", "after", "line", "text"),
    [
        ("  - id: cups", "  - id: tea", 8, "two items have the id"),
        ("  - id: cups", "  - id: weight", 8, "a meaning of its own"),
        ("{no: age}", "{no: agee}", 7, "agee"),
        ("{no: age}", "{maybe: age}", 3, "not one of its options"),
        ("{no: age}", "{no: tea}", 3, "does not come later"),
        ("    low: 0", "    low: 30", 8, "cups"),
        ("    high: 20", "    height: 20", 12, "height"),
        ("    type: number", "    type: numeral", 8, "numeral"),
        ("{tea: yes}", "{any: 3}", 13, "needs conditions"),
        ("    text: How many cups?", "    text: How many after {age}?", 8, "may not have answered"),
        ("title: Tea", "titel: Tea", 1, "titel"),
    ],
)
def test_every_mistake_in_a_questionnaire_has_its_line(
    tmp_path: Path, before: str, after: str, line: int, text: str
) -> None:
    file = tmp_path / "tea.yaml"
    for wrapped in (False, True):
        content = ITEMS.replace(before, after, 1)
        extra = 0
        if wrapped:
            content = content.replace("items:\n", "blocks:\n- items:\n", 1)
            extra = 1 if line > 2 else 0
        file.write_text(content)
        with pytest.raises(UsageError) as raised:
            Questionnaire.read(file)
        assert raised.value.what.startswith(f"tea.yaml, line {line + extra}: "), raised.value.what
        assert text in str(raised.value)


def test_a_mistake_in_a_questionnaire_of_rows_has_the_line_of_its_row(tmp_path: Path) -> None:
    file = tmp_path / "tea.csv"
    file.write_text("id,type,text,options\ntea,single,Tea?,yes|no\n\ntea,single,Coffee?,yes|no\n")
    with pytest.raises(UsageError, match=r"tea\.csv, line 4: two items have the id"):
        Questionnaire.read(file)


@pytest.mark.parametrize(
    ("entry", "line", "text"),
    [
        ("words: 1000", 3, "words"),
        ("word: 10", 3, "word"),
        ("conditions:\n  full mind: {}", 3, "two conditions or more"),
        ("conditions:\n  - name: a\n  - name: b\n  - name: a", 6, "two conditions have the name"),
        ("conditions:\n  full mind: {}\n  none: {without: [memry]}", 5, "memry"),
    ],
)
def test_every_mistake_in_the_plan_of_a_study_has_its_line(tmp_path: Path, entry: str, line: int, text: str) -> None:
    file = tmp_path / "town.yaml"
    file.write_text(f"name: town\nruns: [party-1]\n{entry}\n")
    with pytest.raises(UsageError) as raised:
        BelievabilityPlan.read(file)
    assert raised.value.what.startswith(f"town.yaml, line {line}: "), raised.value.what
    assert text in str(raised.value)


def test_parts_of_a_path_that_are_not_in_the_file_lead_to_the_line_before_them() -> None:
    lines = DocumentLines("a:\n  - b: 1\n    c:\n      d: 2\n")
    assert lines.at(("a", 0, "c", "d")) == 4
    assert lines.at(("a", 0, "form", "c")) == 3
    assert lines.at(("a", 7)) == 1
    assert lines.at(("none", 0)) is None
    assert DocumentLines("").at(("a",)) is None
