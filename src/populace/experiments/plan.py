"""The plan of an experiment as data: its question, factors, outcomes and stop rule."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import BeforeValidator

from populace.base.document_lines import add_line, at_entry
from populace.base.errors import ParameterError, PopulaceError, UnknownNameError, UsageError
from populace.engine.discovery import find_scenario, reference
from populace.engine.scenario import Scenario
from populace.engine.workspace import Workspace
from populace.experiments.analyses import Analysis
from populace.experiments.analysis_plan import AnalysisPlan
from populace.experiments.arms import SETTINGS, Arm, level_text, seed_of
from populace.experiments.code import plan_code, require_trust
from populace.experiments.designs import Design, design_points
from populace.experiments.factors import Factor, arm_settings, plain_interventions
from populace.experiments.outcomes import Outcome
from populace.experiments.plan_file import find_plan_file, read_plan_file
from populace.journal import DECIDERS, RunSettings
from populace.models import open_model
from populace.prompting.variation import Variation

Keep = Literal["run", "calls", "nothing"]


class StoppingRule(pydantic.BaseModel):
    """When an experiment ends, before or after its number of replicates.

    Attributes:
        width: Add replicates until the interval of every effect on the primary outcome is at most this wide.
        batch: How many replicates are added at a time.
        most: The largest number of replicates.
        max_calls: The most calls to models, over all runs.
        max_money: The most money, over all runs.

    With a width, the first look is at 20 replicates or more: intervals that are looked at earlier are too short where
    the experiment ends. An arm whose runs all ended near 0, or near 1, needs as many replicates as would show another
    end with a probability equal to the width.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    width: Annotated[float | None, pydantic.Field(gt=0)] = None
    batch: Annotated[int, pydantic.Field(ge=1)] = 10
    most: Annotated[int, pydantic.Field(ge=2)] = 200
    # Folders of earlier versions say `calls` and `money`.
    max_calls: int | None = pydantic.Field(
        default=None, ge=1, validation_alias=pydantic.AliasChoices("max_calls", "calls")
    )
    max_money: float | None = pydantic.Field(
        default=None, gt=0, validation_alias=pydantic.AliasChoices("max_money", "money")
    )


def _read_outcomes(outcomes: Any) -> Any:
    items = [outcomes] if isinstance(outcomes, (str, Mapping, Outcome)) else outcomes
    if not isinstance(items, list | tuple):
        raise ValueError("outcomes are a list, such as [share_blue, mean(share_blue)]")
    return _read_items(Outcome.read, items, "outcomes", isinstance(outcomes, list | tuple))


def _read_analyses(analyses: Any) -> Any:
    items = [analyses] if isinstance(analyses, (str, Mapping, Analysis)) else analyses
    if not isinstance(items, list | tuple):
        raise ValueError("analyses are a list, such as ['path_dependence(share_blue, initial_share)']")
    return _read_items(Analysis.read, items, "analyses", isinstance(analyses, list | tuple))


def _read_items(read: Callable[[str], Any], items: Sequence[Any], key: str, listed: bool) -> list[Any]:
    """Items of which some are written as text; `listed` says whether the file has a list of them, or only one."""
    result = []
    for number, each in enumerate(items):
        with at_entry(key, *([number] if listed else [])):
            result.append(read(each) if isinstance(each, str) else each)
    return result


def _read_factors(factors: Any) -> Any:
    if not isinstance(factors, Mapping):
        raise ValueError("factors are a mapping from names to levels, such as {initial_share: [0.3, 0.7]}")
    read = {}
    for name, levels in factors.items():
        with at_entry("factors", str(name)):
            read[str(name)] = Factor.read(str(name), levels)
    return read


def _read_scenario(scenario: Any) -> Any:
    if isinstance(scenario, Scenario):
        name = type(scenario).__name__
        raise ValueError(f"an experiment takes the class. Write scenario={name}, parameters={{…}}")
    return reference(scenario) if isinstance(scenario, type) and issubclass(scenario, Scenario) else scenario


def _read_design(design: Any) -> Any:
    return {"kind": design} if isinstance(design, str) else design


