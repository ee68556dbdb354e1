"""The scenarios that Studio offers: installed ones, and files of the workspace.

Loading a file runs it, so this happens in a child process: edits take effect at once, and an error in the file
comes back as a message.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.base.errors import PopulaceError, UnknownNameError, UntrustedCodeError
from populace.base.trust import Code, TrustFile, file_code
from populace.engine.discovery import find_scenario, known_scenarios, scenario_files
from populace.studio.jobs import Jobs
from populace.tools.describe import describe_scenario


@dataclass(frozen=True)
class ScenarioOffer:
    """A scenario that can be chosen: its name as `populace run` takes it, and a sentence about it."""

    name: str
    summary: str
    file: bool = False


class Catalogue:
    """The scenarios of a workspace; a command describes those in files."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def offers(self) -> list[ScenarioOffer]:
        """All scenarios that can be chosen; files are not loaded for it."""
        files = [ScenarioOffer(name, "A file of this workspace.", file=True) for name in self._files()]
        return [*_installed_offers(), *files]

    async def description(self, name: str) -> dict[str, Any]:
        """A scenario as plain data.

        Args:
            name: The name of an offer, or `FILE.py:Class` for a file that is offered.

        Raises:
            UnknownNameError: The name is not offered; a file elsewhere is never loaded.
            UntrustedCodeError: The file is not trusted; opening a page or an address never loads it.
            CommandError: The file cannot be loaded; the message has the line.
        """
        if name in known_scenarios():
            return _installed_description(name)
        path, class_name = self._parts(name)
        full_name = f"{path}:{class_name}" if class_name else path
        code = self._code(path)
        if not self._trusted.allows(code):
            raise UntrustedCodeError(
                f"{path} is new in this workspace, or was changed since it was trusted. Loading it would run it.",
                f"Read it first. Its page in Studio has a button that trusts it; so does: populace scenarios {path}",
            )
        description: dict[str, Any] = await self._jobs.call("scenarios", full_name)
        return description | {"name": full_name}

    def trust(self, name: str) -> None:
        """Trust a file that is offered, as it is now."""
        self._trusted.remember([self._code(self._parts(name)[0])])

    def source(self, name: str) -> str:
        """The text of a file that is offered."""
        path = self._jobs.workspace.folder / self._parts(name)[0]
        return path.read_text(encoding="utf-8", errors="replace")

    @property
    def _trusted(self) -> TrustFile:
        return TrustFile(self._jobs.workspace.folder)

    def _code(self, path: str) -> Code:
        return file_code(path, self._jobs.workspace.folder / path)

    def _parts(self, name: str) -> tuple[str, str]:
        """The file that a name stands for, and the class in it."""
        file, separator, class_name = name.partition(".py:")
        return self._offered_file(f"{file}.py" if separator else name), class_name

    def _files(self) -> list[str]:
        folder = self._jobs.workspace.folder
        return [str(path.relative_to(folder)) for path in scenario_files(folder)]

    def _offered_file(self, name: str) -> str:
        folder, files = self._jobs.workspace.folder.resolve(), self._files()
        path = Path(name)
        relative = str(path.relative_to(folder)) if path.is_absolute() and path.is_relative_to(folder) else name
        if relative not in files:
            hint = f"A file is offered if it lies in {folder} or one folder below and defines a Scenario."
            raise UnknownNameError("scenario", name, [*known_scenarios(), *files], hint)
        return relative


@functools.cache
def _installed_description(name: str) -> dict[str, Any]:
    return describe_scenario(find_scenario(name))


@functools.cache
def _installed_offers() -> list[ScenarioOffer]:
    offers = []
    for name in known_scenarios():
        # A scenario that needs a package that is not installed is offered with the message that says so.
        try:
            offers.append(ScenarioOffer(name, find_scenario(name).summary()))
        except PopulaceError as error:
            offers.append(ScenarioOffer(name, str(error)))
    return offers
