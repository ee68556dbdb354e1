"""An adapter is one file that names its base; a model with it is another model, the same in every engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from populace.base.errors import ModelError, ModelFileError, PopulaceError, UnknownNameError
from populace.cli.progress import fetch_missing_models
from populace.models import SMOLLM2, EmbeddedModel, Reply, Request, adapter_names, model_code, model_traits, open_model
from populace.models.adapter_bases import read_base
from populace.models.adapter_merging import merge_adapter, merge_folder
from populace.models.adapter_names import split_adapter
from populace.models.adapters import read_adapter, read_card, write_adapter
from populace.models.gguf_header import read_header
from populace.models.peft_folder import from_peft, read_peft
from populace.models.tensor_layout import head_count, separate_halves, transformers_name
from support.audit import IN_FULL, size
from support.fake_hub import COMMIT, FakeHub
from support.tiny_models import tiny_adapter, tiny_folder, tiny_gguf, write_safetensors

WEIGHT = "blk.0.attn_v.weight"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, monkeypatch: Any) -> None:
    if request.node.get_closest_marker("embedded") is None:
        monkeypatch.setenv("POPULACE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `llama` and `qwen2` as transformers saves them, and as GGUF files, with an adapter for each."""
    place = tmp_path_factory.mktemp("tiny")
    for family in ("llama", "qwen2"):
        folder = tiny_folder(place / family, family=family, bias=family == "qwen2", seed=3)
        base = tiny_gguf(place / f"{family}.gguf", folder)
        tiny_adapter(place / f"{family}-adapter.gguf", base, packed=False)
    return place


def question(number: int) -> Request:
    text = f"Hello number {number}. {number % 21} of 20 wear blue. Options: blue, green."
    return Request((("user", text),), lead="Answer:", top=200)


def ask(spec: str | EmbeddedModel, count: int = 3) -> list[dict[str, float]]:
    """The distributions over the first token for a few prompts."""
    requests = [question(number) for number in range(count)]
    model = open_model(spec) if isinstance(spec, str) else spec

    async def go() -> dict[int, Any]:
        await model.start()
        replies = {index: outcome async for lot in model.replies(requests) for index, outcome in lot}
        await model.close()
        return replies

    replies = asyncio.run(go())
    assert all(isinstance(reply, Reply) for reply in replies.values()), replies
    return [shares(replies[index]) for index in range(count)]


def shares(reply: Reply) -> dict[str, float]:
    """The probability of each text; endings and halves of characters, which engines name differently, are left out."""
    found: dict[str, float] = {}
    for token, log in reply.tokens:
        if token.isascii() and token.strip() and "<" not in token:
            found[token] = found.get(token, 0.0) + math.exp(log)
    return found


def distance(one: list[dict[str, float]], other: list[dict[str, float]]) -> float:
    """The largest total variation between the distributions for the same prompt."""
    pairs = zip(one, other, strict=True)
    return max(sum(abs(a.get(key, 0) - b.get(key, 0)) for key in {*a, *b}) / 2 for a, b in pairs)


def named(one: list[dict[str, float]], other: list[dict[str, float]]) -> list[dict[str, float]]:
    """The first distributions over the tokens of the others: PyTorch names fewer of the unlikely ones."""
    assert min(map(len, other)) >= 5
    return [{key: a[key] for key in b if key in a} for a, b in zip(one, other, strict=True)]


def options(distributions: list[dict[str, float]]) -> list[dict[str, float]]:
    """The distributions over the options of the question, as a run uses them."""
    found = []
    for each in distributions:
        words = {word: sum(p for token, p in each.items() if token.strip() == word) for word in ("blue", "green")}
        found.append({word: p / sum(words.values()) for word, p in words.items()})
    return found


def own_lora(base: Path | None, adapter: Path) -> EmbeddedModel:
    """A model whose adapter llama.cpp itself loads."""
    import xllamacpp

    class OwnLora(EmbeddedModel):
        def _load(self) -> None:
            params = xllamacpp.CommonParams

            def with_lora() -> Any:
                made = params()
                made.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(adapter), 1.0)]
                return made

            xllamacpp.CommonParams = with_lora
            try:
                super()._load()
            finally:
                xllamacpp.CommonParams = params

    return OwnLora(base, threads=1, context=1024)


