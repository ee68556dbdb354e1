"""What using a model string would import or call, so that strings in received files can be checked before."""

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from populace.base import trust
from populace.base.modules import split_reference
from populace.models.scripted import BUILT_IN


def model_code(spec: str) -> list[trust.Code]:
    """The code that a scripted model would import, the server that would be called or the file that would be fetched.

    None for all other models, which are known.

    A server on this machine needs no trust: whoever can start one here needs no run folder to act.

    Example:
        >>> [code.name for code in model_code("scripted:my_models:sceptic")], model_code("scripted:uniform")
        (['scripted:my_models:sceptic'], [])
    """
    scheme, _, rest = spec.partition(":")
    if scheme == "ray":
        return model_code(rest.rpartition("*")[0])
    if scheme == "scripted":
        module, function = split_reference(rest)
        if rest in BUILT_IN or not function or not module:
            return []
        if module.endswith(".py"):
            return [trust.file_code(spec, Path(module))]
        return [trust.module_code(spec, module)]
    if scheme in ("http", "https") and not _is_this_machine(spec):
        return [trust.server_code(spec)]
    if spec.startswith("embedded:hf:") or (scheme.startswith(("embedded", "transformers")) and "+hf:" in spec):
        return [trust.download_code(spec)]
    return []


def _is_this_machine(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
