"""The pages, one module each."""

from __future__ import annotations

from collections.abc import Callable

from populace.studio.pages import discern, forum, home, whatif
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register, forum.register, whatif.register, discern.register)
"""What makes each page known."""
