"""Actions as a part of a mind: people choose from a typed set, arguments are checked, and the world carries them out.

An action is a pydantic model whose docstring says what one does with it. The world offers what can be chosen, and has
a method of the action's name that carries it out or refuses it with a reason.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import polars as pl

from populace.base.action_outcomes import ActionOutcome
from populace.base.errors import ActionRefusedError, ParameterError, WorldError
from populace.minds.action_kinds import ActionAsker, ActionWorld, Actor, Acts, BaseAction, Wait, offered_arguments
from populace.minds.action_questions import MOST_OPTIONS, ActionDraft, ActionQuestions, ActionRule
from populace.people import Id, People
from populace.questions import LABELS


class Actions:
    """The actions that people choose from, and the world that carries them out.

    An action is offered to a person only where the world has something for each of its arguments; waiting always is.

    Args:
        kinds: The actions.
        world: Offers what can be chosen, and carries actions out.
        waiting: Whether people can also wait; without it, a person who can do nothing else has no valid action.

    Example:
        >>> class Bell:
        ...     def options(self, what, ids): return pl.Series([[]] * len(ids), dtype=pl.List(pl.String))
        ...     def ring(self, who): return "You rang the bell."
        >>> class Ring(BaseAction):
        ...     "Ring the bell."
        >>> [kind.title() for kind in Actions([Ring], Bell()).kinds]
        ['ring', 'wait']
    """

    def __init__(self, kinds: Iterable[type[BaseAction]], world: ActionWorld, *, waiting: bool = True) -> None:
        self.kinds: tuple[type[BaseAction], ...] = (*kinds, Wait) if waiting else tuple(kinds)
        self.world = world
        self.by_title = {kind.title(): kind for kind in self.kinds}
        if len(self.by_title) < len(self.kinds) or len(self.kinds) > len(LABELS):
            raise ParameterError(f"{len(self.kinds)} actions need names of their own, and at most {len(LABELS)} fit.")
        for kind in self.kinds:
            if kind is not Wait and not callable(getattr(world, kind.method(), None)):
                arguments = "".join(f", {name}" for name in kind.model_fields)
                raise ParameterError(
                    f"{type(world).__name__} cannot carry out {kind.__name__}.",
                    f"Write its method: def {kind.method()}(self, who{arguments}):",
                )

    async def take(
        self,
        actor: Actor,
        people: People,
        *,
        given: str = "",
        purpose: str = "action",
        rule: ActionRule | None = None,
        **fields: Any,
    ) -> Acts:
        """Let people choose actions, all at the same moment, and carry these out in an order that is drawn.

        What was done and what was refused are events, and memories where people have one.

        Args:
            actor: The scenario.
            people: Who acts.
            given: What they are told before, with fields.
            purpose: What the calls are counted under.
            rule: A rule that can stand in for the model: from people, and the name of an argument or nothing for the
                action itself, to a value for each.
            **fields: Values for fields: one for all, or one for each person.
        """
        if not len(people):
            return Acts([], [], [], [])
        drafts = await self.choose(actor, people, given=given, purpose=purpose, rule=rule, **fields)
        return await self._carry_out(actor, people, drafts)

    async def choose(
        self,
        actor: ActionAsker,
        people: People,
        *,
        given: str = "",
        purpose: str = "action",
        rule: ActionRule | None = None,
        **fields: Any,
    ) -> list[ActionDraft]:
        """Let people choose actions as `take` does, and carry nothing out.

        Returns:
            What each person chose, in the order of the people.
        """
        drafts = [ActionDraft() for _ in range(len(people))]
        if drafts:
            asking = ActionQuestions(self, actor, people, given, purpose, fields, drafts, rule)
            await asking.choose_actions()
            await asking.choose_arguments()
        return drafts

    def possible(self, people: People) -> list[tuple[type[BaseAction], ...]]:
        """The actions that each person can choose now."""
        wanted = {each.what for kind in self.kinds for each in offered_arguments(kind).values()}
        counts = {what: self.options(what, people.ids).list.len().to_list() for what in sorted(wanted)}
        needs = [(kind, [counts[each.what] for each in offered_arguments(kind).values()]) for kind in self.kinds]
        return [tuple(kind for kind, lists in needs if all(each[row] for each in lists)) for row in range(len(people))]

    def options(self, what: str, ids: pl.Series) -> pl.Series:
        """What the world offers to each person, checked."""
        options = pl.Series(what, self.world.options(what, ids), dtype=pl.List(pl.String))
        if options.len() != ids.len() or options.null_count():
            raise WorldError(
                f"{type(self.world).__name__}.options({what!r}) gave {options.len()} lists for {ids.len()} people.",
                "It returns a list for each person, which may be empty.",
            )
        longest = int(options.list.len().max() or 0)  # type: ignore[arg-type]
        if longest > MOST_OPTIONS:
            raise WorldError(
                f"{type(self.world).__name__}.options({what!r}) offers {longest} things to somebody.",
                f"At most {MOST_OPTIONS} can be chosen from; offer the nearest.",
            )
        return options

    async def _carry_out(self, actor: Actor, people: People, drafts: list[ActionDraft]) -> Acts:
        ids: list[Id] = people.ids.to_list()
        acts = Acts(ids, [None] * len(ids), ["invalid"] * len(ids), [""] * len(ids))
        memories: dict[str, list[tuple[Id, str]]] = defaultdict(list)
        for row in actor.rng.permutation(len(ids)).tolist():
            who, draft = ids[row], drafts[row]
            action = draft.action()
            if action is None or draft.kind is None:
                acts.reasons[row] = draft.problem
                title = draft.kind.title() if draft.kind else ""
                actor.event("refused", who, action=title, arguments=draft.values, reason=draft.problem)
                continue
            acts.actions[row] = action
            details = {"action": draft.kind.title(), "arguments": action.model_dump(mode="json")}
            try:
                outcome = self._perform(action, who)
            except ActionRefusedError as refusal:
                acts.status[row], acts.reasons[row] = "refused", refusal.what
                actor.event("refused", who, **details, reason=refusal.what)
                memories["deed"].append((who, f"You wanted to {action.phrase()}, but could not: {refusal.what}"))
                continue
            acts.status[row] = "done"
            if draft.kind is not Wait:
                actor.event("acted", who, **details, text=outcome.text)
            if outcome.text:
                memories[outcome.kind].append((who, outcome.text))
            for other, kind, text in outcome.others:
                memories[kind].append((other, text))
        memory = actor.mind.memory
        for kind, entries in memories.items():
            if memory is not None:
                owners, texts = zip(*entries, strict=True)
                await memory.remember(actor, owners, texts, kind=kind, now=actor.seconds)
        return acts

    def _perform(self, action: BaseAction, who: Id) -> ActionOutcome:
        if isinstance(action, Wait):
            return ActionOutcome()
        arguments = {name: getattr(action, name) for name in type(action).model_fields}
        result = getattr(self.world, action.method())(who, **arguments)
        if result is None or isinstance(result, str):
            return ActionOutcome(result or "")
        if not isinstance(result, ActionOutcome):
            raise WorldError(
                f"{type(self.world).__name__}.{action.method()} returned {type(result).__name__}.",
                "Return a text, an ActionOutcome, or nothing.",
            )
        return result
