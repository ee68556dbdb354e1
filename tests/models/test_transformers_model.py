"""A model on PyTorch answers as its weights say, whatever else is in the batch; bad input is answered in a sentence."""

from __future__ import annotations

import asyncio
import os
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from populace.base.errors import ModelError, ModelFileError, UnknownNameError
from populace.models import open_model
from populace.models.artifacts import SMOLLM2
from populace.models.base import Failure, Reply, Request
from populace.models.transformers_model import TransformersModel
from support.tiny_models import answers, tiny_folder

SYSTEM = ("system", "You are Maria, a baker.")


def torch_or_skip() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
    torch.set_num_threads(1)  # Threads wait for each other longer than such a small network takes.


def scores(count: int) -> list[Request]:
    users = [f"Yesterday {n} of 20 wore blue. {'And you? ' * (n % 3)}" for n in range(count)]
    return [Request((SYSTEM, ("user", user)), lead="I wear", top=5) for user in users]


def texts(count: int) -> list[Request]:
    users = [f"Say something about bread{'!' * (7 * n)}" for n in range(count)]
    return [Request((SYSTEM, ("user", u)), max_tokens=12, seed=n, temperature=n % 2) for n, u in enumerate(users)]


@pytest.mark.parametrize(("family", "bias"), [("llama", False), ("qwen2", True)])
def test_a_reply_does_not_depend_on_what_else_is_in_the_batch(tmp_path: Path, family: str, bias: bool) -> None:
    torch_or_skip()
    model = TransformersModel(tiny_folder(tmp_path / "m", family=family, bias=bias))
    requests = [*scores(7), *texts(5)]
    together = answers(model, requests)
    for request, reply in zip(requests, together, strict=True):
        alone = answers(model, [request])[0]
        assert isinstance(alone, Reply)
        assert isinstance(reply, Reply)
        assert (alone.text, alone.finish, alone.completion_tokens) == (
            reply.text,
            reply.finish,
            reply.completion_tokens,
        )
        assert [token for token, _ in alone.tokens] == [token for token, _ in reply.tokens]
        assert np.allclose([p for _, p in alone.tokens], [p for _, p in reply.tokens], atol=1e-4)


def test_tokens_that_can_begin_an_option_are_reported_however_unlikely(tmp_path: Path) -> None:
    torch_or_skip()
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    wide = Request((SYSTEM, ("user", "Which shirt?")), lead="I wear", top=100_000)
    everything = answers(model, [wide])[0]
    assert isinstance(everything, Reply)
    possible = {token: p for token, p in everything.tokens if p >= np.log(1e-6)}
    assert len(possible) > 100  # A network with random weights finds everything possible.
    *_, unlikely = [token for token, _ in everything.tokens if token.isascii() and token.isalpha()]
    with_options = wide._replace(top=200, options=(unlikely, "zz"))
    alone = answers(model, [with_options])[0]
    beside, _ = answers(model, [with_options, wide])
    for reply in (alone, beside):
        assert isinstance(reply, Reply)
        pairs = dict(reply.tokens)
        assert pairs[unlikely] == pytest.approx(possible[unlikely], abs=1e-3)
        assert len(pairs) == len(reply.tokens) < 40
        assert [p for _, p in reply.tokens] == sorted((p for _, p in reply.tokens), reverse=True)
        assert all(
            p == pytest.approx(everything_p, abs=1e-3)
            for token, p in pairs.items()
            if (everything_p := dict(everything.tokens).get(token))
        )
    assert with_options.key("m", with_options=True) != wide._replace(top=200).key("m", with_options=True)
    assert model.capabilities.options


