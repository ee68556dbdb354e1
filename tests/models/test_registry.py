from __future__ import annotations

import asyncio
import re

import pytest

from populace.base.errors import ModelError, ModelFileError, PopulaceError, UnknownNameError
from populace.models import (
    MODEL_FORMS,
    SMOLLM2,
    EmbeddedModel,
    Model,
    ModelTraits,
    OpenAICompatible,
    Scripted,
    check_model,
    model_traits,
    open_model,
)
from support.fake_server import FakeServer

SUGGESTIONS = [
    ("embeded", "embedded"),
    ("", "embedded"),
    ("scripted-uniform", "scripted:uniform"),
    ("uniform", "scripted:uniform"),
    ("gpt-4o", "openai:gpt-4o"),
    ("o3-mini", "openai:o3-mini"),
    ("openai/gpt-4o", "openai:gpt-4o"),
    ("OpenAI:gpt-4o", "openai:gpt-4o"),
    (" openai:gpt-4o ", "openai:gpt-4o"),
    ("opnai:gpt-4o", "openai:gpt-4o"),
    ("chatgpt:gpt-4o", "openai:gpt-4o"),
    ("llama3", "ollama:llama3"),
    ("llama3:8b", "ollama:llama3:8b"),
    ("gpt-oss:20b", "ollama:gpt-oss:20b"),
    ("olama:llama3", "ollama:llama3"),
    ("claude-sonnet-4", "anthropic:claude-sonnet-4"),
    ("antropic:claude-sonnet-4", "anthropic:claude-sonnet-4"),
    ("gemini-2.5-flash", "gemini:gemini-2.5-flash"),
    ("google:gemini-2.5-flash", "gemini:gemini-2.5-flash"),
    ("mistral-large-latest", "mistral:mistral-large-latest"),
    ("deepseek-chat", "deepseek:deepseek-chat"),
    ("grok-4", "xai:grok-4"),
    ("meta-llama/Llama-3-8B", "openrouter:meta-llama/Llama-3-8B"),
    ("./tiny.gguf", "embedded:./tiny.gguf"),
    ("/models/deep/tiny.gguf", "embedded:/models/deep/tiny.gguf"),
    ("embedded tiny.gguf", "embedded:tiny.gguf"),
    ("hf:acme/tiny-GGUF/tiny.gguf", "embedded:hf:acme/tiny-GGUF/tiny.gguf"),
    ("acme/tiny-GGUF/tiny.gguf", "embedded:hf:acme/tiny-GGUF/tiny.gguf"),
    ("https://huggingface.co/acme/tiny/blob/main/q4/tiny.gguf", "embedded:hf:acme/tiny/q4/tiny.gguf"),
    ("https://huggingface.co/acme/tiny/resolve/ab12/tiny.gguf?download=true", "embedded:hf:acme/tiny/tiny.gguf@ab12"),
    ("http//127.0.0.1:8000/v1#m", "http://127.0.0.1:8000/v1#m"),
    ("http:/127.0.0.1:8000/v1#m", "http://127.0.0.1:8000/v1#m"),
    ("htp://127.0.0.1:8000/v1#m", "http://127.0.0.1:8000/v1#m"),
    ("https//example.org/v1#m", "https://example.org/v1#m"),
    ("localhost:8000/v1#m", "http://localhost:8000/v1#m"),
    ("example.org:8000/v1#m", "http://example.org:8000/v1#m"),
]


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("embedded", EmbeddedModel),
        ("embedded:models/any.gguf", EmbeddedModel),
        ("embedded:models/any.gguf?context=512&threads=2", EmbeddedModel),
        ("openai:gpt-4o-mini", OpenAICompatible),
        ("http://127.0.0.1:8000/v1#llama", OpenAICompatible),
        ("https://example.org/v1", OpenAICompatible),
        ("scripted:uniform", Scripted),
        ("scripted", Scripted),
    ],
)
def test_a_model_keeps_the_name_by_which_it_can_be_opened_again(spec, kind):
    model = open_model(spec)
    assert isinstance(model, kind)
    assert model.spec == spec
    assert model.traits == model_traits(spec)


