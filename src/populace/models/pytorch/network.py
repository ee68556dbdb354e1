"""The forward pass of the llama and qwen2 families.

The beginning that all prompts of a batch share is computed and held once. On a GPU one kernel computes attention to it
and to a prompt's own tokens. Elsewhere both are computed apart, and joined by their normalising constants.

With 16-bit floats of half precision the states between the layers are a sixteenth of what the weights say: they would
come near the largest number of that type otherwise. A norm follows wherever they are used, and takes the factor out.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from populace.models.adapters import Adapter
from populace.models.pytorch.kernels import (
    LEAST_TOKENS,
    attend,
    attends,
    gated_product,
    has_gated_product,
    join,
    norm,
    turn,
)
from populace.models.pytorch.weights import Weights, read_weights

_ALLOWED = 0.05
"""How much of the probability of the next token may move, on the mean, between two ways to compute."""
_TRIAL_TOKENS = 320
"""How long the prompt is with which they are compared, at most."""
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

    Attributes:
        has_one_pass: Whether attention to shared and own tokens is computed by one kernel.
        has_one_product: Whether gates and ups are computed and let through by one kernel.
        notes: What the user should know about how it computes.
    """

    def __init__(self, weights: Weights) -> None:
        import torch

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
        self.has_one_pass = attends(self.number_type, self.device, self.shape.head_width)
        self.has_one_product = has_gated_product(self.layers[0].gates)
        self.notes: tuple[str, ...] = ()

    @property
    def inner_width(self) -> int:
        """How many numbers the widest step of a layer has for each token."""
        return int(self.layers[0].gates.shape[0])

    def logits(self, states: Any) -> Any:
        """The score of every token after each state, in the type of number of the network."""
        import torch

        return torch.nn.functional.linear(states, self.head)

    def read(
        self, tokens: Any, *, shared: Caches | None = None, caches: bool = False, last: Any = None
    ) -> tuple[Any, Caches]:
        """The states after tokens of prompts, and keys and values where they are wanted.

        Args:
            tokens: The tokens of each row; rows that are shorter are filled up at their end, with any token.
            shared: Keys and values of the beginning that all rows share, in one row.
            caches: Whether to return the keys and values.
            last: The place of one token in each row: the state after this token is returned, and no other.
        """
        import torch

        rows, width = tokens.shape
        start = shared[0][0].shape[2] if shared else 0
        places = torch.arange(start, start + width, device=self.device).repeat(rows)
        collected: Caches = []

        def in_one_pass(index: int, vectors: Any) -> Any:
            beginning = shared[index] if shared else None
            return attend(vectors, width, self.shape.kv_heads, beginning, (self.cosines, self.sines))

        def attention(index: int, vectors: Any) -> Any:
            self._turn(vectors, places)
            queries, keys, values = (part.transpose(1, 2) for part in self._parts(vectors, rows))
            if caches:
                collected.append((keys.contiguous(), values.contiguous()))
            own, constants = _attend(queries, keys, values, causal=True)
            if shared is None:
                return own.transpose(1, 2)
            # The tokens of all rows are one long row here: the shared beginning is read once for all prompts.
            long = self._parts(vectors, 1)[0].transpose(1, 2)
            common, common_constants = _attend(long, *shared[index], causal=False)
            common = common.transpose(1, 2).reshape(rows, width, *common.shape[1::2])
            return join(own.transpose(1, 2), constants, common, common_constants[0].unflatten(-1, (rows, width)))

        if last is not None:
            last = torch.arange(0, rows * width, width, device=self.device) + last
        # Keys are kept turned, and only the kernel of `turn` writes them.
        one_pass = self.has_one_pass and not caches
        states = self._layers(tokens.flatten(), in_one_pass if one_pass else attention, last)
        return states if last is not None else states.unflatten(0, (rows, width)), collected

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

        def attention(index: int, vectors: Any) -> Any:
            self._turn(vectors, places)
            query, key, value = (part[:, 0] for part in self._parts(vectors, len(tokens)))
            keys[index][rows, :, places], values[index][rows, :, places] = key, value
            grouped = query.reshape(len(tokens), self.shape.kv_heads, groups, self.shape.head_width)
            return torch.nn.functional.scaled_dot_product_attention(
                grouped, keys[index], values[index], attn_mask=visible
            )

        return self._layers(tokens, attention)

    def _layers(self, tokens: Any, attention: Callable[[int, Any], Any], last: Any = None) -> Any:
        """The states after tokens.

        Args:
            tokens: The tokens of all rows.
            attention: Attention of a layer: a function of its number and of queries, keys and values, not turned yet,
                all three in the shape (tokens, heads, numbers of a head).
            last: Which of the tokens the last layer is computed for; all of them without it.
        """
        import torch

        linear, shape = torch.nn.functional.linear, self.shape
        states = torch.nn.functional.embedding(tokens, self.embeddings) * self._scale
        for index, layer in enumerate(self.layers):
            vectors = linear(self._norm(states, layer.attention_norm), layer.inputs, layer.inputs_bias)
            vectors = vectors.unflatten(-1, (-1, shape.head_width))
            context = attention(index, vectors).reshape(len(tokens), -1)
            if last is not None and index == len(self.layers) - 1:
                states, context = states[last], context[last]
            # In their own memory: a new tensor would first be filled with a copy of the states.
            states.addmm_(context, layer.outputs.T)
            normed = self._norm(states, layer.feed_norm)
            gated = gated_product(normed, layer.gates, in_one=self.has_one_product)
            states.addmm_(gated, layer.down.T)
        return self._norm(states, self.norm_weight)

    def _parts(self, vectors: Any, rows: int) -> tuple[Any, ...]:
        """Queries, keys and values of the shape (rows, tokens, heads, numbers of a head)."""
        parts: tuple[Any, ...] = vectors.unflatten(0, (rows, -1)).split(
            [self.shape.heads, self.shape.kv_heads, self.shape.kv_heads], 2
        )
        return parts

    def _norm(self, states: Any, weight: Any) -> Any:
        return norm(states, weight, self.shape.epsilon * self._scale**2)

    def _turn(self, vectors: Any, places: Any) -> None:
        """Turn queries and keys by the place of their token."""
        turn(vectors[:, : self.shape.heads + self.shape.kv_heads], places, self.cosines, self.sines)


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
        _check_kernels(network, tokens)
        states, _ = network.read(torch.tensor([list(tokens)], device=device))
        if bool(network.logits(states[0]).isfinite().all()):
            return network
        del network, states
    network = Network(read_weights(path, device, last, adapter))
    _check_kernels(network, tokens)
    return network


