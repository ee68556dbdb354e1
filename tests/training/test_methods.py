"""Preference training and reinforcement raise what was planted, and shuffled feedback does not."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from populace.base.errors import TrainingError

pytest.importorskip("trl", reason="TRL is not installed: pip install 'populace[train]'")

import torch

from populace.models import Reply, Request, from_peft, open_model
from populace.training.base_network import add_lora, load_base
from populace.training.decision_records import option_shares, prompt_request
from populace.training.preference import PreferencePairs, PreferenceSettings, learn_preferences
from populace.training.reinforcement import ReinforcementSettings, reinforce
from populace.training.sequences import ModelVocabulary
from support.quick_collection import quick_collection
from support.tiny_models import tiny_folder

OPTIONS = ["b", "c"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    torch.set_num_threads(1)
    folder = tiny_folder(tmp_path_factory.mktemp("tiny") / "base", seed=3)
    with quick_collection():
        yield folder


@pytest.fixture(scope="module")
def vocabulary(base: Path) -> ModelVocabulary:
    return ModelVocabulary(base)


def prompts(count: int, first: int = 0) -> pl.DataFrame:
    rows = [
        {"system": "", "user": f"Say {number}.", "lead": "A:", "replies": OPTIONS, "number": number}
        for number in range(first, first + count)
    ]
    return pl.DataFrame(rows)


def share_of_first(model: Any, vocabulary: ModelVocabulary) -> float:
    """The mean share of the first option, for prompts that were not in training."""
    shares, _ = option_shares(model, vocabulary, prompts(8, first=50))
    return float(np.mean([each[0] for each in shares]))


def pairs(better: list[bool]) -> PreferencePairs:
    rows = prompts(len(better)).iter_rows(named=True)
    return PreferencePairs.of(
        {**row, "better": OPTIONS[not first], "worse": OPTIONS[first]} for row, first in zip(rows, better, strict=True)
    )


def test_preferences_raise_what_was_preferred_and_a_coin_does_not(
    base: Path, vocabulary: ModelVocabulary, tmp_path: Path
) -> None:
    settings = PreferenceSettings(learning_rate=5e-3, passes=3, batch=8)
    coins = (np.arange(16) % 2 == 0).tolist()
    found = {}
    for name, better in (("feedback", [True] * 16), ("control", coins)):
        model = add_lora(load_base(base, "cpu"), 4, seed=1)
        before = share_of_first(model, vocabulary)
        losses = learn_preferences(model, vocabulary, pairs(better), settings)
        found[name] = share_of_first(model, vocabulary) - before
        assert len(losses) == 6
        assert "ref" not in model.peft_config, "the reference does not stay"
        if name == "feedback":
            assert_runs_alike(model, base, vocabulary, tmp_path)
    assert found["feedback"] > 0.1
    assert abs(found["control"]) < found["feedback"] / 2


def test_the_anchor_keeps_the_better_reply_likely(base: Path, vocabulary: ModelVocabulary) -> None:
    masses = {}
    for anchor in (0.0, 1.0):
        model = add_lora(load_base(base, "cpu"), 4, seed=1)
        before = float(option_shares(model, vocabulary, prompts(8, first=50))[1].mean())
        settings = PreferenceSettings(learning_rate=5e-3, passes=2, batch=8, anchor=anchor)
        learn_preferences(model, vocabulary, pairs([True] * 16), settings)
        masses[anchor] = float(option_shares(model, vocabulary, prompts(8, first=50))[1].mean()) / before
    assert masses[1.0] > 1.5, masses
    assert masses[1.0] > masses[0.0] + 0.2, masses


def assert_runs_alike(model: Any, base: Path, vocabulary: ModelVocabulary, folder: Path) -> None:
    """What was trained, saved by peft and converted, gives in a run the distribution that the trained network gives."""
    model.save_pretrained(folder / "peft")
    from_peft(folder / "peft", base, folder / "mine.gguf", manifest={"kind": "judge"})
    # As in a run, the prompts name the options: replies hold few other unlikely tokens.
    table = prompts(4, first=50).with_columns(user=pl.col("user") + f" {' or '.join(OPTIONS)}?")
    shares, masses = option_shares(model, vocabulary, table)
    requests = [prompt_request(row)._replace(top=300) for row in table.iter_rows(named=True)]
    for adapter in (folder / "peft", folder / "mine.gguf"):
        replies = asyncio.run(ask(f"transformers:{base}+{adapter}?device=cpu", requests))
        for place, reply in enumerate(replies):
            chances = {token: math.exp(log) for token, log in reply.tokens}
            found = [chances.get(option, 0.0) for option in OPTIONS]
            assert found == pytest.approx((shares[place] * masses[place]).tolist(), abs=2e-3)


async def ask(spec: str, requests: list[Request]) -> list[Reply]:
    model = open_model(spec)
    await model.start()
    replies = {index: reply async for lot in model.replies(requests) for index, reply in lot}
    await model.close()
    return [reply for index in range(len(requests)) if isinstance(reply := replies[index], Reply)]


def test_the_same_seed_learns_the_same_and_leaves_the_state_of_the_generator(
    base: Path, vocabulary: ModelVocabulary
) -> None:
    settings = PreferenceSettings(learning_rate=5e-3, batch=8, seed=4)
    results = []
    for _ in range(2):
        torch.manual_seed(7)
        model = add_lora(load_base(base, "cpu"), 4, seed=1)
        state = torch.get_rng_state()
        learn_preferences(model, vocabulary, pairs([True] * 16), settings)
        assert torch.equal(state, torch.get_rng_state())
        results.append({name: each.detach().clone() for name, each in model.named_parameters() if each.requires_grad})
    assert results[0].keys() == results[1].keys()
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])


def test_rewards_raise_what_is_rewarded_and_shuffled_rewards_do_not(base: Path, vocabulary: ModelVocabulary) -> None:
    letters = list("abcdefghijklmnopqrstuvwxyz")
    settings = ReinforcementSettings(learning_rate=3e-2, steps=10, batch=32, group=16, kl=0.0)
    random = np.random.default_rng(0)

    def planted(replies: pl.DataFrame) -> list[float]:
        assert {"number", "reply"} <= set(replies.columns)
        return replies["reply"].is_in(letters).cast(pl.Float64).to_list()

    def shuffled(replies: pl.DataFrame) -> list[float]:
        return random.permutation(planted(replies)).tolist()

    found = {}
    for name, reward in (("feedback", planted), ("control", shuffled)):
        model = add_lora(load_base(base, "cpu"), 8, seed=1)
        chances = [lower_case_share(model, vocabulary, letters)]
        rewards = reinforce(model, vocabulary, prompts(4), reward, settings)
        assert len(rewards) == 10
        chances.append(lower_case_share(model, vocabulary, letters))
        found[name] = chances[1] - chances[0]
    assert found["feedback"] > 0.15
    assert found["control"] < found["feedback"] / 2


def lower_case_share(model: Any, vocabulary: ModelVocabulary, letters: list[str]) -> float:
    """The mean probability that a reply is a small letter."""
    rows = prompts(4, first=50).with_columns(replies=pl.Series([letters] * 4, dtype=pl.List(pl.String)))
    return float(option_shares(model, vocabulary, rows)[1].mean())


def test_bad_input_is_named(base: Path, vocabulary: ModelVocabulary) -> None:
    model = add_lora(load_base(base, "cpu"), 4, seed=1)
    with pytest.raises(TrainingError, match="are the same"):
        PreferencePairs.of([{"user": "Say.", "better": "b", "worse": "b"}])
    with pytest.raises(TrainingError, match="no preference pairs"):
        learn_preferences(model, vocabulary, PreferencePairs.of([]), PreferenceSettings())
    with pytest.raises(ValueError, match="greater than 0"):
        PreferenceSettings(kl=0.0)
    with pytest.raises(ValueError, match="no whole number of groups"):
        ReinforcementSettings(batch=10, group=4)
    settings = ReinforcementSettings(steps=1, batch=4, group=2)
    with pytest.raises(TrainingError, match="numbers for 4 replies"):
        reinforce(model, vocabulary, prompts(2), lambda replies: [1.0], settings)
    with pytest.raises(TrainingError, match="not finite"):
        reinforce(model, vocabulary, prompts(2), lambda replies: [float("nan")] * replies.height, settings)


def test_a_gpu_with_too_little_memory_is_told_with_what_to_lower(base: Path, vocabulary: ModelVocabulary) -> None:
    def refuse(replies: pl.DataFrame) -> list[float]:
        raise torch.OutOfMemoryError("CUDA out of memory")

    model = add_lora(load_base(base, "cpu"), 4, seed=1)
    with pytest.raises(TrainingError, match="4 replies at once. Lower `batch` under `reinforcement:`"):
        reinforce(model, vocabulary, prompts(2), refuse, ReinforcementSettings(steps=1, batch=4, group=2))
    assert list(model.peft_config) == ["default"], "the copy that TRL compared with is gone"
