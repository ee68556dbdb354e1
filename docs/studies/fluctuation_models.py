"""Scripts for the study of fluctuation: how strongly people follow what the others wore.

The chance of blue is 0.5 + pull × (yesterday's share in blue − 0.5), between 0.02 and 0.98.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from populace.models import Request

COUNTS = re.compile(r"Yesterday (\d+) of the (\d+) people")


def _chance(request: Request, pull: float) -> Mapping[str, float]:
    found = COUNTS.search(request.messages[-1][1])
    share = int(found[1]) / int(found[2]) if found else 0.5
    blue = min(0.98, max(0.02, 0.5 + pull * (share - 0.5)))
    return {"blue": blue, "green": 1 - blue}


def weak(request: Request) -> Mapping[str, float]:
    """People follow the others by half."""
    return _chance(request, 0.5)


def strong(request: Request) -> Mapping[str, float]:
    """People exaggerate what the others wear by half."""
    return _chance(request, 1.5)
