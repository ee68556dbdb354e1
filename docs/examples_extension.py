"""Griffe extension: our docstrings head their doctests `Example:`; Griffe reads them as code under `Examples:`."""

from __future__ import annotations

import re
from typing import Any

import griffe


class ExampleSections(griffe.Extension):
    """Renames the section in every docstring, so that examples are shown as code."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rename the section in the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
