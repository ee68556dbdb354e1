"""The forward pass of the llama and qwen2 families.

Attention to a beginning that all prompts of a batch share is computed apart from attention to a prompt's own tokens,
and the two are joined by their normalising constants. So the beginning is computed and held once.

With 16-bit floats of half precision the states between the layers are a sixteenth of what the weights say: they would
come near the largest number of that type otherwise. A norm follows wherever they are used, and takes the factor out.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from populace.models.adapters import Adapter
from populace.models.pytorch.weights import Weights, read_weights

Caches = list[tuple[Any, Any]]
"""Keys and values of every layer, each of the shape (rows, heads, tokens, numbers of a head)."""


class _Layer:
    """The weights of a layer; matrices that are applied to the same input are joined."""

    def __init__(self, tensors: dict[str, Any], index: int, scale: float) -> None:
        import torch

        def take(name: str) -> Any:
            return tensors.pop(f"model.layers.{index}.{name}")

        def joined(names: tuple[str, ...], part: str) -> Any:
            return torch.cat([take(f"{name}.{part}") for name in names], 0)

        projections = tuple(f"self_attn.{name}_proj" for name in "qkv")
        has_bias = f"model.layers.{index}.self_attn.q_proj.bias" in tensors
        self.inputs, self.inputs_bias = joined(projections, "weight"), joined(projections, "bias") if has_bias else None
        self.outputs = take("self_attn.o_proj.weight") * scale
        self.gates = joined(("mlp.gate_proj", "mlp.up_proj"), "weight")
        self.down = take("mlp.down_proj.weight") * scale
        self.attention_norm, self.feed_norm = take("input_layernorm.weight"), take("post_attention_layernorm.weight")


class Network:
    """A network on a device.

    Args:
        weights: Its weights; the tensors are taken out of them.
    """

    def __init__(self, weights: Weights) -> None:
        import torch

        self._turn, self._gate, self._join = _turn, _gate, _join
        tensors = weights.tensors
        self.shape = weights.shape
        self.embeddings = tensors["model.embed_tokens.weight"]
        self.device, self.number_type = self.embeddings.device, self.embeddings.dtype
        self.head = tensors.get("lm_head.weight", self.embeddings)
        self.norm_weight = tensors["model.norm.weight"]
        self._scale = 1 / 16 if self.number_type == torch.float16 else 1.0
        self.layers = [_Layer(tensors, index, self._scale) for index in range(self.shape.layers)]
        angles = torch.outer(
            torch.arange(self.shape.context, dtype=torch.float64),
            torch.tensor(self.shape.frequencies, dtype=torch.float64),
        )
        self.cosines, self.sines = (part.float().to(self.device) for part in (angles.cos(), angles.sin()))

    @property
    def inner_width(self) -> int:
        """How many numbers the widest step of a layer has for each token."""
        return int(self.layers[0].gates.shape[0])

    def fuse(self) -> None:
        """Compile the steps between the products of matrices, which then pass over the memory once each.

        Compiling takes seconds, so it pays for many prompts only.
        """
        import torch

        if self._turn is _turn:
            self._turn, self._gate, self._join = (
                torch.compile(function, dynamic=True) for function in (_turn, _gate, _join)
            )

    def logits(self, states: Any) -> Any:
        """The score of every token after each state, as 32-bit floats."""
        import torch

        return torch.nn.functional.linear(states, self.head).float()

    def read(self, tokens: Any, *, shared: Caches | None = None, caches: bool = False) -> tuple[Any, Caches]:
        """The states after every token of prompts, and keys and values where they are wanted.

        Args:
            tokens: The tokens of each row; rows that are shorter are filled up at their end, with any token.
            shared: Keys and values of the beginning that all rows share, in one row.
            caches: Whether to return the keys and values.
        """
        start = shared[0][0].shape[2] if shared else 0
        cosines, sines = (table[start : start + tokens.shape[1], None] for table in (self.cosines, self.sines))
        collected: Caches = []

        def attention(index: int, queries: Any, keys: Any, values: Any) -> Any:
            queries, keys, values = (part.transpose(1, 2) for part in (queries, keys, values))
            if caches:
                collected.append((keys, values))
            return self._attention(queries, keys, values, shared[index] if shared else None).transpose(1, 2)

        return self._layers(tokens, cosines, sines, attention), collected

    def advance(self, tokens: Any, places: Any, keys: Any, values: Any) -> Any:
        """The state of each row after one more token, which is also entered into the caches.

        Args:
            tokens: One token for each row.
            places: Its place in the row.
            keys: The keys of all layers, of the shape (layers, rows, heads, capacity, numbers of a head).
            values: The values, likewise.
        """
        import torch

        rows = torch.arange(len(tokens), device=self.device)
        groups = self.shape.heads // self.shape.kv_heads
        visible = (torch.arange(keys.shape[3], device=self.device) <= places[:, None])[:, None, None]
        visible = visible.expand(-1, -1, groups, -1)

        def attention(index: int, query: Any, key: Any, value: Any) -> Any:
            keys[index][rows, :, places], values[index][rows, :, places] = key[:, 0], value[:, 0]
            grouped = query.reshape(len(tokens), self.shape.kv_heads, groups, self.shape.head_width)
            found = torch.nn.functional.scaled_dot_product_attention(
                grouped, keys[index], values[index], attn_mask=visible
            )
            return found.reshape(query.shape)

        cosines, sines = (table[places][:, None, None] for table in (self.cosines, self.sines))
        return self._layers(tokens[:, None], cosines, sines, attention)[:, 0]

    def _layers(self, tokens: Any, cosines: Any, sines: Any, attention: Callable[..., Any]) -> Any:
        import torch

        linear, shape = torch.nn.functional.linear, self.shape
        states = torch.nn.functional.embedding(tokens, self.embeddings) * self._scale
        ends = [shape.heads * shape.head_width, shape.kv_heads * shape.head_width, shape.kv_heads * shape.head_width]
        for index, layer in enumerate(self.layers):
            parts = linear(self._norm(states, layer.attention_norm), layer.inputs, layer.inputs_bias).split(ends, -1)
            queries, keys, values = (part.unflatten(-1, (-1, shape.head_width)) for part in parts)
            turned = (self._turn(part, cosines, sines) for part in (queries, keys))
            found = attention(index, *turned, values)
            states = states + linear(found.flatten(-2), layer.outputs)
            gated = self._gate(linear(self._norm(states, layer.feed_norm), layer.gates))
            states = states + linear(gated, layer.down)
        return self._norm(states, self.norm_weight)

    def _attention(self, queries: Any, keys: Any, values: Any, shared: tuple[Any, Any] | None) -> Any:
        """Attention of every token to those before it in its row, and to the shared beginning."""
        rows, heads, width, size = queries.shape
        kv_heads = keys.shape[1]
        groups = heads // kv_heads
        own = [part.repeat_interleave(groups, 1) if groups > 1 else part for part in (keys, values)]
        found, constants = _attend(queries, *own, causal=True)
        if shared is None:
            return found
        # One long row for each head of the keys: the shared beginning is read once for all prompts.
        long = queries.reshape(rows, kv_heads, groups, width, size).transpose(0, 1).reshape(1, kv_heads, -1, size)
        also_found, also_constants = _attend(long, *shared, causal=False)
        also_found = also_found.reshape(kv_heads, rows, groups, width, size).transpose(0, 1).reshape(queries.shape)
        also_constants = also_constants.reshape(kv_heads, rows, groups, width).transpose(0, 1)
        return self._join(found, constants, also_found, also_constants.reshape(rows, heads, width))

    def _norm(self, states: Any, weight: Any) -> Any:
        import torch

        return torch.nn.functional.rms_norm(states, (states.shape[-1],), weight, self.shape.epsilon * self._scale**2)


def load_network(
    path: Path, device: str, number_types: Sequence[Any], adapter: Adapter | None, tokens: Sequence[int]
) -> Network:
    """Load a network with the first type of number in which it can compute.

    Args:
        path: A GGUF file or a folder.
        device: `cpu` or `cuda`.
        number_types: Types of PyTorch. All but the last are given up if a state of the network does not fit into them.
        adapter: An adapter that is merged into the weights.
        tokens: A prompt to try it with.
    """
    import torch

    *tries, last = number_types
    for number_type in tries:
        network = Network(read_weights(path, device, number_type, adapter))
        states, _ = network.read(torch.tensor([list(tokens)], device=device))
        if bool(network.logits(states[0]).isfinite().all()):
            return network
        del network, states
    return Network(read_weights(path, device, last, adapter))


def _turn(vectors: Any, cosines: Any, sines: Any) -> Any:
    """Vectors turned by the place of their token; the first half of a vector is paired with the second."""
    import torch

    # Products with 32-bit floats are such floats; a copy of the vectors as 32-bit floats would take as long again.
    first, second = vectors.chunk(2, -1)
    parts = torch.addcmul(first * cosines, second, sines, value=-1), torch.addcmul(second * cosines, first, sines)
    return torch.cat([part.to(vectors.dtype) for part in parts], -1)


def _gate(joined: Any) -> Any:
    """The second half of the numbers of each token, let through by the first."""
    import torch

    gates, ups = joined.chunk(2, -1)
    return torch.nn.functional.silu(gates) * ups


def _join(found: Any, constants: Any, also_found: Any, also_constants: Any) -> Any:
    """Attention to two sets of tokens as attention to all of them."""
    import torch

    share = torch.sigmoid(also_constants - constants)[..., None]
    return torch.addcmul(also_found * share, found, 1 - share).to(found.dtype)


def _attend(queries: Any, keys: Any, values: Any, *, causal: bool) -> tuple[Any, Any]:
    """Attention with the logarithms of its normalising constants."""
    import torch

    operations = torch.ops.aten
    if queries.is_cuda:
        result = operations._scaled_dot_product_flash_attention(queries, keys, values, 0.0, causal)
    else:
        result = operations._scaled_dot_product_flash_attention_for_cpu(queries, keys, values, 0.0, causal)
    return result[0], result[1][..., : queries.shape[2]]