class ExperimentPlan(RunSettings):
    """What an experiment is, as data: a scenario, factors, a design, replicates and outcomes.

    Attributes:
        name: Its name, which its folder begins with.
        question: The question that it answers, in one sentence.
        scenario: A scenario by name, file or class.
        factors: What is varied. A factor is a parameter of the scenario or a setting (`model`, `temperature`,
            `decider`, `interventions`, `variation`), with a list of levels, a mapping from names to levels, or a range
            `{low, high}`. A factor of any other name changes several things at once: its levels are named, and each
            maps parameters and settings to values.
        parameters: Parameters that are the same in all arms.
        model: The model that decides, unless it is a factor.
        temperature: Applied to the distributions, unless it is a factor.
        decider: `model`, `rule` or `replay`.
        interventions: Interventions in all arms.
        variation: A variation of the questions in all arms.
        design: How levels are combined.
        replicates: Runs of each arm, each with a seed of its own.
        seed: The seed from which those of the replicates are derived.
        outcomes: What is measured of every run.
        analyses: What is asked of all runs together: `path_dependence(OUTCOME, FACTOR)` or
            `fluctuation(OUTCOME, FACTOR)`. Like the number of replicates, they change no run.
        analysis_plan: What will be compared, and how: it is hashed and dated when the experiment begins, and tables say
            of every comparison whether it was planned. It changes no run.
        pairing: Common random numbers: replicate 3 has the same seed in all arms; or, with names of factors, in all
            arms that differ in these factors only.
        fork_at: Arms differ only from this step on, and share their history before it.
        stop: When it ends early, or goes on beyond the replicates.
        keep: What is kept of a run besides its row: its folder, its calls, or nothing. Calls by default, and
            nothing where models are scripted.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9][\w.-]*$", max_length=80)]
    question: str = ""
    scenario: Annotated[str, BeforeValidator(_read_scenario)]
    factors: Annotated[dict[str, Factor], BeforeValidator(_read_factors)] = pydantic.Field(min_length=1)
    parameters: dict[str, Any] = pydantic.Field(default={})
    interventions: Annotated[list[dict[str, Any]], BeforeValidator(plain_interventions)] = pydantic.Field(default=[])
    design: Annotated[Design, BeforeValidator(_read_design)] = Design()
    replicates: Annotated[int, pydantic.Field(ge=1)] = 20
    outcomes: Annotated[list[Outcome], BeforeValidator(_read_outcomes)] = pydantic.Field(min_length=1)
    analyses: Annotated[list[Analysis], BeforeValidator(_read_analyses)] = pydantic.Field(default=[])
    analysis_plan: AnalysisPlan | None = None
    pairing: bool | list[str] = True
    fork_at: Annotated[int | None, pydantic.Field(ge=1)] = None
    stop: StoppingRule = StoppingRule()
    keep: Keep | None = None

    def __init__(self, **data: Any) -> None:
        _check_names("key of an experiment", data, type(self).model_fields)
        super().__init__(**data)
        self._check()

    @classmethod
    def _explain(cls, error: pydantic.ValidationError) -> UsageError:
        return _usage_error(error)

    @classmethod
    def read(cls, path: str | Path, *, workspace: str | Path | None = None, trust: bool = False) -> Self:
        """An experiment from a YAML file.

        Args:
            path: The file, or the name of an experiment that ships.
            workspace: The folder that remembers which code is trusted; the current one by default.
            trust: Whether to trust the code that the file names; read the code before.

        Raises:
            UntrustedCodeError: The file names code that is not trusted; nothing was imported.
        """
        path = find_plan_file(path)
        data = read_plan_file(path)
        data = {"name": path.stem} | data
        scenario = data.get("scenario")
        if isinstance(scenario, str) and ".py" in scenario and "\0" not in scenario:
            file = path.parent / scenario.partition(".py")[0]
            if file.with_name(f"{file.name}.py").is_file():
                data["scenario"] = str(path.parent.resolve() / scenario)
        trusted = Workspace(workspace).trusted
        if trust:
            trusted.remember(list(plan_code(data)))
        require_trust(data, trusted, str(path))
        try:
            return cls(**data)
        except PopulaceError as error:
            add_line(error, path)
            raise

    def data(self) -> dict[str, Any]:
        """The experiment as plain data, from which it can be made again."""
        data = self.model_dump(mode="json", exclude={"factors"})
        for outcome in data["outcomes"]:
            if outcome["share"] is None:
                # Left out where it is not said, so that experiments of earlier versions keep their label.
                del outcome["share"]
            if not outcome["time"]:
                del outcome["time"]
        if self.analysis_plan is None:
            del data["analysis_plan"]
        return data | {"factors": {name: factor.data() for name, factor in self.factors.items()}}

    def arms(self) -> list[Arm]:
        """The arms, in the order of the design, each checked like the parameters of a run."""
        factors = list(self.factors.values())
        points = design_points(self.design, [factor.count for factor in factors], self.seed)
        base = {name: getattr(self, name) for name in ("parameters", *SETTINGS)}
        base["variation"] = Variation.read(self.variation).data()
        scenario = find_scenario(self.scenario)
        arms = []
        for number, point in enumerate(points):
            settings, levels = arm_settings(base, factors, point, scenario)
            settings["parameters"] = scenario(**settings["parameters"]).parameters
            title = f"point {number + 1}" if self.design.sampled else ""
            arms.append(Arm(number=number, title=title, levels=levels, scenario=self.scenario, **settings))
        return arms

    def seed_of(self, replicate: int, arm: Arm) -> int:
        """The seed of a run."""
        if self.pairing is True or self.fork_at:
            return seed_of(self.seed, replicate)
        shared = self.pairing or []
        return seed_of(self.seed, replicate, {name: level for name, level in arm.levels.items() if name not in shared})

    @property
    def primary(self) -> Outcome:
        """The primary outcome: the one marked so, or the first."""
        return next((each for each in self.outcomes if each.primary), self.outcomes[0])

    def outcome(self, name: str) -> Outcome:
        """An outcome by its name."""
        return next(each for each in self.outcomes if each.name == name)

    @property
    def paired(self) -> bool:
        """Whether runs of one replicate can be compared across arms."""
        return bool(self.pairing) or self.fork_at is not None

    @property
    def label(self) -> str:
        """The name, with four digits of a hash of everything that affects its runs.

        The number of replicates, the stop rule and the analyses are not in the hash: a longer experiment continues a
        shorter one.
        """
        substance = self.data()
        for name in ("question", "replicates", "stop", "keep", "analyses", "analysis_plan"):
            substance.pop(name, None)
        substance["source"] = find_scenario(self.scenario).source_hash()
        digest = hashlib.blake2b(json.dumps(substance, sort_keys=True).encode(), digest_size=2)
        return f"{self.name}-{digest.hexdigest()}"

    def _check(self) -> None:
        with at_entry("scenario"):
            scenario = find_scenario(self.scenario)
        known = scenario.parameter_model().model_fields
        with at_entry("parameters"):
            _check_names(f"parameter of {scenario.title()}", self.parameters, known)
        for factor in self.factors.values():
            with at_entry("factors", factor.name):
                factor.check(scenario)
                if factor.name in self.parameters:
                    raise UsageError(f"{factor.name} is both a factor and a fixed parameter.")
        with at_entry("pairing"):
            _check_names("factor", self.pairing if isinstance(self.pairing, list) else (), self.factors)
        for number, outcome in enumerate(self.outcomes):
            with at_entry("outcomes", number):
                outcome.check(scenario, self.parameters)
        for number, analysis in enumerate(self.analyses):
            with at_entry("analyses", number):
                analysis.check([outcome.name for outcome in self.outcomes], self.factors)
        self._check_columns()
        with at_entry("analysis_plan"):
            self._check_analysis_plan()
        if self.replicates < 2 and not self.design.sampled:
            with at_entry("replicates"):
                raise UsageError(
                    "one replicate shows no effect: there is nothing to tell it from chance.",
                    "Use two or more; twenty are usual.",
                )
        with at_entry("model"):
            open_model(self.model)
        with at_entry("decider"):
            _check_names("decider", [self.decider], DECIDERS)

    def _check_columns(self) -> None:
        columns = [*self.factors, *(outcome.name for outcome in self.outcomes)]
        for column, name in enumerate(columns):
            factor = column < len(self.factors)
            with at_entry(*(("factors", name) if factor else ("outcomes", column - len(self.factors)))):
                if name in columns[:column]:
                    raise UsageError(f"{name!r} is declared twice among factors and outcomes.")
                if name in RESERVED:
                    raise UsageError(
                        f"{name!r} is a column of every table of results.", "Give the factor or outcome another name."
                    )

    def _check_analysis_plan(self) -> None:
        if self.analysis_plan is not None:
            levels = {name: [level_text(level) for level in factor.names] for name, factor in self.factors.items()}
            names = [outcome.name for outcome in self.outcomes]
            self.analysis_plan.check(names, levels, [arm.name for arm in self.arms()])


class RecordedPlan(ExperimentPlan):
    """The plan in the folder of an experiment: it was checked before its first run, and reading it imports nothing."""

    def _check(self) -> None:
        """Check nothing that needs the code of the scenario."""


RESERVED = frozenset(
    "arm replicate seed status failure steps decisions calls reused tokens cost currency run".split()
    + "n mean low high effect p".split()
)
"""Columns of the tables of results."""


def _check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)


def _usage_error(error: pydantic.ValidationError) -> UsageError:
    """A validation error in words, with the nearest name for an unknown key."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    parts: dict[Any, type[pydantic.BaseModel]] = {"design": Design, "stop": StoppingRule, "outcomes": Outcome}
    parts |= {"analyses": Analysis, "analysis_plan": AnalysisPlan}
    part = parts.get(first["loc"][0]) if first["type"] == "extra_forbidden" else None
    if part is not None:
        return UnknownNameError(f"key of {first['loc'][0]}", str(first["loc"][-1]), part.model_fields)
    if first["type"] == "too_short":
        return ParameterError(f"an experiment needs at least one {where.removesuffix('s')}.")
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        return ParameterError(
            f"the experiment lacks {where!r}.",
            "Every experiment has scenario, factors and outcomes, and a name where it is not read from a file.",
        )
    return ParameterError(f"the experiment's {where} = {first['input']!r}: {message[:1].lower()}{message[1:]}.")
