"""What is known of how like people a model answers: small files in the workspace, which other reports quote."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from populace.base.documents import DocumentError, parse_json_object, read_text
from populace.base.foreign import for_file_name, for_line
from populace.journal.segments import writing

FOLDER = "fidelity"
"""The folder of a workspace that holds the files."""
MAX_BYTES = 5_000_000
_MOST_FILES = 200


def keep_figures(workspace: str | Path, figures: Mapping[str, Any]) -> Path:
    """Write the figures of a fidelity report into a workspace; a report of the same name and model is replaced."""
    folder = Path(workspace) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{for_file_name(str(figures['name']))}-{for_file_name(str(figures['model']))[-80:]}.json"
    with writing(path):
        path.write_text(json.dumps(dict(figures), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def kept_figures(workspace: str | Path) -> list[tuple[Path, dict[str, Any]]]:
    """The files of a workspace with what they hold, in the order of their names; a file that is none is left out."""
    found = []
    for path in sorted((Path(workspace) / FOLDER).glob("*.json"))[:_MOST_FILES]:
        try:
            figures = parse_json_object(read_text(path, most=MAX_BYTES))
        except (OSError, DocumentError):
            continue  # Another program's file, or half a copy; it says nothing about a model.
        if isinstance(figures.get("name"), str) and isinstance(figures.get("arms"), Mapping):
            found.append((path, figures))
    return found


def fidelity_sentences(workspace: str | Path, models: Iterable[str]) -> list[str]:
    """What reports in a workspace say of some models, as sentences."""
    wanted = set(models)
    return [
        f"{for_line(str(figures['model']))} {for_line(headline)} ({for_line(str(figures['name']))}, "
        f"{figures.get('people', '?')} people)"
        for _, figures in kept_figures(workspace)
        if figures.get("model") in wanted and isinstance(headline := figures.get("headline"), str) and headline
    ]
