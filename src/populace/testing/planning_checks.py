"""Checks of a planner of one's own."""

import itertools
from collections.abc import Callable, Mapping, Sequence

from populace.engine.scenario import Scenario
from populace.minds import Action, PlanningPart
from populace.people import Id
from populace.testing.stage import on_stage, require

HOUR = 3600
PLACES = ("home", "work", "café")


def check_planning(make: Callable[[], PlanningPart], *, places: Sequence[str] = PLACES) -> None:
    """Check that a planner keeps to its protocol.

    Everybody who is asked gets a list of actions, which may be empty: from now to bedtime, in order, without overlap,
    at places that the person knows. The finer actions of a stroke lie within it and follow each other. Answers that
    cannot be read are no errors, and the same answers give the same plan.

    Args:
        make: Makes a new planner; a class is such a function.
        places: The places that people know.

    Raises:
        ParameterError: What is wrong.

    Example:
        >>> from populace.minds import Planning
        >>> check_planning(lambda: Planning(("home", "work", "café")))
    """
    part = make()
    first = _plan(part, places)
    require(_plan(make(), places) == first, part, "plans something else after the same answers")
    _plan(make(), places, answers=False)
    _plan(make(), places, now=21 * HOUR)
    _check_refining(make(), places[0])
    one = on_stage(part, lambda stage: _ask(part, stage, places, 8 * HOUR, [1]))
    require(set(one) == {1}, part, "plans for people whom nobody asked")


async def _ask(
    part: PlanningPart, stage: Scenario, places: Sequence[str], now: int, ids: Sequence[Id]
) -> Mapping[Id, list[Action]]:
    return await part.plan_day(
        stage,
        stage.people.take(list(ids)),
        given="It is {time} on 13 February.",
        now=now,
        until=dict.fromkeys(ids, 22 * HOUR),
        known={who: list(places) for who in ids},
        time=f"{now // HOUR:02d}:00",
    )


def _plan(
    part: PlanningPart, places: Sequence[str], *, now: int = 8 * HOUR, answers: bool = True
) -> Mapping[Id, list[Action]]:
    plans: Mapping[Id, list[Action]] = on_stage(
        part, lambda stage: _ask(part, stage, places, now, stage.people.ids.to_list()), answers=answers
    )
    require(set(plans) == {0, 1, 2}, part, f"plans for {sorted(plans, key=str)} where 0, 1 and 2 are asked")
    for who, actions in plans.items():
        _check_order(part, actions, now, 22 * HOUR, f"the plan of {who!r}")
        unknown = [action.where for action in actions if action.where not in (*places, "")]
        require(not unknown, part, f"plans to go to {unknown[:1]}, which the person does not know")
    return plans


def _check_refining(part: PlanningPart, place: str) -> None:
    stroke = Action(9 * HOUR, 12 * HOUR, place, "baking bread")

    async def body(stage: Scenario) -> list[list[Action]]:
        return await part.refine(
            stage, stage.people, [stroke] * 3, given="It is {time}.", level="minutes", time="09:00"
        )

    for answers in (True, False):
        refined = on_stage(part, body, answers=answers)
        require(len(refined) == 3, part, f"refines {len(refined)} strokes where there are 3")
        for actions in refined:
            require(actions, part, "leaves nothing of a stroke that it refines")
            _check_order(part, actions, stroke.start, stroke.end, "a refined stroke")


def _check_order(part: PlanningPart, actions: Sequence[Action], now: int, until: int, what: str) -> None:
    for action in actions:
        require(isinstance(action, Action), part, f"gives a {type(action).__name__} in {what}, not an Action")
        require(action.doing.strip(), part, f"leaves out what is done in {what}")
        require(action.start < action.end, part, f"has an action that ends before it begins in {what}")
    require(all(now <= a.start and a.end <= until for a in actions), part, f"goes beyond now or bedtime in {what}")
    ordered = all(one.end <= other.start for one, other in itertools.pairwise(actions))
    require(ordered, part, f"has actions that overlap or are out of order in {what}")
