"""All designs are rendered from one declaration, and no treatment reaches a prompt that is meant to be without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace import simulate
from populace.causal import DESIGNS, CausalDesign, CausalScenario, CausalStudy
from support.causal import DECLARATION, study

GOLDEN = Path(__file__).parent / "prompts"


def prompts(declared: CausalStudy, design: CausalDesign, *, drift: bool = False) -> list[tuple[int, str]]:
    """Every prompt of a design with the number of its step, as it is sent."""
    scenario = CausalScenario(study=declared, design=design, drift=drift)
    table = simulate(scenario, model="scripted:uniform", keep="nothing", seed=3).prompts()
    texts = [f"{system}\n\n{user}".strip() for system, user in zip(table["system"], table["user"], strict=True)]
    return list(zip(table["step"].to_list(), texts, strict=True))


@pytest.mark.parametrize("design", [*DESIGNS, "drift"])
def test_the_prompts_of_every_design_are_as_recorded(design: Any) -> None:
    declared = study(personas=DECLARATION["personas"][:2])
    found = prompts(declared, "blind" if design == "drift" else design, drift=design == "drift")
    text = "\n\n".join(f"=== step {step} ===\n{prompt}" for step, prompt in found) + "\n"
    assert text == (GOLDEN / f"{design}.txt").read_text(encoding="utf-8")


WORDS = st.text("abcdefghij {}$%\n", min_size=0, max_size=30).map(
    lambda text: text.replace("{", "{{").replace("}", "}}")
)


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A study whose every level and covariate can be recognised wherever it appears."""
    count = draw(st.integers(2, 5))
    control = draw(st.booleans())
    if draw(st.booleans()):
        sentences = {f"arm{n}": f"{draw(WORDS)} LEVEL{n}! {draw(WORDS)}" for n in range(count)}
        treatment: dict[str, Any] = {"name": "message", "levels": sentences}
        if control:
            sentences["arm0"] = ""
    else:
        levels = draw(st.lists(st.integers(100, 999), min_size=count, max_size=count, unique=True))
        treatment = {"name": "price", "levels": levels, "statement": f"{draw(WORDS)} LEVEL{{price}}! {draw(WORDS)}"}
    covariates = [
        {"name": f"c{n}", "statement": f"COVARIATE{n}={{c{n}}}", "values": [float(n + 10), float(n + 20)]}
        for n in range(draw(st.integers(0, 2)))
    ]
    return {
        "treatment": treatment,
        "covariates": covariates,
        "setting": f"SETTING {draw(WORDS)}",
        "question": f"QUESTION {draw(WORDS)}",
        "options": ["yes", "no"],
        "success": "yes",
        "personas": [{"age": 30}],
    }


@settings(max_examples=25, deadline=None)
@given(declarations())
def test_no_level_leaks_into_the_prompt_of_another(declaration: dict[str, Any]) -> None:
    declared = CausalStudy.read(declaration)
    treatment = declared.treatment
    marks = ["" if treatment.sentence(n) == "" else f"LEVEL{_mark(treatment.values[n])}!" for n in _levels(declared)]
    designs: tuple[CausalDesign, ...] = ("blind", "covariates") if declared.covariates else ("blind",)
    for design in designs:
        rests = set()
        for step, text in prompts(declared, design):
            own = marks[step - 1]
            assert [mark for mark in marks if mark and mark in text] == ([own] if own else [])
            assert ("COVARIATE" in text) == (design == "covariates")
            assert "experiment" not in text and "lot" not in text
            lines = treatment.sentence(step - 1).replace("{price}", _mark(treatment.values[step - 1])).strip()
            sentence = lines.replace("{{", "{").replace("}}", "}")
            rests.add(text.replace(f"{sentence}\n\n", "\n", 1) if sentence else text)
        assert len({rest.replace("\n", "") for rest in rests}) == 1, "prompts differ in more than the level"


@settings(max_examples=15, deadline=None)
@given(declarations())
def test_an_unblinded_prompt_tells_all_levels_in_the_same_words_whatever_was_drawn(declaration: dict[str, Any]) -> None:
    declared = CausalStudy.read(declaration)
    disclosures = {text.partition("SETTING")[0] for _, text in prompts(declared, "unblinded")}
    assert len(disclosures) == 1
    for value in declared.treatment.values:
        mark = _mark(value)
        control = isinstance(declared.treatment.levels, dict) and declared.treatment.levels[str(value)] == ""
        assert control or mark in next(iter(disclosures))


def _levels(declared: CausalStudy) -> range:
    return range(len(declared.treatment.values))


def _mark(value: float | str) -> str:
    return value.removeprefix("arm") if isinstance(value, str) else f"{value:g}"
