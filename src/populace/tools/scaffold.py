"""The scenario that `populace new` writes: small, complete, and ready to be changed."""

import string
from pathlib import Path

_STARTER = Path(__file__).with_name("starter_scenario.txt")


def scenario_file(stem: str) -> str:
    """The text of a new scenario file.

    Example:
        >>> "class MyTown(Scenario):" in scenario_file("my_town")
        True
    """
    words = stem.replace("-", "_").split("_")
    name = "".join(word[:1].upper() + word[1:] for word in words if word)
    starter = string.Template(_STARTER.read_text("utf-8"))
    return starter.substitute(title=" ".join(words).capitalize(), file=f"{stem}.py", name=name)
