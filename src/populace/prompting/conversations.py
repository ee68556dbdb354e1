"""The conversations with a model that an inquiry begins.

A row is one conversation. Where only distributions are read, a row serves everybody who shares the
prompt; where words are sampled, each person has a row of their own.
"""

from dataclasses import dataclass, replace
from itertools import repeat
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.foreign import for_prompt
from populace.base.foreign_columns import prompt_column
from populace.base.randomness import bits, path_key, uniforms
from populace.base.templates import FEW, Piece, concat_texts
from populace.models import ChatMessage, Model
from populace.prompting.composition import Prompts, compose
from populace.prompting.inquiry import Inquiry
from populace.questions import Arrangement, Finite, Mode, Question, mode_of

_THINK = "First think aloud about it in two or three sentences. Do not give the answer yet."
_GAP = "\n\n"


@dataclass(frozen=True)
class Conversations:
    """The conversations of one inquiry, before any reply.

    Attributes:
        of_person: For each person asked, the row.
        system: For each row, who one is.
        user: For each row, what one is told and asked.
        fields: For each row, the values behind the text that differ between rows.
        arrangements: For each row, the order in which options are shown; empty where there are none.
        mode: How options are shown and scored.
        seeds: For each row, the seed of its sampling; None where nothing is sampled.
        orders: How many consecutive rows show one prompt in different orders.
        turns: For each row, what was said after the first question.
        reasoning: For each row, what was thought aloud.
        failures: For each row, the status of a conversation that already broke off, or None.
    """

    of_person: npt.NDArray[np.int32]
    system: pl.Series
    user: pl.Series
    fields: pl.DataFrame
    arrangements: list[Arrangement]
    mode: Mode = "words"
    seeds: list[int] | None = None
    orders: int = 1
    turns: list[tuple[ChatMessage, ...]] | None = None
    reasoning: list[str | None] | None = None
    failures: list[int | None] | None = None

    def __len__(self) -> int:
        return self.user.len()

    def messages(self, first: int = 0, count: int | None = None) -> list[tuple[ChatMessage, ...]]:
        """The messages to the model in each of the rows from `first` on."""
        system, users = self.system.slice(first, count), self.user.slice(first, count).to_list()
        shared = _shared_text(system)
        systems = [shared] * system.len() if shared else system.to_list()
        messages: list[tuple[ChatMessage, ...]]
        if shared or all(systems):
            roles = repeat("system", len(systems))
            openings = repeat(("system", shared), len(systems)) if shared else zip(roles, systems, strict=True)
            messages = list(zip(openings, zip(repeat("user", len(users)), users, strict=True), strict=True))
        else:
            messages = [
                (("system", system), ("user", user)) if system else (("user", user),)
                for system, user in zip(systems, users, strict=True)
            ]
        if self.turns is None:
            return messages
        return [opening + self.turns[first + row] for row, opening in enumerate(messages)]


def _shared_text(column: pl.Series) -> str | None:
    """The text of all rows of a column where there are many; as one object it is read and hashed only once."""
    if column.len() <= FEW or not column.eq_missing(column[0]).all():
        return None
    text: str | None = column[0]
    return text


def scoring_mode(question: Question, model: Model) -> Mode:
    """How options are shown and scored, by the model's own tokens where it reports them."""
    if not isinstance(question, Finite):
        return "words"
    tokens = model.first_tokens(question.words) if question.scoring == "auto" else None
    return mode_of(question, tokens, model.capabilities.lead)


def conversations(inquiry: Inquiry, *, mode: Mode, scored: bool) -> Conversations:
    """The conversations of an inquiry, with options in every order that is to be shown.

    Args:
        inquiry: What is asked, of whom.
        mode: How options are shown and scored.
        scored: Whether distributions will be read; then orders can be averaged.
    """
    question = inquiry.question
    rows = _arrange(inquiry, question, mode, scored) if isinstance(question, Finite) else _without_options(inquiry)
    texts = {part: pl.Series([text]).new_from_index(0, len(rows)) for part, text in inquiry.verbatim.items()}
    # Texts are complete here, and they are recorded as they are sent.
    system, user = prompt_column(texts.get("system", rows.system)), prompt_column(texts.get("user", rows.user))
    return rows if system is rows.system and user is rows.user else replace(rows, system=system, user=user)


