"""Keys, addresses and names of models on a server."""

from __future__ import annotations

import logging
import socket
import traceback

import pytest

from populace import simulate
from populace.base.errors import (
    ModelError,
    ModelKeyError,
    ModelUnreachableError,
    PopulaceError,
    ServiceError,
    UnknownModelError,
)
from populace.models import Failure, OpenAICompatible, Reply, ReplyOrFailure
from populace.scenarios.norms import Norms
from support.fake_server import (
    BROKEN,
    HANG,
    KEY_REFUSED,
    TRUNCATED,
    WRONG_SCHEMA,
    Act,
    FakeServer,
    failing,
)
from support.server_models import (
    KEY,
    ask,
    collect_replies,
    make_model,
    shirt,
    started,
    using,
)


def test_a_refused_key_is_named_by_its_variable(monkeypatch):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    with FakeServer(key="another") as server, pytest.raises(ModelKeyError, match=r"refuses the key.*POPULACE_API_KEY"):
        started(make_model(server))


def test_a_missing_key_is_asked_for_by_its_variable():
    with FakeServer(key="wanted") as server, pytest.raises(ModelKeyError, match=r"none is set.*OPENAI_API_KEY"):
        started(make_model(server, key_variables=("OPENAI_API_KEY",)))


def test_a_key_that_is_refused_later_stops_the_run(waits):
    with FakeServer([KEY_REFUSED]) as server, pytest.raises(ModelKeyError):
        ask(make_model(server), shirt())


def test_the_key_reaches_the_server_and_nothing_else(monkeypatch, server):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    model = started(make_model(server))
    assert server.keys == {KEY}
    assert KEY not in repr(vars(model)) + repr(model.describe()) + model.fingerprint


def test_a_key_with_a_line_break_at_its_end_is_used_without_it(monkeypatch, server):
    monkeypatch.setenv("POPULACE_API_KEY", f"{KEY}\r\n")
    started(make_model(server))
    assert server.keys == {KEY}


@pytest.mark.parametrize("key", [f"{KEY}\nsecond line", f"{KEY}-“quoted”"])
def test_a_key_that_no_header_can_hold_is_named_by_its_variable(key, monkeypatch, server):
    monkeypatch.setenv("POPULACE_API_KEY", key)
    with pytest.raises(ModelKeyError, match="POPULACE_API_KEY") as caught:
        started(make_model(server))
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_error_never_repeats_the_key_even_if_the_server_does(monkeypatch):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    with FakeServer(key="another") as server, pytest.raises(ModelKeyError) as caught:
        started(make_model(server))
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("status", [400, 404])
def test_words_of_the_server_are_passed_on_without_the_key(status, monkeypatch, waits):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    with FakeServer(lambda seen: failing(status, f"{KEY} may not do this")) as server:
        try:
            text = str(ask(make_model(server, retries=0), shirt()))
        except ModelError as error:
            text = "".join(traceback.format_exception(error))
    assert "may not do this" in text
    assert KEY not in text


def test_a_run_leaves_the_key_in_no_file_and_no_log(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    with FakeServer(key=KEY) as server:
        simulate(Norms(workers=4, days=2), model=server.url)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"manifest.json", "calls.sqlite", "COMMIT"} <= {path.name for path in files}
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in caplog.text


def test_a_run_that_fails_leaves_the_key_in_no_file(monkeypatch, tmp_path, waits):
    monkeypatch.setenv("POPULACE_API_KEY", KEY)
    monkeypatch.setattr("populace.broker.broker.FAILURES_IN_A_ROW", 3)
    limit = failing(400, f"{KEY} is over its limit")
    with (
        FakeServer(lambda seen: limit if seen.number else None) as server,
        pytest.raises(ServiceError) as caught,
    ):
        simulate(Norms(workers=8, days=1), model=server.url)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_unreachable_server_is_named_and_leaves_no_run_behind(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ModelUnreachableError, match=address):
            simulate(Norms(workers=2, days=1), model=f"{address}#any")
    assert list((tmp_path / "runs").glob("*")) == []


def test_a_server_that_accepts_and_says_nothing_is_unreachable():
    with FakeServer(listing=HANG) as server, pytest.raises(ModelUnreachableError):
        started(make_model(server, timeout_s=0.15))


