"""A report as one HTML page and as Markdown, through the templates in `templates/`."""

import functools
import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from populace.base.foreign import for_file_name, for_markdown, for_page
from populace.experiments.reports.blocks import Block, Figure, Heading
from populace.experiments.reports.figures import standalone_svg
from populace.experiments.validation import ValidityCard
from populace.experiments.validation.card import MARKS
from populace.journal.segments import writing


@dataclass(frozen=True)
class ReportDocument:
    """A report for a reader who did not take part. The same results give the same text, byte for byte.

    Attributes:
        name: The name of what it reports.
        lead: What comes first.
        summary: The findings in short.
        body: The rest.
    """

    name: str
    lead: tuple[Block, ...]
    summary: tuple[Block, ...]
    body: tuple[Block, ...]

    @property
    def stem(self) -> str:
        """The names of the files, without their endings."""
        return for_file_name(self.name)

    @property
    def html(self) -> str:
        """One page that needs no other file and loads nothing."""
        template = _templates().get_template("report.html.j2")
        return template.render(title=self.name, lead=self.lead, summary=self.summary, body=self.body)

    @property
    def markdown(self) -> str:
        """The report as Markdown; its images are files in a folder beside it."""
        blocks = [*self.lead, Heading("In short"), *self.summary, *self.body]
        template = _templates().get_template("report.md.j2")
        return template.render(blocks=blocks, figures=f"{self.stem}-figures").rstrip("\n") + "\n"

    def write(self, to: str | Path, figures: Mapping[str, Any] | None = None) -> list[Path]:
        """Write page, Markdown and images into a folder; returns the files, the page first.

        Args:
            to: The folder.
            figures: The figures of the report, for other programs: the last file, as JSON.
        """
        folder = Path(to)
        files = {f"{self.stem}.html": self.html, f"{self.stem}.md": self.markdown}
        for block in self.body:
            if isinstance(block, Figure):
                files[f"{self.stem}-figures/{block.file_name}"] = standalone_svg(block.svg) + "\n"
        if figures is not None:
            files[f"{self.stem}.json"] = json.dumps(dict(figures), indent=2, ensure_ascii=False) + "\n"
        for name, text in files.items():
            path = folder / name
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return [folder / name for name in files]


@dataclass(frozen=True)
class Report(ReportDocument):
    """The report of an experiment or a run.

    Attributes:
        card: The validity card.
    """

    card: ValidityCard


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("populace.experiments.reports"),
        autoescape=lambda name: name is None or ".html" in name,
        finalize=for_page,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": for_markdown, "address": urllib.parse.quote}
    environment.globals["marks"] = MARKS
    return environment
