"""Options that several commands share, and those that a scenario's parameters become."""

import functools
import json
from collections.abc import Callable, Container
from typing import Any, Literal, TypeVar

import click
import pydantic

from populace.base import trust
from populace.base.errors import ParameterError, PopulaceError, ReplayMismatchError, RunNotFoundError, UsageError
from populace.base.foreign import for_terminal
from populace.broker import CallSettings
from populace.cli import ARGUMENTS, COMMANDS
from populace.cli.flags import context_flag
from populace.cli.output import AS_JSON
from populace.cli.trust import trust_option, trusting
from populace.engine.discovery import find_scenario, known_scenarios
from populace.engine.parameters import missing_value
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace, command_text, trusted_for
from populace.journal import READ_ERRORS, damage
from populace.journal.intervention_list import is_file_name, read_interventions
from populace.models import MODEL_SUMMARY, model_code
from populace.runs.reader import RunReader
from populace.tools.describe import Parameter, fields_of, parameters_of

_WORKSPACE = "populace.workspace"
_RUNS = "populace.runs"
_FILE_CODE = "populace.code named by files"
COUNT = click.IntRange(min=1)
"""The type of an option that is a number of things."""
CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def command(
    name: str,
    cls: type[click.Command] = click.Command,
    *,
    workspace: Literal["any", "existing"] | None = "any",
    json: bool = True,
    code: Literal["needed", "optional"] | None = None,
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with its help from the table of commands.

    It has `--workspace`, which `current_workspace` reads, and `--json`, which `output.report_json` obeys.

    Args:
        name: The name of the command.
        cls: The class of the command.
        workspace: Whether it has `--workspace`, and whether that folder must exist: a command that only reads runs
            finds none in a folder that does not.
        json: Whether it has `--json`.
        code: Whether it uses code that a run or an experiment names: such a command has `--trust`. Where the code is
            `needed`, a user at a terminal is asked; where it is `optional`, the command does without it.
    """
    shared = [
        *([trust_option()] if code else []),
        *([_workspace_option(existing=workspace == "existing")] if workspace else []),
        *([context_flag("--json", AS_JSON, "Report one JSON document on standard output.")] if json else []),
    ]

    def decorate(function: Callable[..., Any]) -> click.Command:
        function = explain_damage(function)
        function = trusting(function, ask=code == "needed") if code else function
        result = click.command(name, cls=cls, help=COMMANDS[name])(function)
        result.params += shared
        return result

    return decorate


def _workspace_option(existing: bool) -> click.Option:
    def keep(context: click.Context, _option: click.Parameter, folder: str | None) -> None:
        workspace = context.meta[_WORKSPACE] = Workspace(folder)
        if existing and not workspace.folder.is_dir():
            raise UsageError(
                f"there is no folder {workspace.folder}, so there are no runs in it.",
                "Name the folder in which you started them: --workspace FOLDER, or the variable POPULACE_WORKSPACE.",
            )

    return click.Option(
        ["--workspace"],
        metavar="FOLDER",
        is_eager=True,  # The callback of a run's argument needs it.
        expose_value=False,
        callback=keep,
        help="The folder with runs/ and the call store.  [default: POPULACE_WORKSPACE or the current folder]",
    )


def current_workspace() -> Workspace:
    """The workspace that `--workspace` names, or the default one."""
    workspace: Workspace = click.get_current_context().meta[_WORKSPACE]
    return workspace


def command_line(*words: str) -> str:
    """A command that can be typed as it stands, in the workspace of this command."""
    return command_text(current_workspace().folder, *words)


def recorded_model(run: RunReader, chosen: str | None = None) -> str:
    """The model that a user chose, or else that of a run, once it is trusted; empty where no model decides."""
    regime = run.manifest.regime
    if chosen is None and regime.decider == "model":
        trusted_for(run.record).require(model_code(regime.model), run.name)
    return chosen or (regime.model if regime.decider == "model" else "")


def run_argument(name: str = "run", kind: type[RunReader] = RunReader) -> Callable[[CommandT], CommandT]:
    """The name of a run as an argument; the function gets the run, opened."""

    def opened_run(context: click.Context, _argument: click.Parameter, run: str) -> RunReader:
        reader = kind(current_workspace().open(run))
        context.meta.setdefault(_RUNS, []).append(reader)
        return reader

    return click.argument(name, callback=opened_run)


def explain_damage(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where a command fails on a run whose files are not as they were committed, say so: it is no bug of Populace."""

    @functools.wraps(function)
    def explaining(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ReplayMismatchError as error:
            for run in _opened_runs()[:1]:
                fork = command_line("fork", run.name, "--at", str(max(1, error.step)))
                error.hint = (
                    "Likely cause: the scenario or Populace changed after the recording.\n"
                    f"  Keep the old result: {command_line('show', run.name)}   Go on with the new code: {fork}"
                )
            raise
        except (PopulaceError, click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except READ_ERRORS as error:
            if (damaged := _named_damage()) is not None:
                raise damaged from error
            raise

    return explaining


def _named_damage() -> PopulaceError | None:
    """What is damaged in the runs and experiments that the words of this command name; None where nothing is."""
    from populace.experiments.folder import find_experiment

    context = click.get_current_context()
    words: list[str] = context.meta.get(ARGUMENTS, [])[1:]
    place = context.meta.get(_WORKSPACE) or Workspace()
    for word in words:
        try:
            journal = place.open(word)
        except RunNotFoundError:
            try:
                find_experiment(word, place).check()
            except RunNotFoundError:
                continue
            except PopulaceError as error:
                return error
        except PopulaceError as error:
            return error
        except (OSError, ValueError):
            continue  # A word that cannot be the name of a file, such as a long text.
        else:
            if (damaged := damage(journal)) is not None:
                return damaged
    return None


def _opened_runs() -> list[RunReader]:
    """The runs that the arguments of this command named."""
    runs: list[RunReader] = click.get_current_context().meta.get(_RUNS, [])
    return runs


def option(*names: str, help: str, **settings: Any) -> Callable[[CommandT], CommandT]:
    """An option whose help shows the default, if it has one, and says whether it may be given several times."""
    if settings.get("multiple"):
        text, bracket, default_text = help.partition("  [")
        help = f"{text.rstrip('.')}; may be given several times.{bracket}{default_text}"
    return click.option(*names, help=help, show_default="default" in settings, **settings)


def model_option(default: str | None = "embedded") -> Callable[[CommandT], CommandT]:
    """`--model`."""
    suffix = f"  [default: {default}]" if default else ""
    return click.option("--model", metavar="MODEL", default=default, help=f"{MODEL_SUMMARY}.{suffix}")


def chart_option(command: CommandT) -> CommandT:
    """`--chart`."""
    text = "Draw a PNG of the metrics, if matplotlib is installed."
    return click.option("--chart/--no-chart", default=True, help=text)(command)


def desk_option(command: CommandT) -> CommandT:
    """`--desk`."""
    text = "Where you answer for the people whom you play."
    kind = click.Choice(["keyboard", "studio"])
    return option("--desk", type=kind, default="keyboard", envvar="POPULACE_DESK", help=text)(command)


def interventions_option(command: CommandT) -> CommandT:
    """`--intervention`, which may be given several times.

    A model that JSON text on the command line names is named by the user. One that a file names needs trust.
    """

    @functools.wraps(command)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for file, codes in click.get_current_context().meta.get(_FILE_CODE, {}).items():
            current_workspace().trusted.require(codes, file)
        return command(*args, **kwargs)

    return option(
        "--intervention",
        "interventions",
        multiple=True,
        metavar="JSON|FILE",
        callback=_interventions,
        help="Interventions as JSON text or a JSON file.",
    )(checked)  # type: ignore[return-value]


def _interventions(context: click.Context, _option: click.Parameter, sources: tuple[str, ...]) -> list[Any]:
    """The interventions of all sources; the code that files name is noted, and is checked when the command runs."""
    interventions: list[Any] = []
    for source in sources:
        several = read_interventions(source)
        codes = [code for each in several for model in each.models() for code in model_code(model)]
        if is_file_name(source):
            context.meta.setdefault(_FILE_CODE, {})[source] = codes
        else:
            trust.allow(codes)
        interventions += several
    return interventions


def settings_options(
    settings: type[pydantic.BaseModel], *, inherit: bool = False, without: Container[str] = ()
) -> Callable[[CommandT], CommandT]:
    """An option for each field of settings, with its bounds, default and help.

    Args:
        settings: The settings.
        inherit: Whether an option that is left out keeps what the parent run has, as in a fork.
        without: Fields that the command has no option for.
    """

    def decorate(command: CommandT) -> CommandT:
        for each in reversed([each for each in fields_of(settings) if each.name not in without]):
            command = click.option(f"--{each.name.replace('_', '-')}", each.name, **_option(each, inherit))(command)
        return command

    return decorate


def _option(field: Parameter, inherit: bool) -> dict[str, Any]:
    """What click takes for a field of settings."""
    default = None if inherit else field.default
    help_text = f"{field.help.rstrip('.')}; as before by default." if inherit else field.help
    options: dict[str, Any] = {"default": default, "help": help_text, "show_default": default is not None}
    if field.name == "model":
        return options | {"metavar": "MODEL", "help": f"{MODEL_SUMMARY}."}
    if field.kind == "choice":
        return options | {"type": click.Choice([str(choice) for choice in field.choices])}
    low, open_low = (field.gt, True) if field.gt is not None else (field.ge, False)
    if field.kind == "int":
        return options | {"type": int if low is None else click.IntRange(min=int(low), min_open=open_low)}
    if field.kind == "number":
        return options | {"type": float if low is None else click.FloatRange(min=low, min_open=open_low)}
    if field.kind == "bool":
        return options | {"type": bool}
    if field.kind != "json":
        return options | {"metavar": field.kind.upper()}
    return options | {"metavar": "JSON", "default": None, "show_default": False, "callback": _json_value}


def _json_value(_context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not JSON: {error}.", param=parameter) from None


call_options = settings_options(CallSettings)
"""Options about how a model is called and what may be spent."""


def call_settings(options: dict[str, Any]) -> CallSettings:
    """The call settings that the options describe; they are taken out."""
    return CallSettings(**{name: options.pop(name) for name in CallSettings.model_fields})


_PARAMETERS = "populace.scenario_parameters"


class ScenarioCommand(click.Command):
    """A command whose first argument is a scenario, and whose options are also that scenario's parameters."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:  # noqa: D102
        if args and not args[0].startswith("-"):
            taken = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
            ctx.meta[_PARAMETERS] = parameter_options(find_scenario(args[0]), taken)
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:  # noqa: D102
        return for_terminal(super().get_help(ctx))

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:  # noqa: D102
        return [*super().get_params(ctx), *ctx.meta.get(_PARAMETERS, [])]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: D102
        names = ", ".join(known_scenarios())
        with formatter.section("Scenarios"):
            formatter.write_text(
                f"{names}; or a file of your own, as file.py or file.py:Class. "
                f"`{ctx.command_path} NAME --help` shows the parameters of one."
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: D102
        groups = {"Parameters of the scenario": ctx.meta.get(_PARAMETERS, []), "Options": super().get_params(ctx)}
        for title, params in groups.items():
            options = [param for param in params if isinstance(param, click.Option)]
            records = [record for each in options if (record := each.get_help_record(ctx))]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def parameter_options(scenario: type[Scenario], taken: set[str]) -> list[click.Parameter]:
    """An option for each parameter, with its bounds, default and help."""
    options: list[click.Parameter] = []
    for each in parameters_of(scenario):
        flag = f"--{each.name.replace('_', '-')}"
        flag = f"--scenario-{flag[2:]}" if flag in taken else flag
        form: dict[str, Any] = {"metavar": each.kind.upper()}
        if each.kind == "bool":
            flag, form = f"{flag}/--no-{flag[2:]}", {"default": None}
        elif each.kind == "choice":
            form = {"type": click.Choice([str(value) for value in each.choices])}
        options.append(click.Option([flag, f"parameter_{each.name}"], help=f"{each.help}{_limits(each)}", **form))
    return options


def parameters(options: dict[str, Any], scenario: type[Scenario], varied: Container[str] = ()) -> dict[str, Any]:
    """The parameters that were given; they are taken out of the options.

    Args:
        options: The options of the command.
        scenario: The scenario.
        varied: Parameters that get their values in another way, so that they need not be given.
    """
    given: dict[str, Any] = {}
    shown: list[click.Parameter] = click.get_current_context().meta.get(_PARAMETERS, [])
    flags = {str(each.name).removeprefix("parameter_"): each.opts[0] for each in shown}
    for each in parameters_of(scenario):
        value = options.pop(f"parameter_{each.name}", None)
        if value is not None:
            given[each.name] = parameter_value(each, value)
        elif each.required and each.name not in varied:
            raise missing_value(scenario.title(), each.name, f"{flags[each.name]} …")
    return given


def parameter_value(parameter: Parameter, value: Any) -> Any:
    """The value of a parameter from the text of its option: a choice, JSON, or the text itself."""
    if not isinstance(value, str):
        return value
    if parameter.kind == "choice":
        return next((choice for choice in parameter.choices if str(choice) == value), value)
    if parameter.kind != "json":
        return value
    try:
        return json.loads(value)
    except ValueError:
        message = f"{parameter.name} = {value!r} is not JSON."
        raise ParameterError(message, "Write it as JSON, such as '[1, 2]'.") from None


def _limits(parameter: Parameter) -> str:
    """Bounds and default, as they stand behind the help."""
    default = parameter.default
    text = ("yes" if default else "no") if isinstance(default, bool) else default
    return f"  [{'; '.join([*parameter.bounds, 'required' if parameter.required else f'default: {text}'])}]"