def _check_kernels(network: Network, tokens: Sequence[int]) -> None:
    """Compare the kernels that do several steps at once with the steps apart, which are taken where they differ.

    A kernel is compiled on the device that it is for: what it makes of it is known only there.
    """
    import torch

    has_one_pass, has_one_product = network.has_one_pass, network.has_one_product
    if not (has_one_pass or has_one_product):
        return
    # Long enough that the beginning has several blocks of keys: the kernel reads whole ones in another loop.
    repeats = max(1, min(_TRIAL_TOKENS, network.shape.context) // len(tokens))
    tokens = list(tokens) * repeats
    prompt, middle = torch.tensor([tokens], device=network.device), len(tokens) // 2
    network.has_one_pass = network.has_one_product = False
    whole, _ = network.read(prompt)
    expected = network.logits(whole[0]).float().softmax(-1)
    if not bool(expected.isfinite().all()):
        return  # There is nothing to compare with. `load_network` gives this type of number up if it can.
    _, beginning = network.read(prompt[:, :middle], caches=True)

    def in_one_pass() -> Any:
        # Two equal rows, so that the second one must not see the first.
        first = network.read(prompt[:, :middle].repeat(2, 1))[0]
        return torch.cat([first[1], network.read(prompt[:, middle:], shared=beginning)[0][0]])

    def with_one_product() -> Any:
        # As many rows as this kernel is used for; the tokens that are compared are taken from all of them in turn.
        states = network.read(prompt.repeat(-(-LEAST_TOKENS // len(tokens)), 1))[0]
        places = torch.arange(len(tokens), device=network.device)
        return states[places % len(states), places]

    def problem(states: Callable[[], Any]) -> str:
        try:
            difference = float((network.logits(states()).float().softmax(-1) - expected).abs().sum(-1).mean()) / 2
        except torch.OutOfMemoryError as error:
            if states is in_one_pass:
                raise
            torch.cuda.empty_cache()  # This trial is larger than the one before, and what is tried is not needed.
            return " ".join(str(error).split())[:200]
        except Exception as error:  # noqa: BLE001 - a compiler has many errors; the note says which one it was.
            return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return "" if difference <= _ALLOWED else f"its distributions differ by {difference:.2g}"

    if has_one_pass:
        network.has_one_pass = True
        if reason := problem(in_one_pass):
            network.has_one_pass = False
            network.notes += (
                f"Attention in one pass cannot be used on this GPU ({reason}); the slower way in parts is used.",
            )
    if has_one_product:
        network.has_one_product = True
        if reason := problem(with_one_product):
            network.has_one_product = False
            network.notes += (
                f"Gates and their products in one kernel cannot be used on this GPU ({reason}); the slower way in "
                "two steps is used.",
            )


def _attend(queries: Any, keys: Any, values: Any, *, causal: bool) -> tuple[Any, Any]:
    """Attention with the logarithms of its normalising constants.

    There may be fewer heads of keys and values than of queries; each is then read by several of these.
    """
    import torch

    operations = torch.ops.aten
    if queries.is_cuda:
        result = operations._scaled_dot_product_flash_attention(queries, keys, values, 0.0, causal)
    else:
        groups = queries.shape[1] // keys.shape[1]
        keys, values = (part.repeat_interleave(groups, 1) if groups > 1 else part for part in (keys, values))
        result = operations._scaled_dot_product_flash_attention_for_cpu(queries, keys, values, 0.0, causal)
    return result[0], result[1][..., : queries.shape[2]]
