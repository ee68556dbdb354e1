"""What is wrong with the rows of a log of web sessions, for all rows at once."""

import polars as pl

from populace.base.errors import WorldError
from populace.worlds.web.page import WebPage
from populace.worlds.web.tables import LINE

_LONGEST_QUOTE = 60


def session_problems(table: pl.DataFrame) -> pl.DataFrame:
    """The rows that are wrong, by line: `line`, `session` and `problem`, the first problem of each row.

    Args:
        table: The rows, with `line` and the columns of a log.
    """
    elements = _elements(table)
    rows = table.join(elements["pages"], on="page", how="left", maintain_order="left").join(
        elements["names"], on=["page", "element"], how="left", maintain_order="left"
    )
    action, element, text = pl.col("action"), pl.col("element"), pl.col("text")
    over = pl.col("session")
    first = pl.col("step").rank("ordinal").over(over)
    ended = ((action == "terminate") & (pl.col("step") < pl.col("step").max().over(over))).fill_null(False)
    checks = [
        (pl.col("person").is_null(), pl.lit("the person is missing")),
        (over.is_null(), pl.lit("the session is missing")),
        (pl.col("person").drop_nulls().n_unique().over(over) > 1, pl.lit("its session has more than one person")),
        (pl.col("step").is_null() | (pl.col("step") != first), pl.lit("the steps of its session are not 1, 2, 3, …")),
        (pl.col("page").is_null(), pl.lit("the page is missing")),
        (pl.col("page problem").is_not_null(), pl.col("page problem")),
        (~action.is_in(["click", "type_and_submit", "terminate"]).fill_null(False),
         _quote("the action {} is none of click, type_and_submit and terminate", action)),
        ((action == "terminate") & element.is_not_null(), pl.lit("terminate has no element")),
        ((action != "terminate") & element.is_null(), _quote("{} needs an element", action)),
        ((action != "terminate") & pl.col("kind").is_null(), _quote("the page has no element {}", element)),
        ((action == "type_and_submit") & (pl.col("kind") != "input"), _quote("{} is no field to type into", element)),
        ((action == "click") & (pl.col("kind") == "input"), _quote("{} is a field; people type into it", element)),
        ((action == "type_and_submit") & text.is_null(), pl.lit("type_and_submit needs a text")),
        ((action != "type_and_submit") & text.is_not_null(), _quote("{} has no text", action)),
        (ended, pl.lit("its session goes on after terminate")),
        (~pl.col("outcome").is_in(["purchase", "terminate"]).fill_null(True),
         _quote("the outcome {} is neither purchase nor terminate", pl.col("outcome"))),
    ]  # fmt: skip
    problem = pl.coalesce([pl.when(wrong).then(words) for wrong, words in checks])
    return rows.select(LINE, "session", problem.alias("problem")).filter(pl.col("problem").is_not_null()).sort(LINE)


def _elements(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What each distinct page holds: its problem, if it cannot be read, and the kind of each of its elements."""
    pages: list[tuple[str, str | None]] = []
    names: list[tuple[str, str, str]] = []
    for html in table["page"].drop_nulls().unique(maintain_order=True).to_list():
        try:
            page = WebPage.read(html)
        except WorldError as error:
            pages.append((html, error.what.rstrip(".")))
            continue
        pages.append((html, None))
        names += [(html, element.name, element.kind) for element in page.elements]
    return {
        "pages": pl.DataFrame(pages, schema={"page": pl.String, "page problem": pl.String}, orient="row"),
        "names": pl.DataFrame(names, schema={"page": pl.String, "element": pl.String, "kind": pl.String}, orient="row"),
    }


def _quote(words: str, value: pl.Expr) -> pl.Expr:
    """The words with a value in quotes, cut off where it is long."""
    before, after = words.split("{}")
    quoted = value.fill_null("").str.slice(0, _LONGEST_QUOTE)
    return pl.concat_str(pl.lit(f"{before}'"), quoted, pl.lit(f"'{after}"))
