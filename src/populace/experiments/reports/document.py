"""A report, and where it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from populace.experiments.reports.blocks import Block, Figure, Heading
from populace.experiments.reports.figures import standalone_svg
from populace.experiments.reports.rendering import html_page, markdown_text
from populace.experiments.validation import ValidityCard
from populace.journal.segments import writing


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
