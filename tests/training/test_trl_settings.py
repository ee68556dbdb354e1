"""Training through TRL pickles nothing, asks nobody, prints nothing, and takes nothing from other programs' settings."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("trl", reason="TRL is not installed: pip install 'populace[train]'")

import datasets.fingerprint
import datasets.utils._dill
import dill
import huggingface_hub.constants
import huggingface_hub.utils._telemetry
import torch
import transformers

from populace.training.base_network import add_lora, load_base
from populace.training.preference import PreferencePairs, PreferenceSettings, learn_preferences
from populace.training.reinforcement import ReinforcementSettings, reinforce
from populace.training.sequences import ModelVocabulary
from populace.training.trl_settings import trl_arguments

ROWS = [{"system": "", "user": f"Say {n}.", "lead": "A:", "better": "b", "worse": "c"} for n in range(4)]


def learn_from_pairs(model: Any, vocabulary: ModelVocabulary) -> list[float]:
    return learn_preferences(model, vocabulary, PreferencePairs.of(ROWS), PreferenceSettings(batch=4))


def learn_from_rewards(model: Any, vocabulary: ModelVocabulary) -> list[float]:
    settings = ReinforcementSettings(steps=1, batch=4, group=2)
    return reinforce(model, vocabulary, pl.DataFrame(ROWS), lambda replies: [1.0] * replies.height, settings)


@pytest.fixture(params=[learn_from_pairs, learn_from_rewards])
def method(request: pytest.FixtureRequest, tiny_base: Path) -> Callable[[], list[float]]:
    """A training by each method that goes through TRL."""
    model = add_lora(load_base(tiny_base, "cpu"), 4, seed=1)
    return lambda: request.param(model, ModelVocabulary(tiny_base))


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("training must not need this")


def test_nothing_is_pickled_or_hashed_to_name_the_data(
    method: Callable[[], list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("update", "hash", "hash_bytes", "hexdigest"):
        monkeypatch.setattr(datasets.fingerprint.Hasher, name, refuse)
    for place, name in (
        (dill, "dump"), (dill, "dumps"), (dill.Pickler, "dump"), (datasets.utils._dill, "dump"),
        (datasets.utils._dill, "dumps"), (datasets.fingerprint, "dumps"),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, refuse)
    with pytest.raises(AssertionError):
        datasets.Dataset.from_list([{"prompt": "0"}])
    assert len(method()) == 1


def test_nobody_is_asked_or_told_over_the_network(
    method: Callable[[], list[float]], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    hosts: list[object] = []

    def look_up(host: object, *_: object, **__: object) -> None:
        hosts.append(host)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_TELEMETRY", False)
    monkeypatch.delenv("CI", raising=False)
    method()
    huggingface_hub.utils._telemetry._TELEMETRY_QUEUE.join()
    assert hosts == []
    assert not huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY, "what was set before is set again"
    assert capfd.readouterr() == ("", "")


def test_variables_of_a_launcher_and_of_trackers_do_not_count(
    method: Callable[[], list[float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = method()
    others = {
        "LOCAL_RANK": "0",
        "RANK": "0",
        "WORLD_SIZE": "2",
        "ACCELERATE_MIXED_PRECISION": "fp16",
        "WANDB_PROJECT": "x",
    }
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    assert len(method()) == len(alone)
    assert dict(os.environ) == before


def test_of_several_gpus_one_is_used(method: Callable[[], list[float]], monkeypatch: pytest.MonkeyPatch) -> None:
    known = transformers.TrainingArguments.__dict__["_setup_devices"]

    def set_up(self: Any) -> torch.device:
        if not hasattr(self, "_n_gpu"):
            known.func(self)
            self._n_gpu = 4
        return torch.device("cpu")

    monkeypatch.setattr(transformers.TrainingArguments, "_setup_devices", property(set_up))
    monkeypatch.setattr(torch.nn.DataParallel, "__init__", refuse)
    assert len(method()) == 1


def test_bars_of_others_are_shown_again_afterwards() -> None:
    assert transformers.utils.logging.is_progress_bar_enabled()
    with trl_arguments(PreferenceSettings(), torch.zeros(1)) as arguments:
        assert not transformers.utils.logging.is_progress_bar_enabled()
        assert arguments["report_to"] == "none"
    assert transformers.utils.logging.is_progress_bar_enabled()
    assert not Path(arguments["output_dir"]).exists()
