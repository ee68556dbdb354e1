"""Trust is remembered by the hash of the content, in the workspace, and only for the user who gave it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from populace.base import trust
from populace.base.errors import UntrustedCodeError
from populace.base.trust import TrustFile, deciding, file_code, module_code


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_NAMED", set())


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(trust, "_NAMED", set())


@pytest.fixture
def town(tmp_path: Path) -> Path:
    path = tmp_path / "town.py"
    path.write_text("x = 1\n")
    return path


def test_code_is_refused_with_its_place_and_its_hash(tmp_path: Path, town: Path) -> None:
    code = file_code("town.py:Town", town)
    with pytest.raises(UntrustedCodeError) as caught:
        TrustFile(tmp_path).require([code], "norms-1a2b")
    assert (
        str(town) in caught.value.what and code.digest[:16] in caught.value.what and "norms-1a2b" in caught.value.what
    )


def test_what_is_remembered_holds_in_a_later_process_until_the_file_changes(
    tmp_path: Path, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TrustFile(tmp_path).remember([file_code("t", town)]) == ""
    forget(monkeypatch)
    TrustFile(tmp_path).require([file_code("t", town)], "a run")
    town.write_text("x = 2\n")
    with pytest.raises(UntrustedCodeError):
        TrustFile(tmp_path).require([file_code("t", town)], "a run")


def test_a_decision_is_asked_once_and_remembered(tmp_path: Path, town: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    with deciding(lambda codes: bool(asked.extend(code.name for code in codes) or True)):
        TrustFile(tmp_path).require([file_code("t", town)], "a run")
        forget(monkeypatch)
        TrustFile(tmp_path).require([file_code("t", town)], "a run")
    assert asked == ["t"]


def test_a_trust_file_that_came_with_the_folder_does_not_count(
    tmp_path: Path, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TrustFile(tmp_path).remember([file_code("t", town)])
    forget(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another user"))
    with pytest.raises(UntrustedCodeError, match=r"The key for .* cannot be read"):
        TrustFile(tmp_path).require([file_code("t", town)], "a run")
    other = tmp_path / "other.py"
    other.write_text("y = 1\n")
    TrustFile(tmp_path / "elsewhere").remember([file_code("o", other)])  # Now that user has a key.
    with pytest.raises(UntrustedCodeError, match="1 entries of .* were written by somebody else"):
        TrustFile(tmp_path).require([file_code("t", town)], "a run")


@pytest.mark.parametrize("content", ["", "[]", "{", '{"trusted": 3}', '{"trusted": {"a": {}}}', "[" * 100_000, "\0"])
def test_a_damaged_trust_file_trusts_nothing_and_says_so(
    tmp_path: Path, town: Path, content: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = TrustFile(tmp_path)
    file.remember([file_code("t", town)])
    forget(monkeypatch)
    file.path.write_text(content)
    with pytest.raises(UntrustedCodeError, match=r"trust\.json cannot be read .* nothing that it lists is trusted"):
        file.require([file_code("t", town)], "a run")
    assert file.remember([file_code("t", town)]) == ""
    forget(monkeypatch)
    file.require([file_code("t", town)], "a run")


def test_without_a_home_nothing_is_remembered_but_trust_holds_now(
    tmp_path: Path, town: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "user_folder", lambda *_: None)
    assert "no home folder" in TrustFile(tmp_path).remember([file_code("t", town)])
    TrustFile(tmp_path).require([file_code("t", town)], "a run")


def test_the_key_is_readable_by_its_user_only(tmp_path: Path, town: Path) -> None:
    TrustFile(tmp_path).remember([file_code("t", town)])
    key = Path(os.environ["XDG_CONFIG_HOME"]) / "populace" / "trust.key"
    assert key.stat().st_mode & 0o077 == 0
    assert key.read_text() not in (tmp_path / "trust.json").read_text()
    assert json.loads((tmp_path / "trust.json").read_text())["format"] == 1


def test_a_module_is_hashed_with_its_packages_and_nothing_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "their_package"
    package.mkdir()
    ran = tmp_path / "ran"
    (package / "__init__.py").write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch()")
    (package / "inner.py").write_text("x = 1")
    first = module_code("m", "their_package.inner")
    (package / "__init__.py").write_text(f"import pathlib; pathlib.Path({str(ran)!r}).touch() ")
    assert module_code("m", "their_package.inner").digest != first.digest
    assert not ran.exists()
    assert (
        module_code("m", "sys").digest and module_code("m", "no.such.module").digest and module_code("m", "..").digest
    )


def test_a_file_that_cannot_be_read_has_no_hash_that_another_has(tmp_path: Path) -> None:
    assert file_code("a", tmp_path / "a.py").digest != file_code("b", tmp_path / "b.py").digest
