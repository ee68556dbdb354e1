"""Blocks of a report as one HTML page and as Markdown, through the templates in `templates/`."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import jinja2

from populace.experiments.reports.blocks import Block
from populace.experiments.validation.card import MARKS


def html_page(title: str, lead: Sequence[Block], summary: Sequence[Block], body: Sequence[Block]) -> str:
    """A whole page that needs no other file.

    Args:
        title: The title of the page.
        lead: What comes first.
        summary: The box below it.
        body: The rest.
    """
    template = _templates().get_template("report.html.j2")
    return template.render(title=title, lead=lead, summary=summary, body=body)


def markdown_text(blocks: Sequence[Block], figures: str) -> str:
    """Blocks as Markdown.

    Args:
        blocks: The blocks.
        figures: The folder of the image files, relative to the Markdown file.
    """
    text = _templates().get_template("report.md.j2").render(blocks=blocks, figures=figures)
    return text.rstrip("\n") + "\n"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in a table too; white space is collapsed.

    Example:
        >>> escape_markdown("a|b <i>")
        'a\\\\|b &lt;i&gt;'
    """
    one_line = " ".join(text.split())
    one_line = re.sub(r"[\\`*\[\]|#]|(?<!\w)_|_(?!\w)", r"\\\g<0>", one_line)
    return one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("populace.experiments.reports"),
        autoescape=lambda name: name is None or ".html" in name,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = escape_markdown
    environment.globals["marks"] = MARKS
    return environment