def peft_folder(path: Path, adapter: Path, base: Path, **config: object) -> Path:
    """An adapter file as peft would save it, with the rows of queries and keys in the order of transformers."""
    loaded, info, tensors = read_adapter(adapter), read_base(base), {}
    for name, (a, b) in loaded.tensors.items():
        heads = head_count(name, info.family, info.heads, info.kv_heads)
        start = f"base_model.model.{transformers_name(name)}".removesuffix(".weight")
        tensors[f"{start}.lora_A.weight"] = a
        tensors[f"{start}.lora_B.weight"] = separate_halves(b, heads) if heads else b
    path.mkdir()
    write_safetensors(path / "adapter_model.safetensors", tensors)
    settings = {"peft_type": "LORA", "r": loaded.rank, "lora_alpha": loaded.card.alpha, "bias": "none"} | config
    (path / "adapter_config.json").write_text(json.dumps(settings))
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    pair = (random.normal(size=(32, 64)), random.normal(size=(96, 32)))
    odd = (random.normal(size=(32, 50)), random.normal(size=(96, 32)))
    manifest = {"kind": "calibrated", "data": [{"name": "votes", "licence": "CC0-1.0"}], "figures": {"accuracy": 0.7}}
    write_adapter(
        tmp_path / "mine.gguf",
        {WEIGHT: pair, "blk.1.attn_v.weight": odd},
        alpha=16,
        base_sha256="ab" * 32,
        base_name="a base",
        manifest=manifest,
    )
    adapter = read_adapter(tmp_path / "mine.gguf")
    assert read_card(tmp_path / "mine.gguf") == adapter.card
    assert (adapter.card.name, adapter.card.base_name, adapter.card.kind, adapter.rank) == (
        "mine",
        "a base",
        "calibrated",
        32,
    )
    assert (adapter.card.licences, adapter.card.figures) == (["CC0-1.0"], {"accuracy": 0.7})
    places = read_header(tmp_path / "mine.gguf").tensors
    assert {name: place.kind for name, place in places.items() if name.endswith("_a")} == {
        f"{WEIGHT}.lora_a": 8,
        "blk.1.attn_v.weight.lora_a": 1,
    }
    assert np.abs(adapter.tensors[WEIGHT][0] - pair[0]).max() < 0.03
    assert np.abs(adapter.tensors["blk.1.attn_v.weight"][0] - odd[0]).max() < 0.003
    assert np.allclose(adapter.change(WEIGHT), 0.5 * adapter.tensors[WEIGHT][1] @ adapter.tensors[WEIGHT][0], atol=1e-5)


