"""A society as it was after a step of a run, for interviews, repeated decisions and forks.

Nothing that is done here may change the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from populace.broker import CallSettings
from populace.engine.ask_again import DecisionChanges, RepeatedDecision, ask_again
from populace.engine.interviews import Interview, ask_on_the_side, people_interviewed, record_interview
from populace.engine.replay import replay_to
from populace.engine.session import Session
from populace.engine.workspace import Workspace
from populace.journal import Journal
from populace.models import Model
from populace.people import Id, People
from populace.prompting import Inquiry, Situation
from populace.questions import Answers, Question

if TYPE_CHECKING:
    from populace.engine.run import Run


class Society:
    """The society of a run as it was after a step; `run.at(step)` gives one.

    Attributes:
        run: The run.
        step: The step after which it is seen.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=3, days=2), decider="rule", keep="nothing")
        >>> run.at(1).people.count()
        3
    """

    def __init__(self, run: Run, step: int) -> None:
        self.run = run
        self.step = step

    @property
    def people(self) -> People:
        """The population after the step."""
        return self.run.people(self.step)

    def interview(
        self,
        question: Question,
        *,
        people: Id | Sequence[Id] | None = None,
        given: str = "",
        model: str | Model | None = None,
        calls: CallSettings | None = None,
        about: str | Sequence[str] | None = "",
        kinds: Sequence[str] | None = None,
        **fields: Any,
    ) -> Answers:
        """Ask people a question that is not part of the run. The interview is kept beside the run, marked as such.

        People with a memory answer from what they remember, as in the run.

        Args:
            question: What to ask.
            people: Whom, by id or name, one person or several; everybody by default.
            given: What they are told before it.
            model: Who answers; the model of the run by default.
            calls: How models are called, and what may be spent.
            about: What they think of before they answer; by default what they are told and asked. With None they
                recall nothing.
            kinds: The kinds of memories that may come to mind, such as `["deed", "hearing"]`; all if left out.
            **fields: Values for fields.

        Example:
            >>> from populace import Choice, simulate
            >>> from populace.scenarios.norms import Norms
            >>> run = simulate(Norms(workers=3, days=2), model="scripted:first", keep="nothing")
            >>> run.at(1).interview(Choice("Do you like it?", options=("yes", "no")), people=[0]).values.to_list()
            ['yes']
        """
        run, regime = self.run, self.run.manifest.regime_at(self.step)
        spec = regime.model if model is None else model if isinstance(model, str) else model.spec
        path = f"interview/{self.step}/{len(run.interviews()) if isinstance(run.record, Journal) else 0}"
        session = self.session(model, calls)

        async def ask() -> Answers:
            simulation = await replay_to(run, self.step, session)
            some = people_interviewed(run, self.step, simulation.scenario.people, people)
            mind, situation = simulation.scenario.mind, Situation.from_fields(question, "", {}, some.ids)
            inquiry = Inquiry(path, some, mind, situation, regime.seed, regime.temperature, spec, purpose="interview")
            return await ask_on_the_side(simulation, session, inquiry, given, fields, about=about, kinds=kinds)

        answers = session.finish(ask())
        record_interview(run, self.step, question, given, spec, answers)
        return answers

    def conversation(
        self,
        person: Id,
        *,
        model: str | Model | None = None,
        calls: CallSettings | None = None,
        number: int | None = None,
    ) -> Interview:
        """A conversation of several turns with one person; see `Interview`."""
        return Interview(self, person, model=model, calls=calls, number=number)

    def ask_again(
        self,
        person: Id,
        *,
        path: str | None = None,
        changes: DecisionChanges | None = None,
        calls: CallSettings | None = None,
    ) -> RepeatedDecision:
        """Put the question of a recorded decision of this step once more, with something changed.

        Args:
            person: Who made the decision, by id or name.
            path: Which decision, where the person made several in the step.
            changes: What is different; nothing by default, which repeats the decision.
            calls: How models are called, and what may be spent.

        Example:
            >>> from populace import simulate
            >>> from populace.scenarios.norms import Norms
            >>> run = simulate(Norms(workers=3, days=1), model="scripted:first", keep="nothing")
            >>> repeated = run.at(1).ask_again(0, changes=DecisionChanges(order="reversed"))
            >>> repeated.recorded.value, repeated.repeated.value
            ('blue', 'green')
        """
        session = self.session(changes.model if changes else None, calls)
        return session.finish(ask_again(self.run, session, step=self.step, person=person, path=path, changes=changes))

    def fork(self, **settings: Any) -> Run:
        """A new run that shares everything up to this step and differs from the next step on; see `Run.fork`."""
        return self.run.fork(self.step + 1, **settings)

    def session(self, model: str | Model | None = None, calls: CallSettings | None = None) -> Session:
        """Access to models for what is asked outside of the run; replies are kept in the store of its workspace."""
        record = self.run.record
        store = Workspace.of(record).store() if isinstance(record, Journal) else None
        return Session(store, calls=calls, model=model, run=record)
