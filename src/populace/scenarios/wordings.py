"""Wordings of prompts, from the file `wordings.toml` beside a scenario."""

import tomllib
from pathlib import Path
from typing import Literal

WordingName = Literal["plain", "short", "formal"]


def read_wording_texts(module_file: str) -> dict[str, dict[str, str]]:
    """The texts of every wording by name, from the file beside a module."""
    return tomllib.loads(Path(module_file).with_name("wordings.toml").read_text(encoding="utf-8"))
