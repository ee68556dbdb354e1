"""Classes that pages use are in our own style sheets: nothing makes them in the browser."""

from __future__ import annotations

import re
from pathlib import Path

import populace.studio
from populace.studio.app import static_folders

ROOM = Path(populace.studio.__file__).parent
MARKS = {"here", "theirs", "chosen"}
CLASSES = re.compile(r'classes\(\s*"([^"{}]+)"')


def test_every_class_of_a_page_is_in_a_style_sheet() -> None:
    sheets = "".join(path.read_text() for folder in static_folders() for path in folder.glob("*.css"))
    styled = set(re.findall(r"\.([A-Za-z][\w-]*)", sheets)) | MARKS
    used = {
        word: path.name
        for path in ROOM.rglob("*.py")
        for found in CLASSES.findall(path.read_text())
        for word in found.split()
    }
    assert len(used) > 50
    assert {word: place for word, place in used.items() if word not in styled} == {}


def test_no_style_sheet_or_script_names_another_machine() -> None:
    files = [path for folder in static_folders() for path in folder.iterdir() if path.suffix in (".css", ".js")]
    assert len(files) > 5
    for path in files:
        named = re.findall(r"https?://[^\s\"')]+", path.read_text())
        assert [name for name in named if not name.startswith("http://www.w3.org/")] == []
