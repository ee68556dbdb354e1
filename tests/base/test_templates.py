from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import TemplateError
from populace.base.templates import Template

MANY = 100
"""More rows than are put together one by one."""


def rendered(text: str, columns: dict[str, list[Any]] | None = None, **constants: Any) -> list[str]:
    filled = {name: pl.Series(name, values) for name, values in (columns or {}).items()}
    count = max((len(column) for column in filled.values()), default=1)
    return Template(text).render(constants, filled, count).to_list()


def test_columns_and_constants_are_filled_in_for_each_row() -> None:
    texts = rendered("{name} has {money:.2f} {coin}.", {"name": ["Ann", "Bo"], "money": [1.0, 2.5]}, coin="dollars")
    assert texts == ["Ann has 1.00 dollars.", "Bo has 2.50 dollars."]


def test_a_text_without_fields_is_the_same_in_every_row() -> None:
    assert Template("It rains.").render({}, {}, 3).to_list() == ["It rains."] * 3
    assert Template("").render({}, {}, 2).to_list() == ["", ""]


def test_columns_win_over_constants() -> None:
    assert rendered("{x}", {"x": ["column"]}, x="constant") == ["column"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{x}}", "{x}"),
        ("{{{x}}}", "{7}"),
        ("{x}{x}", "77"),
        ("{x:>3}|{x:03d}", "  7|007"),
        ("{x:,}", "7"),
        ("{{}} {x}", "{} 7"),
    ],
)
@pytest.mark.parametrize("count", [1, MANY])
def test_braces_and_format_specifications_are_those_of_python(text: str, result: str, count: int) -> None:
    assert rendered(text, x=7) == [result]
    assert rendered(text, {"x": [7] * count}) == [result] * count


@pytest.mark.parametrize(
    ("value", "spec", "result"),
    [
        (0.1, "", "0.1"),
        (1e22, "", "1e+22"),
        (True, "", "True"),
        (2.0, "", "2.0"),
        (datetime.date(2026, 1, 5), "%d.%m.%Y", "05.01.2026"),
        (datetime.date(2026, 1, 5), "", "2026-01-05"),
        (0.256, ".0%", "26%"),
        (1234567, ",", "1,234,567"),
    ],
)
def test_a_value_reads_the_same_from_a_column_as_from_python(value: object, spec: str, result: str) -> None:
    text = f"{{x:{spec}}}" if spec else "{x}"
    assert rendered(text, x=value) == rendered(text, {"x": [value]}) == [result]
    assert rendered(text, {"x": [value] * MANY}) == [result] * MANY


def test_categories_are_written_as_their_text() -> None:
    column = pl.Series(["blue", "green"], dtype=pl.Enum(["green", "blue"]))
    assert Template("{x}/{x:>6}").render({}, {"x": column}, 2).to_list() == ["blue/  blue", "green/ green"]


def test_fields_are_named_once_in_order_of_appearance() -> None:
    assert Template("{b} {a} {b:>3} {{c}}").fields == ("b", "a")


def test_a_field_that_nothing_fills_is_named_with_the_nearest() -> None:
    with pytest.raises(TemplateError) as raised:
        Template("You wore {shrit}.").require(["shirt", "name"], "given")
    assert "given" in raised.value.what
    assert "{shrit}" in raised.value.what
    assert "Did you mean {shirt}?" in (raised.value.hint or "")


def test_a_field_with_no_near_name_lists_what_there_is() -> None:
    with pytest.raises(TemplateError, match="There are: none"):
        Template("{x}").require([], "given")
    with pytest.raises(TemplateError, match="There are: age, name") as raised:
        Template("{zzz}").require(["name", "age"], "given")
    assert "Did you mean" not in str(raised.value)


def test_a_template_is_accepted_where_all_its_fields_are_known_and_only_there() -> None:
    template, known = Template("{name} {age}"), {"name": 1, "age": 2, "more": 3}
    template.require(known, "the profile")
    for field in ("name", "age"):
        with pytest.raises(TemplateError, match=field):
            template.require({key: value for key, value in known.items() if key != field}, "the profile")


@pytest.mark.parametrize(
    "text",
    [
        "{x.__class__}",
        "{x[0]}",
        "{x.y}",
        "{}",
        "{0}",
        "{x!r}",
        "{x:{y}}",
        "{x y}",
        "{x()}",
        "{ x }",
        "{x",
        "x}",
        "{x!}",
    ],
)
def test_anything_but_plain_names_and_formats_is_refused_when_the_template_is_made(text: str) -> None:
    with pytest.raises(TemplateError):
        Template(text)