def test_writing_the_same_twice_gives_the_same_file(tmp_path: Path, tiny: Path) -> None:
    one, other = (tiny_adapter(tmp_path / f"{name}.gguf", tiny / "llama.gguf", name="x") for name in "ab")
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_every_engine_gives_the_same_distribution(family: str, tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'").set_num_threads(1)
    base, adapter = tiny / f"{family}.gguf", tiny / f"{family}-adapter.gguf"
    merged = ask(f"embedded:{base}+{adapter}?threads=1")
    assert distance(merged, ask(f"embedded:{base}?threads=1")) > 0.1, "the adapter changes something"
    folder = peft_folder(tmp_path / "peft", adapter, base)
    on_torch = ask(f"transformers:{base}+{adapter}")
    assert distance(merged, ask(own_lora(base, adapter))) < 0.02
    assert distance(named(merged, on_torch), on_torch) < 0.02
    assert distance(on_torch, ask(f"transformers:{base}+{folder}")) < 1e-5
    assert distance(on_torch, ask(f"transformers:{tiny / family}+{folder}")) < 1e-4
    assert distance(merged, ask(f"embedded:{base}+{folder}?threads=1")) < 1e-5
    converted = from_peft(folder, base, tmp_path / "converted.gguf", manifest={"kind": "human"})
    assert converted.card.base_sha256 == read_base(base).sha256
    assert distance(merged, ask(f"embedded:{base}+{tmp_path / 'converted.gguf'}?threads=1")) < 0.01


@pytest.mark.audit
@pytest.mark.embedded
@pytest.mark.xdist_group("embedded")
@pytest.mark.skipif(not IN_FULL, reason="500 prompts for three engines take minutes: `make audit` asks them.")
def test_the_pinned_model_with_an_adapter_is_exact_and_that_of_llama_cpp(tmp_path: Path) -> None:
    try:
        base = SMOLLM2.fetch()
    except ModelFileError as error:
        pytest.skip(f"the embedded model cannot be fetched: {error}")
    adapter = tiny_adapter(tmp_path / "mine.gguf", base, strength=0.03)
    merged = merge_folder() / f"{SMOLLM2.sha256[:32]}-{read_adapter(adapter).sha256[:32]}-1.gguf"
    count = 500
    try:
        model = open_model(f"embedded+{adapter}?context=1024&threads=1")
        together = ask(model, count)
        assert "widened, plain attention" in model.fingerprint
        assert together[-1:] == ask_last(f"embedded+{adapter}?context=1024&threads=1", count), "alone as after others"
        own = ask(own_lora(None, adapter), count)
        assert distance(options(together), options(own)) < 0.02
        assert distance(together, own) < 0.05, "over all tokens the two orders of rounding differ more"
        pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'populace[gpu]'")
        on_torch = ask(f"transformers:{base}+{adapter}", count)
        assert distance(options(together), options(on_torch)) < 0.02
    finally:
        merged.unlink(missing_ok=True)


def ask_last(spec: str, count: int) -> list[dict[str, float]]:
    """The distribution for the last prompt, asked alone."""
    model = open_model(spec)
    request = question(count - 1)

    async def go() -> list[dict[str, float]]:
        await model.start()
        replies = [outcome async for lot in model.replies([request]) for _, outcome in lot]
        await model.close()
        return [shares(reply) for reply in replies if isinstance(reply, Reply)]

    return asyncio.run(go())


def test_a_merged_file_holds_the_base_plus_the_change_and_is_written_once(tiny: Path) -> None:
    base, adapter = read_base(tiny / "llama.gguf"), read_adapter(tiny / "llama-adapter.gguf")
    path = merge_adapter(base.path, base, adapter)
    first = path.stat().st_ino
    assert merge_adapter(base.path, base, adapter).stat().st_ino == first
    old, new = read_header(base.path), read_header(path)
    assert old.values == new.values
    raw, merged = np.fromfile(base.path, np.uint8), np.fromfile(path, np.uint8)
    for name, place in old.tensors.items():
        count = math.prod(place.shape)
        numbers = raw[place.offset :][: 4 * count].view("<f4").reshape(place.shape)
        begin = merged[new.tensors[name].offset :]
        if name in adapter.tensors:
            expected = (numbers + adapter.change(name)).astype(np.float16)
            assert np.array_equal(begin[: 2 * count].view("<f2").reshape(place.shape), expected), name
        else:
            assert np.array_equal(begin[: 4 * count].view("<f4").reshape(place.shape), numbers), name
    assert list(path.parent.iterdir()) == [path], "nothing is left beside it"


def test_few_merged_files_stay_in_the_cache(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("populace.models.adapter_merging._UNUSED_SECONDS", -1)
    monkeypatch.setattr("populace.models.adapter_merging._FILES", 2)
    base = read_base(tiny / "llama.gguf")
    paths = [
        merge_adapter(base.path, base, read_adapter(tiny_adapter(tmp_path / f"{n}.gguf", base.path, seed=n)))
        for n in range(4)
    ]
    assert sorted(merge_folder().glob("*.gguf")) == sorted(paths[2:])


def test_an_adapter_for_another_base_is_refused_and_both_are_named(tiny: Path, tmp_path: Path) -> None:
    other = tiny_gguf(tmp_path / "other.gguf", tiny_folder(tmp_path / "other", seed=9))
    with pytest.raises(ModelFileError) as caught:
        asyncio.run(open_model(f"embedded:{other}+{tiny / 'llama-adapter.gguf'}").start())
    digests = [read_base(path).sha256[:16] for path in (tiny / "llama.gguf", other)]
    assert all(part in str(caught.value) for part in ("llama", "other.gguf", *digests))


def test_another_adapter_is_another_fingerprint(tiny: Path, tmp_path: Path) -> None:
    base = tiny / "llama.gguf"
    second = tiny_adapter(tmp_path / "second.gguf", base, seed=1)
    fingerprints = set()
    for plus in ("", f"+{tiny / 'llama-adapter.gguf'}", f"+{second}"):
        model = open_model(f"embedded:{base}{plus}?threads=1")
        asyncio.run(model.start())
        asyncio.run(model.close())
        fingerprints.add(model.fingerprint)
    assert len(fingerprints) == 3


def test_a_model_that_was_asked_nothing_can_be_closed(tiny: Path) -> None:
    """The engine's own end waits for ever where its loop has not begun; that happened about once in ten times."""

    async def go() -> None:
        for _ in range(size(10, 200)):
            model = open_model(f"embedded:{tiny / 'llama.gguf'}?threads=1&context=512")
            await model.start()
            await model.close()

    asyncio.run(go())


def rewritten(path: Path, change: Callable[[Any], None]) -> None:
    """An adapter file that a hostile hand wrote: as the writer makes it, after a change to the writer."""
    from gguf import GGUFWriter

    writer = GGUFWriter(path, "llama")
    change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def hostile(
    *,
    a: tuple[int, ...] = (4, 32),
    b: tuple[int, ...] = (16, 4),
    fill: float = 0.1,
    name: str = WEIGHT,
    manifest: str = '{"kind": "human"}',
    base: str = "ab" * 32,
    alpha: float = 4.0,
    kind: str = "adapter",
    endings: tuple[str, ...] = (".lora_a", ".lora_b"),
    other_rank: bool = False,
    dtype: type = np.float32,
) -> Callable[[Any], None]:
    def change(writer: Any) -> None:
        writer.add_type(kind)
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", alpha)
        writer.add_string("populace.manifest", manifest)
        writer.add_string("populace.base.sha256", base)
        for ending, shape in zip(endings, (a, b), strict=False):
            writer.add_tensor(name + ending, np.full(shape, fill, dtype))
        if other_rank:
            writer.add_tensor("blk.1.attn_v.weight.lora_a", np.ones((2, 32), np.float32))
            writer.add_tensor("blk.1.attn_v.weight.lora_b", np.ones((16, 2), np.float32))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (hostile(b=(16, 5)), "do not fit"),
        (hostile(a=(4, 32, 2)), "no matrix"),
        (hostile(a=(5000, 32), b=(16, 5000)), "have the shapes"),
        (hostile(other_rank=True), "of the ranks 2, 4"),
        (hostile(fill=math.nan), "not finite"),
        (hostile(fill=math.inf), "not finite"),
        (hostile(fill=1e30), "too large"),
        (hostile(dtype=np.int32), "no matrix of 8, 16 or 32-bit numbers"),
        (hostile(manifest='{"kind": "human", "x": "' + "x" * 2_000_000 + '"}'), "more than 1,000,000 bytes"),
        (hostile(manifest='{"kind": "human", "x": "' + "x" * 5_000_000 + '"}'), "more than 4,000,000 bytes"),
        (hostile(manifest="[" * 5000), "cannot be read"),
        (hostile(manifest="[]"), "not a JSON object"),
        (hostile(manifest='{"kind": "sure"}'), "of the kind 'sure'"),
        (hostile(base="../../etc"), "names no SHA-256"),
        (hostile(base=""), "does not name its base"),
        (hostile(alpha=0.0), "must be above 0"),
        (hostile(alpha=math.nan), "must be above 0"),
        (hostile(kind="model"), "not a LoRA adapter"),
        (hostile(endings=(".lora_a",)), "only one of the two"),
        (hostile(endings=(".weight_a", ".weight_b")), "no part of an adapter"),
        (hostile(endings=()), "changes nothing"),
    ],
)
def test_a_hostile_file_is_refused_with_a_reason(
    change: Callable[[Any], None], message: str, tmp_path: Path, tiny: Path
) -> None:
    rewritten(tmp_path / "bad.gguf", change)
    with pytest.raises(ModelFileError, match=message):
        read_adapter(tmp_path / "bad.gguf")


