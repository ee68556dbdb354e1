"""How good decisions are: by a rule, a judge, a function of one's own, people in Studio, or what people decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic

from populace.base import trust
from populace.base.errors import TrainingError
from populace.base.modules import import_file, import_module, split_reference
from populace.community.model_caller import ModelCaller
from populace.engine.workspace import Workspace
from populace.models import check_model, model_code
from populace.questions import Rating
from populace.training.human_targets import HumanScoring
from populace.training.recorded_examples import read_feedback_lines

Floats = npt.NDArray[np.float64]
Scorer = Callable[[pl.DataFrame], Sequence[float]]
"""Gives a score for each row of a table with the columns of `sample_decisions` and `word`, the option to be scored."""

_PROFILE = "You judge whether an answer is one that a real person would give."
_GIVEN = (
    "About the person: {system}\n\nWhat the person was asked: {user}\n\n"
    "The answer to judge: {word}\n\nA high number means that it fits well."
)
_LOW, _HIGH = 1, 7


class Scoring(pydantic.BaseModel):
    """Who scores decisions; exactly one of the fields is given.

    Attributes:
        prefer: A rule: a score for each option, by its words. An option that is not named has none.
        judge: A model that judges, as a model string; its ratings of 1 to 7 become scores from 0 to 1.
        question: What the judge is asked.
        function: A function of one's own, `module:function` or `file.py:function`; see `Scorer`.
        people: Whether people score in Studio. A round then waits until its decisions are scored there.
        human: Human decisions that decisions are compared with; see `HumanScoring`.

    Example:
        >>> Scoring(prefer={"blue": 1.0, "green": 0.0}).description
        'a rule: blue 1, green 0'
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    prefer: dict[str, float] = {}
    judge: str = ""
    question: str = "How well does the answer fit this person in this situation?"
    function: str = ""
    people: bool = False
    human: HumanScoring | None = None

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> Scoring:
        ways = [bool(self.prefer), bool(self.judge), bool(self.function), self.people, self.human is not None]
        if sum(ways) != 1:
            raise ValueError("give one of `prefer`, `judge`, `function`, `people` and `human`")
        if self.judge:
            check_model(self.judge)
        return self

    @property
    def description(self) -> str:
        """Who scores, in a phrase."""
        if self.prefer:
            return "a rule: " + ", ".join(f"{word} {score:g}" for word, score in self.prefer.items())
        if self.human is not None:
            return f"people in {self.human.decisions.name}"
        return f"the judge {self.judge}" if self.judge else self.function or "people in Studio"

    @property
    def code(self) -> list[trust.Code]:
        """What scoring would import, call or fetch."""
        if self.judge:
            return model_code(self.judge)
        if not self.function:
            return []
        module, _ = split_reference(self.function)
        if module.endswith(".py"):
            return [trust.file_code(self.function, Path(module))]
        return [trust.module_code(self.function, module)]

    def score(self, decisions: pl.DataFrame, workspace: Workspace) -> Floats:
        """The score of each row by a rule, a judge, a function or people in Studio; NaN where there is none.

        Args:
            decisions: The columns of `sample_decisions` and `word`, the option to be scored.
            workspace: Where the runs, the call store and the feedback of people are.
        """
        if self.prefer:
            table = pl.DataFrame({"word": list(self.prefer), "score": list(self.prefer.values())})
            scores = decisions.join(table, on="word", how="left", maintain_order="left")["score"]
        elif self.judge:
            scores = self._judged(decisions, workspace)
        elif self.people:
            scores = _people_scores(decisions, workspace)
        else:
            scores = pl.Series(list(_function(self.function)(decisions)), dtype=pl.Float64, strict=False)
        if len(scores) != decisions.height:
            raise TrainingError(f"{self.description} gave {len(scores)} scores for {decisions.height} decisions.")
        numbers = scores.cast(pl.Float64).to_numpy().astype(np.float64)
        if np.isinf(numbers).any():
            raise TrainingError(f"{self.description} gave a score that is not finite.")
        return numbers

    def _judged(self, decisions: pl.DataFrame, workspace: Workspace) -> pl.Series:
        rows = decisions.select("system", "user", "word")
        answers, _ = ModelCaller(self.judge).ask(
            rows,
            Rating(self.question, low=_LOW, high=_HIGH),
            profile=_PROFILE,
            given=_GIVEN,
            store=workspace.store(),
            purpose="judge",
        )
        return (answers.values.cast(pl.Float64) - _LOW) / (_HIGH - _LOW)


def _people_scores(decisions: pl.DataFrame, workspace: Workspace) -> pl.Series:
    """The mean score that raters gave to a prompt and its answer, from 0 to 1; null where nobody did.

    A rewritten answer counts as 0, and what the rater wrote in its place as 1.
    """
    keys: dict[tuple[str, str, str], list[float]] = {}
    rewrites: dict[tuple[str, str, str], list[float]] = {}
    for line in read_feedback_lines(workspace.folder / "feedback"):
        messages = {each["role"]: each["content"] for each in line["messages"]}
        prompt = messages.get("system", ""), messages.get("user", "")
        if isinstance(line.get("score"), int):
            keys.setdefault((*prompt, str(line["value"])), []).append((line["score"] - 1) / 4)
        elif line.get("verdict") == "rewritten" and line.get("rewrite"):
            # Somebody who rewrites an answer finds theirs right and the other one wrong.
            keys.setdefault((*prompt, str(line["value"])), []).append(0.0)
            rewrites.setdefault((*prompt, str(line["rewrite"]).strip()), []).append(1.0)
    scores = []
    for system, user, word, words, replies in decisions.select(
        "system", "user", "word", "words", "replies"
    ).iter_rows():
        reply = replies[words.index(word)].strip()
        mine = [*keys.get((system, user, word), ()), *rewrites.get((system, user, reply), ())]
        scores.append(sum(mine) / len(mine) if mine else None)
    return pl.Series(scores, dtype=pl.Float64)


def _function(reference: str) -> Scorer:
    where, name = split_reference(reference)
    try:
        module = import_file(Path(where)) if where.endswith(".py") else import_module(where)
        function = getattr(module, name)
    except (ImportError, OSError, AttributeError, ValueError) as error:
        raise TrainingError(
            f"{reference!r} could not be loaded: {error}.", "Write module:function or file.py:function."
        ) from error
    scorer: Scorer = function
    return scorer
