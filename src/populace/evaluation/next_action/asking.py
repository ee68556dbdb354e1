"""Asking a model for the next action, in the words of the scenario `shop`.

The questions are put by the same part of a mind that acts in a simulation, on the recorded page in place of a shop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from populace.base.errors import UsageError, WorldError
from populace.base.randomness import stream
from populace.broker import CallSettings, CallStore
from populace.deciders import InquiryResult, decide
from populace.engine.session import Session
from populace.evaluation.next_action.cases import KINDS, NextActionCases
from populace.evaluation.next_action.predictions import NextActionPredictions
from populace.minds import WEB_ACTIONS, ActionDraft, Actions, Mind
from populace.models import Model
from populace.people import Id, People
from populace.prompting import Inquiry, Situation
from populace.questions import Answers, Choice, Question
from populace.scenarios.shop.wording import SITUATION, THINKING, THOUGHT
from populace.worlds.web.page import WebPage

Thinking = Literal["none", "own", "shuffled"]
"""Whether a model acts at once, thinks first, or is given what it thought in another case."""

NO_THOUGHT = "(no thought)"


class RecordedPages:
    """The pages of a log as a world in which people can choose, and in which nothing is carried out."""

    def __init__(self, pages: dict[Id, WebPage]) -> None:
        self.pages = pages

    def options(self, what: str, ids: pl.Series) -> pl.Series:
        """The elements or the inputs of the page of each case."""
        pages = [self.pages[who] for who in ids.to_list()]
        lists = [list(page.clickable if what == "elements" else page.inputs) for page in pages]
        return pl.Series(what, lists, dtype=pl.List(pl.String))

    def click(self, who: Id, element: str) -> str:
        """Refuse."""
        raise WorldError("a recorded page cannot be used.")

    def type_and_submit(self, who: Id, element: str, text: str) -> str:
        """Refuse."""
        raise WorldError("a recorded page cannot be used.")

    def terminate(self, who: Id) -> str:
        """Refuse."""
        raise WorldError("a recorded page cannot be used.")


@dataclass
class CaseAsker:
    """Puts questions to the people of cases, outside any run.

    Attributes:
        session: Access to models.
        people: The cases as people: a row for each, with their profile.
        model: Who answers.
        seed: The seed of what is drawn.
        temperature: 0 for the likeliest answer, 1 for a draw.
        results: What was answered, in the order of the questions.
    """

    session: Session
    people: People
    model: str
    seed: int
    temperature: float
    results: list[tuple[Inquiry, InquiryResult]] = field(default_factory=list)

    async def ask(
        self,
        people: Any,
        question: Question,
        *,
        given: str = "",
        purpose: str = "",
        profile: str | None = None,
        about: object = "",
        rule: object = None,
        **fields: Any,
    ) -> Answers:
        """Put a question to the people of some cases."""
        situation = Situation.from_fields(question, given, fields, people.ids)
        # The draws of a person depend on what is asked, so that the order of questions does not matter.
        inquiry = Inquiry(
            f"next-action/{question.text}",
            people,
            Mind("{profile}"),
            situation,
            self.seed,
            self.temperature,
            self.model,
            purpose=purpose,
        )
        result = await decide(inquiry, self.session.broker)
        self.results.append((inquiry, result))
        return result.answers

    async def each(self, items: Iterable[Any], body: Callable[[Any], Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run a coroutine for each item, side by side."""
        return list(await asyncio.gather(*(body(item) for item in items)))


