"""What an adapter says of itself: its base, its kind, and what it was trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from populace.base.documents import DocumentError, parse_json_object
from populace.base.errors import ModelFileError
from populace.base.formatting import compact_json
from populace.models.licences import Sharing

ADAPTER_KINDS = {
    "human": "decisions of people alone",
    "calibrated": "decisions of people, and situations whose answers follow published results",
    "judge": "scores of judges or rules",
    "model": "answers of another model",
    "unknown": "data that the adapter does not name",
}
"""The kinds of adapters, by what they were trained on."""
MOST_MANIFEST_BYTES = 1_000_000
_ASSUMPTIONS = {
    "calibrated": "its adapter was also trained on published results; a norm or a response that it shows is that "
    "assumption at work",
    "judge": "its adapter was trained on what a judge or a rule rewarded; it shows what that rewards",
}
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class AdapterCard:
    """What an adapter says of itself.

    Attributes:
        name: The name that is shown to users.
        base_name: The name of the model that it changes.
        base_sha256: The SHA-256 of that model's file; empty where an adapter of others does not say.
        alpha: The strength of the change: it is multiplied by alpha / rank.
        manifest: What it was trained on and how it scores: `kind` (one of `ADAPTER_KINDS`), and as far as known `data`
            (a list of name, sha256 and licence), `splits`, `settings`, `figures`, `assumptions` and `limits`.

    Example:
        >>> AdapterCard("people", "SmolLM2", "ab" * 32, 64.0, {"kind": "human"}).kind
        'human'
    """

    name: str
    base_name: str
    base_sha256: str
    alpha: float
    manifest: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """What it was trained on, as one word of `ADAPTER_KINDS`."""
        return str(self.manifest["kind"])

    @property
    def licences(self) -> list[str]:
        """The licences of the data, each once."""
        return list(dict.fromkeys(str(each["licence"]) for each in self.data if each.get("licence")))

    @property
    def licence(self) -> str:
        """The licence of the adapter itself; empty where it names none."""
        return str(self.manifest.get("licence") or "")

    @property
    def sharing(self) -> Sharing:
        """Whether the licences of its data allow to pass it on, and under which licence."""
        return Sharing.of(self.data)

    @property
    def data(self) -> list[Mapping[str, Any]]:
        """The data sets that it was trained on, as far as the manifest lists them."""
        listed = self.manifest.get("data", [])
        return [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []

    @property
    def figures(self) -> Mapping[str, Any]:
        """Its scores, by name."""
        figures = self.manifest.get("figures", {})
        return figures if isinstance(figures, Mapping) else {}

    def assumption(self, model: str) -> str | None:
        """One line for reports where what a model does was put in by assumption; None where it was not.

        Args:
            model: The model string.
        """
        reason = _ASSUMPTIONS.get(self.kind)
        return reason and f"what {model} does was put in by assumption: {reason}."

    def notes(self, model: str) -> tuple[str, ...]:
        """What reports of runs with it must say.

        Args:
            model: The model string.
        """
        unnamed = f"{model} has an adapter that does not name its base by SHA-256: that it fits could not be checked."
        return tuple(filter(None, (self.assumption(model), "" if self.base_sha256 else unnamed)))

    def check(self, place: object) -> AdapterCard:
        """The card itself; ModelFileError if it cannot be that of an adapter.

        Args:
            place: The file or folder that the message names.
        """
        if self.manifest.get("kind") not in ADAPTER_KINDS:
            raise ModelFileError(
                f"{place} says that it is of the kind {self.manifest.get('kind')!r}.",
                f"The manifest of an adapter has a kind: {', '.join(ADAPTER_KINDS)}.",
            )
        if self.base_sha256 and (len(self.base_sha256) != 64 or not _HEX.issuperset(self.base_sha256)):
            raise ModelFileError(f"{place} names no SHA-256 of its base model.", "It has 64 hexadecimal digits.")
        if not math.isfinite(self.alpha) or self.alpha <= 0:
            raise ModelFileError(f"{place} has the strength alpha {self.alpha}; it must be above 0.")
        return self


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A manifest as it stands in a file."""
    text = compact_json(dict(manifest))
    read_manifest(text, "to write")
    return text


def read_manifest(text: object, place: object) -> dict[str, Any]:
    """The manifest in a file.

    Args:
        text: The text; anything but a text is refused.
        place: The file or folder that the message names.
    """
    try:
        if not isinstance(text, str):
            raise DocumentError("there is none")
        if len(text.encode()) > MOST_MANIFEST_BYTES:
            raise DocumentError(f"it has more than {MOST_MANIFEST_BYTES:,} bytes")
        return parse_json_object(text)
    except DocumentError as error:
        raise ModelFileError(
            f"the manifest of the adapter {place} cannot be read: {error}.", "Fetch or train it again."
        ) from error
