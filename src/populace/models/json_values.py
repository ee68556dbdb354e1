"""A value that satisfies a JSON schema, for scripts that fill in forms.

The part of JSON Schema is covered that pydantic writes: references, alternatives, fixed values, bounds of numbers,
lengths of texts and lists, and patterns and formats of texts as far as one of some common examples matches.
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from populace.models.expected_reply import NumberBounds

Schema = Mapping[str, Any]
Chance = Callable[[str], float]
"""A number in [0, 1) for a place in the object, such as `people/0/name`."""
Words = Callable[[str], str]
"""A text for a place in the object."""

_EXAMPLES = {
    "date": "2026-02-14",
    "date-time": "2026-02-14T12:00:00Z",
    "time": "12:00:00",
    "duration": "PT1H",
    "email": "ada@example.org",
    "uri": "https://example.org/",
    "uuid": "0d7f5a3e-6c1b-4e52-9a51-2f1f6d1c7b10",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
_LIKELY = (
    "12:00", "2026-02-14", "a", "A", "ab", "AB", "abc", "ABC", "abcd", "1", "12", "123", "1234", "12345", "A1",
    "AB12", "a-b", "a b", "yes", "#a1b2c3", "+49 30 1234567", "1.0", "1.2.3", *_EXAMPLES.values(),
)  # fmt: skip
_DEPTH = 12

FORMATS_DIGEST = hashlib.blake2b(
    b"\0".join(Path(__file__).with_name(name).read_bytes() for name in ("expected_reply.py", "json_values.py")),
    digest_size=6,
).hexdigest()
"""A hash of the code that fits replies to requests: a script that uses it is another model once it changes."""


@dataclass(frozen=True)
class JsonValues:
    """Values for a schema, chosen by chance.

    Attributes:
        schema: The schema.
        chance: Chooses among what is allowed.
        words: Writes the texts.
        bounds: Bounds of numbers that stand in the question and not in the schema, by the name of the field.
        total: What the fields must add up to, where the object divides points.

    Example:
        >>> schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 18, "maximum": 20}}}
        >>> JsonValues(schema, lambda place: 0.5, lambda place: "text").value()
        {'age': 19}
    """

    schema: Schema
    chance: Chance
    words: Words
    bounds: Mapping[str, NumberBounds] = field(default_factory=dict)
    total: int | None = None

    def value(self) -> Any:
        """A value that satisfies the schema, as far as it is covered."""
        if self.total is not None:
            return self._points(list(self.schema.get("properties", {})), self.total)
        return self._value(self.schema, "", 0)

    def _points(self, names: list[str], total: int) -> dict[str, int]:
        """Points for each field, which add up; what rounding leaves over goes to the first."""
        weights = [0.1 + self.chance(name) for name in names]
        points = {name: int(total * weight / sum(weights)) for name, weight in zip(names, weights, strict=True)}
        points[names[0]] += total - sum(points.values())
        return points

    def _value(self, schema: Schema, place: str, depth: int) -> Any:
        schema = self._resolve(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._pick(schema["enum"], place)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._value(self._alternative(schema[key], place, depth), place, depth + 1)
        if "allOf" in schema:
            merged: dict[str, Any] = {}
            for part in schema["allOf"]:
                merged |= self._resolve(part)
            return self._value(merged, place, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), "null")
        if kind == "object" or "properties" in schema:
            return self._object(schema, place, depth)
        if kind == "array":
            return self._list(schema, place, depth)
        if kind in ("integer", "number"):
            return self._number(schema, place, whole=kind == "integer")
        if kind == "boolean":
            return self.chance(place) < 0.5
        return None if kind == "null" else self._text(schema, place)

    def _resolve(self, schema: Schema) -> Schema:
        for _ in range(_DEPTH):
            if "$ref" not in schema:
                break
            target: Any = self.schema
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema

    def _alternative(self, options: list[Schema], place: str, depth: int) -> Schema:
        """One of several schemas; nothing where the object is deep already, so that a recursive one ends."""
        nothing = [option for option in options if option.get("type") == "null"]
        something = [option for option in options if option.get("type") != "null"]
        if nothing and (depth > _DEPTH or not something):
            return nothing[0]
        choice: Schema = self._pick(something or options, place)
        return choice

    def _object(self, schema: Schema, place: str, depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        required = schema.get("required", list(properties) if "required" not in schema and depth == 0 else [])
        names = [name for name in properties if name in required or depth < 2]
        return {name: self._value(properties[name], f"{place}/{name}".lstrip("/"), depth + 1) for name in names}

    def _list(self, schema: Schema, place: str, depth: int) -> list[Any]:
        fixed = schema.get("prefixItems", [])
        least = max(schema.get("minItems", 0), len(fixed))
        most = min(schema.get("maxItems", max(least, 3)), max(least, 3))
        count = least if depth > _DEPTH else max(least, min(most, 1 + int(self.chance(f"{place}#") * most)))
        items = schema.get("items", {})
        schemas = [*fixed, *([items] * (count - len(fixed)) if items is not False else [])]
        values: list[Any] = []
        for number, item in enumerate(schemas):
            value = self._value(item, f"{place}/{number}", depth + 1)
            for again in range(20 if schema.get("uniqueItems") else 0):
                if value not in values:
                    break
                value = self._value(item, f"{place}/{number}+{again}", depth + 1)
            values.append(value)
        return values

    def _number(self, schema: Schema, place: str, *, whole: bool) -> float | int:
        named = self.bounds.get(place, NumberBounds())
        nudge = 1.0 if whole else 0.01
        low = max(named.low, schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf) + nudge)
        high = min(named.high, schema.get("maximum", math.inf), schema.get("exclusiveMaximum", math.inf) - nudge)
        number = NumberBounds(low, high, whole or named.whole).at(self.chance(place))
        step = schema.get("multipleOf")
        if step:
            number = (
                math.ceil((low if math.isfinite(low) else 0) / step) * step if number < step else number // step * step
            )
        return number

    def _text(self, schema: Schema, place: str) -> str:
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 10**6))
        pattern, form = schema.get("pattern"), schema.get("format")
        if form in _EXAMPLES:
            return _EXAMPLES[str(form)]
        if pattern is not None:
            fitting = [text for text in _LIKELY if re.search(pattern, text) and least <= len(text) <= most]
            return str(self._pick(fitting, place)) if fitting else _LIKELY[0]
        text: str = self.words(place)
        if len(text) > most:
            text = text[:most].rsplit(" ", 1)[0] if " " in text[:most] else text[:most]
        return text + "." * (least - len(text))

    def _pick(self, values: list[Any], place: str) -> Any:
        return values[min(int(self.chance(place) * len(values)), len(values) - 1)]