def test_replies_are_the_same_in_the_order_of_work_of_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, batches are begun in the thread of the caller, and collected while the next ones are computed."""
    torch_or_skip()
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    requests = [Request((("user", "x" * 3000),), top=3), *scores(9), *texts(3)]
    expected = answers(model, requests)
    monkeypatch.setattr("populace.models.transformers_model._PROMPTS_READ_AT_ONCE", 4)
    monkeypatch.setattr(model, "_device", "cuda")
    monkeypatch.setattr(model, "_scale", 0.5)  # The rows of a graph need not be filled up.
    for one, other in zip(answers(model, requests), expected, strict=True):
        assert type(one) is type(other)
        if isinstance(one, Reply) and isinstance(other, Reply):
            assert (one.text, one.prompt_tokens) == (other.text, other.prompt_tokens)
            assert np.allclose([p for _, p in one.tokens], [p for _, p in other.tokens], atol=1e-4)


def test_writing_continues_as_reading_the_whole_says(tmp_path: Path) -> None:
    """At temperature 0, each written token is the one that reading all earlier ones at once puts first."""
    torch_or_skip()
    import torch

    from populace.models.pytorch.network import Network
    from populace.models.pytorch.weights import read_weights
    from populace.models.pytorch.writing import Draft, Writer

    network = Network(read_weights(tiny_folder(tmp_path / "m", bias=True), "cpu", torch.float32))
    prompts = [[5, 9, 77], list(range(40, 70))]
    with torch.inference_mode():
        replies = Writer(network, []).write([Draft(prompt, 20, 0.0, 0) for prompt in prompts], 2)
        for prompt, reply in zip(prompts, replies, strict=True):
            states, _ = network.read(torch.tensor([[*prompt, *reply.tokens]]))
            best = network.logits(states[0, len(prompt) - 1 : -1]).argmax(-1)
            assert len(reply.tokens) == 20
            assert best.tolist() == list(reply.tokens)


def test_the_seed_of_a_request_changes_what_is_written(tmp_path: Path) -> None:
    torch_or_skip()
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    request = Request((SYSTEM, ("user", "Bread?")), max_tokens=20)
    replies = answers(model, [request._replace(seed=seed) for seed in (1, 1, 2, 3)])
    assert replies[0] == replies[1]
    assert len({reply.text for reply in replies if isinstance(reply, Reply)}) == 3


def test_the_forward_pass_is_that_of_the_published_equations(tmp_path: Path) -> None:
    torch_or_skip()
    import torch

    from populace.models.pytorch.network import Network
    from populace.models.pytorch.weights import read_weights

    path = tiny_folder(tmp_path / "m", bias=True)
    tokens = [3, 77, 12, 250, 9, 9, 41]
    states, _ = Network(read_weights(path, "cpu", torch.float32)).read(torch.tensor([tokens]))
    expected = by_hand(
        {k: v.double().numpy() for k, v in read_weights(path, "cpu", torch.float32).tensors.items()}, tokens
    )
    assert np.allclose(states[0].numpy(), expected, atol=1e-4)


def by_hand(w: dict[str, np.ndarray], tokens: list[int]) -> np.ndarray:
    """The network in numpy, one head and one token at a time."""

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * w[name]

    x = w["model.embed_tokens.weight"][tokens]
    for layer in range(2):
        at = f"model.layers.{layer}"
        y = norm(x, f"{at}.input_layernorm.weight")
        q, k, v = (y @ w[f"{at}.self_attn.{n}_proj.weight"].T + w[f"{at}.self_attn.{n}_proj.bias"] for n in "qkv")
        out = np.zeros_like(q)
        for head in range(4):
            mine, theirs = slice(head * 8, head * 8 + 8), slice(head // 2 * 8, head // 2 * 8 + 8)
            for t in range(len(tokens)):
                scores = np.array([turned(q[t, mine], t) @ turned(k[s, theirs], s) / 8**0.5 for s in range(t + 1)])
                chances = np.exp(scores - scores.max())
                out[t, mine] = chances / chances.sum() @ v[: t + 1, theirs]
        x = x + out @ w[f"{at}.self_attn.o_proj.weight"].T
        y = norm(x, f"{at}.post_attention_layernorm.weight")
        gate, up = y @ w[f"{at}.mlp.gate_proj.weight"].T, y @ w[f"{at}.mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"{at}.mlp.down_proj.weight"].T
    return norm(x, "model.norm.weight")


def turned(vector: np.ndarray, place: int) -> np.ndarray:
    angle = place / 10000.0 ** (np.arange(4) / 4)
    first, second = vector[:4], vector[4:]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin])


def test_memory_that_does_not_suffice_halves_the_batch_and_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_or_skip()
    import torch

    model = TransformersModel(tiny_folder(tmp_path / "m"))
    expected = answers(model, scores(8))
    scorer = model._loaded().scorer
    begin, sizes = scorer.begin, []

    def small(rows, which, shared, most, options):  # type: ignore[no-untyped-def]
        sizes.append(len(which))
        if len(which) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return begin(rows, which, shared, most, options)

    monkeypatch.setattr(scorer, "begin", small)
    halved = answers(model, scores(8))
    assert sizes == [8, 4, 2, 2, 4, 2, 2]
    assert [reply.text for reply in halved if isinstance(reply, Reply)] == [
        e.text for e in expected if isinstance(e, Reply)
    ]
    assert any("halved" in note for note in model.notes)


def test_special_tokens_in_a_text_are_neutralised(tmp_path: Path) -> None:
    torch_or_skip()
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    asyncio.run(model.start())
    tokenizer = model._loaded().tokenizer
    ids = tokenizer.prompts([Request((("user", "a <turn> b"),))])[0]
    assert tokenizer.encode("<turn>")[0] not in ids


def test_a_prompt_that_is_too_long_is_rejected_and_the_others_are_answered(tmp_path: Path) -> None:
    torch_or_skip()
    model = TransformersModel(tiny_folder(tmp_path / "m"))
    long = Request((("user", "x" * 3000),), top=3)
    first, second = answers(model, [long, *scores(1)])
    assert isinstance(first, Failure)
    assert first.status == "rejected"
    assert "2048" in first.detail
    assert isinstance(second, Reply)


def test_the_fingerprint_says_what_computed_the_reply(tmp_path: Path) -> None:
    torch_or_skip()
    import torch

    model, other = (TransformersModel(tiny_folder(tmp_path / name, seed=i)) for i, name in enumerate("ab"))
    for each in (model, other):
        asyncio.run(each.start())
    assert f"pytorch {torch.__version__}" in model.fingerprint
    assert "float32 on cpu" in model.fingerprint
    assert model.fingerprint != other.fingerprint, "other weights"


@pytest.mark.embedded
def test_it_agrees_with_llama_cpp_on_the_same_file() -> None:
    torch_or_skip()
    path = SMOLLM2.path
    if not path.is_file():
        pytest.skip("the model file is not in the cache: populace models --fetch")
    users = [f"Yesterday {n} of the 20 people wore blue. Which colour do you wear today, café 12345?" for n in (3, 17)]
    requests = [Request((SYSTEM, ("user", user)), lead="I wear", top=50) for user in users]
    ours = answers(TransformersModel(path), requests)
    theirs = answers(open_model("embedded"), requests)  # type: ignore[arg-type]
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, Reply)
        assert isinstance(other, Reply)
        assert one.prompt_tokens == other.prompt_tokens
        mine, other_chances = ({word: np.exp(p) for word, p in reply.tokens} for reply in (one, other))
        words = mine.keys() & other_chances.keys()
        assert len(words) >= 10
        assert sum(abs(mine[word] - other_chances[word]) for word in words) / 2 < 0.03
        assert next(iter(mine)) == next(iter(other_chances))


# Bad input.


def test_a_file_of_another_family_is_named_with_a_way_out(tmp_path: Path) -> None:
    torch_or_skip()
    path = tiny_folder(tmp_path / "m", family="gemma3")
    with pytest.raises(ModelFileError, match="family 'gemma3'.*llama and qwen2"):
        asyncio.run(TransformersModel(path).start())


def test_a_gguf_file_of_another_family_is_pointed_to_llama_cpp(tmp_path: Path) -> None:
    torch_or_skip()
    from populace.models.pytorch.weights import read_weights

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    field = text("general.architecture") + struct.pack("<I", 8) + text("mamba")
    path = tmp_path / "m.gguf"
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + field)
    with pytest.raises(ModelFileError, match=r"mamba.*embedded:.*m\.gguf"):
        read_weights(path, "cpu", None)


def test_a_folder_without_weights_is_said_so(tmp_path: Path) -> None:
    torch_or_skip()
    path = tiny_folder(tmp_path / "m")
    (path / "model.safetensors").unlink()
    with pytest.raises(ModelFileError, match="holds no weights"):
        asyncio.run(TransformersModel(path).start())


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_missing_or_damaged_part_of_a_folder_is_named(tmp_path: Path, name: str) -> None:
    torch_or_skip()
    path = tiny_folder(tmp_path / "m")
    for content in ("{", "[]", None):
        (path / name).unlink() if content is None else (path / name).write_text(content)
        with pytest.raises(ModelFileError):
            asyncio.run(TransformersModel(path).start())


def test_weights_that_were_cut_short_are_refused(tmp_path: Path) -> None:
    torch_or_skip()
    path = tiny_folder(tmp_path / "m")
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(ModelFileError):
        asyncio.run(TransformersModel(path).start())


def test_a_missing_path_and_a_file_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no model"):
        asyncio.run(TransformersModel(tmp_path / "none").start())
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(ModelFileError, match="not a GGUF file"):
        asyncio.run(TransformersModel(tmp_path / "a.txt").start())


def test_without_pytorch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModelError, match=r"populace\[gpu\]"):
        asyncio.run(TransformersModel(tmp_path).start())


def test_a_gpu_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    torch_or_skip()
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ModelError, match="finds none here"):
        asyncio.run(TransformersModel(tmp_path, device="cuda").start())


def test_the_string_of_a_model_is_read() -> None:
    assert open_model("transformers:a/b.gguf?device=cpu").spec == "transformers:a/b.gguf?device=cpu"
    with pytest.raises(ModelError, match="names no weights"):
        open_model("transformers:")
    with pytest.raises(UnknownNameError, match="devise"):
        open_model("transformers:a?devise=cpu")
    with pytest.raises(UnknownNameError, match="tpu"):
        open_model("transformers:a?device=tpu")


def test_a_pipe_in_place_of_weights_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "weights")
    with pytest.raises(ModelFileError, match="there is no model at"):
        asyncio.run(TransformersModel(tmp_path / "weights").start())