@pytest.mark.parametrize("name", ["blk.9.attn_v.weight", "token_embd.weight", "blk.0.attn_norm.weight", "../x"])
def test_a_tensor_that_the_base_does_not_have_is_refused(name: str, tmp_path: Path, tiny: Path) -> None:
    base = tiny / "llama.gguf"
    rewritten(tmp_path / "bad.gguf", hostile(name=name, base=read_base(base).sha256))
    with pytest.raises(ModelFileError, match="no matrix of llama.gguf"):
        asyncio.run(open_model(f"embedded:{base}+{tmp_path / 'bad.gguf'}").start())


def test_a_tensor_of_another_shape_is_refused(tmp_path: Path, tiny: Path) -> None:
    base = tiny / "llama.gguf"
    rewritten(tmp_path / "bad.gguf", hostile(a=(4, 64), base=read_base(base).sha256))
    with pytest.raises(ModelFileError, match="16 × 64 for .* which is 16 × 32"):
        asyncio.run(open_model(f"embedded:{base}+{tmp_path / 'bad.gguf'}").start())


def test_a_file_that_is_cut_short_anywhere_is_refused(tmp_path: Path, tiny: Path) -> None:
    whole = (tiny / "llama-adapter.gguf").read_bytes()
    for length in (0, 3, 10, 100, 700, len(whole) // 2, len(whole) - 40):
        (tmp_path / "cut.gguf").write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            read_adapter(tmp_path / "cut.gguf")


def test_bytes_at_random_never_end_in_anything_but_a_refusal(tmp_path: Path, tiny: Path) -> None:
    whole, random = (tiny / "llama-adapter.gguf").read_bytes(), np.random.default_rng(0)
    for _ in range(size(40, 2000)):
        data = bytearray(whole)
        for place in random.integers(0, 1500, 3):
            data[place] = random.integers(0, 256)
        (tmp_path / "odd.gguf").write_bytes(data)
        with contextlib.suppress(PopulaceError):
            read_adapter(tmp_path / "odd.gguf")


def test_a_header_that_claims_to_be_endless_is_refused_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "bomb.gguf").write_bytes(
        struct.pack("<4sIQQ", b"GGUF", 3, 2, 1)
        + struct.pack("<Q4sIIQ", 4, b"name", 9, 0, 60_000_000)
        + b"\0" * 5_000_000
    )
    with pytest.raises(ModelFileError, match="more than 4,000,000 bytes"):
        read_card(tmp_path / "bomb.gguf")