def test_a_server_that_goes_away_in_the_middle_of_a_run_is_a_broken_connection(waits):
    async def leave(model: OpenAICompatible) -> ReplyOrFailure:
        await collect_replies(model, shirt())
        server.stop()
        return (await collect_replies(model, shirt(1)))[0]

    with FakeServer() as server:
        outcome = using(make_model(server), leave)
    assert outcome == Failure("unanswered", "the connection broke")


def test_an_unknown_model_is_refused_with_the_nearest():
    models = {"llama-3-8b": "fake", "qwen-2-7b": "fake"}
    with (
        FakeServer(models=models) as server,
        pytest.raises(UnknownModelError, match=r"Did you mean .*#llama-3-8b\?") as caught,
    ):
        started(make_model(server, "llama-3-8"))
    assert caught.value.nearest == "llama-3-8b"
    assert server.probes == 1
    assert server.chats == 0


def test_an_unknown_model_is_refused_before_the_run_begins_also_where_models_are_not_listed(tmp_path):
    with FakeServer(listing=failing(404)) as server, pytest.raises(PopulaceError, match="fake-9"):
        simulate(Norms(workers=2, days=1), model=f"{server.url}#fake-9")
    assert list((tmp_path / "runs").glob("*")) == []


@pytest.mark.parametrize("listing", [failing(404), BROKEN, TRUNCATED, WRONG_SCHEMA, Act(body={"data": [{"x": 1}]})])
def test_a_server_without_a_list_of_models_is_trusted_with_the_name(listing):
    with FakeServer(listing=listing) as server:
        assert started(make_model(server)).capabilities.top_tokens == 20


def test_the_only_model_served_needs_no_name(server):
    model = started(make_model(server, None))
    assert (model.name, model.fingerprint) == ("fake-1", f"{server.url}#fake-1")


def test_one_of_several_models_must_be_named():
    models = {"big": "fake", "small": "fake"}
    with FakeServer(models=models) as server, pytest.raises(ModelError, match=r"serves 2 models.*one of: big, small"):
        started(make_model(server, None))


def test_a_model_must_be_named_where_none_is_listed():
    with FakeServer(listing=failing(404)) as server, pytest.raises(ModelError, match="must be named"):
        started(make_model(server, None))


@pytest.mark.parametrize("inside", ["ann:s3cret-word@", "s3cret-word@", ":s3cret-word@"])
def test_credentials_in_the_address_are_refused_and_not_repeated(inside, tmp_path):
    with pytest.raises(ModelKeyError, match="POPULACE_API_KEY") as caught:
        simulate(Norms(workers=2, days=1), model=f"http://{inside}127.0.0.1:9/v1#any")
    assert "s3cret-word" not in "".join(traceback.format_exception_only(caught.value))
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]


@pytest.fixture
def proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_requests_go_through_the_proxy_that_the_environment_names(proxies):
    with FakeServer(path="http://model.test/v1") as proxy:
        proxies.setenv("http_proxy", f"http://ann:word@127.0.0.1:{proxy.port}")
        model = OpenAICompatible("http://model.test/v1", "fake-1", spec="http://model.test/v1#fake-1", retries=0)
        assert isinstance(ask(model, shirt()), Reply)
        assert proxy.chats == 1


def test_a_host_that_the_environment_excepts_is_reached_without_the_proxy(proxies, server):
    proxies.setenv("http_proxy", "http://127.0.0.1:9")
    proxies.setenv("no_proxy", "127.0.0.1")
    assert isinstance(ask(make_model(server), shirt()), Reply)


def test_a_proxy_that_opens_no_connection_to_a_secure_server_makes_it_unreachable(proxies):
    with FakeServer() as proxy:
        proxies.setenv("https_proxy", f"127.0.0.1:{proxy.port}")
        model = OpenAICompatible("https://model.test/v1", "fake-1", spec="https://model.test/v1#fake-1", retries=0)
        with pytest.raises(ModelUnreachableError, match="model.test"):
            started(model)
        assert proxy.chats == 0


def test_a_proxy_of_another_kind_is_named(proxies, server):
    proxies.setenv("http_proxy", "socks5://127.0.0.1:9")
    with pytest.raises(ModelError, match="proxy of the kind 'socks5'"):
        started(make_model(server))
