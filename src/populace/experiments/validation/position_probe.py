"""A probe of position bias for runs that show options in one order: the first question, asked in every order."""

from dataclasses import replace

import numpy as np
import polars as pl

from populace.base.errors import PopulaceError
from populace.engine.discovery import recorded_scenario
from populace.engine.session import Session
from populace.engine.workspace import Workspace
from populace.experiments.evidence import distribution_matrix, place_effect, scored_prompts
from populace.experiments.results import Results
from populace.experiments.validation.card import Check
from populace.experiments.validation.checks import position_verdict, unmeasured_check
from populace.experiments.validation.judgement import Observation, worst
from populace.models import model_code
from populace.questions import Finite
from populace.runs.reader import RunReader
from populace.tools.probe import first_inquiry

_MAX_PEOPLE = 30


def probe_position_bias(subject: RunReader | Results) -> Check:
    """Ask the first question again with options in every order; calls go through the call store."""
    name = "position bias"
    if isinstance(subject, Results):
        arm = next(arm for arm in subject.folder.arms if arm.decider == "model")
        scenario, parameters, model = arm.scenario, arm.parameters, arm.model
        seed, workspace = subject.experiment.seed_of(0, arm), Workspace(subject.folder.path.parent.parent)
    else:
        regime = subject.manifest.regimes[0]
        scenario, parameters, model = subject.manifest.scenario, regime.parameters, regime.model
        seed, workspace = regime.seed, Workspace.of(subject.journal)

    session = Session(workspace.store())

    async def ask() -> Check:
        workspace.trusted.require(model_code(model), subject.name)
        known = recorded_scenario(scenario, workspace.trusted, subject.name)
        inquiry = await first_inquiry(known, dict(parameters), {}, seed, session)
        question = inquiry.question
        if not isinstance(question, Finite):
            return unmeasured_check(name, f"The first question, {question.text!r}, has no fixed options to reorder.")
        if len(inquiry.people) > _MAX_PEOPLE:
            inquiry = inquiry.for_rows(np.arange(_MAX_PEOPLE))
        rotated = replace(question, order="rotate", reason=False)
        situation = replace(inquiry.situation, question=rotated)
        decided = await session.decide(replace(inquiry, situation=situation, model=model, decider="model"))
        return _position_check(decided.prompts, session.usage.calls)

    try:
        return session.finish(ask())
    except PopulaceError as error:
        return unmeasured_check(name, f"The probe could not be made: {error.what}")


def _position_check(prompts: pl.DataFrame, calls: int) -> Check:
    """The change in an option's probability when it is shown first, over all prompts and orders."""
    known, effect = scored_prompts(prompts), None
    if known.height:
        each = distribution_matrix(known["probabilities"])
        effect = place_effect(each, known["arrangement"], np.ones(known.height), known["system"])
    if effect is None:
        why = "The model gives no distributions, so a probe of one question shows nothing."
        return unmeasured_check("position bias", why)
    people = int(effect["people"])
    shift = worst([Observation(0, effect["shift"], known.height, effect["error"], people)], ["probe"], abs)
    reason = f"What an option of the first question gains by being shown first; probed with {calls:,} further calls."
    return position_verdict(shift, reason)
