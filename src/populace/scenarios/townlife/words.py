"""The words of life in a town: what people are told, and the sentences in which they remember.

Everything speaks to the person as "you". Nothing here knows what a study is about.
"""

import re
from collections.abc import Sequence

from populace.base.formatting import time_of_day
from populace.minds import Action

DAY = 86_400

WHO = (
    "You are {name}, {age} years old, {occupation}. You live in the small town of {town}. You are {traits}. {backstory}"
    "{currently}"
)
HERE = "It is {time} on {date}. You are {where}, {doing}."
AT = "It is {time} on {date}. You are {where}."
ROUTINE = "On an ordinary day you do this: {routine}."
MEETING = "{other} is here too, {others_doing}. {acquaintance}"
TALKING = "It is {time} on {date}. You are {where}, talking with {partners}. {acquaintance}{currently}"
STROKE = "Now begins: {stroke}."
HAPPENED = "Just now this happened: {event}"

FALLBACKS = ("getting ready", "waiting", "resting at home", "doing nothing in particular")
"""Activities of people who have no plan for the moment."""
AT_HOME = "at home"
"""Where a person is in their own home."""
SLEEPING, IN_BED, TALKING_WITH = "sleeping", "in bed", "talking with"


def is_deed(doing: str) -> bool:
    """Whether an activity is remembered as a deed; what was said is remembered as speech."""
    return doing not in (*FALLBACKS, SLEEPING) and not doing.startswith(TALKING_WITH)


def time_label(time: int, now: int) -> str:
    """When something was, as it stands before a memory.

    Example:
        >>> time_label(12 * 3600, 18 * 3600), time_label(12 * 3600, DAY + 3600)
        ('Today at 12:00: ', 'Yesterday at 12:00: ')
    """
    days = now // DAY - time // DAY
    if days > 1:
        return f"{days} days ago: "
    return f"{'Yesterday' if days else 'Today'} at {time_of_day(time)}: "


def observation(name: str, doing: str, where: str) -> str:
    """What one person sees another do.

    Example:
        >>> observation("Ada", "airing my rooms", AT_HOME), observation("Ben", "eating at the Mill", "at the Mill")
        ('Ada was airing their rooms at home.', 'Ben was eating at the Mill.')
    """
    return f"{name} was {_at_once(_with_owner(doing, 'their'), where)}."


def thing_state(thing: str, where: str, state: str) -> str:
    """What a person sees of a thing."""
    return f"The {thing} {where} is {state}."


def deed(action: Action, where: str) -> str:
    """What a person did.

    Example:
        >>> deed(Action(0, 600, "home", "mending my shirt at home"), AT_HOME)
        'You were mending your shirt at home.'
    """
    return f"You were {_at_once(_with_owner(action.doing, 'your'), where)}."


def _with_owner(doing: str, owner: str) -> str:
    """An activity with the word for whose something is: a plan may say "my", which is "your" to the person."""
    return re.sub(r"\b[Mm]y\b", owner, doing)


def _at_once(doing: str, where: str) -> str:
    """An activity and its place, which is named once."""
    return doing if f" {doing}".casefold().endswith(f" {where}".casefold()) else f"{doing} {where}"


def plan_text(actions: Sequence[Action], date: str) -> str:
    """What a person has planned, in one sentence."""
    # A room of a building is called by its building.
    parts = [f"{time_of_day(action.start)} {action.doing} at {action.where.partition(' > ')[0]}" for action in actions]
    return f"You planned for {date}: {', '.join(parts) or 'nothing in particular'}."
