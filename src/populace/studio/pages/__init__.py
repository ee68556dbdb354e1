"""The pages, one module each."""

from __future__ import annotations

from collections.abc import Callable

from populace.studio.pages import decision, home, person
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, person.register, decision.register)
"""What makes each page known."""
