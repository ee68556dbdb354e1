"""Small random networks with a tokenizer of single bytes, as a folder of transformers, a GGUF file and adapters."""

from __future__ import annotations

import asyncio
import json
import string
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from populace.models.adapter_bases import read_base
from populace.models.adapters import write_adapter
from populace.models.base import Failure, Model, Reply, Request
from populace.models.bert import read_safetensors
from populace.models.tensor_layout import gguf_name, head_count, interleave_halves

SPECIAL = ("<|im_start|>", "<|im_end|>", "<turn>")
SPACE = "\u0120"
"""A space, as tokenizers of this kind write it."""
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WIDTH, INNER, HEADS, KV_HEADS, LAYERS, CONTEXT = 32, 48, 4, 2, 2, 2048


def tiny_folder(path: Path, *, family: str = "llama", bias: bool = False, seed: int = 0) -> Path:
    """A network in the format of transformers."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(_pieces())}, merges=_merges()))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    path.mkdir(exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    settings = {"chat_template": TEMPLATE, "eos_token": "<|im_end|>"}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    config = {
        "model_type": family,
        "architectures": ["Qwen2ForCausalLM" if family == "qwen2" else "LlamaForCausalLM"],
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "vocab_size": tokenizer.get_vocab_size(),
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": CONTEXT,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
    }
    (path / "config.json").write_text(json.dumps(config))
    random = np.random.default_rng(seed)
    shapes = {"model.embed_tokens.weight": (tokenizer.get_vocab_size(), WIDTH), "model.norm.weight": (WIDTH,)}
    for layer in range(LAYERS):
        start = f"model.layers.{layer}"
        for name, shape in {
            "self_attn.q_proj": (32, WIDTH),
            "self_attn.k_proj": (16, WIDTH),
            "self_attn.v_proj": (16, WIDTH),
            "self_attn.o_proj": (WIDTH, 32),
            "mlp.gate_proj": (INNER, WIDTH),
            "mlp.up_proj": (INNER, WIDTH),
            "mlp.down_proj": (WIDTH, INNER),
        }.items():
            shapes[f"{start}.{name}.weight"] = shape
            if bias and name[10:11] in "qkv" and "self_attn" in name and "o_proj" not in name:
                shapes[f"{start}.{name}.bias"] = shape[:1]
        shapes |= {f"{start}.{name}.weight": (WIDTH,) for name in ("input_layernorm", "post_attention_layernorm")}
    tensors = {name: random.normal(0, 0.4, shape).astype("<f4") for name, shape in shapes.items()}
    # llama.cpp has no distribution where the likeliest token is an ending or half a character. Without a direction, those
    # tokens are never the likeliest.
    silent = [
        place
        for place, piece in enumerate([*_pieces(), *SPECIAL])
        if not piece.lstrip(SPACE).isascii() or piece in (SPACE, *SPECIAL)
    ]
    tensors["model.embed_tokens.weight"][silent] = 0
    write_safetensors(path / "model.safetensors", tensors)
    return path


def tiny_gguf(path: Path, folder: Path) -> Path:
    """The network of a folder as a GGUF file that llama.cpp loads."""
    from gguf import GGUFWriter

    config = json.loads((folder / "config.json").read_text())
    family = config["model_type"]
    tensors = read_safetensors(folder / "model.safetensors")
    writer = GGUFWriter(path, family)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    tokens = [*_pieces(), *SPECIAL]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm" if family == "llama" else "qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (len(tokens) - 3) + [3] * 3)
    writer.add_token_merges([" ".join(pair) for pair in _merges()])
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_bos_token_id(tokens.index("<|im_start|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, array in tensors.items():
        known = gguf_name(name)
        assert known is not None
        heads = head_count(known, family, HEADS, KV_HEADS)
        numbers = interleave_halves(np.array(array), heads) if heads else np.array(array)
        writer.add_tensor(known, numbers)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tiny_adapter(path: Path, base: Path, *, seed: int = 0, strength: float = 1.0, **changes: object) -> Path:
    """A random adapter for a GGUF file."""
    info = read_base(base)
    random = np.random.default_rng(seed)
    tensors = {
        name: (random.normal(0, 0.3, (4, shape[1])), random.normal(0, 0.3 * strength, (shape[0], 4)))
        for name, shape in info.shapes.items()
        if name.startswith("blk.") and len(shape) == 2
    }
    settings = {"alpha": 4.0, "base_sha256": info.sha256, "base_name": base.stem, "manifest": {"kind": "human"}}
    write_adapter(path, tensors, **settings | {"family": info.family} | changes)  # type: ignore[arg-type]
    return path


def write_safetensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Tensors of 32-bit floats as a safetensors file."""
    header, place = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "F32", "shape": tensor.shape, "data_offsets": [place, place + tensor.nbytes]}
        place += tensor.nbytes
    text = json.dumps(header).encode()
    data = b"".join(np.ascontiguousarray(tensor, "<f4").tobytes() for tensor in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def _pieces() -> list[str]:
    """Every byte, and letters with a space before them."""
    from tokenizers import pre_tokenizers

    return [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in _merges())]


def _merges() -> list[tuple[str, str]]:
    """A letter with a space before it is one token, so that the first token of a word differs from that of another."""
    return [(SPACE, letter) for letter in string.ascii_letters]


def answers(model: Model, requests: list[Request]) -> list[Reply | Failure]:
    """The replies of a model in the order of the requests."""

    async def ask() -> list[Reply | Failure]:
        await model.start()
        results = {}
        async for batch in model.replies(requests):
            results.update(batch)
        return [results[index] for index in range(len(requests))]

    return asyncio.run(ask())
