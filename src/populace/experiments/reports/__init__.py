"""Reports of experiments and runs, as one HTML page and as Markdown."""

from populace.experiments.reports.document import Report, report

__all__ = ["Report", "report"]
