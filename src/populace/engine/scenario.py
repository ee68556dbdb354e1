"""The base class of scenarios: parameters, setup, step and metrics.

A scenario holds the mechanics, ordinary code over tables. Everything that a person decides goes
through `ask`; everything random through `self.rng`; time is `self.now`. That is all that it takes
for a run to repeat.
"""

import hashlib
import inspect
import re
import sys
import typing
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
import polars as pl
import pydantic

from populace.base.errors import ScenarioError
from populace.base.formatting import compact_json
from populace.base.randomness import stream
from populace.base.templates import Template
from populace.engine.ask_arguments import check_question, people_asked
from populace.engine.metrics import MARK, metric
from populace.engine.parameters import Field, fields_from_parameters, parameter_model, read_parameters, refuse_values
from populace.engine.report_table import ReportTable
from populace.engine.scopes import PendingEach, PendingQuestion, Scope, must_be_awaited
from populace.engine.stage import Event, Stage
from populace.journal import OnFailure
from populace.minds import Mind
from populace.models import Embedder
from populace.people import Id, People, Person
from populace.people.columns import to_column
from populace.prompting import Inquiry, Invalid, Rule, Situation
from populace.prompting.memories import with_memories
from populace.questions import Answers, Question
from populace.runs.reader import RunReader

