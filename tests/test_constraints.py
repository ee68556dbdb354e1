"""What `make` installs can be installed with every Python that the project takes."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parent.parent


def test_no_pinned_package_asks_for_a_later_python_than_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = f"{project['requires-python'].removeprefix('>=')}.0"
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    looked_at, too_late = 0, []
    for pin in pins:
        try:
            facts = metadata(pin.name)
        except PackageNotFoundError:
            continue  # It belongs to an extra that is not installed here.
        if pin.specifier.contains(facts["Version"]):
            looked_at += 1
            if not SpecifierSet(facts.get("Requires-Python") or "").contains(oldest):
                too_late.append(f"{pin}: {facts['Requires-Python']}")
    assert looked_at > 50
    assert too_late == []
