"""Addresses and keys of servers: what is corrected in them, and the errors that explain what is wrong with them.

No function here returns or prints a key except `read_key`.
"""

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit, urlunsplit

from populace.base.errors import ModelError, ModelKeyError, ModelUnreachableError, UnknownModelError
from populace.models.providers import Provider

_ENDPOINTS = re.compile(r"/(chat/completions|completions|embeddings|responses|models)/*$")
_VERSION = re.compile(r"/v\d\w*(/|$)")
_LOOPBACK = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}


def base_address(address: str) -> str:
    """The address of a server without the end of a request's address, which people copy from examples.

    Example:
        >>> base_address("http://127.0.0.1:8000/v1/chat/completions")
        'http://127.0.0.1:8000/v1'
    """
    return _ENDPOINTS.sub("", address.rstrip("/")).rstrip("/")


def server_addresses(base_url: str) -> list[str]:
    """The address of each server in an address with several hosts.

    Example:
        >>> server_addresses("http://a:8000,b:8000/v1")
        ['http://a:8000/v1', 'http://b:8000/v1']
    """
    scheme, mark, rest = base_address(base_url).partition("://")
    hosts, slash, path = rest.partition("/")
    if "," in path:
        form = f"{scheme}{mark}{hosts.split(',')[0]},HOST:PORT/v1"
        raise ModelError(f"{base_url!r} names a path for each server, and they share one.", f"Write {form}#NAME.")
    return [f"{scheme}{mark}{host.strip()}{slash}{path}" for host in hosts.split(",")]


def with_path_of(model: str, address: str) -> str:
    """An address with the path of another one.

    Example:
        >>> with_path_of("http://a:8000/v1", "http://b:8000")
        'http://b:8000/v1'
    """
    return urlunsplit(urlsplit(address)._replace(path=urlsplit(model).path))


def joint_address(addresses: Sequence[str]) -> str:
    """One address for several servers with one path, in a fixed order.

    Example:
        >>> joint_address(["http://b:8000/v1", "http://a:8000/v1"])
        'http://a:8000,b:8000/v1'
    """
    parts = [urlsplit(address) for address in addresses]
    return urlunsplit(parts[0]._replace(netloc=",".join(sorted(part.netloc for part in parts))))


def versioned_address(address: str) -> str | None:
    """The address with `/v1` where it has no version yet, else None.

    Example:
        >>> versioned_address("http://127.0.0.1:11434/api"), versioned_address("http://127.0.0.1:8000/v1")
        ('http://127.0.0.1:11434/v1', None)
    """
    parts = urlsplit(address)
    path = parts.path.rstrip("/")
    if _VERSION.search(path):
        return None
    return urlunsplit(parts._replace(path=path.removesuffix("/api") + "/v1"))


def check_address(base_url: str, key_variable: str) -> None:
    """Raise an error if an address has no host, or holds a user name or password, which would be recorded with it.

    Several hosts with one path are several servers, and each is checked.
    """
    addresses = server_addresses(base_url)
    for address in addresses:
        _check_server(address, key_variable)
    if len(set(addresses)) < len(addresses):
        raise ModelError(f"{base_url!r} names a server twice.", "Name each server once.")


