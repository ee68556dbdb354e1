"""The pages, one module each."""

from __future__ import annotations

from collections.abc import Callable

from populace.studio.pages import fork, home, new_run
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, new_run.register, fork.register)
from populace.studio.pages import home, run
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, run.register)
from populace.studio.pages import decision, home, person
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, person.register, decision.register)
from populace.studio.pages import compare, experiment, feedback, home
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (
    home.register,
    compare.register,
    experiment.register,
    feedback.register,
)
from populace.studio.pages import home, town
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, town.register)
from populace.studio.pages import discern, forum, home, whatif
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, forum.register, whatif.register, discern.register)
"""What makes each page known."""
