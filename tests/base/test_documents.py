"""Files that somebody else may have written: what is refused, and why."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from populace.base.documents import (
    MAX_DEPTH,
    DocumentError,
    name_problem,
    parse_json,
    parse_yaml,
    read_json,
    read_text,
    refuse_outside_links,
)
from populace.base.errors import DamagedRunError

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested more than 100 deep"),
        ("[" * 1_000_000, "nested more than 100 deep"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ("1" * 100_000, "100,000 digits"),
        (r'"\ud800"', "half of a character"),
    ],
)
def test_json_that_no_file_of_populace_holds_is_refused(text: str, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        parse_json(text)


def test_brackets_in_strings_are_not_nesting() -> None:
    text = '["' + "[" * 500 + '\\"' + "{" * 500 + '"]'
    assert len(parse_json(text)[0]) == 1001
    assert parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\na: 2", "line 1: the key 'a' stands twice"),
        ("a: &a [*a]", "contains itself"),
        ("a: &a {b: *a}", "contains itself"),
        (LAUGHS, "more than 200,000 values"),
        ("[" * 1000, "nested more than 100 deep"),
        ("- " * 1000 + "x", "nested more than 100 deep"),
        ("a: 2024-99-99", "month must be in"),
        ("a: " + "9" * 5000, "5,000 digits"),
        ("a: !!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("? [1]\n: 2", "unhashable"),
        ("a: [", "line 1"),
        ("a: \0", "not YAML"),
    ],
)
def test_yaml_that_would_hang_run_or_surprise_is_refused(text: str, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        parse_yaml(text)


def test_a_character_that_json_writes_as_two_halves_is_one_in_yaml_too() -> None:
    assert parse_yaml(json.dumps({"mood": "\U0001f600"})) == {"mood": "\U0001f600"}
    with pytest.raises(DocumentError, match="line 2: it holds half of a character"):
        parse_yaml('a: 1\nb: "\\ud83d alone"')


def test_plain_yaml_with_aliases_and_merges_is_read() -> None:
    assert parse_yaml("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}") == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


def test_a_byte_order_mark_is_dropped_and_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": "\xc3\xa9"}')
    assert read_json(path) == {"a": "é"}
    path.write_bytes('{"a": "é"}'.encode("latin-1"))
    with pytest.raises(DocumentError, match="not UTF-8: byte 8"):
        read_text(path)


def test_devices_pipes_folders_and_large_files_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/tty0")):
        if path.exists():
            with pytest.raises((DocumentError, OSError)):
                read_text(path)
    (tmp_path / "large").write_bytes(bytes(101))
    with pytest.raises(DocumentError, match="101 bytes; at most 100"):
        read_text(tmp_path / "large", most=100)
    with pytest.raises((DocumentError, OSError)):
        read_text(tmp_path)
    with pytest.raises(DocumentError, match="name is not valid"):
        read_text(tmp_path / "a\0b")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0", "a\x1b", "a" * 256, "é" * 128, "\ud800"])
def test_a_name_that_could_leave_its_folder_has_a_problem(name: str) -> None:
    assert name_problem(name)


def test_a_link_inside_a_folder_is_no_link_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").touch()
    (tmp_path / "in" / "link").symlink_to("file")
    refuse_outside_links(tmp_path / "in")
    (tmp_path / "in" / "loop").symlink_to("loop")
    with pytest.raises(DamagedRunError, match="in: loop is a link that leads out of its folder"):
        refuse_outside_links(tmp_path / "in")


def test_a_link_in_a_folder_inside_a_folder_leads_out_too(tmp_path: Path) -> None:
    (tmp_path / "in" / "figures").mkdir(parents=True)
    (tmp_path / "in" / "figures" / "one.svg").symlink_to("../other.svg")
    refuse_outside_links(tmp_path / "in")
    (tmp_path / "in" / "figures" / "two.svg").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRunError, match="figures/two.svg is a link"):
        refuse_outside_links(tmp_path / "in")
    refuse_outside_links(tmp_path / "in", skip=("figures",))


def test_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(DamagedRunError, match="absent cannot be read: No such file"):
        refuse_outside_links(tmp_path / "absent")
