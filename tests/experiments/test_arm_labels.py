"""Beside a chart, arms are told apart by the levels in which they differ."""

import pytest

from populace.experiments.arms import Arm, arm_labels
from populace.models.labels import model_label


def arm(number: int, **levels: object) -> Arm:
    return Arm(number=number, levels=levels, scenario="norms", parameters={})


def test_short_names_stay_as_they_are() -> None:
    assert arm_labels([arm(0, days=3), arm(1, days=5)]) == {"days=3": "days=3", "days=5": "days=5"}
    assert arm_labels([]) == {}


def test_long_names_become_the_levels_that_differ() -> None:
    file = "transformers:/a/folder/with/a/long/name/qwen.gguf"
    arms = [arm(n, initial_share=0.2, reason=n > 0, model=file, words=f"way {n // 2}") for n in range(3)]
    labels = arm_labels(arms)
    assert list(labels) == [each.name for each in arms]
    assert list(labels.values()) == ["no · way 0", "yes · way 0", "yes · way 1"]


def test_models_in_one_place_are_told_apart_by_their_files() -> None:
    paths = ("/first/folder/of/models/qwen.gguf", "/first/folder/of/models/smol.gguf")
    arms = [arm(n, model=f"embedded:{path}") for n, path in enumerate(paths)]
    assert list(arm_labels(arms).values()) == ["embedded:qwen.gguf", "embedded:smol.gguf"]


def test_labels_that_would_be_equal_are_not_used() -> None:
    arms = [arm(n, model=f"embedded:/{folder}/of/models/in/a/long/path/qwen.gguf") for n, folder in enumerate("ab")]
    assert list(arm_labels(arms).values()) == [each.name for each in arms]


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("embedded", "embedded"),
        ("embedded+people", "embedded+people"),
        ("embedded:hf:o/r/f.gguf", "embedded:hf:o/r/f.gguf"),
        ("ray:transformers:/x/m.gguf*2", "ray:transformers:m.gguf*2"),
        ("transformers:/x/folder/", "transformers:folder"),
        ("openai:gpt-x", "openai:gpt-x"),
    ],
)
def test_a_local_file_is_shown_without_its_folder(spec: str, label: str) -> None:
    assert model_label(spec) == label
