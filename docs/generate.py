"""Writes docs/cli.md, the reference of commands, from the commands themselves; a test fails when it is out of date."""

from __future__ import annotations

from pathlib import Path

import click

from populace.cli import COMMANDS, EXIT_CODES, cli
from populace.models import MODEL_FORMS

TARGET = Path(__file__).parent / "cli.md"


def reference() -> str:
    """The reference page: the help of every command, the names of models, and the exit codes."""
    parts = ["# Every command", ""]
    parts += [
        "This page lists every command of `populace` with its options, as `populace COMMAND --help` prints them. "
        "`make docs` writes it from the code.",
        "",
        "Where a command takes a run, give its name, the beginning of its name, or `last` for the newest run "
        "that is not a fork.",
        "",
    ]
    parts += [
        "| command | what it does |",
        "|---|---|",
        *(f"| [`{name}`](#{name}) | {text} |" for name, text in COMMANDS.items()),
        "",
    ]
    with cli.make_context("populace", [], resilient_parsing=True) as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            if command is None:
                raise KeyError(name)
            with click.Context(
                command, parent=context, info_name=name, max_content_width=100, terminal_width=100
            ) as inner:
                parts += [f"## {name}", "", "```text", command.get_help(inner).rstrip(), "```", ""]
    parts += [
        "## Names of models",
        "",
        "| `--model` | which model |",
        "|---|---|",
        *(f"| `{form}` | {text} |" for form, text in MODEL_FORMS.items()),
        "",
    ]
    parts += ["## Exit codes and JSON", "", "| code | meaning |", "|---|---|"]
    parts += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    parts += [
        "",
        "With `--json` a command writes one document to standard output: "
        '`{"status": "ok", "data": …, "warnings": […]}`,',
        'or `{"status": "error", "error": {"type", "code", "message", "hint"}}`. '
        "Everything else goes to standard error.",
        "",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(reference())
    print(f"wrote {TARGET}")
