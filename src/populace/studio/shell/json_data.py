"""JSON without numbers that it does not know."""

from __future__ import annotations

import math
from typing import Any

from fastapi.responses import JSONResponse


class FiniteJSONResponse(JSONResponse):
    """A JSON response in which infinite numbers and NaN are null."""

    def render(self, content: Any) -> bytes:
        """The body of the response."""
        return super().render(finite(content))


def finite(value: Any) -> Any:
    """Plain data with None in place of numbers that JSON does not know.

    Example:
        >>> finite({"mean": float("nan"), "rows": (1.5, float("inf"))})
        {'mean': None, 'rows': [1.5, None]}
    """
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