__all__ = ["Field", "ReportTable", "Scenario", "metric"]

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Scenario:
    """Base of every scenario.

    Annotated attributes are parameters, with `Field` for bounds and help. A subclass defines `setup`
    and `step`, and may define `profile`, `length`, `stop` and metrics.

    Example:
        >>> class Waiting(Scenario):
        ...     "People wait."
        ...     days: int = Field(3, ge=1, description="How long.")
        ...     def setup(self): return People.named(2)
        ...     async def step(self): pass
        ...     def length(self): return self.days
        >>> Waiting(days=5).days
        5
    """

    start: ClassVar[datetime] = datetime(2026, 1, 5, 8)
    """The simulated time of the beginning."""
    tick: ClassVar[timedelta] = timedelta(days=1)
    """The simulated time that a step takes."""
    invalid: ClassVar[Invalid] = "keep"
    """What becomes of a person whose answer is invalid: nothing changes, it is drawn anew, or the run stops."""
    on_failure: ClassVar[OnFailure] = "stop"
    """What happens where the service of a model fails: the run stops and can be resumed, or the failure is recorded."""
    chart: ClassVar[tuple[str, ...]] = ()
    """The metrics to draw; all of them by default."""

    _stage: Stage | None = None
    _mind: Mind | None = None

    def __init__(self, *values: Any, **parameters: Any) -> None:
        refuse_values(type(self), values, self.parameter_model)
        for name, value in self._validate(parameters).items():
            object.__setattr__(self, name, value)

    def setup(self) -> People | Awaitable[People]:
        """The people at the beginning of the run; `setup` may be a coroutine that asks questions."""
        raise ScenarioError(
            f"{type(self).__name__} defines no setup.", "Write: def setup(self): … and return the People."
        )

    async def step(self) -> None:
        """What happens in one step."""
        raise ScenarioError(f"{type(self).__name__} defines no step.", "Write: async def step(self):")

    def profile(self) -> str:
        """Who a person is, as a template over the columns of the population."""
        return "You are {name}." if "name" in self.people else ""

    @property
    def mind(self) -> Mind:
        """What people bring to a question: a profile, and the parts that `setup` gave it, if it made one."""
        return self._mind or Mind(self.profile())

    @mind.setter
    def mind(self, mind: Mind) -> None:
        self._mind = mind

    def length(self) -> int | None:
        """How many steps the run takes at most; None goes on until `stop`."""
        steps = getattr(self, "steps", None)
        return steps if isinstance(steps, int) else None

    def stop(self) -> str | None:
        """Why the run should end now, or None to go on; asked after every step."""
        return None

    def view(self) -> list[str]:
        """A few lines that the terminal shows while the run goes, after every step."""
        return []

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """What to show at the end of a run beside its metrics."""
        return []

    @classmethod
    def pictures(cls, run: RunReader, folder: Path) -> list[Path]:
        """Draw pictures of a run into a folder, beside the chart of its metrics."""
        return []

    @property
    def people(self) -> People:
        """The population as it is now."""
        return self.stage.people

    @people.setter
    def people(self, people: People) -> None:
        raise ScenarioError(
            "self.people was replaced, which a scenario cannot do.",
            'In setup write: return people. In a step change a column: self.people["…"] = …',
        )

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers that belong to this place in the run, whatever runs beside it."""
        path, rngs = self.stage.driver.here().path, self.stage.rngs
        if path not in rngs:
            rngs[path] = stream(self.stage.settings.seed, f"{path}/rng")
        return rngs[path]

    @property
    def t(self) -> int:
        """The number of the step: 0 in setup, 1 in the first step."""
        return self.stage.step

    @property
    def now(self) -> datetime:
        """Simulated time."""
        return self.start + self.tick * self.stage.step

    @property
    def seconds(self) -> int:
        """Simulated time in seconds since the beginning, the time of memories."""
        return int((self.now - self.start).total_seconds())

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Tables of the world; whatever is put here is recorded with the step that put it."""
        return self.stage.tables

    @must_be_awaited
    async def ask(
        self,
        people: People | Person | Iterable[Person],
        question: Question,
        *,
        given: str = "",
        rule: Rule | None = None,
        invalid: Invalid | None = None,
        temperature: float | None = None,
        purpose: str = "decision",
        profile: str | None = None,
        about: str | Sequence[str] | pl.Series | None = "",
        **fields: Any,
    ) -> Answers:
        """Put a question to people.

        Everybody asked in one `ask` sees the same state. People who would be told exactly the same
        are asked once.

        Args:
            people: Who is asked.
            question: What.
            given: What they are told before it, with fields from `fields`, from the columns of the population, or from
                the parameters of the scenario.
            rule: A rule that can stand in for the model: from people to a value for each.
            invalid: What becomes of invalid answers, where that differs from the scenario's own way.
            temperature: Where it differs from the run's.
            purpose: What the calls are counted under.
            profile: Who they are, where the scenario's own profile does not say it, as in `setup`.
            about: What comes to their minds, for people with a memory: what they think of, one text for all or one for
                each. By default it is what they are told and asked; with None they recall nothing.
            **fields: Values for fields: one for all, or one for each person. A `Recollection` shows each person
                memories in the place of those that would come to mind. Memories are recorded with the answers.

        Returns:
            The answers, aligned with the people asked.
        """
        stage = self.stage
        settings = stage.settings
        people = people_asked(people, stage.people if stage.has_people else None)
        check_question(question, given)
        mind = self.mind if profile is None else Mind(profile)
        fields |= self.parameter_fields(mind, people, question, given, fields)
        situation = Situation.from_fields(question, given, fields, people.ids)
        if mind.memory is not None:
            situation = with_memories(situation, mind, people, about=about, now=self.seconds, purpose=purpose)
        inquiry = Inquiry(
            path=stage.driver.here().next(),
            people=people,
            mind=mind,
            situation=situation,
            seed=settings.seed,
            temperature=settings.temperature if temperature is None else temperature,
            model=settings.model,
            decider=settings.decider,
            rule=rule,
            invalid=invalid or self.invalid,
            on_failure=settings.on_failure or "stop",
            purpose=purpose,
        )
        answers: Answers = await PendingQuestion(inquiry)
        return answers

    @must_be_awaited
    async def each(
        self, items: Iterable[ItemT], body: Callable[[ItemT], Coroutine[Any, Any, ResultT]]
    ) -> list[ResultT]:
        """Run a coroutine for each item, side by side, each in a scope of its own.

        Args:
            items: People, or anything else; people give their scope their id.
            body: What to do with one item.

        Returns:
            What each returned, in the order of the items.
        """
        path = self.stage.driver.here().next()
        everything = list(items)
        if not callable(body):
            hint = "Write: await self.each(self.people, self.method), without parentheses after the method."
            raise ScenarioError("the second argument of each is not a function.", hint)
        keys = [item.id if isinstance(item, Person) else place for place, item in enumerate(everything)]
        bodies = [(Scope(path, key=key), body(item)) for key, item in zip(keys, everything, strict=True)]
        if any(not isinstance(coroutine, Coroutine) for _, coroutine in bodies):
            name = getattr(body, "__name__", "the function")
            raise ScenarioError(f"each was given {name}, which is not asynchronous.", f"Write: async def {name}(…):")
        results: list[ResultT] = await PendingEach(bodies)
        return results

    @must_be_awaited
    async def remember(
        self,
        people: People | Person | Iterable[Person],
        text: str | Sequence[str] | pl.Series,
        *,
        kind: str = "observation",
        importance: float | None = None,
    ) -> None:
        """Let people remember something; in a scenario without a memory nothing happens.

        Args:
            people: Who remembers it.
            text: What, in words to the person: one text for all, or one for each.
            kind: What kind of memory it is, such as `deed`, `speech`, `hearing` or `observation`.
            importance: From 1 to 10; rated in the memory's own way if left out.
        """
        ids = people_asked(people, self.stage.people).ids
        texts = to_column("text", text, ids, "the text to remember", ScenarioError)
        lines = texts.to_list() if isinstance(texts, pl.Series) else [texts] * ids.len()
        await self.mind.remember(self, ids.to_list(), lines, kind=kind, now=self.seconds, importance=importance)

    def reflecting(self) -> Sequence[Id]:
        """The ids of the people who may reflect at the end of a step; everybody by default."""
        return self.people.ids.to_list()

    def present_moment(self, people: People) -> Sequence[str]:
        """When and where an interview finds people, in a sentence for each of them; nothing by default."""
        return ()

    async def finish_minds(self) -> None:
        """Let people reflect and forget at the end of a step, and record what they stored and recalled."""
        mind = self._mind
        if mind is not None and mind.memory is not None:
            self.tables.update(await mind.finish_step(self, self.reflecting(), self.seconds))

    def parameter_fields(
        self, mind: Mind, people: People, question: Question, given: str, fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The parameters that a prompt names in braces and that neither a field nor a column fills."""
        templates = {"the profile": mind.profile, "given": Template(given), "the question": question.template}
        parameters = self.parameter_model().model_fields
        return fields_from_parameters(templates, parameters, people.columns, fields, lambda name: getattr(self, name))

    def open_embedder(self, spec: str) -> Embedder:
        """The embedder that a string names, such as `minilm`, opened with the settings of this run."""
        return self.stage.session.embedder(spec)

    def event(self, kind: str, person: Person | Id | None = None, **data: Any) -> None:
        """Record that something happened, to one person or to none in particular."""
        who = person.id if isinstance(person, Person) else person
        self.stage.events.append(Event(who, kind, compact_json(data)))

    def events(self, kind: str, people: People | pl.Series, **data: Any) -> None:
        """Record that something happened to several people, with a value or a column for each detail."""
        ids = people.ids if isinstance(people, People) else people
        if not ids.len():
            return
        details = pl.DataFrame({"person": ids.alias("person")}).with_columns(
            **{name: pl.lit(v) if np.isscalar(v) else pl.Series(v) for name, v in data.items()}
        )
        details_json = pl.struct(pl.exclude("person")).struct.json_encode() if data else pl.lit("{}")
        self.stage.events.append(details.select("person", kind=pl.lit(kind), data=details_json))

    @property
    def stage(self) -> Stage:
        """The state of the simulation while it runs: settings, session, people, tables and events."""
        if self._stage is None:
            raise ScenarioError(
                f"{type(self).__name__} is not running, so it has no people, time or random numbers.",
                "Run it with pc.simulate(scenario) or `populace run`.",
            )
        return self._stage

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters and their values, as plain data."""
        model = self.parameter_model()
        values = model.model_validate({name: getattr(self, name) for name in model.model_fields})
        return values.model_dump(mode="json")

    def change(self, parameters: Mapping[str, Any]) -> None:
        """Set parameters to new values, checked like the first."""
        current = {name: getattr(self, name) for name in self.parameter_model().model_fields}
        for name, value in self._validate({**current, **parameters}).items():
            object.__setattr__(self, name, value)

    @classmethod
    def parameter_model(cls) -> type[pydantic.BaseModel]:
        """The parameters as a pydantic model: names, types, defaults, bounds and help."""
        model = cls.__dict__.get("_parameter_model")
        if model is None:
            model = parameter_model(cls, _RESERVED)
            cls._parameter_model = model
        return typing.cast(type[pydantic.BaseModel], model)

    @classmethod
    def metrics(cls) -> dict[str, Callable[[Any], Any]]:
        """The metrics by name, in the order in which they are defined."""
        metrics: dict[str, Callable[[Any], Any]] = {}
        for base in reversed(cls.__mro__):
            metrics |= {name: f for name, f in vars(base).items() if getattr(f, MARK, False)}
        return metrics

    def own_metrics(self) -> dict[str, Callable[[Any], Any]]:
        """The metrics of this scenario with its parameters: those of its class, unless parameters bring more."""
        return self.metrics()

    @classmethod
    def title(cls) -> str:
        """The name of the scenario as it stands in run names: the class name in lower case, with hyphens."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()

    @classmethod
    def summary(cls) -> str:
        """The first sentence of the docstring."""
        return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")

    @classmethod
    def source_hash(cls) -> str:
        """A hash of the file that defines the scenario, to know whether it changed since a recording."""
        try:
            text = Path(inspect.getfile(cls)).read_bytes()
        except (OSError, TypeError):
            text = cls.__qualname__.encode()
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    _parameter_model: ClassVar[type[pydantic.BaseModel] | None] = None

    @classmethod
    def _validate(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        module = sys.modules.get(cls.__module__)
        file, shipped = getattr(module, "__file__", None), cls.__module__.startswith("populace.scenarios.")
        name = cls.title() if shipped else f"{file}:{cls.__qualname__}" if file else None
        hint = f"`populace run {name} --help` shows the bounds." if name else "Its Field(…) holds the bounds."
        return read_parameters(cls.parameter_model(), parameters, cls.title(), hint)


_RESERVED = frozenset(name for name in dir(Scenario) if not name.startswith("_"))
