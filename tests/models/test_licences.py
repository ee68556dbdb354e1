"""What the licences of data allow: nothing is passed on that a licence forbids, and nothing unknown counts as allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from populace.models.adapter_names import adapter_paths, is_shipped
from populace.models.adapters import read_card
from populace.models.licences import Sharing
from support.commands import populace
from support.tiny_models import tiny_adapter, tiny_folder, tiny_gguf


def sharing(*licences: str) -> Sharing:
    return Sharing.of([{"name": f"data {number}", "licence": text} for number, text in enumerate(licences)])


@pytest.mark.parametrize(
    ("licences", "allowed", "under"),
    [
        (["CC0-1.0", "MIT (code), CC0 (data)", "CC BY 4.0", "Apache-2.0 (Psych-201)"], True, ()),
        (["NORC public-use data, free with citation; gssr and gssrdoc MIT"], True, ()),
        (["MIT", "GPL-3 (package); paper CC BY"], True, ("GPL-3.0",)),
        (["GPL-2+", "GPL (>= 2)", "GPL-2|3", "GPL-2.0-or-later"], True, ("GPL-2.0", "GPL-3.0")),
        (["GPL-2+", "GPL-3.0-or-later"], True, ("GPL-3.0",)),
        (["GPL-2", "GPL-3"], False, ()),
        (["GPL-2.0-only", "CC BY-SA 4.0"], False, ()),
        (["CC-BY-SA-4.0"], True, ("CC-BY-SA-4.0", "GPL-3.0")),
        (["MIT", "CC BY-NC 4.0"], False, ()),
        (["CC-BY-NC-SA-4.0"], False, ()),
        (["CC BY-ND 4.0"], False, ()),
        (["private"], False, ()),
        (["for academic use only"], False, ()),
        (["MIT", "ask the authors"], None, ()),
        (["MIT; ask the authors"], None, ()),
        ([""], None, ()),
        ([], None, ()),
    ],
)
def test_what_licences_allow(licences: list[str], allowed: bool | None, under: tuple[str, ...]) -> None:
    result = sharing(*licences)
    assert (result.allowed, result.under) == (allowed, under), result.description
    assert bool(result.reasons) == (allowed is not True)


@pytest.mark.parametrize(
    ("licence", "problem"),
    [
        ("GPL-3.0-or-later", None),
        ("MIT", "asks for GPL-3.0"),
        ("Apache-2.0", "asks for GPL-3.0"),
        ("GPL-2.0-only", "asks for GPL-3.0"),
    ],
)
def test_a_licence_that_data_ask_for_is_the_one_to_take(licence: str, problem: str | None) -> None:
    found = sharing("MIT", "GPL-2+", "GPL-3").problem(licence)
    assert found is None if problem is None else problem in str(found)


def test_every_adapter_that_ships_may_be_passed_on_under_the_licence_that_it_names() -> None:
    shipped = [path for path in adapter_paths().values() if is_shipped(path)]
    assert len(shipped) == 2
    for path in shipped:
        card = read_card(path)
        assert card.sharing.allowed, card.sharing.description
        assert card.licence and card.sharing.problem(card.licence) is None


def test_what_may_not_be_passed_on_is_marked_where_adapters_are_listed_and_described(tmp_path: Path) -> None:
    base = tiny_gguf(tmp_path / "base.gguf", tiny_folder(tmp_path / "base"))
    data = [{"name": "my survey", "licence": "CC BY-NC 4.0"}]
    file = tmp_path / "adapters" / "mine.gguf"
    file.parent.mkdir()
    tiny_adapter(file, base, manifest={"kind": "human", "data": data, "licence": "MIT"})
    mark = "no: my survey: 'CC BY-NC 4.0' allows no commercial use"
    for words in (("models", "--workspace", str(tmp_path)), ("models", "--describe", str(file))):
        shown = populace(*words)
        assert shown.returncode == 0, shown.stderr
        assert mark in " ".join(shown.stdout.split())


def test_a_licence_that_the_data_do_not_allow_is_contradicted(tmp_path: Path) -> None:
    base = tiny_gguf(tmp_path / "base.gguf", tiny_folder(tmp_path / "base"))
    manifest = {"kind": "human", "data": [{"name": "games", "licence": "GPL-3"}], "licence": "MIT"}
    shown = populace("models", "--describe", str(tiny_adapter(tmp_path / "mine.gguf", base, manifest=manifest)))
    assert "MIT; but what it is made from asks for GPL-3.0" in " ".join(shown.stdout.split())


def test_a_long_list_of_tasks_is_counted_and_not_printed(tmp_path: Path) -> None:
    base = tiny_gguf(tmp_path / "base.gguf", tiny_folder(tmp_path / "base"))
    data = [{"name": "corpus", "licence": "MIT", "tasks": [f"task-{number}" for number in range(900)]}]
    shown = populace(
        "models", "--describe", str(tiny_adapter(tmp_path / "a.gguf", base, manifest={"kind": "human", "data": data}))
    )
    assert "tasks 900, such as task-0, task-1, task-2" in " ".join(shown.stdout.split())
    assert "task-500" not in shown.stdout
