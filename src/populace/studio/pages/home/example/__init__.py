"""A finished run that comes with Populace, so that a newcomer sees one before waiting for one.

It is norms with default parameters on the embedded model, seed 1, recorded on 15 November 2026.
"""

import zipfile
from pathlib import Path

from populace.engine.workspace import Workspace

NAME = "norms-example"
_ARCHIVE = Path(__file__).with_name(f"{NAME}.zip")


def install_example(workspace: Workspace) -> str:
    """Copy the example into the runs of a workspace, unless it is there, and return its name."""
    if not (workspace.runs / NAME).exists():
        workspace.runs.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(_ARCHIVE) as archive:
            archive.extractall(workspace.runs)
    return NAME
