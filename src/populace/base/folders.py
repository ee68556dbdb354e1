"""The user's own folders, for settings and for files that can be fetched again."""

import os
from pathlib import Path


def user_folder(variable: str, name: str) -> Path | None:
    """The folder of Populace below one of the user's folders; None where the user has no home.

    Args:
        variable: The variable that names the user's folder, such as `XDG_CONFIG_HOME`.
        name: Its name in the user's home where the variable is not set, such as `.config`.
    """
    if base := os.environ.get(variable):
        return Path(base) / "populace"
    try:
        return Path.home() / name / "populace"
    except RuntimeError:
        return None
