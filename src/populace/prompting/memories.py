"""What comes to people's minds before a question, as a part of the situation in which they are asked."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from populace.base.errors import ScenarioError
from populace.minds import Mind
from populace.people import People
from populace.people.columns import to_column
from populace.prompting.composition import compose
from populace.prompting.inquiry import Situation


def with_memories(
    situation: Situation,
    mind: Mind,
    people: People,
    *,
    about: str | Sequence[str] | pl.Series | None,
    now: int,
    purpose: str,
    kinds: Sequence[str] | None = None,
) -> Situation:
    """The situation with the memories that come to each person's mind.

    It stays as it is where a field already shows memories.

    Args:
        situation: What people are told and asked.
        mind: What they bring to it.
        people: Who is asked.
        about: What they think of, one text for all or one for each; by default what they are told and asked. With
            None they recall nothing.
        now: The simulated time in seconds.
        purpose: The purpose of the question.
        kinds: The kinds of memories that may come to mind; all if left out.
    """
    if about is None or situation.memories is not None:
        return situation
    if isinstance(about, str) and not about:
        prompts = compose(mind.profile, people, situation)
        texts = (prompts.situation + "\n" + prompts.wording).str.strip_chars("\n")
        queries = texts.gather(prompts.of_person)
    else:
        column = to_column("about", about, people.ids, "the argument about", ScenarioError)
        queries = column if isinstance(column, pl.Series) else pl.Series([str(column)] * len(people))
    memories = mind.recollect(people.ids.to_list(), queries.to_list(), now=now, purpose=purpose, kinds=kinds)
    return situation if memories is None else replace(situation, memories=memories, memories_first=True)