def predict_actions(
    cases: NextActionCases,
    model: str | Model,
    *,
    thinking: Thinking = "none",
    name: str = "",
    seed: int = 0,
    draws: bool = True,
    calls: CallSettings | None = None,
    store: CallStore | None = None,
) -> NextActionPredictions:
    """The next action that a model predicts for each case, at temperature 0.

    A model that thinks first sees the recorded reasoning of earlier actions, and thinks about this one by itself: the
    recorded reasoning of the action to be predicted was written by somebody who knew it, and is never given.

    Args:
        cases: The cases.
        model: Who predicts.
        thinking: `none`: it acts at once, and sees no reasoning. `own`: it thinks in a sentence first. `shuffled`: it
            sees what it thought in the case of another person; a control for the length of the prompt.
        name: The name of the predictions; that of the model by default.
        seed: The seed of draws and of the shuffle.
        draws: Whether an action is drawn as well, for the distribution of actions and the length of sessions.
        calls: How models are called, and what may be spent.
        store: Where replies are kept; it is closed at the end.
    """
    if thinking not in ("none", "own", "shuffled"):
        raise UsageError(f"thinking is none, own or shuffled, not {thinking!r}.")
    spec = model if isinstance(model, str) else model.spec
    session = Session(store, calls=calls, model=model)
    people = People(cases.table.select(pl.col("case").alias("id"), "profile"))
    world = RecordedPages({case: cases.pages[html] for case, html in cases.table.select("case", "page").iter_rows()})
    actions = Actions(WEB_ACTIONS, world, waiting=False)

    async def predict() -> pl.DataFrame:
        fields: dict[str, Any] = {
            "page": cases.table["page"],
            "deeds": cases.table["deeds" if thinking == "none" else "deeds_with_thoughts"],
        }
        given, thoughts = SITUATION, pl.Series([None] * len(cases), dtype=pl.String)
        if thinking != "none":
            asker = CaseAsker(session, people, spec, seed, 0.0)
            answers = await asker.ask(people, THINKING, given=SITUATION, purpose="reasoning", **fields)
            thoughts = answers.values.cast(pl.String)
            if thinking == "shuffled":
                thoughts = shuffled_thoughts(thoughts, cases.table["person"], seed)
            given, fields["thought"] = SITUATION + THOUGHT, thoughts.fill_null(NO_THOUGHT)
        likeliest = CaseAsker(session, people, spec, seed, 0.0)
        drafts = await actions.choose(likeliest, people, given=given, **fields)
        table = _draft_table(cases, drafts).with_columns(thought=thoughts)
        table = table.join(_kind_chances(likeliest), on="case", how="left", maintain_order="left")
        drawn = drafts
        if draws:
            drawing = CaseAsker(session, people, spec, seed, 1.0)
            drawn = await actions.choose(drawing, people, given=given, **fields)
        parts = _draft_table(cases, drawn).select(pl.col("action", "element").name.prefix("drawn_"))
        return pl.concat([table, parts], how="horizontal")

    return NextActionPredictions(name or spec, session.finish(predict()))


def shuffled_thoughts(thoughts: pl.Series, people: pl.Series, seed: int) -> pl.Series:
    """The thoughts, each given to a case of another person; where there is only one person, to another case.

    Example:
        >>> shuffled_thoughts(pl.Series(["a", "b", "c"]), pl.Series(["x", "x", "y"]), seed=1).to_list().count(None)
        0
    """
    count = thoughts.len()
    rng = stream(seed, "next-action/shuffle")
    codes = people.rank("dense").to_numpy()
    order = rng.permutation(count)
    # Sorted by person, a shift by the largest group gives every case one of another person, if no person has half.
    grouped = order[np.argsort(codes[order], kind="stable")]
    largest = int(np.bincount(codes.astype(np.int64)).max()) if count else 0
    shift = largest if 2 * largest <= count else max(1, count // 2)
    source = np.empty(count, np.int64)
    source[grouped] = np.roll(grouped, shift)
    return thoughts[pl.Series(source)] if count else thoughts


def _draft_table(cases: NextActionCases, drafts: list[ActionDraft]) -> pl.DataFrame:
    """What was chosen in each case; null where an answer was invalid or an argument did not pass."""
    chosen = [draft.action() for draft in drafts]
    values = [{} if action is None else action.model_dump() for action in chosen]
    return pl.DataFrame(
        {
            "case": cases.table["case"],
            "action": pl.Series([None if action is None else action.method() for action in chosen], dtype=pl.String),
            "element": pl.Series([each.get("element") for each in values], dtype=pl.String),
            "text": pl.Series([each.get("text") for each in values], dtype=pl.String),
            "problem": pl.Series([draft.problem or None for draft in drafts], dtype=pl.String),
        }
    )


def _kind_chances(asker: CaseAsker) -> pl.DataFrame:
    """The probability of each action for the cases in which a distribution was read."""
    tables = []
    for inquiry, result in asker.results:
        question = inquiry.question
        kinds = {kind.replace("_", " "): kind for kind in KINDS}
        if not isinstance(question, Choice) or not set(question.options) <= set(kinds):
            continue
        if result.answers.probabilities is None:
            continue
        chances = result.answers.distribution.rename({"id": "case"})
        tables.append(
            chances.select(
                "case",
                *(
                    (pl.col(word) if word in chances.columns else pl.lit(0.0)).cast(pl.Float64).alias(f"p_{kind}")
                    for word, kind in kinds.items()
                ),
            )
        )
    schema = {"case": pl.Int64, **{f"p_{kind}": pl.Float64 for kind in KINDS}}
    return pl.concat(tables).with_columns(pl.col("case").cast(pl.Int64)) if tables else pl.DataFrame(schema=schema)
