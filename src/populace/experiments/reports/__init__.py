"""Reports: one page, and the same as Markdown, for somebody who was not there."""

from populace.experiments.reports.document import Report, report

__all__ = ["Report", "report"]
