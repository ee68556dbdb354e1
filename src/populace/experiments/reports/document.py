"""A report, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from populace.experiments.reports.blocks import Block, Figure, Heading
from populace.experiments.reports.experiment_report import experiment_report
from populace.experiments.reports.figures import standalone_svg
from populace.experiments.reports.rendering import html_page, markdown_text
from populace.experiments.reports.run_report import run_report
from populace.experiments.results import Results
from populace.experiments.validation import ValidityCard, validity
from populace.experiments.validation.external_checks import Reference
from populace.journal.segments import writing
from populace.runs.reader import RunReader


@dataclass(frozen=True)
class Report:
    """The report of an experiment or a run, for a reader who did not take part.

    The same results give the same text, byte for byte.

    Attributes:
        name: The name of the experiment or run, and of the files.
        lead: What comes first.
        summary: The findings in short.
        body: The rest.
        card: The validity card.
    """

    name: str
    lead: tuple[Block, ...]
    summary: tuple[Block, ...]
    body: tuple[Block, ...]
    card: ValidityCard

    @property
    def html(self) -> str:
        """One page that needs no other file and loads nothing."""
        return html_page(self.name, self.lead, self.summary, self.body)

    @property
    def markdown(self) -> str:
        """The report as Markdown; its images are files in a folder beside it."""
        blocks = [*self.lead, Heading("In short"), *self.summary, *self.body]
        return markdown_text(blocks, f"{self.name}-figures")

    def write(self, to: str | Path) -> list[Path]:
        """Write page, Markdown and images into a folder; returns the files, the page first."""
        folder = Path(to)
        files = {f"{self.name}.html": self.html, f"{self.name}.md": self.markdown}
        for block in self.body:
            if isinstance(block, Figure):
                files[f"{self.name}-figures/{block.name}.svg"] = standalone_svg(block.svg) + "\n"
        for name, text in files.items():
            path = folder / name
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return [folder / name for name in files]


def report(subject: RunReader | Results, *, reference: Reference | None = None, probe: bool = False) -> Report:
    """The report of an experiment or of a single run.

    Args:
        subject: The results of an experiment, or a run.
        reference: Target shares of answers, for the validity card.
        probe: Let the validity card ask the first question in other orders, if the runs cannot show position bias.

    Example:
        >>> from populace import simulate
        >>> from populace.scenarios.norms import Norms
        >>> run = simulate(Norms(workers=4, days=2), decider="rule", seed=1, keep="nothing")
        >>> "Validity" in report(run).html
        True
    """
    card = validity(subject, reference=reference, probe=probe)
    parts = experiment_report(subject, card) if isinstance(subject, Results) else run_report(subject, card)
    return Report(parts.name, parts.lead, parts.summary, parts.body, card)
