"""A training plan: what is learned from what, who and what is held out, and what may be done with the data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import pydantic

from populace.training.plan_file import read_plan
from populace.training.situations import SituationKind
from populace.training.supervised_settings import SupervisedSettings
from populace.training.unfamiliar import FLATTENING, Asked


class GeneratedSessions(pydantic.BaseModel):
    """Web sessions of people with known preferences in made-up shops; see `generate_sessions`.

    Attributes:
        people: How many people.
        shops: How many shops.
        visits: How many shops each person visits.
        seed: The seed of everything that is drawn.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    people: int = pydantic.Field(ge=1, le=1_000_000)
    shops: int = pydantic.Field(default=5, ge=1, le=10_000)
    visits: int = pydantic.Field(default=2, ge=1, le=10_000)
    seed: int = 0


def _session_kind(value: object) -> str:
    return "generated" if isinstance(value, (Mapping, GeneratedSessions)) else "log"


SessionsOfPlan = Annotated[
    Annotated[Path, pydantic.Tag("log")] | Annotated[GeneratedSessions, pydantic.Tag("generated")],
    pydantic.Discriminator(_session_kind),
]
"""A log of web sessions, or what is made up."""


class DataPart(pydantic.BaseModel):
    """Data that is learned from: human decisions, made-up situations, web sessions, recorded runs, or feedback.

    Attributes:
        decisions: A folder with human decisions, as `HumanDecisions.read` takes it.
        situations: In place of it, how many parts of made-up situations.
        kinds: Which kinds of made-up situations, such as `others`; all by default.
        unfamiliar: In place of both, how many parts of made-up questions without an answer, to which the model keeps to
            what the base says, or prefers no option; see `populace.training.unfamiliar`.
        asked: How unfamiliar questions are asked: as in everyday life, as in the surveys of the plan's decisions, or
            put together from the plan's questions; see `populace.training.recombined_questions`.
        keeps_to: What is the target of unfamiliar questions: the distribution of the `base`, flattened, or a `uniform`
            one.
        flattening: The temperature at which the distribution of the base is the target.
        sessions: In place of both, a log of web sessions, as `WebSessions.read` takes it, or what is made up.
        reasoning: Whether the thoughts in sessions are learned: `none`, `recorded`, or one of the controls `hidden` and
            `shuffled`; see `SessionSource`.
        runs: In place of these, the folder of a recorded run, or of several: what its model answered is learned.
        feedback: In place of these, the folder `feedback` of a workspace: rewritten answers and good ones are learned.
        licence: The licence of a log of sessions, of runs or of feedback, which have no place for it.
        families: Only tasks of these families.
        topics: Only tasks with one of these topics.
        except_topics: No tasks with one of these topics.
        retested: Only tasks in which some people were asked twice (true), or only the others (false); all by default.
        expected: How much of a target is what people like the person are expected to answer, from 0 to 1, in place of
            what the person answered; see `expected_answers`.
        smoothing: How much of a target is spread evenly over all options, from 0 to 1, so that the model is never sure.
        least: Tasks with fewer situations are repeated within a pass, in other forms, a whole number of times, so that
            they have about so many.
        passes: How often it is gone through; the last pass may be in part.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    decisions: Path | None = None
    situations: int = pydantic.Field(default=0, ge=0, le=100_000)
    kinds: tuple[SituationKind, ...] = ()
    unfamiliar: int = pydantic.Field(default=0, ge=0, le=10_000)
    asked: Asked = "everyday"
    keeps_to: Literal["base", "uniform"] = "base"
    flattening: float = pydantic.Field(default=FLATTENING, ge=1, le=100)
    sessions: SessionsOfPlan | None = None
    reasoning: Literal["none", "hidden", "recorded", "shuffled"] = "none"
    runs: Path | None = None
    feedback: Path | None = None
    licence: str = ""
    families: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    except_topics: tuple[str, ...] = ()
    retested: bool | None = None
    expected: float = pydantic.Field(default=0.0, ge=0, le=1)
    smoothing: float = pydantic.Field(default=0.0, ge=0, lt=1)
    least: int = pydantic.Field(default=0, ge=0, le=1_000_000)
    passes: float = pydantic.Field(default=1.0, gt=0, le=1000)

    @pydantic.model_validator(mode="after")
    def _one_kind(self) -> DataPart:
        folders = (self.decisions, self.sessions, self.runs, self.feedback)
        if sum(each is not None for each in folders) + (self.situations > 0) + (self.unfamiliar > 0) != 1:
            raise ValueError(
                "give either `decisions`, a folder, or `situations` or `unfamiliar`, a number of parts, or one of "
                "`sessions`, `runs` and `feedback`"
            )
        if self.decisions is None and (self.families or self.topics or self.except_topics):
            raise ValueError("`families` and `topics` choose among decisions")
        if self.decisions is None and (self.expected or self.smoothing or self.least or self.retested is not None):
            raise ValueError("`expected`, `smoothing`, `least` and `retested` belong to `decisions`")
        if not self.unfamiliar and (self.asked, self.keeps_to, self.flattening) != ("everyday", "base", FLATTENING):
            raise ValueError("`asked`, `keeps_to` and `flattening` belong to `unfamiliar`")
        if self.keeps_to == "uniform" and self.flattening != FLATTENING:
            raise ValueError("a `uniform` distribution cannot be flattened")
        if not self.situations and self.kinds:
            raise ValueError("`kinds` choose among `situations`")
        if self.sessions is None and self.reasoning != "none":
            raise ValueError("`reasoning` belongs to `sessions`")
        if not self.licence and (isinstance(self.sessions, Path) or self.runs or self.feedback):
            raise ValueError("a log of sessions, runs and feedback need their `licence`")
        if self.licence and (self.decisions is not None or self.situations or self.unfamiliar):
            raise ValueError("decisions say their own licence")
        return self

    @property
    def recorded(self) -> bool:
        """Whether answers are learned that were recorded: of a model, or of raters."""
        return self.runs is not None or self.feedback is not None


class HeldOut(pydantic.BaseModel):
    """What is never learned from, besides a tenth of the people for the test and a tenth for looks on the way.

    Attributes:
        tasks: Whole tasks.
        topics: Whole topics: every task that has one of them.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    tasks: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


