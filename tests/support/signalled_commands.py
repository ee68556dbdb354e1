"""Commands that get a signal at a chosen moment: when a function is called for the n-th time.

In this process the signal can be one that a command handles. In a process of its own it can be any: such processes are
forked by a server that has PyTorch imported already, which takes longer than what is tested.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import populace.cli

_PRELOADED = ["support.signalled_commands", "populace.training", "populace.training.correction", "peft", "trl"]


class Moment(NamedTuple):
    """When a process gets which signal: before the `count`-th call of a function."""

    function: str
    """The module and the name, with a colon between them."""
    count: int
    signal: signal.Signals

    def armed(self) -> Any:
        """A context in which the process gets the signal at the moment."""
        module, _, path = self.function.partition(":")
        owner: Any = importlib.import_module(module)
        *classes, name = path.split(".")
        for each in classes:
            owner = getattr(owner, each)
        return mock.patch.object(owner, name, self._signalling(getattr(owner, name)))

    def _signalling(self, function: Callable[..., Any]) -> Callable[..., Any]:
        calls = 0

        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == self.count:
                os.kill(os.getpid(), self.signal)
            return function(*arguments, **options)

        return call


class Ending(NamedTuple):
    """How a process ended."""

    code: int
    errors: str


def run_apart(folder: Path, words: tuple[str, ...], moment: Moment | None = None) -> Ending:
    """Run `populace WORDS` in a process of its own, which may get a signal; what it writes to goes into a folder."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=_run, args=(str(folder), words, moment))
    process.start()
    process.join(120)
    assert process.exitcode is not None, "the command does not end"
    return Ending(process.exitcode, (folder / "errors.txt").read_text())


def _run(folder: str, words: tuple[str, ...], moment: Moment | None) -> None:
    os.environ["COLUMNS"] = "200"
    for number, name in ((1, "output.txt"), (2, "errors.txt")):
        os.dup2(os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    import torch

    torch.set_num_threads(1)
    if moment is not None:
        moment.armed().start()
    sys.argv = ["populace", *words]
    populace.cli.main()
