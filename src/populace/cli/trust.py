"""`--trust`: whether code that a run or an experiment names may be imported."""

import functools
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from populace.base import trust
from populace.base.errors import UntrustedCodeError
from populace.cli import ARGUMENTS
from populace.cli.flags import context_flag
from populace.cli.output import err

_TRUST = "populace.trust"


def trust_option() -> click.Option:
    """`--trust`."""
    text = "Trust the code that the run or experiment names, and remember that; read the code before."
    return context_flag("--trust", _TRUST, text)


def trusting(function: Callable[..., Any], *, ask: bool) -> Callable[..., Any]:
    """A command during which `--trust` decides about code that is not trusted yet.

    Args:
        function: The command.
        ask: Whether to ask a user at a terminal.
    """

    @functools.wraps(function)
    def deciding(*args: Any, **kwargs: Any) -> Any:
        with trust.deciding(functools.partial(_decision, ask=ask)):
            try:
                return function(*args, **kwargs)
            except UntrustedCodeError as error:
                error.hint = f"Read it first. To use it, and remember that: {trust_command()}"
                raise

    return deciding


def trust_command() -> str:
    """The command that is running, with `--trust`."""
    arguments: list[str] = click.get_current_context().meta.get(ARGUMENTS, [])
    return shlex.join(["populace", *arguments, "--trust"])


def _decision(codes: Sequence[trust.Code], *, ask: bool) -> bool:
    given = bool(click.get_current_context().meta.get(_TRUST))
    asked = not given and ask and sys.stdin.isatty() and sys.stderr.isatty()
    if given or asked:
        for code in codes:
            err.print_line(f"{'trusted' if given else 'not trusted yet'}: {code.describe()}")
    return given or (asked and click.confirm("Do you trust it, from now on?", default=False, err=True))
