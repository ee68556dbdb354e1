"""The command line, called in the process of the tests.

A process of its own takes about a second to start; what needs one (signals, pipes, a fresh interpreter) starts it itself.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from unittest import mock

from populace.base import trust
from populace.cli import main
from populace.engine import discovery


def populace(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `populace ARGUMENTS` prints and returns, with these variables added to the environment."""
    output, errors = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        mock.patch("sys.argv", ["populace", *arguments]),
        mock.patch.dict("os.environ", {"COLUMNS": "120"} | environment),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(["populace", *arguments], code, output.getvalue(), errors.getvalue())


def forget_code() -> None:
    """As in a new process: no code was named, and none is loaded."""
    trust._NAMED.clear()
    discovery._LOADED.clear()
    for name in [name for name in sys.modules if name.startswith(("populace_file_", "their_code"))]:
        del sys.modules[name]
