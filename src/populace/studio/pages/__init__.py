"""The pages, one module each."""

from __future__ import annotations

from collections.abc import Callable

from populace.studio.pages import compare, experiment, feedback, home
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (
    home.register,
    compare.register,
    experiment.register,
    feedback.register,
)
"""What makes each page known."""
