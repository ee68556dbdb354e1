"""The decisions of a run as they were asked: the prompt, every option as the model writes it, and what was chosen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.models import Request
from populace.questions import LABELS, VALID
from populace.runs.reader import RunReader
from populace.training.base_network import training_library
from populace.training.sequences import ModelVocabulary

_BATCH = 32


def sample_decisions(runs: Sequence[RunReader], count: int, generator: np.random.Generator) -> pl.DataFrame:
    """Some decisions that people of runs made by a model's distribution.

    Args:
        runs: The runs.
        count: How many at most, of all runs together.
        generator: Which ones.

    Returns:
        A row for each decision with `step`, `person`, `system`, `user`, `fields` (what was written into the texts, as
        JSON), `lead`, `question`, `words` (of the options), `replies` (each option as it is written after the lead),
        `probabilities`, and `option` (the number of the one that was chosen).
    """
    table = pl.concat([_scored_decisions(run) for run in runs], how="diagonal_relaxed")
    if table.height > count:
        chosen = np.sort(generator.choice(table.height, count, replace=False))
        table = table[chosen.tolist()]
    rows = [_decision(row) for row in table.iter_rows(named=True)]
    return pl.DataFrame([row for row in rows if row is not None], schema=dict(_SCHEMA))


_SCHEMA: dict[str, pl.DataType] = {
    "step": pl.Int64(), "person": pl.String(), "system": pl.String(), "user": pl.String(), "fields": pl.String(),
    "lead": pl.String(), "question": pl.String(), "words": pl.List(pl.String), "replies": pl.List(pl.String),
    "probabilities": pl.List(pl.Float64), "option": pl.Int64(),
}  # fmt: skip


def _scored_decisions(run: RunReader) -> pl.DataFrame:
    parts = []
    for step in run.steps:
        asks, prompts, answers = (run.record.table(step, name) for name in ("asks", "prompts", "answers"))
        if asks is None or prompts is None or answers is None or not answers.height:
            continue
        scored_prompts = prompts.filter(pl.col("method") == "scored").unique(
            ["ask", "prompt"], keep="first", maintain_order=True
        )
        wanted = asks.filter(pl.col("purpose") == "decision").select("ask", "question", shared_fields="fields")
        valid = answers.filter(pl.col("status").cast(pl.String).is_in(list(VALID)))
        columns = ("ask", "prompt", "arrangement", "labels", "system", "user", "fields", "lead", "probabilities")
        decisions = valid.select("ask", "person", "prompt", "value").join(
            scored_prompts.select(*columns), on=["ask", "prompt"], maintain_order="left"
        )
        decisions = decisions.join(wanted, on="ask", maintain_order="left").with_columns(
            pl.lit(step, pl.Int64).alias("step"), pl.col("person").cast(pl.String)
        )
        parts.append(decisions)
    return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()


def _decision(row: dict[str, Any]) -> dict[str, Any] | None:
    question = json.loads(row["question"])
    words, values = question.get("words"), [str(value) for value in question.get("values", [])]
    if not words or row["value"] not in values or not row["probabilities"]:
        return None
    if row["labels"]:
        places = [int(place) for place in row["arrangement"].split()]
        replies = [f" {LABELS[places.index(option)]}" for option in range(len(words))]
    else:
        replies = [word if row["lead"].endswith(" ") else f" {word}" for word in words]
    fields = {name: row[name] for name in ("step", "person", "system", "user", "lead", "probabilities")}
    return fields | {
        "fields": json.dumps(json.loads(row["shared_fields"] or "{}") | json.loads(row["fields"] or "{}")),
        "question": question["text"],
        "words": list(words),
        "replies": replies,
        "option": values.index(row["value"]),
    }


def option_shares(
    model: Any, vocabulary: ModelVocabulary, decisions: pl.DataFrame
) -> tuple[list[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """What a network answers to the prompts of decisions.

    Args:
        model: The network.
        vocabulary: Its tokens.
        decisions: As `sample_decisions` gives them.

    Returns:
        For each decision the share of each option, and the probability that fell on any option.
    """
    torch = training_library("torch")
    rows = list(decisions.iter_rows(named=True))
    prompts = vocabulary.tokenizer.prompts([prompt_request(row) for row in rows])
    shares: list[npt.NDArray[np.float64]] = []
    masses: list[float] = []
    device = next(model.parameters()).device
    model.eval()
    with torch.no_grad():
        for start in range(0, len(rows), _BATCH):
            lot = prompts[start : start + _BATCH]
            width = max(map(len, lot))
            mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in lot], device=device)
            tokens = torch.tensor([[0] * (width - len(each)) + list(each) for each in lot], device=device)
            places = (mask.cumsum(-1) - 1).clamp(min=0)
            logits = model(input_ids=tokens, attention_mask=mask, position_ids=places, logits_to_keep=1).logits[:, -1]
            chances = logits.float().softmax(-1).double().cpu().numpy()
            for row, mine in zip(rows[start : start + _BATCH], chances, strict=True):
                options = mine[[vocabulary.answer(reply)[0] for reply in row["replies"]]]
                masses.append(float(options.sum()))
                shares.append(options / max(options.sum(), 1e-12))
    return shares, np.array(masses)


def prompt_request(row: Any) -> Request:
    """The request that a run sends for the prompt of a row with `system`, `user` and `lead`."""
    user = ("user", str(row["user"]))
    messages = (("system", str(row["system"])), user) if row["system"] else (user,)
    return Request(messages, str(row["lead"]))