def test_an_adapter_of_others_is_used_with_a_note(tmp_path: Path, tiny: Path) -> None:
    def change(writer: Any) -> None:
        writer.add_type("adapter")
        writer.add_string("adapter.type", "lora")
        writer.add_float32("adapter.lora.alpha", 4.0)
        writer.add_tensor(f"{WEIGHT}.lora_a", np.ones((4, 32), np.float32))
        writer.add_tensor(f"{WEIGHT}.lora_b", np.ones((16, 4), np.float32))

    rewritten(tmp_path / "theirs.gguf", change)
    assert read_card(tmp_path / "theirs.gguf").kind == "unknown"
    model = open_model(f"embedded:{tiny / 'llama.gguf'}+{tmp_path / 'theirs.gguf'}?threads=1")
    asyncio.run(model.start())
    asyncio.run(model.close())
    assert "could not be checked" in model.notes[0]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"peft_type": "IA3"}, "of the type 'IA3'"),
        ({"use_dora": True}, "use_dora"),
        ({"alpha_pattern": {"q_proj": 3}}, "alpha_pattern"),
        ({"r": 8}, "rank 8"),
        ({"r": "4"}, "names no rank"),
        ({"lora_alpha": None}, "names no rank"),
    ],
)
def test_a_folder_of_peft_that_means_something_else_is_refused(
    config: dict[str, object], message: str, tmp_path: Path, tiny: Path
) -> None:
    folder = peft_folder(tmp_path / "peft", tiny / "llama-adapter.gguf", tiny / "llama.gguf", **config)
    with pytest.raises(ModelFileError, match=message):
        read_peft(folder, read_base(tiny / "llama.gguf"))


