"""A run in which agents answer a survey, as the commands `survey`, `panel` and `tasks` begin it."""

from collections.abc import Mapping
from typing import Any

from populace.cli.options import current_workspace
from populace.cli.progress import fetch_missing_models
from populace.cli.running import resumable_run
from populace.cli.scenarios import report_estimate
from populace.engine.run import Run, simulate
from populace.surveys.scenario import SurveyScenario


def run_survey(scenario: SurveyScenario, options: Mapping[str, Any], *, only_estimate: bool) -> Run | None:
    """Run a survey and show its progress; with `only_estimate`, say what it would cost and return nothing."""
    if only_estimate:
        report_estimate(scenario, options["model"])
        return None
    fetch_missing_models(options["model"] if options["decider"] == "model" else "")
    with resumable_run() as display:
        return simulate(scenario, workspace=current_workspace(), observer=display, **options)
