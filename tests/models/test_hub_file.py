"""GGUF files of the Hugging Face hub, against a hub on loopback."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import huggingface_hub
import pytest

from populace import simulate
from populace.base.errors import ModelError, ModelFileError, ModelKeyError, ModelUnreachableError
from populace.models import EmbeddedModel, HubFile, ModelTraits, check_model, model_traits
from populace.scenarios.norms import Norms
from support.commands import populace
from support.fake_hub import COMMIT, NEWER, FakeHub

CONTENT = b"GGUF" + bytes(range(256)) * 4_000
NAME = "acme/tiny-GGUF/tiny-q4.gguf"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def hub(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    files = {
        "acme/tiny-GGUF": {COMMIT: {"tiny-q4.gguf": CONTENT, "big/tiny-q8.gguf": CONTENT[:999], "README.md": b"#"}}
    }
    with FakeHub(files, {"acme/tiny-GGUF": {"main": COMMIT, "v1.0": COMMIT}}).serve() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)
        monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
        yield hub


def test_a_file_is_fetched_verified_and_recorded(hub, cache):
    progress: list[tuple[int, int]] = []
    file = HubFile.parse(NAME)
    path = file.fetch(lambda done, total: progress.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(cache) and path.name == "tiny-q4.gguf"
    assert file.record == {
        "repository": "acme/tiny-GGUF",
        "file": "tiny-q4.gguf",
        "commit": COMMIT,
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        "size": len(CONTENT),
    }
    assert progress[0] == (0, len(CONTENT)) and progress[-1] == (len(CONTENT), len(CONTENT))


def test_a_file_in_the_cache_is_used_without_asking_the_hub(hub, monkeypatch):
    first = HubFile.parse(NAME).fetch()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    assert HubFile.parse(NAME).fetch() == first


def test_a_revision_pins_the_file_and_an_unpinned_one_stays_until_it_is_fetched_anew(hub):
    HubFile.parse(NAME).fetch()
    hub.files["acme/tiny-GGUF"][NEWER] = {"tiny-q4.gguf": CONTENT[:5000]}
    hub.revisions["acme/tiny-GGUF"]["main"] = NEWER
    assert HubFile.parse(NAME).fetch().stat().st_size == len(CONTENT)
    assert HubFile.parse(NAME).fetch(refresh=True).stat().st_size == 5000
    assert HubFile.parse(f"{NAME}@v1.0").fetch().stat().st_size == len(CONTENT)
    pinned = HubFile.parse(f"{NAME}@{COMMIT}")
    assert pinned.pinned and pinned.present()


@pytest.mark.parametrize("cut_after", [70_000, 1_000_000])
def test_a_transfer_that_breaks_off_goes_on_where_it_ended(hub, cut_after):
    hub.cut_after = cut_after
    file = HubFile.parse(NAME)
    with pytest.raises(ModelUnreachableError, match="what was downloaded is kept"):
        file.fetch()
    assert not file.present()
    received = sum(path.stat().st_size for path in file.folder.rglob("*.part"))
    assert 0 < received <= cut_after
    hub.cut_after, hub.down, hub.requests[:] = None, False, []
    assert file.fetch().read_bytes() == CONTENT
    assert hub.sent("GET")[-1] == f"bytes={received}-"


def test_a_download_that_was_killed_goes_on_where_it_ended(hub):
    code = """
import sys, time
from populace.models import HubFile
def progress(done, total):
    if done > 100_000:
        print(done, flush=True)
        time.sleep(60)
