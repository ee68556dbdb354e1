from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from populace.base.errors import CallStoreError, StorageError
from populace.broker import CallStore, MemoryCallStore
from populace.models import Reply

REPLY = Reply("blue", ((" blue", -0.1), ("Größe “☂”\n", -2.5)), "length", 31, 1)

WRITER = """
import json, sys, time
from pathlib import Path
from populace.broker import CallStore
from populace.models import Reply

folder, me = Path(sys.argv[1]), sys.argv[2]
store = CallStore(folder / "calls.sqlite")
(folder / f"ready-{me}").touch()
deadline = time.monotonic() + 120
while not (folder / "go").exists() and time.monotonic() < deadline:
    time.sleep(0.001)
believed = {}
for lot in range(20):
    calls = [(f"key-{lot}-{i}", Reply(f"{me} said {lot} {i}")) for i in range(10)]
    believed |= {key: reply.text for key, reply in (dict(calls) | store.put(me, calls)).items()}
print(json.dumps(believed))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[CallStore]:
    store = CallStore(path, patience_s=0.05)
    yield store
    store.close()


def test_a_reply_is_found_again_as_it_was(store, path):
    assert store.put("fake", [("key", REPLY)]) == {}
    again = CallStore(path)
    assert again.get(["key", "another"]) == {"key": REPLY}
    assert len(again) == 1
    again.close()


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_the_first_reply_to_a_request_stays_the_reply(kind, store):
    call_store = store if kind == "file" else MemoryCallStore()
    call_store.put("fake", [("one", Reply("first"))])
    assert call_store.put("fake", [("one", Reply("second")), ("two", Reply("new"))])["one"] == Reply("first")
    assert call_store.get(["one", "two"]) == {"one": Reply("first"), "two": Reply("new")}


def test_a_hundred_thousand_keys_can_be_looked_up_at_once(store):
    store.put("fake", [(f"key-{i}", Reply(str(i))) for i in range(0, 1000, 2)])
    assert len(store.get([f"key-{i}" for i in range(100_000)])) == 500


def test_two_processes_that_write_at_once_believe_the_same_replies(tmp_path, path):
    run = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*run, name], stdout=subprocess.PIPE, text=True) for name in ("Ann", "Bo")]
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("ready-*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.005)
    (tmp_path / "go").touch()
    ann, bo = (json.loads(writer.communicate(timeout=120)[0]) for writer in writers)
    store = CallStore(path)
    assert ann == bo == {key: reply.text for key, reply in store.get(list(ann)).items()}
    assert len(store) == 200
    store.close()


def test_a_process_that_is_killed_leaves_what_it_had_stored(tmp_path, path):
    code = "import os, sys\nfrom pathlib import Path\nfrom populace.broker import CallStore\n"
    code += "from populace.models import Reply\nstore = CallStore(Path(sys.argv[1]))\n"
    code += "store.put('fake', [('key', Reply('kept'))])\nos.kill(os.getpid(), 9)\n"
    assert subprocess.run([sys.executable, "-c", code, str(path)], timeout=120).returncode == -9
    store = CallStore(path)
    assert store.get(["key"]) == {"key": Reply("kept")}
    store.close()


def test_a_store_that_another_process_keeps_locked_is_named(store, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(CallStoreError, match=f"{path} is locked by another process"):
        store.put("fake", [("key", REPLY)])
    other.execute("ROLLBACK")
    other.close()
    assert store.put("fake", [("key", REPLY)]) == {}


@pytest.mark.parametrize("lock", ["DEFERRED", "IMMEDIATE", "EXCLUSIVE"])
def test_a_new_store_waits_for_a_process_that_is_making_it(path, lock):
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute(f"BEGIN {lock}")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        held.set()
        time.sleep(0.1)
        released.set()
        other.execute("COMMIT")
        other.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(120)
    try:
        store = CallStore(path, patience_s=5)
        assert released.is_set()
    finally:
        holder.join()
    assert store.put("fake", [("key", REPLY)]) == {}
    store.close()


@pytest.mark.parametrize(
    "content", [b"not a database, but a text of some length\n" * 30, b"SQLite format 3\0" + b"x" * 999]
)
def test_a_damaged_store_is_named_with_what_to_do(path, content):
    path.write_bytes(content)
    with pytest.raises(CallStoreError, match="Move the file away"):
        CallStore(path)
    assert path.read_bytes() == content


def test_a_store_that_was_damaged_in_the_middle_is_named(path):
    store = CallStore(path)
    store.put("fake", [(f"key-{i:04}", REPLY) for i in range(2000)])
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 8192))
    store = CallStore(path)
    with pytest.raises(CallStoreError, match="is damaged"):
        store.get([f"key-{i:04}" for i in range(2000)])
    store.close()


@pytest.mark.parametrize("call", ["", "{}", '["fake", ["blue", []', '["fake", "blue", 0, 0]'])
def test_a_reply_that_was_damaged_is_reported_as_a_damaged_store(store, call):
    store._db.connection.execute("INSERT INTO calls VALUES ('key', ?)", (call,))
    with pytest.raises(CallStoreError, match="is damaged"):
        store.get(["key"])


def test_a_store_of_a_newer_version_is_left_alone(path):
    CallStore(path).close()
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version=99")
    newer.close()
    with pytest.raises(CallStoreError, match=r"has version 99.*Upgrade Populace"):
        CallStore(path)


def test_a_full_disk_is_reported_and_nothing_is_half_kept(store):
    store.put("fake", [("before", REPLY)])
    store._db.connection.execute(
        f"PRAGMA max_page_count={store._db.connection.execute('PRAGMA page_count').fetchone()[0]}"
    )
    with pytest.raises(StorageError, match="the disk is full"):
        store.put("fake", [(f"key-{i}", Reply("x" * 5000)) for i in range(9)])
    assert (len(store), store.get(["before"])) == (1, {"before": REPLY})


def test_a_disk_that_is_really_full_is_reported(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        store = CallStore(disk / "calls.sqlite")
        with pytest.raises(StorageError, match="the disk is full"):
            store.put("fake", [(f"key-{i}", Reply("x" * 5000)) for i in range(99)])
        assert len(store) == 0
        store.close()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "a file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        CallStore(tmp_path / "a file" / "calls.sqlite")


def test_a_folder_in_place_of_the_file_is_reported(tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        CallStore(tmp_path)


def test_a_store_can_be_used_from_another_thread_than_the_one_that_opened_it(store):
    found: list[object] = []

    def use() -> None:
        try:
            store.put("fake", [("key", REPLY)])
            found.append(store.get(["key"]))
        except CallStoreError as error:
            found.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert found == [{"key": REPLY}]


def test_other_tools_read_calls_through_the_view(store, path):
    store.put("fake", [("key", REPLY)], seconds=0.5)
    other = sqlite3.connect(path)
    other.row_factory = sqlite3.Row
    row = dict(other.execute("SELECT * FROM readable").fetchone())
    other.close()
    assert time.strptime(row.pop("created"), "%Y-%m-%d %H:%M:%S")
    assert json.loads(row.pop("tokens")) == [list(pair) for pair in REPLY.tokens]
    assert row == {
        "key": "key", "model": "fake", "text": "blue", "finish": "length",
        "prompt_tokens": 31, "completion_tokens": 1, "seconds": 0.5,
    }  # fmt: skip


def test_an_impossible_token_is_kept_and_leaves_the_view_readable(store):
    store.put("fake", [("key", Reply("blue", (("blue", 0.0), ("green", -math.inf))))])
    assert [math.exp(logprob) for _, logprob in store.get(["key"])["key"].tokens] == [1.0, 0.0]
    assert store.pace("fake") == 0.0
    assert store._db.connection.execute("SELECT text FROM readable").fetchall() == [("blue",)]


def test_a_call_can_be_looked_at(store):
    store.put("fake", [("key", REPLY)], seconds=0.5)
    found = store.open_call("key")
    assert (found["model"], found["reply"]["text"], found["seconds"]) == ("fake", "blue", 0.5)
    assert abs(found["created"] - time.time()) < 60
    assert store.open_call("another") is None


def test_the_pace_of_a_model_is_that_of_its_own_calls(store):
    store.put("quick", [("a", REPLY)], seconds=0.1)
    store.put("slow", [("b", REPLY), ("c", REPLY)], seconds=3.0)
    assert (store.pace("quick"), store.pace("slow"), store.pace("another")) == (0.1, 3.0, None)


def test_what_was_learned_of_a_model_is_remembered_by_the_next_process(store, path):
    store.learn("fake", {"top_tokens": 5})
    store.learn("fake", {"top_tokens": 20})
    again = CallStore(path)
    assert again.recall("fake") == {"top_tokens": 20}
    assert again.recall("another") is None
    again.close()


def test_known_replies_are_read_while_another_thread_writes(tmp_path: Path) -> None:
    store = CallStore(tmp_path / "calls.sqlite")
    store.put("m", [("a", Reply("yes"))])
    writes, is_read = threading.Event(), threading.Event()

    def insert() -> None:
        store._db.connection.execute("INSERT INTO calls VALUES ('b', '[]')")
        writes.set()
        assert is_read.wait(20)

    thread = threading.Thread(target=store._db._write, args=(insert,))
    thread.start()
    assert writes.wait(20)
    assert store.get(["a", "b"]) == {"a": Reply("yes")}
    is_read.set()
    thread.join()
    assert len(store) == 2
    store.close()
