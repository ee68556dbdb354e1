"""Who is played by somebody at a desk."""

from collections.abc import Iterable

from populace.journal import AddPeople, Intervention, RunSettings
from populace.people import People


def played_names(settings: RunSettings) -> tuple[str, ...]:
    """The names and ids of the people whom somebody plays.

    Example:
        >>> played_names(RunSettings(play="Ann, Bo"))
        ('Ann', 'Bo')
    """
    return tuple(name.strip() for name in (settings.play or "").split(",") if name.strip())


def check_play(settings: RunSettings, people: People, interventions: Iterable[Intervention]) -> None:
    """Raise an error where somebody is to be played who is not there and does not join later, or who is not one."""
    names = played_names(settings)
    if not names:
        return
    joining = [row for each in interventions if isinstance(each, AddPeople) for row in each.people]
    later = {str(row[name]) for row in joining for name in ("id", "name") if name in row}
    for name in names:
        if name not in later:
            people.person(name)
