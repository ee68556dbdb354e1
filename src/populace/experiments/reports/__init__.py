"""Reports of experiments and runs, as one HTML page and as Markdown."""

from collections.abc import Sequence

from populace.engine.report_table import ReportTable
from populace.experiments.reports.document import Report
from populace.experiments.reports.experiment_report import experiment_report
from populace.experiments.reports.run_report import run_report
from populace.experiments.results import Results
from populace.experiments.validation import validity
from populace.experiments.validation.external_checks import Reference
from populace.runs.reader import RunReader

__all__ = ["Report", "report"]


def report(
    subject: RunReader | Results,
    *,
    reference: Reference | None = None,
    probe: bool = False,
    findings: Sequence[ReportTable] = (),
) -> Report:
    """The report of an experiment or of a single run.

    Args:
        subject: The results of an experiment, or a run.
        reference: Target shares of answers, for the validity card.
        probe: Let the validity card ask the first question in other orders, if the runs cannot show position bias.
        findings: Further tables for the report of a run, such as the crosstabs of a survey.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=4, days=2), decider="rule", seed=1, keep="nothing")
        >>> "Validity" in report(run).html
        True
    """
    card = validity(subject, reference=reference, probe=probe)
    return experiment_report(subject, card) if isinstance(subject, Results) else run_report(subject, card, findings)