def turn(role: Literal["user", "assistant"], text: str) -> ChatMessage:
    """A further message of a conversation, after the first question.

    Example:
        >>> turn("assistant", "I see.<|im_end|>")
        ('assistant', 'I see.‹|im_end|›')
    """
    return role, for_prompt(text)


def rows_for_sampling(inquiry: Inquiry, rows: Conversations) -> Conversations:
    """A row for each person, with a seed of its own; at temperature 0, one for each distinct prompt."""
    if inquiry.temperature == 0.0:
        return replace(rows, seeds=[0] * len(rows))
    seeds = (bits(inquiry.key, inquiry.person_keys()) & np.uint64(0x7FFFFFFF)).tolist()
    shared = rows.of_person.tolist()
    return replace(
        rows,
        of_person=np.arange(len(shared), dtype=np.int32),
        system=rows.system[shared],
        user=rows.user[shared],
        fields=rows.fields[shared] if rows.fields.width else rows.fields,
        arrangements=[rows.arrangements[row] for row in shared],
        seeds=seeds,
    )


def prompts_of(inquiry: Inquiry, variant: npt.NDArray[np.int32] | None = None) -> Prompts:
    """The composed prompts, rewritten where the run has a variation."""
    if inquiry.rewriting is not None:
        return inquiry.rewriting.prompts(inquiry, variant)
    return compose(inquiry.mind.profile, inquiry.people, inquiry.situation, variant)


def _without_options(inquiry: Inquiry) -> Conversations:
    prompts, question = prompts_of(inquiry), inquiry.question
    ending = "\n" + (_THINK if question.reason else question.instruction())
    user = _user(prompts.situation, prompts.wording, ending)
    return Conversations(prompts.of_person, prompts.system, user, prompts.fields, [()] * len(prompts))


def _arrange(inquiry: Inquiry, question: Finite, mode: Mode, scored: bool) -> Conversations:
    labels = mode == "labels"
    orders = question.arrangements() if question.order != "reversed" else (question.declared_order[::-1],)
    averaged = question.order == "rotate" and scored and not question.reason
    variant = None
    if question.order in ("random", "rotate") and not averaged:
        key = path_key(inquiry.seed, f"order/{question.canonical()}")
        variant = (uniforms(key, inquiry.person_keys()) * len(orders)).astype(np.int32)
    prompts = prompts_of(inquiry, variant)
    last = _THINK if question.reason else question.instruction(labels)
    tails = pl.Series([f"\n{question.options_text(order, labels)}\n{last}" for order in orders])
    if averaged:
        rows = pl.Series(np.repeat(np.arange(len(prompts)), len(orders)))
        order_of_row = pl.Series(np.tile(np.arange(len(orders)), len(prompts)))
        user = _user(prompts.situation[rows], prompts.wording[rows], tails[order_of_row])
        fields = prompts.fields[rows] if prompts.fields.width else prompts.fields
        arrangements = list(orders) * len(prompts)
        system = prompts.system[rows]
        return Conversations(prompts.of_person, system, user, fields, arrangements, mode, orders=len(orders))
    user = _user(prompts.situation, prompts.wording, tails[0] if variant is None else tails[prompts.variant])
    arrangements = [orders[number] for number in prompts.variant.to_list()]
    return Conversations(prompts.of_person, prompts.system, user, prompts.fields, arrangements, mode)


def _user(situation: pl.Series, wording: pl.Series, ending: str | pl.Series) -> pl.Series:
    """What is told, an empty line where anything is, the question, and how to answer."""
    few = situation.len() <= FEW
    gap: Piece = [_GAP if text else "" for text in situation.to_list()] if few else _gaps(situation)
    return concat_texts([situation, gap, wording, ending], situation.len())


def _gaps(situation: pl.Series) -> pl.Series:
    return pl.Series(["", _GAP])[(situation != "").cast(pl.UInt32)]
