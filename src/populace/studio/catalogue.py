"""The scenarios that Studio offers: those that can be named, and files of the workspace.

Loading a file runs it, so it happens in a child process: an edited file is seen as it is now, and an
error in it comes back as words.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.base.errors import PopulaceError, UnknownNameError
from populace.engine.discovery import find_scenario, known_scenarios, scenario_files
from populace.studio.jobs import Jobs
from populace.tools.describe import describe_scenario


@dataclass(frozen=True)
class Offer:
    """A scenario that can be picked: its name as `populace run` takes it, and a sentence about it."""

    name: str
    summary: str
    file: bool = False


class Catalogue:
    """The scenarios of a workspace.

    Args:
        jobs: Through which files are described.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def offers(self) -> list[Offer]:
        """Everything that can be picked; files are not loaded for it."""
        files = [Offer(name, "A file of this workspace.", file=True) for name in self._files()]
        return [*_named_offers(), *files]

    async def described(self, name: str) -> dict[str, Any]:
        """A scenario as plain data, by a name that is offered, or `FILE.py:Class` for a file that is.

        Raises:
            UnknownNameError: Nothing of this name is offered; a file elsewhere is never loaded.
            CommandError: The file cannot be loaded; says why, with the line.
        """
        if name in known_scenarios():
            return _described(name)
        file, sign, wanted = name.partition(".py:")
        path = self._offered(f"{file}.py" if sign else name)
        found: dict[str, Any] = await self._jobs.ask("scenarios", f"{path}:{wanted}" if sign else path)
        return found | {"name": f"{path}:{wanted}" if sign else path}

    def _files(self) -> list[str]:
        folder = self._jobs.workspace.folder
        return [str(path.relative_to(folder)) for path in scenario_files(folder)]

    def _offered(self, name: str) -> str:
        """The file of this name, seen from the workspace, if it is offered."""
        folder, files = self._jobs.workspace.folder.resolve(), self._files()
        path = Path(name)
        near = str(path.relative_to(folder)) if path.is_absolute() and path.is_relative_to(folder) else name
        if near not in files:
            hint = f"A file of your own lies in {folder} or one folder down, and speaks of a Scenario."
            raise UnknownNameError("scenario", name, [*known_scenarios(), *files], hint)
        return near


@functools.cache
def _described(name: str) -> dict[str, Any]:
    return describe_scenario(find_scenario(name))


@functools.cache
def _named_offers() -> list[Offer]:
    offers = []
    for name in known_scenarios():
        # One that needs a package that is not here is offered with what it lacks.
        try:
            offers.append(Offer(name, find_scenario(name).summary()))
        except PopulaceError as error:
            offers.append(Offer(name, str(error)))
    return offers