def _check_server(base_url: str, key_variable: str) -> None:
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError as error:
        raise ModelError(f"{base_url!r} is not a valid address: {error}.", "Write http://HOST:PORT/v1#NAME.") from error
    if parts.username or parts.password:
        raise ModelKeyError(
            f"the address of {parts.hostname} holds a user name or password.",
            f"Leave it out of the address and set {key_variable}.",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelError(f"{base_url!r} is not the address of a server.", "Write http://HOST:PORT/v1#NAME.")


def read_key(variables: Sequence[str]) -> str:
    """The key from the first environment variable that is set; `none` if none is, which local servers accept."""
    name = next((name for name in variables if os.environ.get(name)), None)
    key = (os.environ[name].strip() if name else "") or "none"
    if not key.isascii() or not key.isprintable():
        raise ModelKeyError(f"the key in {name} holds characters that cannot be sent.", f"Set {name} anew.")
    return key


def account_headers(provider: Provider | None) -> dict[str, str]:
    """What OpenAI wants to know beside the key, where the environment names it; other servers learn nothing of it."""
    if provider is None or provider.name != "openai":
        return {}
    names = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
    values = {header: os.environ.get(variable, "").strip() for header, variable in names.items()}
    return {header: value for header, value in values.items() if value.isascii() and value.isprintable() and value}


def has_key(variables: Sequence[str]) -> bool:
    """Whether one of the environment variables holds a key."""
    return any(os.environ.get(name, "").strip() for name in variables)


def check_key(spec: str, provider: Provider | None) -> None:
    """Raise ModelKeyError if a service wants a key and none is set, before anything is sent."""
    if provider is not None and provider.key_required and not has_key(provider.key_variables):
        raise ModelKeyError(f"{spec} needs a key of {provider.title}, and none is set.", _key_hint(provider))


def rejected_key_error(
    base_url: str, variables: Sequence[str], provider: Provider | None = None, detail: str = ""
) -> ModelKeyError:
    """The error to raise when a server refuses the key, or the lack of one.

    Args:
        base_url: The address of the server.
        variables: The environment variables in which a key was looked for.
        provider: The service, where it is one that is known by name.
        detail: What the server says, without the key.
    """
    problem = "refuses the key" if has_key(variables) else "wants a key and none is set"
    text = f"{base_url} {problem}" + (f": {detail.rstrip('.')}." if detail else ".")
    if provider is not None and provider.key_variables:
        return ModelKeyError(text, _key_hint(provider))
    return ModelKeyError(text, f"Set {' or '.join(variables)} to a valid key; it is never written down.")


def unreachable_error(base_url: str, provider: Provider | None = None) -> ModelUnreachableError:
    """The error to raise when no server answers at an address."""
    parts = urlsplit(base_url)
    if provider is not None and provider.local:
        hint = f"Start it (`{provider.start}`), or set {provider.address_variable} to the address where it runs."
    elif provider is not None:
        hint = "Check your connection to the network."
    elif parts.scheme == "https" and parts.hostname in _LOOPBACK:
        hint = f"Servers on this machine mostly speak http: try {urlunsplit(parts._replace(scheme='http'))}"
    else:
        hint = "Check the address and that the server is up."
    return ModelUnreachableError(f"no server answers at {base_url}.", hint)


def unknown_model_error(
    name: str, base_url: str, listed: Iterable[str], provider: Provider | None = None, detail: str = ""
) -> ModelError:
    """The error to raise when a server does not know a model, with the nearest names that it lists.

    Args:
        name: The name that the server does not know.
        base_url: The address of the server.
        listed: The models that the server lists; none if it lists none.
        provider: The service, where it is one that is known by name.
        detail: What the server says, without the key.
    """
    known = sorted(listed)
    before = f"{provider.name}:" if provider else f"{base_url}#"
    quotation = f" It says: {detail.rstrip('.')}." if detail else ""
    if name in known:
        return ModelError(f"{base_url} does not know the model {name!r} any more, although it listed it.{quotation}")
    close = _near_names(name, known)
    if close:
        hint = f"Did you mean {' or '.join(f'{before}{each}' for each in close)}? It lists {len(known):,} models."
    elif known:
        hint = f"It lists {', '.join(known[:5])}" + (f" and {len(known) - 5:,} more." if len(known) > 5 else ".")
    elif longer := versioned_address(base_url):
        hint = f"Check the name, and the address: most end in /v1, as in {longer}#{name}"
    else:
        hint = "Check the name."
    if provider is not None and provider.fetch:
        hint += f" To get this one: {provider.fetch} {name}"
    text = f"{base_url} does not know the model {name!r}.{quotation}"
    return UnknownModelError(text, hint, name=name, nearest=next(iter(close), None))


def _near_names(name: str, known: Sequence[str]) -> list[str]:
    """Up to three names like this one: those that contain it, without regard to case, before those that resemble it."""
    known = known[:5_000]
    word = name.casefold().removesuffix(":latest")
    containing = [each for each in known if word in each.casefold()]
    return list(dict.fromkeys([*containing, *difflib.get_close_matches(name, known, n=3, cutoff=0.5)]))[:3]


def _key_hint(provider: Provider) -> str:
    return (
        f"Set {' or '.join(provider.key_variables)} to a valid key, which {provider.key_page} gives out; "
        "it is never written down."
    )
