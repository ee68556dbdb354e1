from __future__ import annotations

import math
from pathlib import Path

import pytest

from populace.base.errors import UsageError
from populace.broker import CallStore
from populace.broker.remote_store import RemoteCallStore, serve_store
from populace.models import Reply


class Wire:
    """Passes requests to a store, as the connection to another machine does."""

    def __init__(self, store: CallStore) -> None:
        self.store = store

    def ask(self, name: str, content: bytes = b"") -> bytes:
        return serve_store(self.store, name.removeprefix("store."), content)


REPLIES = {
    "a": Reply("blue", (("blue", -0.1), ("gréen\n", -math.inf)), prompt_tokens=3),
    "b": Reply('say "no"', finish="length", completion_tokens=7, estimated=True),
}


def test_a_reply_that_one_worker_hands_in_is_in_the_file_and_is_what_another_one_reads(tmp_path: Path) -> None:
    store = CallStore(tmp_path / "calls.sqlite")
    one, two = RemoteCallStore(Wire(store)), RemoteCallStore(Wire(store))
    assert one.put("model", list(REPLIES.items()), 0.5) == {}
    assert store.get(["a", "b", "c"]) == two.get(["a", "b", "c"]) == REPLIES
    assert two.put("model", [("a", Reply("red"))])["a"] == REPLIES["a"]
    assert (len(one), one.pace("model")) == (2, 0.5)
    call = two.open_call("b")
    assert call is not None and call["reply"]["text"] == 'say "no"'
    two.remove(["a"])
    assert list(one.get(["a", "b"])) == ["b"]
    one.learn("model", {"top": 20})
    assert (two.recall("model"), two.recall("other"), two.open_call("a")) == ({"top": 20}, None, None)
    store.close()


def test_a_request_that_no_store_knows_is_refused(tmp_path: Path) -> None:
    store = CallStore(tmp_path / "calls.sqlite")
    with pytest.raises(UsageError, match="knows no request"):
        serve_store(store, "execute", b'"DROP TABLE calls"')
    store.close()
