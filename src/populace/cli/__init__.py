"""The command line: one verb, one sentence; a report as text or as one JSON document.

Commands are imported when they are called, so that `populace --help` stays quick. With `--json`
a command writes one document to standard output, `{"status", "data", "warnings"}`, and all else
to standard error.
"""

import importlib
import io
import os
import sys
from typing import IO, Any

import click

from populace.base.errors import PopulaceError, UnknownNameError, UsageError, nearest
from populace.base.foreign import for_json, for_terminal

COMMANDS = {
    "studio": "Open Studio, the web application: start, watch, open, fork and compare runs.",
    "run": "Run a scenario to its end; replies that are already in the call store are reused.",
    "resume": "Continue a run that stopped or is paused; nothing is paid for twice.",
    "replay": "Run a recorded run again without any model, and stop where it differs from the record.",
    "fork": "Start a run that shares the steps of RUN before a given step, and differs from there on.",
    "pause": "Pause a run in progress after its current step; `populace resume` continues it.",
    "stop": "Stop a run in progress as Ctrl-C does; it can be resumed.",
    "whatif": "Let somebody answer a post of a community, and see how its thread continues.",
    "multiverse": "Run a community, or what follows one post, several times with other draws.",
    "interview": "Ask people of a run a question that is not part of it; the run does not change.",
    "ask-again": "Ask a recorded decision again with something changed; the run does not change.",
    "probe": "Show how one decision changes with situation, persona and model, without simulating.",
    "scenarios": "List the scenarios that can be run, or describe one with all its parameters.",
    "estimate": "Estimate the calls, cost and time of a run before anything is spent.",
    "survey": "Put a questionnaire to a table of respondents, and show marginals and crosstabs.",
    "causal": "Ask a question with a treatment in every design, and show which estimate can be believed.",
    "demand": "Offer goods at many prices in every causal design, and compare the demand curves with people.",
    "evaluate": "Compare predictions with what people answered: floors, ceiling, intervals, a report.",
    "train": "Train a model on decisions of people, from a plan, and score it on people whom it has not seen.",
    "sessions": "Make up, check and describe logs of web sessions; let a model write why people acted.",
    "next-action": "Predict the next actions of held-out people in web sessions, and score it with floors.",
    "panel": "Ask a model in place of people of a panel, beside floors and the people's own retest.",
    "tasks": "Ask a model in place of people in games and experiments, and compare what they do.",
    "correct": "Correct a model in rounds: simulate, score decisions, train, simulate again; with a control arm.",
    "experiment": "Run an experiment from a YAML file, or continue it: arms, seeds, effects.",
    "structure": "Run a scenario under several models and wordings, and say what holds in all of them.",
    "robust": "Repeat a run or an experiment in other ways of asking, and say which conclusions survive.",
    "attendance": "Show how many more came to an event of a party because of the news, over pairs of runs.",
    "report": "Write an experiment or a run as one HTML page and as Markdown, with its validity card.",
    "show": "Show a run, a step of it, or the decisions of one person with the exact prompts.",
    "why": "Show what led to a person's decisions in a step: recalled memories, their scores, the prompts.",
    "judge": "Have models judge every post of a community; the run does not change.",
    "digest": "Show what stands out in a community: unusual posts, broken rules, what no rule covers.",
    "discern": "Test whether people or models can tell real conversations from generated ones.",
    "believability": "Interview residents with and without parts of their mind, and let judges rank the answers.",
    "feedback": "Show ratings of answers and how far raters agree; with runs, make a blind queue to rate.",
    "list": "List the runs of the workspace.",
    "compare": "Show the first decision in which two runs differ, and how their metrics differ.",
    "export": "Write a run as Parquet, CSV or SQLite for other tools, or a community as a page.",
    "models": "Show which models can be named, what is cached, and where prices are kept.",
    "new": "Write a small scenario that runs, as a file to change.",
    "doctor": "Check this machine, or check that a scenario gives the same run under different circumstances.",
}
"""Every command and what it does."""

_MODULES = {
    "running": ("run", "resume", "replay", "fork", "pause", "stop"),
    "communities": ("whatif", "multiverse", "judge", "digest"),
    "decisions": ("why", "ask-again", "interview"),
    "reading": ("list", "show", "compare", "export"),
    "scenarios": ("scenarios", "estimate", "new", "probe"),
    "machine": ("studio", "models", "doctor"),
    "experiment": ("experiment",),
    "surveys": ("survey",),
    "causal": ("causal",),
    "demand": ("demand",),
    "evaluation": ("evaluate",),
    "training": ("train",),
    "sessions": ("sessions", "next-action"),
    "panel": ("panel",),
    "correction": ("correct",),
    "tasks": ("tasks",),
    "studies": ("report", "robust", "attendance", "structure"),
    "rating": ("discern", "feedback"),
    "believability": ("believability",),
}
"""The commands by the module that holds them."""

