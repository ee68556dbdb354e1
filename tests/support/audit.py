"""Sizes of tests that repeat one thing many times: small in `make test`, in full in `make audit`."""

from __future__ import annotations

import os

IN_FULL = os.environ.get("POPULACE_AUDIT") == "1"
"""Whether this is an audit, which has hours and not minutes."""


def size(usual: int, in_full: int) -> int:
    """How many times to do something."""
    return in_full if IN_FULL else usual
