"""How the weights of the llama and qwen2 families are named and laid out, in GGUF files and in transformers.

GGUF files of the llama family hold the rows of queries and keys in another order: the two halves of every head are
interleaved. Those of qwen2 do not.
"""

from typing import Any

FAMILIES = ("llama", "qwen2")
"""The families whose weights are known by name."""
_PARTS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_FIXED = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_GGUF_PARTS = {theirs: ours for ours, theirs in _PARTS.items()}
_GGUF_FIXED = {theirs: ours for ours, theirs in _FIXED.items()}


def transformers_name(name: str) -> str | None:
    """The name in transformers of a tensor of a GGUF file; None where there is none.

    Example:
        >>> transformers_name("blk.3.attn_q.weight")
        'model.layers.3.self_attn.q_proj.weight'
    """
    if name in _FIXED:
        return _FIXED[name]
    parts = name.split(".")
    if len(parts) != 4 or parts[0] != "blk" or parts[2] not in _PARTS:
        return None
    return f"model.layers.{parts[1]}.{_PARTS[parts[2]]}.{parts[3]}"


def gguf_name(name: str) -> str | None:
    """The name in a GGUF file of a tensor of transformers; None where there is none.

    Example:
        >>> gguf_name("model.layers.3.mlp.up_proj.weight")
        'blk.3.ffn_up.weight'
    """
    if name in _GGUF_FIXED:
        return _GGUF_FIXED[name]
    beginning, _, rest = name.partition("model.layers.")
    layer, _, rest = rest.partition(".")
    part, _, kind = rest.rpartition(".")
    if beginning or not layer.isdecimal() or part not in _GGUF_PARTS:
        return None
    return f"blk.{layer}.{_GGUF_PARTS[part]}.{kind}"


def head_count(name: str, family: object, heads: int, kv_heads: int) -> int:
    """How many heads the rows of a tensor of a GGUF file are interleaved in; 0 where they are in their usual order."""
    if family != "llama":
        return 0
    part = name.split(".")[2:3]
    return heads if part == ["attn_q"] else kv_heads if part == ["attn_k"] else 0


def interleave_halves(rows: Any, heads: int) -> Any:
    """Rows in the order of transformers, in that of a GGUF file of the llama family.

    Example:
        >>> import numpy as np
        >>> interleave_halves(np.arange(8), 2).tolist()
        [0, 2, 1, 3, 4, 6, 5, 7]
    """
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def separate_halves(rows: Any, heads: int) -> Any:
    """Rows in the order of a GGUF file of the llama family, in that of transformers.

    Example:
        >>> import numpy as np
        >>> separate_halves(np.array([0, 2, 1, 3, 4, 6, 5, 7]), 2).tolist()
        [0, 1, 2, 3, 4, 5, 6, 7]
    """
    return rows.reshape(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