def test_a_folder_of_peft_may_name_its_base_and_its_manifest(tmp_path: Path, tiny: Path) -> None:
    base = read_base(tiny / "llama.gguf")
    folder = peft_folder(tmp_path / "peft", tiny / "llama-adapter.gguf", base.path, use_rslora=True)
    record = {"name": "mine", "base_name": "llama", "base_sha256": base.sha256, "manifest": {"kind": "judge"}}
    (folder / "populace-adapter.json").write_text(json.dumps(record))
    adapter = read_peft(folder, base)
    assert (adapter.card.name, adapter.card.kind, adapter.card.alpha) == ("mine", "judge", 8.0)
    (folder / "populace-adapter.json").write_text(json.dumps(record | {"base_sha256": "cd" * 32}))
    with pytest.raises(ModelFileError, match="is another model"):
        asyncio.run(open_model(f"embedded:{base.path}+{folder}").start())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ("", None)),
        ("+people", ("", "people")),
        ("+a+b.gguf", ("", "a+b.gguf")),
        ("m.gguf+a+b.gguf", ("m.gguf", "a+b.gguf")),
        ("hf:o/r/m.gguf@v1+mine.gguf", ("hf:o/r/m.gguf@v1", "mine.gguf")),
        ("hf:o/r/m.gguf+hf:o/r/a.gguf@v2", ("hf:o/r/m.gguf", "hf:o/r/a.gguf@v2")),
        ("folder+peft", ("folder", "peft")),
        ("c++/m.gguf", ("c+", "/m.gguf")),
        ("c++/m.gguf+a.gguf", ("c++/m.gguf", "a.gguf")),
    ],
)
def test_a_plus_sign_divides_base_and_adapter(text: str, parts: tuple[str, str | None]) -> None:
    assert split_adapter(text) == parts


def test_a_plus_sign_in_a_path_that_exists_is_part_of_it(tmp_path: Path) -> None:
    base = tmp_path / "c++" / "m+1.gguf"
    base.parent.mkdir()
    base.write_bytes(b"GGUF")
    assert split_adapter(str(base)) == (str(base), None)
    assert split_adapter(f"{base}+a+b.gguf") == (str(base), "a+b.gguf")
    assert split_adapter(f"{base.parent}+peft") == (str(base.parent), "peft")


def test_the_adapter_is_known_before_the_model_is_opened() -> None:
    traits = model_traits("embedded+people?threads=2")
    assert (traits.adapter, traits.artifact) == ("people", SMOLLM2)
    assert model_traits("embedded:m.gguf+hf:o/r/a.gguf").adapter_file is not None
    assert model_traits("transformers:m+people").adapter == "people"
    assert open_model("embedded+people").traits == model_traits("embedded+people")
    assert open_model("transformers:m+people").traits == model_traits("transformers:m+people")
    assert [code.act for code in model_code("embedded+hf:o/r/a.gguf")] == ["fetch"]
    assert [code.act for code in model_code("transformers:m+hf:o/r/a.gguf")] == ["fetch"]
    with pytest.raises(ModelError, match="names no adapter"):
        open_model("embedded+")


def test_an_interrupted_download_of_an_adapter_goes_on_where_it_ended(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (tiny / "llama-adapter.gguf").read_bytes()
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1_000)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    spec = f"embedded:{tiny / 'llama.gguf'}+hf:acme/tiny/mine.gguf?threads=1"
    with FakeHub({"acme/tiny": {COMMIT: {"mine.gguf": content}}}, {"acme/tiny": {"main": COMMIT}}).serve() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.cut_after = len(content) // 2
        with pytest.raises(ModelError, match="what was downloaded is kept"):
            asyncio.run(open_model(spec).start())
        hub.cut_after, hub.down = None, False
        fetched = ask(spec)
    assert fetched == ask(f"embedded:{tiny / 'llama.gguf'}+{tiny / 'llama-adapter.gguf'}?threads=1")
    assert any(span and not span.startswith("bytes=0-") for span in hub.sent("GET")), "only the rest was sent"


def test_an_unknown_name_is_an_error_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("populace.models.artifacts._run_pip", lambda *_: pytest.fail("the model was fetched"))
    for begin in (
        lambda: asyncio.run(open_model("embedded+peple").start()),
        lambda: fetch_missing_models("embedded", "embedded+peple"),
    ):
        with pytest.raises(UnknownNameError, match="Did you mean 'people'"):
            begin()


def test_an_unknown_name_is_answered_with_those_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter_names, "_SHIPPED", tmp_path)
    with pytest.raises(UnknownNameError, match="None ships"):
        adapter_names.find_adapter("peple")
    shutil.copyfile(Path(__file__), tmp_path / "people.gguf")
    with pytest.raises(UnknownNameError, match="Did you mean 'people'"):
        adapter_names.find_adapter("peple")
    assert adapter_names.find_adapter("people") == tmp_path / "people.gguf"
    with pytest.raises(ModelFileError, match="does not exist"):
        adapter_names.find_adapter("./none.gguf")
    with pytest.raises(ModelFileError, match="holds no adapter of peft"):
        adapter_names.find_adapter(f"{tmp_path}/")
