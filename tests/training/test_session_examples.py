"""Web sessions as training examples: the words of a run, the answer alone to be learned, and no test person inside."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from populace import simulate
from populace.base.errors import TrainingError
from populace.models import Scripted
from populace.scenarios.shop import Shop
from populace.scenarios.shop.report import run_sessions
from populace.training.session_examples import SessionSource
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import WebSessions


class Letters:
    """A vocabulary in which a token is the first letter of a word."""

    def first_tokens(self, texts: Sequence[str]) -> list[str]:
        return [text[0] for text in texts]


SESSIONS = generate_sessions(30, shops=3, visits=1, seed=4)
WORDS = pl.concat_str(pl.lit("Thought of "), pl.col("person"), pl.lit("."))
THOUGHTFUL = WebSessions(SESSIONS.table.with_columns(reasoning=pl.when(pl.col("step") > 1).then(WORDS)))


def everything(source: SessionSource) -> pl.DataFrame:
    return pl.concat([source.examples(part).table for part in range(source.parts)])


def test_every_action_is_learned_once_and_parts_share_no_session() -> None:
    source = SessionSource(SESSIONS, Letters(), size=40)
    assert source.parts > 1 and source.left_out == 0
    table = everything(source)
    kinds = table.filter(pl.col("user").str.contains("What do you do now?", literal=True))
    assert kinds.height == SESSIONS.table.height
    clicks = table.filter(pl.col("user").str.contains("Which element do you click?", literal=True)).height
    assert clicks == SESSIONS.table.filter(pl.col("action") == "click").height
    people = [set(source.examples(part).table["person"].to_list()) for part in range(source.parts)]
    assert sum(map(len, people)) == len(set.union(*people))
    assert set(table["origin"].to_list()) == {"web sessions"} and set(table["licence"].to_list()) == {"CC0-1.0"}
    assert source.examples(0).table.equals(source.examples(0).table)


def test_a_prompt_to_learn_from_is_the_prompt_that_a_run_sent() -> None:
    model = Scripted(lambda request: {option: 1 / len(request.options) for option in request.options} if request.top
                     else "tea", spec="scripted:even")  # fmt: skip
    run = simulate(Shop(shoppers=5, actions=6), model=model, seed=1, keep="nothing")
    sent = {
        (system, user, labels)
        for system, user, labels in run.prompts().select("system", "user", "labels").iter_rows()
        if "What do you type" not in user
    }
    source = SessionSource(run_sessions(run), _Words(all_labels=all(labels for _, _, labels in sent)))
    learned = {(system, user) for system, user in everything(source).select("system", "user").iter_rows()}
    assert sent and {(system, user) for system, user, _ in sent} <= learned


class _Words:
    """The vocabulary of the scripted model: every word is a token, so that options are told by letters or not."""

    def __init__(self, *, all_labels: bool) -> None:
        self.all_labels = all_labels

    def first_tokens(self, texts: Sequence[str]) -> list[str] | None:
        return ["x"] * len(texts) if self.all_labels else list(texts)


def test_with_reasoning_the_thought_is_learned_and_then_told() -> None:
    source = SessionSource(THOUGHTFUL, Letters(), reasoning="recorded")
    assert source.left_out == SESSIONS.table.filter(pl.col("step") == 1).height
    table = everything(source)
    thoughts = table.filter(pl.col("task") == "web sessions: reasoning")
    assert thoughts.select((pl.col("answers").list.first() == WORDS).all()).item()
    assert not thoughts.select(pl.col("user").str.contains("What you think:", literal=True).any()).item()
    acts = table.filter(pl.col("task") == "web sessions: action")
    told = pl.concat_str(pl.lit("What you think: "), WORDS)
    assert acts.select(pl.col("user").str.contains(told, literal=True).all()).item()


def test_hidden_reasoning_learns_the_actions_that_have_a_thought_without_it() -> None:
    hidden = SessionSource(THOUGHTFUL, Letters(), reasoning="hidden")
    recorded = SessionSource(THOUGHTFUL, Letters(), reasoning="recorded")
    assert len(hidden) == len(recorded) < len(SessionSource(THOUGHTFUL, Letters()))
    table = everything(hidden)
    assert not table.select((pl.col("task") == "web sessions: reasoning").any()).item()
    assert not table.select(pl.col("user").str.contains("What you think:", literal=True).any()).item()
    acts = [each.filter(pl.col("task") == "web sessions: action").height for each in (table, everything(recorded))]
    assert acts[0] == acts[1]


def test_shuffled_reasoning_is_never_ones_own() -> None:
    table = everything(SessionSource(THOUGHTFUL, Letters(), reasoning="shuffled"))
    thoughts = table.filter(pl.col("task") == "web sessions: reasoning")
    assert not thoughts.select((pl.col("answers").list.first() == WORDS).any()).item()


def test_sessions_without_reasoning_cannot_teach_it() -> None:
    with pytest.raises(TrainingError, match="recorded reasoning"):
        SessionSource(SESSIONS, Letters(), reasoning="recorded")
    with pytest.raises(TrainingError, match="none, hidden, recorded or shuffled"):
        SessionSource(SESSIONS, Letters(), reasoning="some")  # type: ignore[arg-type]