def test_every_form_that_the_help_lists_can_be_opened():
    for form in MODEL_FORMS:
        spec = (
            form.replace("PATH", "x.gguf")
            .replace("OWNER/REPO/FILE", "a/b/c")
            .replace("scripted:NAME", "scripted:first")
            .replace("ray:MODEL*N", "ray:embedded*2")
        )
        spec = spec.replace("NAME", "x").replace("HOST:PORT", "127.0.0.1:1")
        assert open_model(spec).spec == spec


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("embedded", ModelTraits(local=True, artifact=SMOLLM2)),
        ("embedded?threads=2", ModelTraits(local=True, artifact=SMOLLM2)),
        ("embedded:?threads=2", ModelTraits(local=True, artifact=SMOLLM2)),
        ("embedded:x.gguf?threads=2", ModelTraits(local=True)),
        ("scripted:missing:function", ModelTraits(local=True, scripted=True)),
        ("openai:gpt-4o-mini", ModelTraits()),
        ("https://example.org/v1#embedded", ModelTraits()),
    ],
)
def test_what_is_known_of_a_model_is_known_before_it_is_opened(spec, kind):
    assert model_traits(spec) == kind


def test_the_kind_of_a_model_string_of_unknown_form_is_an_error_or_the_default():
    with pytest.raises(UnknownNameError, match="there is no model named 'parrot'"):
        model_traits("parrot")
    assert model_traits("parrot", ModelTraits()) == Model.traits


def test_an_address_holds_the_model_behind_its_hash():
    model = open_model("http://127.0.0.1:8000/v1/#meta-llama/Llama-3", concurrency=3, timeout_s=7.0)
    assert (model.base_url, model.name) == ("http://127.0.0.1:8000/v1", "meta-llama/Llama-3")
    assert (model.concurrency, model.timeout_s) == (3, 7.0)
    assert open_model("http://127.0.0.1:8000/v1#").name is None


@pytest.mark.parametrize("base", [None, "", "http://127.0.0.1:1/v1"])
def test_openai_may_be_pointed_at_another_address(base, monkeypatch):
    if base is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", base)
    assert open_model("openai:gpt-x").base_url == (base or "https://api.openai.com/v1")


def test_a_key_for_one_service_is_not_sent_to_another(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai")

    async def start(model: Model) -> None:
        await model.start()
        await model.close()

    with FakeServer() as server:
        asyncio.run(start(open_model(server.url)))
    assert "sk-for-openai" not in server.keys


@pytest.mark.parametrize(("spec", "meant"), SUGGESTIONS)
def test_a_string_that_names_no_model_is_answered_with_the_one_that_was_probably_meant(spec, meant):
    with pytest.raises(UnknownNameError, match=f"Did you mean {re.escape(meant)}\\?"):
        check_model(spec)
    check_model(meant.replace("NAME", "x"))


@pytest.mark.parametrize("spec", ["", ":", "gpt-4", "ftp://127.0.0.1/v1#x", "openai", "openai:"])
def test_what_names_no_model_is_refused(spec):
    with pytest.raises(PopulaceError):
        open_model(spec)


@pytest.mark.parametrize(
    "spec", ["http://[::1/v1#x", "http:///v1#x", "http://127.0.0.1:99999/v1#x", "http://127.0.0.1:port/v1#x"]
)
def test_an_address_that_is_none_is_refused_in_words(spec):
    with pytest.raises(PopulaceError):
        asyncio.run(open_model(spec, timeout_s=1.0).start())


def test_a_path_may_begin_with_the_home_folder(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    assert str(open_model("embedded:~/models/x.gguf").path) == "/home/ann/models/x.gguf"


def test_a_missing_file_is_answered_with_the_one_beside_it_that_was_probably_meant(tmp_path):
    (tmp_path / "qwen-1.5b.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelFileError, match=r"Did you mean embedded:.*/qwen-1\.5b\.gguf\?"):
        asyncio.run(open_model(f"embedded:{tmp_path}/qwen-1.5.gguf").start())


def test_an_embedded_model_takes_threads_and_context():
    model = open_model("embedded:?threads=2&context=512")
    assert (model.path, model.threads, model.capabilities.context) == (None, 2, 512)


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", ""])
def test_options_of_an_embedded_model_are_whole_numbers_above_zero(value):
    with pytest.raises(ModelError, match=r"threads takes a whole number"):
        open_model(f"embedded:x.gguf?threads={value}")


def test_an_unknown_option_of_an_embedded_model_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="threads"):
        open_model("embedded:x.gguf?thread=2")
