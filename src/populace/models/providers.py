"""Services and local servers that speak the OpenAI protocol, each with a name for model strings.

The table is `providers.toml`. It says where a service answers, which key it wants and what it does not do.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

Ability = Literal["log-probabilities", "seed", "schema"]
_DEFAULT_PORTS = {"ollama": 11434}


@dataclass(frozen=True)
class Provider:
    """A service or a local server that speaks the OpenAI protocol.

    Attributes:
        name: The word before the colon in a model string.
        title: The name that is shown to users.
        address: Where it answers.
        address_variable: The environment variable that changes the address.
        key_variables: The environment variables in which a key is looked for.
        key_page: Where a key can be got.
        local: Whether it runs on the user's machine.
        start: The command that starts a local server.
        fetch: The command by which a local server gets the model whose name follows it.
        lacks: What its documentation says it does not do.
        lists: Whether it lists its models.
        models: How names of its models begin.
        aliases: Other words by which people call it.
        note: What else a user should know.

    Example:
        >>> PROVIDERS["groq"].key_variables
        ('GROQ_API_KEY',)
    """

    name: str
    title: str
    address: str
    address_variable: str
    key_variables: tuple[str, ...] = ()
    key_page: str = ""
    local: bool = False
    start: str = ""
    fetch: str = ""
    lacks: frozenset[Ability] = frozenset()
    lists: bool = True
    models: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    note: str = ""

    @property
    def key_required(self) -> bool:
        """Whether no request can succeed without a key: not where the user named another address."""
        return not self.local and not os.environ.get(self.address_variable)

    def base_url(self, environment: Mapping[str, str] = os.environ) -> str:
        """The address that the environment names, completed where it is only a host, else the usual address.

        Example:
            >>> PROVIDERS["ollama"].base_url({"OLLAMA_HOST": "0.0.0.0"})
            'http://127.0.0.1:11434/v1'
        """
        text = environment.get(self.address_variable, "").strip()
        if not text:
            return self.address
        port = _DEFAULT_PORTS.get(self.name)
        if "://" not in text:
            host = text.partition("/")[0]
            if port and ":" not in host.rpartition("]")[2]:
                text = f"{host}:{port}{text.removeprefix(host)}"
            text = f"http://{text}"
        if self.local:  # The address on which a server listens may be one that nobody can call.
            text = text.replace("://0.0.0.0", "://127.0.0.1").replace("://:", "://127.0.0.1:")
        path = urlsplit(text).path.rstrip("/")
        return text if path else text.rstrip("/") + urlsplit(self.address).path

    @property
    def meaning(self) -> str:
        """What a model string with this name means, in one line."""
        if self.local:
            return f"a model of {self.title} on this machine; {self.address_variable} names another address"
        variables = " or ".join(self.key_variables)
        return f"a model of {self.title}; the key comes from {variables}"


def _read_table() -> dict[str, Provider]:
    table = tomllib.loads(Path(__file__).with_name("providers.toml").read_text("utf-8"))
    return {
        name: Provider(
            name,
            **entry
            | {key: tuple(entry.get(key, ())) for key in ("key_variables", "models", "aliases")}
            | {"lacks": frozenset(entry.get("lacks", ()))},
        )
        for name, entry in table.items()
    }


PROVIDERS = _read_table()
"""Every provider by its name, in the order of the table."""