class TrainingPlan(pydantic.BaseModel):
    """A plan, usually a YAML file.

    Attributes:
        name: The name of the adapter.
        base: The model that is trained: `embedded`, a GGUF file, or a folder in the format of transformers.
        data: What is learned from.
        licences: The licences under which data may be used here; data under others is refused.
        held_out: What is never learned from.
        test: Another folder of human decisions to score on; its people must not be in training.
        start: An adapter to begin with: the name of one that ships, a file, or a folder as training writes it.
        settings: How to train.
        adapter_licence: The licence of the adapter.
        note: A sentence for its card.

    Example:
        >>> plan = TrainingPlan(name="mine", data=[{"situations": 2}], licences=["CC0-1.0"])
        >>> plan.kind
        'calibrated'
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str = pydantic.Field(pattern=r"^[a-z][a-z0-9-]{0,40}$")
    base: str = "embedded"
    data: tuple[DataPart, ...] = pydantic.Field(min_length=1)
    licences: tuple[str, ...] = pydantic.Field(min_length=1)
    held_out: HeldOut = HeldOut()
    test: Path | None = None
    start: str | None = None
    settings: SupervisedSettings = SupervisedSettings()
    adapter_licence: str = ""
    note: str = ""

    @pydantic.model_validator(mode="after")
    def _decisions_have_questions(self) -> TrainingPlan:
        for part in self.data:
            if part.asked != "everyday" and not any(each.decisions for each in self.data):
                raise ValueError(f"`asked: {part.asked}` needs `decisions` in the plan, whose questions it takes")
        return self

    @property
    def kind(self) -> Literal["human", "calibrated", "model", "judge"]:
        """Whether only people's decisions are learned, or assumptions, another model, or what raters prefer."""
        if any(part.runs for part in self.data):
            return "model"
        if any(part.feedback for part in self.data):
            return "judge"
        if self.situations or self.made_up_sessions:
            return "calibrated"
        learned = any(part.decisions or part.sessions for part in self.data)
        return "human" if learned else "model"  # What is left are questions that only the base answers.

    @property
    def situations(self) -> bool:
        """Whether made-up situations are learned."""
        return any(part.situations for part in self.data)

    @property
    def made_up_sessions(self) -> bool:
        """Whether made-up sessions are learned."""
        return any(isinstance(part.sessions, GeneratedSessions) for part in self.data)

    @classmethod
    def read(cls, path: str | Path) -> TrainingPlan:
        """A plan from a YAML file; folders in it are relative to the file.

        Raises:
            TrainingError: If the file cannot be read or a value is wrong; the text names it.
        """
        return read_plan(cls, path, name="a training plan", needs="name, data and licences")

    def located(self, folder: Path) -> TrainingPlan:
        """The plan with its files and folders taken from another folder, where they are relative."""

        def place(path: Path | None) -> Path | None:
            return None if path is None else folder / path.expanduser()

        def located(part: DataPart) -> DataPart:
            log = place(part.sessions) if isinstance(part.sessions, Path) else part.sessions
            folders = {name: place(getattr(part, name)) for name in ("decisions", "runs", "feedback")}
            return part.model_copy(update={**folders, "sessions": log})

        beside = None if self.start is None else folder / Path(self.start).expanduser()
        start = str(beside) if beside is not None and beside.exists() else self.start
        data = tuple(located(part) for part in self.data)
        base = self.base if self.base == "embedded" else str(folder / Path(self.base).expanduser())
        return self.model_copy(update={"base": base, "data": data, "test": place(self.test), "start": start})