ARGUMENTS = "populace.arguments"
"""The key in the meta data of click's context under which the words of the command are kept."""

EXIT_CODES = {
    0: "done",
    1: "a bug in Populace or in a scenario",
    2: "bad input, or code that is not trusted; nothing was started",
    3: "the model cannot be used",
    4: "a run folder, the call store or the disk cannot be used",
    5: "stopped by the budget or by a failing model; the run can be resumed",
    6: "a replay, a comparison or a diagnosis found a difference",
    130: "interrupted; the run can be resumed",
}
"""What the exit codes mean."""


_OTHER_WORDS = {
    "verify": "`populace replay RUN --verify`",
    "start": "`populace run SCENARIO`",
    "simulate": "`populace run SCENARIO`",
    "init": "`populace new NAME`",
    "create": "`populace new NAME`",
    "open": "`populace show RUN`",
    "explain": "`populace why RUN --step STEP --person NAME`",
    "ask": "`populace interview RUN QUESTION --person NAME`",
    "ui": "`populace studio`",
    "web": "`populace studio`",
    "serve": "`populace studio`",
    "delete": "`rm -r runs/RUN`",
    "rm": "`rm -r runs/RUN`",
}
"""Words of other tools for what a command does."""


class _Commands(click.Group):
    """The commands by name, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = next(module for module, names in _MODULES.items() if name in names)
        attribute = f"{name.replace('-', '_')}_command"
        command: click.Command = getattr(importlib.import_module(f"populace.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], COMMANDS, suggestion=_OTHER_WORDS.get(args[0]))
        ctx.meta[ARGUMENTS] = list(args)
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="populace", message="populace %(version)s")
def cli() -> None:
    """Study societies of language-model agents, and trust what you see.

    Begin with `populace run norms`. Exit codes: 0 done, 2 bad input, 3 model, 4 storage, 5 stopped and resumable,
    6 a difference was found, 130 interrupted.
    """


def main() -> None:
    """Run the command line and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A stream that is not UTF-8 shows what it cannot write as escapes.
        if isinstance(stream, io.TextIOWrapper) and not is_unicode(stream):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_main())


def is_unicode(stream: IO[str]) -> bool:
    """Whether a stream can write every character."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").startswith("utf")


def _main() -> int:
    try:
        done = cli.main(standalone_mode=False)
        return done if isinstance(done, int) else 0
    except PopulaceError as error:
        if os.environ.get("POPULACE_DEBUG"):
            raise
        return _report_error(error)
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "populace"
        return _report_error(UsageError(_click_message(error, context), f"`{command} --help` says more."))
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return 130
    except BrokenPipeError:
        # The reader went away, as `head` does; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("POPULACE_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        hint = "This is a bug. Set POPULACE_DEBUG=1 to see where it happened, and please report it."
        _report("Unexpected", "P000", what, hint, f"Unexpected [P000]: {what}\n  {hint}")
        return 1


def _click_message(error: click.ClickException, context: click.Context | None) -> str:
    """What click found wrong; of options that do not exist, only one that is near is proposed."""
    if not isinstance(error, click.NoSuchOption) or context is None:
        return error.format_message()
    options = [name for param in context.command.get_params(context) for name in (*param.opts, *param.secondary_opts)]
    # Compared without the dashes, which all have in common.
    guess = nearest(error.option_name.lstrip("-"), [name[2:] for name in options if name.startswith("--")])
    return f"there is no option {error.option_name}." + (f" Did you mean --{guess}?" if guess else "")


def _report_error(error: PopulaceError) -> int:
    _report(type(error).__name__, error.code, error.what, error.hint or "", error.paragraph())
    return error.exit_code


def _report(kind: str, code: str, what: str, hint: str, paragraph: str) -> None:
    if "--json" in sys.argv:
        error = {"type": kind, "code": code, "message": what, "hint": hint}
        click.echo(for_json({"status": "error", "error": error}, ascii_only=not is_unicode(sys.stdout)))
    click.echo(for_terminal(paragraph), err=True)
