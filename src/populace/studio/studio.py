"""What all pages share: the workspace, its runs, the commands that were started, and change notifications."""

from pathlib import Path

from populace.engine.workspace import Workspace
from populace.studio.changes import ChangeNotifier
from populace.studio.jobs import Jobs
from populace.studio.library import Library


class Studio:
    """One Studio over one workspace.

    Args:
        workspace: The workspace, or its folder; the current one by default.
    """

    def __init__(self, workspace: Workspace | str | Path | None = None) -> None:
        folder = (workspace if isinstance(workspace, Workspace) else Workspace(workspace)).folder
        # Absolute, so that watched folders and child processes do not depend on the current folder.
        self.workspace = Workspace(folder.resolve())
        self.library = Library(self.workspace)
        self.jobs = Jobs(self.workspace)
        self.changes = ChangeNotifier(self.library)
