from __future__ import annotations

import importlib
import pkgutil

import pytest

import populace

PACKAGES = [
    "populace",
    *(f"populace.{m.name}" for m in pkgutil.iter_modules(populace.__path__) if m.ispkg and m.name != "cli"),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported_and_is_listed_in_order(package: str) -> None:
    module = importlib.import_module(package)
    names = getattr(module, "__all__", [])
    assert all(getattr(module, name) is not None for name in names)
    assert list(names) == sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = populace.Nothing  # type: ignore[attr-defined]


def test_every_public_name_has_a_docstring_with_an_example() -> None:
    docstrings = {name: getattr(populace, name).__doc__ or "" for name in populace.__all__}
    assert [name for name, text in docstrings.items() if not text] == []
    pydantic_names = {"Field"}
    assert [name for name, text in docstrings.items() if ">>>" not in text and name not in pydantic_names] == []
