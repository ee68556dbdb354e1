"""The questions that lead people to an action: which one, then its arguments."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import pydantic
from pydantic.fields import FieldInfo

from populace.minds.action_kinds import ActionAsker, Among, BaseAction, action_phrase, option_word
from populace.people import People
from populace.questions import LABELS, Choice, Form, Question, Text

if TYPE_CHECKING:
    from populace.minds.actions import Actions

CHOICE = "What do you do now?"
POSSIBLE = "You can do one of these things:\n{possible_actions}"
DECIDED = "You have decided to {decision}."
PART = "In which part is it?"
MOST_OPTIONS = 500
"""The most things that somebody can be offered for one argument."""
_RUN = 20

ActionRule = Callable[[People, str], Any]
"""A rule in the place of a model: from people and the name of an argument, empty for the action, to their values."""


@dataclass
class ActionDraft:
    """An action on its way: what one person has chosen so far."""

    kind: type[BaseAction] | None = None
    values: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    def action(self) -> BaseAction | None:
        """The action; None, with the problem said, where its arguments do not pass."""
        if self.kind is None or self.problem:
            self.problem = self.problem or "no action was chosen."
            return None
        try:
            return self.kind(**self.values)
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            self.problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}."
            return None


@dataclass
class ActionQuestions:
    """The questions that lead people to actions."""

    actions: Actions
    actor: ActionAsker
    people: People
    given: str
    purpose: str
    fields: dict[str, Any]
    drafts: list[ActionDraft]
    rule: ActionRule | None = None

    async def choose_actions(self) -> None:
        """Ask everybody what they do; people with the same possibilities are asked together."""
        groups = _groups(self.actions.possible(self.people))

        async def ask(group: tuple[tuple[type[BaseAction], ...], list[int]]) -> None:
            kinds, rows = group
            if len(kinds) == 1:
                for row in rows:
                    self.drafts[row].kind = kinds[0]
                return
            possible = "\n".join(f"- {kind.title()}: {kind.summary()}" for kind in kinds)
            question = Choice(CHOICE, options=tuple(kind.title() for kind in kinds))
            for row, value in await self._ask("", rows, question, POSSIBLE, possible_actions=possible):
                self.drafts[row].kind = self.actions.by_title[value]

        await self.actor.each(groups, ask)

    async def choose_arguments(self) -> None:
        """Ask for arguments: those with options one after the other, then the others in one question."""
        kinds = _groups([draft.kind for draft in self.drafts])

        async def ask(group: tuple[type[BaseAction] | None, list[int]]) -> None:
            kind, rows = group
            if kind is None:
                return
            free: dict[str, FieldInfo] = {}
            for name, argument in kind.model_fields.items():
                options = self._options(name, argument, rows)
                if options is None:
                    free[name] = argument
                    continue
                choice = functools.partial(self._choose, kind, name, argument, rows)
                await self.actor.each(_groups(options), choice)
            rows = [row for row in rows if not self.drafts[row].problem]
            if free and rows:
                await self._fill_in(kind, free, rows)

        await self.actor.each(kinds, ask)

    def _options(self, name: str, argument: FieldInfo, rows: list[int]) -> list[tuple[Any, ...]] | None:
        """What each person can choose for an argument; None where it has no options."""
        among = next((each for each in argument.metadata if isinstance(each, Among)), None)
        if among is not None:
            ids = self.people.ids[rows]
            return [tuple(each) for each in self.actions.options(among.what, ids).to_list()]
        if typing.get_origin(argument.annotation) is Literal:
            return [typing.get_args(argument.annotation)] * len(rows)
        return [(True, False)] * len(rows) if argument.annotation is bool else None

    async def _choose(
        self,
        kind: type[BaseAction],
        name: str,
        argument: FieldInfo,
        rows: list[int],
        group: tuple[tuple[Any, ...], list[int]],
    ) -> None:
        """Ask people who have the same options for one argument; a single option needs no question."""
        options, places = group
        some = [rows[place] for place in places if not self.drafts[rows[place]].problem]
        if not options:
            for row in some:
                self.drafts[row].problem = f"there is nothing to choose for {name}."
        elif len(options) == 1:
            for row in some:
                self.drafts[row].values[name] = options[0]
        elif some:
            await self._pick(kind, name, argument, some, {option_word(option): option for option in options})

    async def _pick(
        self, kind: type[BaseAction], name: str, argument: FieldInfo, rows: list[int], words: dict[str, Any]
    ) -> None:
        """Ask for one of some options; of many, first for a group of them."""
        text = _question_text(name, argument)
        decisions = self._decisions(kind, rows)
        if len(words) <= len(LABELS):
            question = Choice(text, options=tuple(words))
            for row, value in await self._ask(name, rows, question, DECIDED, decision=decisions):
                self.drafts[row].values[name] = words[value]
            return
        groups = option_groups(list(words))
        group_of = {word: label for label, members in groups.items() for word in members}
        question = Choice(f"{text} {PART}", options=tuple(groups))
        chosen: dict[str, list[int]] = {}
        for row, label in await self._ask(name, rows, question, DECIDED, group_of, decision=decisions):
            chosen.setdefault(label, []).append(row)

        async def pick_within(entry: tuple[str, list[int]]) -> None:
            label, some = entry
            members = groups[label]
            if len(members) == 1:
                for row in some:
                    self.drafts[row].values[name] = words[members[0]]
            else:
                await self._pick(kind, name, argument, some, {word: words[word] for word in members})

        await self.actor.each(list(chosen.items()), pick_within)

    async def _fill_in(self, kind: type[BaseAction], free: dict[str, FieldInfo], rows: list[int]) -> None:
        """Ask for arguments without options: one text in plain words, anything else as a form."""
        (name, argument), *more = free.items()
        plain = not more and argument.annotation is str
        question: Question = Text(_question_text(name, argument))
        if not plain:
            definitions: dict[str, Any] = {name: (each.annotation, each) for name, each in free.items()}
            question = Form("Say how.", model=pydantic.create_model(kind.__name__, **definitions))
        for row, value in await self._ask(name, rows, question, DECIDED, decision=self._decisions(kind, rows)):
            self.drafts[row].values |= {name: value} if plain else value

    def _decisions(self, kind: type[BaseAction], rows: list[int]) -> list[str]:
        return [action_phrase(kind, self.drafts[row].values) for row in rows]

    async def _ask(
        self,
        argument: str,
        rows: list[int],
        question: Question,
        more: str,
        group_of: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> list[tuple[int, Any]]:
        """The rows with a valid answer and its value; the others have a problem from now on."""
        own = {name: _of_rows(value, rows, len(self.people)) for name, value in self.fields.items()}
        given = f"{self.given}\n{more}" if self.given else more
        some = self.people.rows(np.array(rows))
        rule = None if self.rule is None else functools.partial(_by_rule, self.rule, argument, group_of)
        answers = await self.actor.ask(some, question, given=given, purpose=self.purpose, rule=rule, **own, **fields)
        values: list[tuple[int, Any]] = []
        decoded = [None if text is None else _value(question, text) for text in answers.values.to_list()]
        for row, value, status in zip(rows, decoded, answers.status.to_list(), strict=True):
            if value is None:
                self.drafts[row].problem = f"the answer to “{question.text}” is {status}."
            else:
                values.append((row, value))
        return values


def option_groups(options: Sequence[str]) -> dict[str, list[str]]:
    """Many options in at most 26 groups: by the first part in which their names differ, or in runs of their order.

    Example:
        >>> option_groups(["head.home", "head.cart", "list.tea.view"])
        {'head': ['head.home', 'head.cart'], 'list': ['list.tea.view']}
    """
    parts = [option.split(".") for option in options]
    depth = next((place for place, names in enumerate(zip(*parts, strict=False)) if len(set(names)) > 1), 0)
    groups: dict[str, list[str]] = {}
    for option, names in zip(options, parts, strict=True):
        groups.setdefault(".".join(names[: depth + 1]), []).append(option)
    if 1 < len(groups) <= len(LABELS):
        return groups
    size = max(_RUN, -(-len(options) // len(LABELS)))
    runs = [list(options[first : first + size]) for first in range(0, len(options), size)]
    return {f"{run[0]} to {run[-1]}" if len(run) > 1 else run[0]: run for run in runs}


def _by_rule(rule: ActionRule, argument: str, group_of: Mapping[str, str] | None, people: People) -> Any:
    values = rule(people, argument)
    if group_of is None:
        return values
    return [group_of.get(option_word(value), option_word(value)) for value in values]


def _value(question: Question, value: Any) -> Any:
    if isinstance(question, Form) and isinstance(value, str):
        return pydantic.TypeAdapter(dict[str, Any]).validate_json(value)
    return value


def _question_text(name: str, argument: FieldInfo) -> str:
    text = argument.description or f"{name.replace('_', ' ').capitalize()}?"
    return text.replace("{", "{{").replace("}", "}}")


def _groups(keys: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """The rows of each distinct key, in order of first appearance."""
    groups: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    return list(groups.items())


def _of_rows(value: Any, rows: list[int], count: int) -> Any:
    """The part of a field that belongs to some rows; a value for everybody stays as it is."""
    if isinstance(value, pl.Series | list | tuple | np.ndarray) and len(value) == count:
        return value[rows] if isinstance(value, pl.Series | np.ndarray) else [value[row] for row in rows]
    return value
