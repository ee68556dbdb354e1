from __future__ import annotations

import sys
from pathlib import Path

import pytest

from populace.base.errors import ModelError, ScenarioError
from populace.base.modules import add_folder, import_module, split_reference
from populace.base.trust import module_code
from populace.engine.discovery import find_scenario
from populace.engine.workspace import Workspace
from populace.models import open_model


def write_script(folder: Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text("def sceptic(request):\n    return 'no'\n")


def test_a_script_is_found_in_a_module_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_script(tmp_path / "mine", "scripts_of_the_current_folder")
    with pytest.raises(
        ModelError, match=r"Modules are looked for .* in the current folder and in that of the workspace"
    ):
        open_model("scripted:scripts_of_the_current_folder:sceptic")
    monkeypatch.chdir(tmp_path / "mine")
    path = list(sys.path)
    assert open_model("scripted:scripts_of_the_current_folder:sceptic").spec.endswith(":sceptic")
    assert sys.path == path


def test_a_script_is_found_in_a_module_of_the_folder_of_the_workspace(tmp_path: Path) -> None:
    write_script(tmp_path, "scripts_of_a_workspace")
    Workspace(tmp_path).store().close()
    assert open_model("scripted:scripts_of_a_workspace:sceptic")
    place = module_code("scripted:scripts_of_a_workspace:sceptic", "scripts_of_a_workspace").place
    assert place == str(tmp_path / "scripts_of_a_workspace.py"), "what is trusted is what is imported"


def test_a_script_may_stand_in_a_file_that_is_named(tmp_path: Path) -> None:
    write_script(tmp_path, "named")
    assert open_model(f"scripted:{tmp_path}/named.py:sceptic")
    with pytest.raises(ModelError, match=r"named.py has no function 'septic'. Did you mean 'sceptic'\?"):
        open_model(f"scripted:{tmp_path}/named.py:septic")


def test_installed_modules_come_first(tmp_path: Path) -> None:
    (tmp_path / "polars.py").write_text("raise RuntimeError")
    add_folder(tmp_path)
    assert import_module("polars").DataFrame


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("town.py", ("town.py", "")),
        (r"C:\work\town.py", (r"C:\work\town.py", "")),
        (r"C:\work\town.py:Town", (r"C:\work\town.py", "Town")),
        ("a.b:C", ("a.b", "C")),
        ("norms", ("", "")),
        (r"C:\work\town", ("", "")),
        ("", ("", "")),
    ],
)
def test_a_reference_is_a_file_or_a_module_with_a_name_in_it(text: str, parts: tuple[str, str]) -> None:
    assert split_reference(text) == parts


def test_a_path_of_windows_is_a_file_and_not_a_module() -> None:
    with pytest.raises(ScenarioError, match=r"there is no file C:\\work\\town.py"):
        find_scenario(r"C:\work\town.py")


def test_a_misspelt_file_gets_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "garden.py").write_text("")
    with pytest.raises(ScenarioError, match=r"Did you mean .*garden.py\?"):
        find_scenario(str(tmp_path / "gardn.py"))


def test_await_in_a_function_without_async_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n    def step(self):\n        await self.ask()\n")
    with pytest.raises(ScenarioError, match=r"line 3: 'await' outside async function. Write async before its def"):
        find_scenario(str(tmp_path / "a.py"))
