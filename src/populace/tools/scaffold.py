"""The scenario and the town that `populace new` writes: small, complete, and ready to be changed."""

import string
from pathlib import Path

_STARTER = Path(__file__).with_name("starter_scenario.txt")
_TOWN_PARTS = ("map", "residents", "news")


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


def town_files(stem: str) -> dict[str, str]:
    """The files of a new town by name, with their texts: a map, its residents, and news for `populace run party`.

    Example:
        >>> list(town_files("harbour"))
        ['harbour_map.toml', 'harbour_residents.toml', 'harbour_news.toml']
    """
    title = " ".join(word[:1].upper() + word[1:] for word in stem.replace("-", "_").split("_") if word)
    texts = {part: _STARTER.with_name(f"starter_town_{part}.txt").read_text("utf-8") for part in _TOWN_PARTS}
    return {f"{stem}_{part}.toml": string.Template(text).substitute(title=title) for part, text in texts.items()}
