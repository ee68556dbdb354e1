from __future__ import annotations

import html.parser
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from populace import Run, simulate
from populace.base.foreign import for_markdown
from populace.experiments import Experiment, Report, Results, report
from populace.experiments.reports.blocks import Code, Table
from populace.experiments.reports.experiment_report import difference_sentence, experiment_yaml, mean_band
from populace.experiments.reports.figures import IntervalRow, intervals, standalone_svg
from populace.scenarios.norms import Norms
from support.commands import populace

pytest.importorskip("matplotlib")

SETTINGS: dict[str, Any] = {
    "name": "tipping",
    "question": "Does <b>blue</b> & green | tip?",
    "scenario": "norms",
    "factors": {"initial_share": [0.3, 0.7], "personas": ["none", "graded"]},
    "parameters": {"workers": 5, "days": 2},
    "decider": "rule",
    "replicates": 3,
    "outcomes": ["share_blue", "answers(blue)@1"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("tipping")
    return Experiment(**SETTINGS).run(workspace=folder, workers=1, check=False)


@pytest.fixture(scope="module")
def made(results: Results) -> Report:
    return report(results)


class Reader(html.parser.HTMLParser):
    """Notes ids, and whether every tag that opens closes again."""

    empty = frozenset(["meta", "path", "rect", "use", "br", "image"])

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in self.empty:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.empty:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_is_whole_well_formed_and_asks_nobody_for_anything(made: Report) -> None:
    page = made.html
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    links = [each for each in re.findall(r'https?://[^"\s<)]+', page) if "www.w3.org" not in each]
    assert links == []
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\((?!#)", page)
    for name in re.findall(r"url\(#([^)]+)\)", page):
        assert name in reader.ids


def test_a_page_escapes_what_it_quotes(made: Report) -> None:
    assert "Does &lt;b&gt;blue&lt;/b&gt; &amp; green | tip?" in made.html
    assert "<b>blue" not in made.html
    assert "<b>blue" not in made.markdown.split("```")[0]
    assert for_markdown("a|b_c <i>") == "a\\|b_c &lt;i&gt;"
    assert for_markdown("_so_ *many*") == "\\_so\\_ \\*many\\*"
    assert replace(made, lead=(Code("a ``` b"),)).markdown.startswith("````text")


def test_a_report_tells_all_that_somebody_who_was_not_there_needs(results: Results, made: Report) -> None:
    for text in (made.html, made.markdown):
        for heading in (
            "Design",
            "Outcome: ",
            "Over time",
            "Validity card",
            "Failures",
            "How to repeat it",
            "Manifest",
        ):
            assert heading in text
        assert f"populace report {results.name}" in text
        assert results.digest in text
        assert "n = 3" in text
        assert "95 %" in text
    assert made.html.count("<svg") == 5


def test_the_same_results_give_the_same_report_byte_for_byte(results: Results, made: Report, tmp_path: Path) -> None:
    first = made.write(tmp_path / "a")
    second = report(Results(results.folder)).write(tmp_path / "b")
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_every_picture_that_the_markdown_names_is_written(results: Results, made: Report, tmp_path: Path) -> None:
    files = made.write(tmp_path)
    assert [file.name for file in files[:2]] == [f"{results.name}.html", f"{results.name}.md"]
    named = re.findall(r"\]\((\S+\.svg)\)", files[1].read_text())
    assert len(named) == 5
    assert all((tmp_path / name).read_text().startswith("<svg") for name in named)
    assert "currentColor" not in (tmp_path / named[0]).read_text()


def test_no_machine_path_is_in_a_report(results: Results, made: Report) -> None:
    assert str(results.folder.path.parent) not in made.html + made.markdown


def test_the_experiment_as_written_makes_the_same_experiment(results: Results) -> None:
    text = experiment_yaml(results.experiment)
    assert Experiment(**yaml.safe_load(text)).data() == results.experiment.data()
    assert "pairing" not in text
    odd = Experiment(**(SETTINGS | {"stop": {"width": 0.2}, "outcomes": [{"name": "end", "metric": "share_blue"}]}))
    assert Experiment(**yaml.safe_load(experiment_yaml(odd))) == odd


def test_failed_runs_and_outcomes_that_nobody_reached_are_told(tmp_path: Path) -> None:
    made = Experiment(
        name="fragile",
        scenario="support.scenarios:Fragile",
        factors={"mood": ["calm", "broken"]},
        parameters={"people_count": 3, "days": 1},
        model="scripted:uniform",
        replicates=2,
        outcomes=["share_blue"],
    ).run(workspace=tmp_path, workers=1, check=False)
    page = report(made).html
    assert "2 failed runs" in page
    assert "These runs ended with an error" in page
    assert "ZeroDivisionError: planned" in page
    assert "No effect on share_blue can be told" in page


def test_a_design_of_points_is_drawn_against_its_factors(tmp_path: Path) -> None:
    made = Experiment(
        name="points",
        scenario="norms",
        factors={"initial_share": {"low": 0.1, "high": 0.9}},
        parameters={"workers": 4, "days": 1},
        design={"kind": "latin-hypercube", "points": 4},
        decider="rule",
        replicates=1,
        outcomes=["share_blue"],
    ).run(workspace=tmp_path, workers=1, check=False)
    page = report(made).html
    assert "share_blue against initial_share" in page
    assert "share_blue over 4 points" in page


def test_a_single_run_has_a_report(tmp_path: Path) -> None:
    run: Run = simulate(Norms(workers=4, days=2), model="scripted:uniform", seed=1, workspace=tmp_path)
    made = report(run)
    assert "populace run norms --seed 1 --model scripted:uniform" in made.html
    assert "share_blue over the steps of this one run" in made.markdown
    reader = Reader()
    reader.feed(made.html)
    assert reader.open == []


def test_a_band_needs_two_runs_and_covers_their_mean() -> None:
    steps = [0.0, 1.0]
    table = mean_band([[steps, [0.2, None]], [steps, [0.4, 0.5]]])
    assert table["mean"].to_list() == pytest.approx([0.3, 0.5])
    assert table["low"][0] < 0.3 < table["high"][0]
    assert table["low"][1] is None
    assert mean_band([]).height == 0


def test_a_picture_follows_the_page_and_can_stand_alone() -> None:
    svg = intervals([IntervalRow("an arm <i>", 0.4, 0.3, 0.5, "n = 2", [0.3, 0.5])], "share", name="one")
    assert "currentColor" in svg and "var(--line)" in svg
    assert "an arm &lt;i&gt;" in svg
    alone = standalone_svg(svg)
    assert "var(--" not in alone and 'fill="#ffffff"' in alone


def test_a_long_table_says_what_it_leaves_out(made: Report) -> None:
    import polars as pl

    table = Table(pl.DataFrame({"x": range(500)}), "Numbers")
    shown = replace(made, lead=(), summary=(), body=(table,)).html
    assert "100 rows left out" in shown
    assert shown.count("<tr>") == 401


def test_the_command_writes_and_reports(results: Results, tmp_path: Path) -> None:
    workspace = str(results.folder.path.parent.parent)
    done = populace("report", "tipping", "--to", str(tmp_path), "--workspace", workspace, "--json")
    document = json.loads(done.stdout)
    assert document["status"] == "ok", done.stderr
    assert (tmp_path / f"{results.name}.html").is_file()
    assert {check["check"] for check in document["data"]["checks"]} >= {"replicates", "people differ"}
    assert any("rules decided" in text for text in document["warnings"])


@pytest.mark.parametrize(("adjusted", "told"), [(0.3, "no difference that can be told from chance"), (0.01, "higher")])
def test_a_difference_is_one_after_the_correction_for_all_comparisons(adjusted: float, told: str) -> None:
    """One of ten arms whose own interval leaves 0 out was called higher, with an adjusted p of 0.3."""
    row = {"arm": "a", "effect": 0.2, "low": 0.01, "high": 0.39, "n": 20, "planned": "no plan", "warning": ""}
    text = difference_sentence(row | {"p_adjusted": adjusted}, 0.05)
    assert text.startswith(f"a: {told}") and f"adjusted p = {adjusted:.3f}" in text
