"""What a prompt says, as far as the scripted cast reads it: who one is, what was said, and what is remembered."""

import functools
import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from populace.models.base import Request
from populace.models.expected_reply import ExpectedReply, request_chance, text_chance
from populace.models.json_values import FORMATS_DIGEST

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"\bYou are (?P<name>[^\W\d_][\w.'’-]*(?: [^\W\d_a-z][\w'’-]*)*)")
_WORDS = re.compile(r"[^\W\d_]{4,}")
_COMMON = frozenset(
    "about above again also another anybody answer away because been before being best between both bring broken call "
    "come could does down each else even every everybody everything find first from fully give good have help here how "
    "instead into just keep know like long made make many more most much must need never next nothing now only other "
    "others over people person place please question really same say says share should since some somebody something "
    "still such take talk tell than that their them then there these they thing things think this those time together "
    "today told under very want well were what when where which while will with without word work would write year "
    "your yours community learn meet agree disagree scale number whole option options letter following does".split()
)


@functools.cache
def data(name: str) -> dict[str, Any]:
    """A data file of the cast."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@functools.cache
def contents_digest() -> str:
    """A hash of the code and the data of the cast: other sentences are another model."""
    files = sorted([*_FOLDER.glob("*.py"), *_FOLDER.glob("*.toml")])
    contents = b"\0".join([FORMATS_DIGEST.encode(), *(file.read_bytes() for file in files)])
    return hashlib.blake2b(contents, digest_size=6).hexdigest()


@dataclass(frozen=True)
class Scene:
    """A request as the cast reads it.

    Attributes:
        request: The request.
        system: Who one is.
        user: What one is told and asked first.
        text: The whole prompt, system message included.
    """

    request: Request
    system: str
    user: str
    text: str

    @classmethod
    def of(cls, request: Request) -> "Scene":
        """Read a request."""
        system = "\n".join(text for role, text in request.messages if role == "system")
        users = [text for role, text in request.messages if role == "user"]
        return cls(request, system, users[0] if users else "", "\n".join(text for _, text in request.messages))

    @functools.cached_property
    def expected(self) -> ExpectedReply:
        """The kind of reply that is expected."""
        return ExpectedReply.of(self.request)

    @functools.cached_property
    def name(self) -> str:
        """The name of the person who answers, or nothing."""
        match = _NAME.search(self.system) or _NAME.search(self.user)
        return match["name"].rstrip(".,") if match else ""

    @property
    def person(self) -> str:
        """What stays the same for a person from question to question."""
        return self.name or self.system

    def chance(self, salt: str = "") -> float:
        """A number in [0, 1) that depends on the request alone."""
        return request_chance(self.request, salt)

    def taste(self, salt: str) -> float:
        """A number in [0, 1) that depends on the person alone."""
        return text_chance(self.person, salt)

    def pick(self, lines: Sequence[str], salt: str = "") -> str:
        """One of some lines, one that the prompt does not hold yet if there is any."""
        fresh = [line for line in lines if not line or key_part(line) not in self.text]
        among = fresh or list(lines)
        return among[int(self.chance(salt) * len(among))]


def key_part(line: str) -> str:
    """The longest part of a line without a field, by which it is recognised in a prompt."""
    return max(re.split(r"\{\w+\}", line), key=len).strip(" ,.?!")


def first_name(name: str) -> str:
    """The name with which a person is addressed."""
    return name.split()[0] if name.split() else "you"


@functools.lru_cache(maxsize=512)
def content_words(text: str) -> tuple[str, ...]:
    """The words of a text that may stand for what it is about, each once."""
    words = (word.casefold() for word in _WORDS.findall(text))
    return tuple(dict.fromkeys(word for word in words if word not in _COMMON))


@functools.lru_cache(maxsize=64)
def holds_word(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of some words stands in a text."""
    return re.search(rf"\b(?:{'|'.join(map(re.escape, words))})\b", text, re.IGNORECASE) is not None
