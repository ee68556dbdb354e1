"""Received files that are wrong: seeded changes of bytes, lines, values, names and links, each of which can be undone."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**39, 10**4200, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", " ",
    "x", "\x00", "\x1b[31m", "../..", "/etc/passwd", "a" * 5000, "\ud800", "é" * 300, "norms", [], {}, [[]], [None],
    {"": None}, {"model": "x"}, [1, "2", None, {"a": []}],
]  # fmt: skip


def mutate(files: list[Path], rng: random.Random, canaries: list[str], outside: Path) -> Callable[[], None]:
    """Change one of some files, or its name; returns what undoes it."""
    file = rng.choice([each for each in files if each.stat().st_size])
    kinds: list[Callable[[Path, random.Random], None]] = [_flip, _cut, _zero, _extend, _insert]
    if file.suffix not in (".parquet", ".sqlite", ".gguf"):
        kinds += [_drop_line, _repeat_line, _deepen, _recode]
    if file.suffix == ".json" or file.name == "COMMIT" or file.suffix == ".jsonl":
        kinds += [_swap_value, _swap_value, _swap_value, _swap_value, _drop_key, _repeat_key]
        kinds += [lambda path, rng: _inject(path, rng, canaries, outside)] * 3
    if file.suffix in (".yaml", ".yml"):
        kinds += [lambda path, rng: _inject_yaml(path, rng, canaries, outside)] * 3
    kind = rng.choice([*kinds, _rename, _to_folder, _to_link, _to_nothing, _to_pipe])
    before = file.read_bytes()
    kind(file, rng) if kind is not _to_link else _link(file, outside / "target")

    def undo() -> None:
        for place in file.parent.glob(f"{file.name}*") if file.parent.is_dir() else ():
            shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(before)

    return undo


def _flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 8])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))


def _cut(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data) + 1)])


def _zero(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    place = rng.randrange(len(data) + 1)
    path.write_bytes(data[:place] + bytes(min(64, len(data) - place)) + data[place + 64 :])


def _extend(path: Path, rng: random.Random) -> None:
    path.write_bytes(path.read_bytes() + rng.choice([b"\n", b"}", b"\xff\xfe", b"{}", b"x" * 10_000]))


def _insert(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    place = rng.randrange(len(data) + 1)
    path.write_bytes(
        data[:place] + rng.choice([b"\x00", b"\xff", b'"', b"[", b"{", b"&a ", b"*a", b"\r"]) + data[place:]
    )


def _drop_line(path: Path, rng: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[rng.randrange(len(lines)) : rng.randrange(len(lines)) + 1]
    path.write_bytes(b"".join(lines))


def _repeat_line(path: Path, rng: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    place = rng.randrange(len(lines))
    path.write_bytes(b"".join([*lines[:place], lines[place], *lines[place:]]))


def _deepen(path: Path, rng: random.Random) -> None:
    opening = rng.choice([b"[", b'{"a":', b"- ", b"{a: "])
    path.write_bytes(opening * rng.choice([50, 101, 3000, 100_000]) + path.read_bytes())


def _recode(path: Path, rng: random.Random) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_bytes(text.encode(rng.choice(["utf-16", "utf-8-sig", "utf-32", "cp1252"]), errors="replace"))


def _rename(path: Path, rng: random.Random) -> None:
    path.rename(path.with_name(path.name + rng.choice(["x", " ", "\n", "~"])))


def _to_folder(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _to_nothing(path: Path, rng: random.Random) -> None:
    path.unlink()


def _to_pipe(path: Path, rng: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _to_link(path: Path, rng: random.Random) -> None:
    raise NotImplementedError


def _link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in some data: a container and a key or an index of it."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


@contextlib.contextmanager
def _json(path: Path, rng: random.Random) -> Iterator[list[tuple[Any, Any]]]:
    """The places of a JSON file, or of one line of a JSONL file; what is changed there is written back."""
    lines = path.read_text(encoding="utf-8").split("\n") if path.suffix == ".jsonl" else [path.read_text("utf-8")]
    chosen = rng.randrange(max(len(lines) - 1, 1))
    data = [json.loads(lines[chosen])]
    yield list(_places(data))
    lines[chosen] = json.dumps(data[0])
    path.write_text("\n".join(lines), encoding="utf-8")


def _swap_value(path: Path, rng: random.Random) -> None:
    with _json(path, rng) as places:
        container, key = rng.choice(places)
        container[key] = rng.choice(VALUES)


def _drop_key(path: Path, rng: random.Random) -> None:
    with _json(path, rng) as places:
        container, key = rng.choice(places)
        if not (isinstance(container, list) and len(container) == 1):
            del container[key]


def _repeat_key(path: Path, rng: random.Random) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("{", '{"format": 1, "format": 2, ', 1), encoding="utf-8")


def _inject(path: Path, rng: random.Random, canaries: list[str], outside: Path) -> None:
    names = [*canaries, f"{outside}/x", "../../outside/x", "tables/../../../../../outside/x", "..", "\0"]
    with _json(path, rng) as places:
        texts = [place for place in places if isinstance(place[0][place[1]], str)]
        for container, key in rng.sample(texts, min(len(texts), rng.choice([1, 1, 3]))):
            container[key] = rng.choice(names)
        mappings = [place for place in places if isinstance(place[0][place[1]], dict) and place[0][place[1]]]
        if mappings and rng.random() < 0.3:
            container, key = rng.choice(mappings)
            inner = container[key]
            inner[rng.choice(names)] = inner.pop(rng.choice(list(inner)))


def _inject_yaml(path: Path, rng: random.Random, canaries: list[str], outside: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    places = [number for number, line in enumerate(lines) if ": " in line]
    number = rng.choice(places)
    name, _, _ = lines[number].partition(": ")
    values = [
        *canaries,
        f"{outside}/x",
        "!!python/object/apply:os.system [touch x]",
        "&a [*a]",
        "[[[[[[]]]]]]",
        "1e999",
    ]
    values += [".nan", "2024-99-99", "9" * 5000, "{a: 1, a: 2}", "null", "[]", "{}", "-1", "yes", "=", "<<"]
    lines[number] = f"{name}: {rng.choice(values)}"
    path.write_text("\n".join(lines), encoding="utf-8")
