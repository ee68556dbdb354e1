"""Model strings as people read them."""

from pathlib import PurePath

_LOCAL = ("embedded", "transformers")


def model_label(spec: str) -> str:
    """A model string in which local files stand without their folders; others stay as they are.

    Args:
        spec: The model string.

    Example:
        >>> model_label("transformers:/data/models/qwen-1.5b.gguf+/data/people.gguf")
        'transformers:qwen-1.5b.gguf+people.gguf'
        >>> model_label("http://localhost:8000/v1#llama")
        'http://localhost:8000/v1#llama'
    """
    scheme, colon, rest = spec.partition(":")
    if scheme == "ray":
        return f"{scheme}{colon}{model_label(rest)}"
    if scheme not in _LOCAL or rest.startswith("hf:"):
        return spec
    return scheme + colon + "+".join(PurePath(part).name for part in rest.split("+"))
