"""What somebody probably meant by a string that names no model: the model string to write instead."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from populace.models.providers import PROVIDERS

_HUB_PAGE = re.compile(
    r"^https?://(?:www\.)?huggingface\.co/([^/]+/[^/]+)/(?:resolve|blob|raw)/([^/]+)/([^?#]+\.gguf)", re.IGNORECASE
)
_HUB_FILE = re.compile(r"^[\w.-]+/[\w.-]+/[^?#]+\.gguf(@.+)?$", re.IGNORECASE)
_BROKEN_SCHEME = re.compile(r"^(h?t+ps?)(:/?/?|;//?|//)(?=[\w\[])", re.IGNORECASE)
_HOST = re.compile(r"^(localhost|\d+\.\d+\.\d+\.\d+|\[[\da-f:]+\]|[\w-]+(\.[\w-]+)+)(:\d+)(/|#|$)", re.IGNORECASE)
_ADDRESS_WORD = re.compile(r"^(localhost|\d+\.\d+\.\d+\.\d+)(/|#|$)", re.IGNORECASE)


def suggest_model(spec: str, schemes: Iterable[str], scripts: Iterable[str] = ()) -> str | None:
    """The model string that was probably meant, or None.

    Args:
        spec: The string that names no model.
        schemes: The words that may stand before the colon of a model string.
        scripts: The names of scripts that come with the package.

    Example:
        >>> suggest_model("gpt-4o", ["openai"]), suggest_model("opnai:gpt-4o", ["openai"])
        ('openai:gpt-4o', 'openai:gpt-4o')
    """
    text = spec.strip().strip("\"'")
    known = set(schemes)
    return (
        _respelled(text, known)
        or _file(text)
        or _address(text)
        or _bare_name(text, set(scripts))
        or _misspelled(text, known)
        or ("embedded" if not text else None)
    )


def model_of_page(address: str) -> str | None:
    """The model string for the page of a GGUF file on the Hugging Face hub; None for any other address.

    Example:
        >>> model_of_page("https://huggingface.co/acme/tiny-GGUF/blob/main/tiny-q4.gguf")
        'embedded:hf:acme/tiny-GGUF/tiny-q4.gguf'
    """
    match = _HUB_PAGE.match(address)
    if match is None:
        return None
    repository, revision, file = match.groups()
    return f"embedded:hf:{repository}/{unquote(file)}" + ("" if revision == "main" else f"@{revision}")


def _file(text: str) -> str | None:
    """A GGUF file that was named by its path, its place on the hub or its page there."""
    if page := model_of_page(text):
        return page
    scheme, _, rest = text.partition(":")
    if scheme.casefold() in ("hf", "huggingface", "hub") and rest:
        return f"embedded:hf:{rest.removeprefix('//')}"
    if not re.search(r"\.gguf(@[^/]+)?$", text, re.IGNORECASE) or "://" in text:
        return None
    if scheme.casefold() in ("gguf", "file", "llama", "embeded") and rest:
        text = rest
    return f"embedded:hf:{text}" if _HUB_FILE.match(text) and not Path(text).exists() else f"embedded:{text}"


def _address(text: str) -> str | None:
    """An address with a broken or missing scheme."""
    match = _BROKEN_SCHEME.match(text)
    if match and not text.startswith(("http://", "https://")):
        scheme = "https" if "s" in match.group(1).casefold() else "http"
        return f"{scheme}://{text[match.end() :].lstrip('/')}"
    return f"http://{text}" if _HOST.match(text) or _ADDRESS_WORD.match(text) else None


def _respelled(text: str, known: set[str]) -> str | None:
    """A known word in another spelling, or with a slash, a blank or a hyphen instead of the colon behind it."""
    aliases = {alias: each.name for each in PROVIDERS.values() for alias in each.aliases}
    if text.casefold() in known:
        word = text.casefold()
        return f"{word}:NAME" if word in PROVIDERS or word == "scripted" else word
    for separator in (":", "/", " ", "-"):
        word, mark, rest = text.partition(separator)
        word = aliases.get(word.casefold(), word.casefold())
        if mark and rest.strip() and word in known and word not in ("http", "https"):
            is_file = rest.casefold().endswith(".gguf")
            if (separator == "-" or is_file) and word not in ("scripted", "embedded"):
                continue  # `gemini-2.5-flash` is the name of a model, and `mistral/x.gguf` is a file.
            return f"{word}:{rest.strip()}"
    return None


def _bare_name(text: str, scripts: set[str]) -> str | None:
    """The name of a model without the service, or of a script without `scripted:`."""
    if text in scripts:
        return f"scripted:{text}"
    name = text.casefold()
    prefixes = {prefix: each.name for each in PROVIDERS.values() for prefix in each.models}
    fits = [prefix for prefix in prefixes if name.startswith(prefix)]
    if fits:
        tagged = ":" in text and PROVIDERS[prefixes[max(fits, key=len)]].name != "ollama"
        return f"{'ollama' if tagged else prefixes[max(fits, key=len)]}:{text}"
    return f"openrouter:{text}" if re.fullmatch(r"[\w.-]+/[\w.:-]+", text) else None


def _misspelled(text: str, known: set[str]) -> str | None:
    """A word before the colon that is nearly a known one."""
    word, colon, rest = text.partition(":")
    near = difflib.get_close_matches(word.casefold(), sorted(known), n=1, cutoff=0.7)
    if not near or (rest and near[0] in ("http", "https")):
        return None
    if not rest:
        return near[0] if near[0] == "embedded" else f"{near[0]}:NAME"
    return f"{near[0]}{colon}{rest}"
