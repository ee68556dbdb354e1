"""Services by their name: addresses, keys, and servers on loopback that imitate what each does differently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from populace import simulate
from populace.base.errors import ModelError, ModelKeyError, ModelUnreachableError, UnknownModelError
from populace.broker import Broker, CallStore
from populace.models import PROVIDERS, Model, OpenAICompatible, Request, open_model
from populace.scenarios.norms import Norms
from support.fake_server import Act, FakeServer, Seen, failing


@pytest.fixture(autouse=True)
def _no_keys_or_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        for variable in (*provider.key_variables, provider.address_variable):
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """Ollama lists a model with its tag and also knows it without."""
    with FakeServer(models={"llama3:latest": "library", "qwen2.5:7b": "library"}, aliases={"llama3"}) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        yield server


def start(spec: str, *requests: Request) -> Model:
    """The model, after it was started, has answered and was closed."""
    model = open_model(spec, timeout_s=5.0)

    async def go() -> None:
        try:
            await model.start()
            async for _ in model.replies(requests):
                pass
        finally:
            await model.close()

    asyncio.run(go())
    return model


def key_for(name: str, monkeypatch: pytest.MonkeyPatch, server: FakeServer) -> None:
    monkeypatch.setenv(PROVIDERS[name].key_variables[0], "sk-right")
    monkeypatch.setenv(PROVIDERS[name].address_variable, server.url)


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_says_where_it_answers_and_where_its_key_comes_from(name):
    provider = PROVIDERS[name]
    model = open_model(f"{name}:some/model:tag")
    assert isinstance(model, OpenAICompatible)
    assert (model.name, model.base_url) == ("some/model:tag", provider.address)
    if not provider.local:
        assert (
            provider.key_variables and provider.key_page.startswith("https://") and provider.address.startswith("https")
        )
        assert provider.key_variables[0] in provider.meaning


@pytest.mark.parametrize("name", [name for name, each in PROVIDERS.items() if not each.local])
def test_a_missing_key_is_named_with_the_page_that_gives_one_before_anything_is_sent(name):
    provider = PROVIDERS[name]
    with pytest.raises(ModelKeyError) as caught:
        start(f"{name}:any-model")
    assert f"needs a key of {provider.title}" in caught.value.what
    assert all(variable in str(caught.value.hint) for variable in (*provider.key_variables, provider.key_page))


def test_a_missing_key_leaves_no_run_behind(tmp_path):
    with pytest.raises(ModelKeyError, match="OPENAI_API_KEY"):
        simulate(Norms(workers=2, days=1), model="openai:gpt-4o", workspace=tmp_path)
    assert not list(tmp_path.glob("runs/*"))


def test_a_second_variable_for_the_key_will_do(monkeypatch):
    with FakeServer(key="sk-right") as server:
        key_for("gemini", monkeypatch, server)
        monkeypatch.delenv("GEMINI_API_KEY")
        monkeypatch.setenv("GOOGLE_API_KEY", "sk-right")
        assert start("gemini:fake-1").capabilities.top_tokens == 20


def test_a_key_that_may_not_use_the_model_is_explained_in_the_words_of_the_service(monkeypatch):
    with FakeServer(probing=lambda seen: failing(403, "Your plan does not include sk-right models.")) as server:
        key_for("openai", monkeypatch, server)
        with pytest.raises(ModelKeyError, match=r"refuses the key: .*Your plan does not include \[key\] models\."):
            start("openai:fake-1")


def test_a_key_that_may_not_list_models_can_still_use_them(monkeypatch):
    with FakeServer(listing=failing(403, "You have insufficient permissions.")) as server:
        key_for("openai", monkeypatch, server)
        assert start("openai:fake-1").capabilities.top_tokens == 20


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("10.0.0.5", "http://10.0.0.5:11434/v1"),
        ("10.0.0.5:8080", "http://10.0.0.5:8080/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000/v1"),
        (":9000", "http://127.0.0.1:9000/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("https://ollama.example.org", "https://ollama.example.org/v1"),
        ("http://gateway:80/ollama/v1/", "http://gateway:80/ollama/v1"),
    ],
)
def test_the_variable_of_ollama_is_read_as_ollama_reads_it(host, address, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert open_model("ollama:llama3").base_url == address


def test_a_host_alone_gets_the_path_of_the_provider(monkeypatch):
    monkeypatch.setenv("GROQ_BASE_URL", "https://gateway.example.org")
    assert open_model("groq:x").base_url == "https://gateway.example.org/openai/v1"


def test_an_alias_that_ollama_does_not_list_is_tried_and_used(ollama):
    model = start("ollama:llama3")
    assert (model.name, ollama.probes) == ("llama3", 1)


def test_a_model_that_ollama_does_not_have_is_answered_with_the_nearest(ollama):
    with pytest.raises(UnknownModelError, match=r"Did you mean ollama:qwen2.5:7b\?"):
        start("ollama:qwen2.5")
    assert ollama.probes == 1


def test_what_was_learned_of_one_server_is_not_believed_of_another_at_another_address(monkeypatch, tmp_path):
    async def top_tokens() -> int:
        broker = Broker(CallStore(tmp_path / "calls.sqlite"))
        try:
            return (await broker.model("ollama:llama3")).capabilities.top_tokens
        finally:
            await broker.close()

    found = []
    for offer in ("ignored", "given"):
        with FakeServer(models={"llama3:latest": "library"}, aliases={"llama3"}, logprobs=offer) as server:
            monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
            found += [asyncio.run(top_tokens()), asyncio.run(top_tokens())]
            assert server.probes == 1
    assert found == [0, 0, 20, 20]


def test_a_local_server_that_is_down_is_answered_with_the_command_that_starts_it(monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    with pytest.raises(ModelUnreachableError, match=r"`ollama serve`.*OLLAMA_HOST"):
        start("ollama:llama3")


def test_the_only_model_of_a_local_server_needs_no_name(monkeypatch):
    with FakeServer(models={"served": "vllm"}) as server:
        monkeypatch.setenv("VLLM_BASE_URL", server.url)
        model = start("vllm:")
    assert (model.name, model.capabilities.lead) == ("served", True)


def test_one_of_several_models_of_a_local_server_must_be_named(ollama):
    with pytest.raises(ModelError, match=r"Write ollama:NAME, with one of: llama3:latest, qwen2.5:7b"):
        start("ollama:")


def test_anthropic_ignores_log_probabilities_seed_and_schema_and_is_not_asked_for_a_list(monkeypatch):
    with FakeServer(logprobs="ignored", listing=failing(401, "x-api-key header is required")) as server:
        key_for("anthropic", monkeypatch, server)
        model = start("anthropic:fake-1", Request((("user", "Speak."),), seed=7, max_tokens=9))
        able = model.capabilities
    assert (able.top_tokens, able.seed, able.schema) == (0, False, False)
    assert "gives no log-probabilities" in model.notes[0]
    assert server.listed == 0
    assert all("seed" not in seen.body for seen in server.seen)


def test_gemini_answers_below_its_own_path_and_lists_longer_names(monkeypatch):
    models, aliases = {"models/gemini-2.5-flash": "google"}, {"gemini-2.5-flash"}
    with FakeServer(models=models, aliases=aliases, path="/v1beta/openai", unknown_fields={"logprobs"}) as server:
        key_for("gemini", monkeypatch, server)
        model = start("gemini:gemini-2.5-flash")
        assert model.capabilities.top_tokens == 0
        with pytest.raises(UnknownModelError, match=r"Did you mean gemini:models/gemini-2.5-flash\?"):
            start("gemini:gemini-2.5-flsh")


def test_gemini_answers_400_to_a_wrong_key(monkeypatch):
    wrong = failing(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT")
    with FakeServer(listing=wrong, probing=lambda seen: wrong, path="/v1beta/openai") as server:
        key_for("gemini", monkeypatch, server)
        with pytest.raises(ModelKeyError, match=r"refuses the key.*GEMINI_API_KEY or GOOGLE_API_KEY"):
            start("gemini:fake-1")
        assert server.probes == 1


def test_groq_refuses_log_probabilities_and_samples_instead(monkeypatch):
    with FakeServer(logprobs="refused", path="/openai/v1") as server:
        key_for("groq", monkeypatch, server)
        able = start("groq:fake-1").capabilities
    assert (able.top_tokens, able.seed, able.schema) == (0, True, True)


@pytest.mark.parametrize("name", ["mistral", "deepseek"])
def test_a_service_that_takes_no_seed_is_sent_none(name, monkeypatch):
    with FakeServer(unknown_fields={"seed"}) as server:
        key_for(name, monkeypatch, server)
        model = start(f"{name}:fake-1", Request((("user", "Speak."),), seed=7, max_tokens=9))
        assert server.answered == 1
    assert model.capabilities.top_tokens == 20


def test_a_server_that_refuses_seeds_is_found_out_and_keeps_its_log_probabilities():
    with FakeServer(unknown_fields={"seed"}) as server:
        able = start(f"{server.url}#fake-1").capabilities
        assert (able.top_tokens, able.seed, server.probes) == (20, False, 2)


def test_together_lists_models_without_an_envelope(monkeypatch):
    with FakeServer(listing=Act(body=[{"id": "fake-1", "object": "model"}, {"id": "fake-2"}])) as server:
        key_for("together", monkeypatch, server)
        with pytest.raises(UnknownModelError, match="It lists 2 models"):
            start("together:fake-3")


def test_a_proxy_that_rejects_an_unknown_model_with_400_is_understood(monkeypatch):
    with FakeServer(probing=lambda seen: failing(400, f"{seen.body['model']} is not a valid model ID")) as server:
        key_for("openrouter", monkeypatch, server)
        with pytest.raises(UnknownModelError, match=r"fake-2 is not a valid model ID.*openrouter:fake-1"):
            start("openrouter:fake-2")


def test_a_model_that_reasons_before_it_answers_gets_room_for_that(monkeypatch):
    def treat(seen: Seen) -> Act | None:
        if "max_tokens" in seen.body:
            return failing(400, "Unsupported parameter: use max_completion_tokens.")
        if seen.body["max_completion_tokens"] < 1000:
            return failing(400, "Could not finish the message because the output limit was reached.")
        return None

    with FakeServer(treat, probing=treat, logprobs="refused") as server:
        key_for("openai", monkeypatch, server)
        model = start("openai:fake-1", Request((("user", "Speak."),), max_tokens=9))
        assert server.seen[-1].body["max_completion_tokens"] == 2048 + 9
    assert "reasons before it answers" in model.notes[-1]


@pytest.mark.parametrize("ending", ["/v1/chat/completions", "/v1/models", "/v1/", "", "/", "/api"])
def test_an_address_with_a_wrong_ending_is_corrected(ending):
    with FakeServer() as server:
        model = start(f"{server.url.removesuffix('/v1')}{ending}#fake-1")
    assert (model.base_url, model.fingerprint) == (server.url, f"{server.url}#fake-1")


def test_where_nothing_is_listed_the_message_shows_the_address_with_v1():
    with FakeServer(listing=failing(404)) as server, pytest.raises(UnknownModelError) as caught:
        start(f"{server.url.removesuffix('/v1')}#fake-1")
    assert f"{server.url}#fake-1" in str(caught.value.hint)


def test_https_to_a_server_on_this_machine_is_answered_with_http():
    with pytest.raises(ModelUnreachableError, match="try http://localhost:1/v1"):
        start("https://localhost:1/v1#x")


def test_the_page_on_models_lists_every_provider_with_its_variables_and_what_it_lacks():
    page = (Path(__file__).parents[2] / "docs" / "which-model.md").read_text()
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `") and ":` |" in row}
    assert set(rows) == {f"{name}:" for name in PROVIDERS}
    for name, provider in PROVIDERS.items():
        row = rows[f"{name}:"]
        assert all(f"`{each}`" in row for each in (*provider.key_variables, provider.address_variable))
        lacks = row.split("|")[-2]
        assert {word.strip() for word in lacks.split(",") if word.strip()} == set(provider.lacks)
