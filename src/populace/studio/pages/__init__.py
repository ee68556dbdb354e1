"""The pages, one module each."""

from __future__ import annotations

from collections.abc import Callable

from populace.studio.pages import (
    compare,
    decision,
    discern,
    experiment,
    feedback,
    fork,
    forum,
    home,
    new_run,
    person,
    run,
    town,
    whatif,
)
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (
    home.register,
    new_run.register,
    run.register,
    person.register,
    decision.register,
    fork.register,
    compare.register,
    experiment.register,
    town.register,
    forum.register,
    whatif.register,
    discern.register,
    feedback.register,
)
"""What makes each page known."""
