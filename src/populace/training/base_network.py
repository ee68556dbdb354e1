"""The network that is trained: a base of the llama or qwen2 family in transformers, with or without LoRA."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from populace.base.errors import TrainingError
from populace.models.adapter_bases import read_base
from populace.models.adapter_names import open_adapter
from populace.models.pytorch.weights import Shape, read_weights
from populace.models.tensor_layout import head_count, separate_halves, transformers_name

Matrix = Literal["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
"""A matrix of a layer, by its name in transformers."""
MATRICES: tuple[Matrix, ...] = get_args(Matrix)
"""The matrices that an adapter can change."""
Precision = Literal["float32", "bfloat16"]
"""The numbers in which the weights of the base are computed; what is trained has 32 bits if it is an adapter."""


def load_base(path: Path, device: str, precision: Precision | None = None) -> Any:
    """The base as a causal language model of transformers.

    Args:
        path: A GGUF file, or a folder in the format of transformers.
        device: `cpu` or `cuda`.
        precision: By default 32-bit numbers on the processor and bfloat16 on a GPU.
    """
    torch, transformers = training_library("torch"), training_library("transformers")
    # As a model that answers sets them, so that it makes no difference whether one answered in this process before.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    number_type = getattr(torch, precision or ("bfloat16" if device == "cuda" else "float32"))
    weights = read_weights(path, "cpu", torch.float32)
    model = build_network(weights.shape, weights.tensors, transformers)
    missing, unexpected = model.load_state_dict(weights.tensors, strict=False)
    if unexpected or any(name != "lm_head.weight" for name in missing):
        raise TrainingError(f"{path} does not fit its own sizes: {[*missing, *unexpected][:3]}.")
    model.tie_weights()
    return model.to(device, number_type)


def build_network(shape: Shape, tensors: dict[str, Any], transformers: Any) -> Any:
    """An untrained network of the sizes of given tensors."""
    embeddings = tensors["model.embed_tokens.weight"]
    biased = "model.layers.0.self_attn.q_proj.bias" in tensors
    kind = "Qwen2" if biased else "Llama"
    width = shape.head_width
    theta = shape.frequencies[-1] ** (-width / (width - 2)) if width > 2 else 10_000.0
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=embeddings.shape[0],
        hidden_size=embeddings.shape[1],
        intermediate_size=tensors["model.layers.0.mlp.gate_proj.weight"].shape[0],
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=width,
        max_position_embeddings=shape.context,
        rms_norm_eps=shape.epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": theta},
        tie_word_embeddings="lm_head.weight" not in tensors,
        attention_dropout=0.0,
        use_cache=False,
    )
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    import torch

    # The frequencies of the file itself, whatever rounding the configuration went through.
    model.model.rotary_emb.inv_freq.copy_(torch.tensor(shape.frequencies))
    return model


def add_lora(model: Any, rank: int, seed: int, matrices: Sequence[Matrix] = MATRICES) -> Any:
    """The model with a LoRA adapter on some matrices of every layer, which alone is trained."""
    import torch

    peft = training_library("peft")
    torch.manual_seed(seed)
    config = peft.LoraConfig(
        r=rank,
        lora_alpha=rank,
        lora_dropout=0.0,
        use_rslora=True,
        target_modules=list(matrices),
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(model, config, autocast_adapter_dtype=True)


def freeze_first_layers(model: Any, layers: int) -> None:
    """Train only the last layers of a network; what an adapter changes in the others stays as it is.

    Args:
        model: The network, with or without an adapter.
        layers: How many of the last layers are trained.

    Raises:
        TrainingError: If the network has fewer layers.
    """
    network = model.get_base_model() if hasattr(model, "get_base_model") else model
    count = len(network.model.layers)
    if layers > count:
        raise TrainingError(f"{layers} layers are to be trained, and the base has {count}.", "Lower `layers`.")
    for part in (network.model.embed_tokens, *network.model.layers[: count - layers]):
        part.requires_grad_(False)


def load_adapter(model: Any, name: str | Path, base: Path) -> None:
    """Enter the weights of an adapter into a network that has one of the same form.

    Args:
        model: The network.
        name: The name of one that ships, an adapter file, or a folder as peft saves it.
        base: The model that the network was made from; an adapter that names another is refused.
    """
    torch, peft = training_library("torch"), training_library("peft")
    source = read_base(base)
    adapter = open_adapter(str(name), source)
    settings = model.peft_config["default"]
    # The network multiplies what is trained by this; an adapter file may say another strength.
    own_strength = settings.lora_alpha / (math.sqrt(settings.r) if settings.use_rslora else settings.r)
    strength = adapter.card.alpha / adapter.rank / own_strength
    weights, matrices = {}, set()
    for weight, (a, b) in adapter.tensors.items():
        module = (transformers_name(weight) or weight).removesuffix(".weight")
        matrices.add(module.rpartition(".")[2])
        heads = head_count(weight, source.family, source.heads, source.kv_heads)
        rows = separate_halves(np.asarray(b), heads) if heads else np.asarray(b)
        weights[f"base_model.model.{module}.lora_A.weight"] = torch.tensor(np.asarray(a))
        weights[f"base_model.model.{module}.lora_B.weight"] = torch.tensor(rows * np.float32(strength))
    form = adapter.rank, sorted(matrices)
    if form != (settings.r, sorted(settings.target_modules)):
        raise TrainingError(
            f"the adapter {name} has the rank {adapter.rank} and changes {', '.join(form[1])}; the plan has the rank "
            f"{settings.r} and changes {', '.join(sorted(settings.target_modules))}.",
            "Write its `rank` and its `matrices` in the plan.",
        )
    peft.set_peft_model_state_dict(model, weights)


def training_library(name: str) -> Any:
    """A library of the extra `train`, imported when it is needed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise TrainingError(f"training needs {name}.", "Install it with: pip install 'populace[train]'") from error


@contextmanager
def enough_memory(what: str, advice: str) -> Iterator[None]:
    """What is computed inside needs memory of a GPU; where there is too little, an error says what to lower.

    Args:
        what: What is computed.
        advice: What to do.

    Raises:
        TrainingError: If the memory was too little. What the attempt held is free again.
    """
    torch = training_library("torch")
    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise TrainingError(f"the GPU has too little memory for {what}.", advice) from error


def choose_device(wanted: str) -> str:
    """Where to compute: a GPU where there is one, unless the processor is asked for."""
    there = training_library("torch").cuda.is_available()
    if wanted == "cuda" and not there:
        raise TrainingError("PyTorch finds no GPU on this machine.", "Leave --device out, or give --device cpu.")
    return "cuda" if there and wanted != "cpu" else "cpu"
