"""The pages, one module each."""

from __future__ import annotations

from collections.abc import Callable

from populace.studio.pages import home
from populace.studio.studio import Studio

PAGES: tuple[Callable[[Studio], None], ...] = (home.register,)
"""What makes each page known."""