def test_an_unbalanced_brace_comes_with_the_way_to_write_one() -> None:
    with pytest.raises(TemplateError) as raised:
        Template("a set {1, 2")
    assert "{{" in (raised.value.hint or "")


@pytest.mark.parametrize("values", [["x", None], [1, None], [1.5, None], [None, "x"]])
@pytest.mark.parametrize("times", [1, MANY])
def test_an_empty_value_is_an_error_that_names_the_field(values: list[Any], times: int) -> None:
    with pytest.raises(TemplateError, match=r"\{mood\}"):
        rendered("You feel {mood}.", {"mood": values * times})


def test_an_empty_constant_is_an_error_that_names_the_field() -> None:
    with pytest.raises(TemplateError, match=r"\{mood\}"):
        rendered("You feel {mood}.", mood=None)


def test_an_empty_text_is_a_value_like_any_other() -> None:
    assert rendered("[{x}]", {"x": ["", "a"]}) == ["[]", "[a]"]


def test_a_format_that_does_not_fit_names_field_format_and_value() -> None:
    for columns, constants in [({"x": ["blue"]}, {}), ({}, {"x": "blue"})]:
        with pytest.raises(TemplateError, match=r"\{x:d\}.*'blue'"):
            rendered("{x:d}", columns, **constants)


LITERALS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(
    st.lists(LITERALS, min_size=3, max_size=3),
    st.lists(st.tuples(LITERALS, st.integers(-(2**62), 2**62)), min_size=1, max_size=5),
    st.sampled_from(["", ">7", "^9", "*<5"]),
    st.sampled_from(["", "+d", ",", "08d", "x"]),
    st.sampled_from([1, 30]),
)
@settings(max_examples=100, deadline=None)
def test_rendering_equals_pythons_own_formatting(
    parts: list[str], rows: list[tuple[str, int]], text_spec: str, number_spec: str, times: int
) -> None:
    before, between, after = (part.replace("{", "{{").replace("}", "}}") for part in parts)
    text = f"{before}{{a:{text_spec}}}{between}{{b:{number_spec}}}{after}"
    rows = rows * times
    columns = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    assert rendered(text, columns) == [text.format(a=a, b=b) for a, b in rows]
    assert rendered(text, a=rows[0][0], b=rows[0][1]) == [text.format(a=rows[0][0], b=rows[0][1])]


def test_numbers_of_a_long_column_are_written_as_python_writes_them() -> None:
    values = [0.0, -0.0, 1.25, 1e-7, 1e16, 3.0] * 20
    for dtype in (pl.Float64, pl.Float32):
        column = pl.Series(values, dtype=dtype)
        for spec in ("", ".2f", "g"):
            rendered = Template(f"{{x:{spec}}}" if spec else "{x}").render({}, {"x": column}, column.len())
            assert rendered.to_list() == [format(value, spec) for value in column.to_list()]
    whole = pl.Series([1234567, -5] * 50)
    assert Template("{x:,}").render({}, {"x": whole}, 100).to_list() == ["1,234,567", "-5"] * 50


def test_a_missing_number_in_a_long_column_is_an_error() -> None:
    for missing in (None, float("nan")):
        column = pl.Series([1.0] * 99 + [missing], strict=False)
        with pytest.raises(TemplateError, match="the value for {x}"):
            Template("{x:.1f}").render({}, {"x": column}, 100)


@pytest.mark.parametrize(
    "spec", ["300000000", ">1001", ".5000f", "0" * 40 + "300000000", "9" * 40, "\u0663" * 9, "x<3,.99999"]
)
def test_a_width_or_a_precision_that_fills_memory_is_refused_when_the_template_is_read(spec: str) -> None:
    with pytest.raises(TemplateError, match="at most 1,000") as caught:
        Template(f"It costs {{price:{spec}}}.")
    assert f"{{price:{spec}}}" in str(caught.value)


@pytest.mark.parametrize("spec", ["1000", ".1000f", "0" * 40 + "7", "9<5.2f"])
def test_a_width_that_a_text_may_have_is_as_in_python(spec: str) -> None:
    assert rendered(f"{{price:{spec}}}", price=1.5) == [format(1.5, spec)]


def test_the_longest_text_of_a_template_counts_values_and_widths() -> None:
    assert Template("{{{name}: {price:8.2f} {name}").longest({"name": 5}) == len("{: 12345678.2 ") + 5 * 2
    assert Template("plain").longest({}) == 5