HubFile.parse(sys.argv[1]).fetch(progress)
"""
    hub.files["acme/tiny-GGUF"][COMMIT]["tiny-q4.gguf"] = CONTENT * 30
    with subprocess.Popen([sys.executable, "-c", code, NAME], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and int(process.stdout.readline()) > 100_000
        process.send_signal(signal.SIGKILL)
    hub.requests[:] = []
    start = time.monotonic()
    assert HubFile.parse(NAME).fetch().read_bytes() == CONTENT * 30
    assert int(hub.sent("GET")[-1].removeprefix("bytes=").rstrip("-")) > 0
    assert time.monotonic() - start < 30  # The lock of the killed process is gone.


def test_bytes_of_an_older_file_are_not_continued_with_those_of_a_newer_one(hub):
    hub.cut_after = 70_000
    with pytest.raises(ModelUnreachableError):
        HubFile.parse(NAME).fetch()
    hub.cut_after, hub.down, newer = None, False, b"GGUF" + CONTENT[::-1]
    hub.files["acme/tiny-GGUF"][COMMIT]["tiny-q4.gguf"] = newer
    assert HubFile.parse(NAME).fetch().read_bytes() == newer


def test_a_file_that_does_not_match_its_hash_is_refused_and_not_kept(hub):
    hub.lying = True
    file = HubFile.parse(NAME)
    with pytest.raises(ModelFileError, match=r"as the hub says; it was not used"):
        file.fetch()
    assert not file.present()
    assert not [path for path in file.folder.rglob("*") if path.is_file() and path.stat().st_size > 200]


def test_a_missing_file_is_answered_with_the_names_of_those_like_it(hub):
    with pytest.raises(ModelFileError, match=r"Did you mean embedded:hf:acme/tiny-GGUF/tiny-q4.gguf\b"):
        HubFile.parse("acme/tiny-GGUF/tiny_q4.gguf").fetch()


@pytest.mark.parametrize(
    ("name", "message"),
    [("acme/none/x.gguf", r"no repository acme/none, or it is private.*HF_TOKEN"), (f"{NAME}@v9", "no revision 'v9'")],
)
def test_a_missing_repository_or_revision_is_named(name, message, hub):
    with pytest.raises(ModelFileError, match=message):
        HubFile.parse(name).fetch()


def test_a_gated_repository_wants_its_terms_accepted_and_a_token(hub, monkeypatch):
    hub.gated = {"acme/tiny-GGUF"}
    with pytest.raises(ModelKeyError, match=r"Accept them at .*/acme/tiny-GGUF, and set HF_TOKEN"):
        HubFile.parse(NAME).fetch()
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    assert HubFile.parse(NAME).fetch().read_bytes() == CONTENT
    assert hub.storage_tokens == set()


def test_without_a_network_the_message_says_what_to_do(cache, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(ModelUnreachableError, match=r"could not be fetched from http://127.0.0.1:1 .*HF_ENDPOINT"):
        HubFile.parse(NAME).fetch()


def test_where_the_hub_may_not_be_reached_only_files_of_the_cache_are_used(hub, monkeypatch):
    path = HubFile.parse(NAME).fetch()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    huggingface_hub.close_session()
    assert HubFile.parse(NAME).fetch() == path
    with pytest.raises(ModelUnreachableError, match="Unset HF_HUB_OFFLINE"):
        HubFile.parse("acme/tiny-GGUF/big/tiny-q8.gguf").fetch()
    huggingface_hub.close_session()


def test_two_processes_at_once_fetch_a_file_only_once(hub):
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: HubFile.parse(NAME).fetch(), range(2)))
    assert paths[0] == paths[1]
    assert len([path for verb, path, _ in hub.requests if verb == "GET" and path.startswith("/cdn/")]) == 1


def test_a_disk_that_is_too_small_is_noticed_before_the_download(hub, monkeypatch):
    usage = shutil.disk_usage(os.getcwd())
    monkeypatch.setattr("populace.models.hub_file.shutil.disk_usage", lambda path: usage._replace(free=50))
    with pytest.raises(ModelFileError, match=r"needs 0.0 GB more.*POPULACE_CACHE"):
        HubFile.parse(NAME).fetch()
    assert hub.sent("GET") == []


def test_a_disk_that_is_full_is_named_as_such(hub, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("huggingface_hub.file_download.http_get", full)
    with pytest.raises(ModelFileError, match=r"the disk is full.*POPULACE_CACHE"):
        HubFile.parse(NAME).fetch()


def test_a_server_that_is_no_hub_is_refused_in_words(hub):
    hub.revisions["acme/tiny-GGUF"]["main"] = "../../../../outside"
    hub.files["acme/tiny-GGUF"]["../../../../outside"] = {"tiny-q4.gguf": CONTENT}
    with pytest.raises(ModelFileError, match="does not answer like a Hugging Face hub"):
        HubFile.parse(NAME).fetch()


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd.gguf",
        "acme/../x.gguf",
        "acme/tiny/../../../x.gguf",
        "acme/tiny//x.gguf",
        "/acme/tiny/x.gguf",
        "acme/tiny/a\\..\\x.gguf",
        "acme/tiny/x\n.gguf",
        "acme/tiny/.gguf/../x.gguf",
        f"{NAME}@../../x",
        f"{NAME}@",
        f"{NAME}@-x",
        "acme/tiny",
        "acme/tiny/x.bin",
        "acme/tiny/x-00001-of-00003.gguf",
        "",
    ],
)
def test_a_name_cannot_leave_the_cache_and_must_be_that_of_one_whole_file(name, cache):
    with pytest.raises(ModelError):
        check_model(f"embedded:hf:{name}")
    assert not cache.exists()


def test_what_a_manifest_says_of_a_broken_name_does_not_break_a_reader():
    assert model_traits("embedded:hf:../x.gguf", ModelTraits()) == ModelTraits()


def test_models_fetch_brings_the_file_and_a_changed_one_is_refused(hub, cache):
    assert populace("models", "--fetch", f"embedded:hf:{NAME}").returncode == 0
    path = HubFile.parse(NAME).fetch()
    path.write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(ModelFileError, match="was changed after it was fetched"):
        simulate(Norms(workers=2, days=1), model=f"embedded:hf:{NAME}", keep="nothing")


def test_the_hash_of_the_file_identifies_the_model_and_an_unpinned_revision_is_noted(hub):
    digest = hashlib.sha256(CONTENT).hexdigest()
    model = EmbeddedModel(hub_file=HubFile.parse(NAME))
    assert model._find_file()[1] == digest
    assert any(f"embedded:hf:{NAME}@{COMMIT}" in note and digest in note for note in model.notes)
    pinned = EmbeddedModel(hub_file=HubFile.parse(f"{NAME}@{COMMIT}"))
    assert pinned._find_file()[1] == digest
    assert (pinned.spec, pinned.notes) == (f"embedded:hf:{NAME}@{COMMIT}", ())
