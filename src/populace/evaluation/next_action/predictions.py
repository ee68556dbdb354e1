"""What is predicted in the place of people: the next action of each case, by a model, a majority or a rule."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from populace.base.errors import HumanDataError
from populace.evaluation.next_action.cases import KINDS, NextActionCases
from populace.worlds.web.page import WebPage
from populace.worlds.web.sessions import WebSessions

_COLUMNS = ("action", "element", "text")


@dataclass(frozen=True)
class NextActionPredictions:
    """The predicted action of each case.

    Attributes:
        name: Who predicts.
        table: A row for each case: `case`, the likeliest `action`, `element` and `text` (null where there was no valid
            answer), a `drawn_action` and `drawn_element` (one draw from what is predicted), the probability of each
            action (`p_click` and so on; null where it is unknown), and `thought` (what was thought before; null).
    """

    name: str
    table: pl.DataFrame

    def __post_init__(self) -> None:
        missing = [name for name in ("case", *_COLUMNS) if name not in self.table.columns]
        if missing:
            raise HumanDataError(f"{self.name}: the predictions have no column {missing[0]!r}.")

    @property
    def invalid(self) -> int:
        """How many cases have no valid prediction."""
        return self.table["action"].null_count()

    @classmethod
    def certain(cls, name: str, table: pl.DataFrame) -> NextActionPredictions:
        """Predictions that are sure of one action each, from a table with `case`, `action`, `element` and `text`."""
        chances = [pl.lit(None, pl.Float64).alias(f"p_{kind}") for kind in KINDS]
        return cls(
            name,
            table.select(
                "case", *_COLUMNS, *(pl.col(part).alias(f"drawn_{part}") for part in ("action", "element")),
                *chances, pl.lit(None, pl.String).alias("thought"),
            ),
        )  # fmt: skip


def majority_predictions(cases: NextActionCases, training: WebSessions) -> NextActionPredictions:
    """The floor: of the actions that are possible on a page, the one that people in training took most often.

    Args:
        cases: The cases.
        training: Sessions of other people.
    """
    later = training.table.filter(pl.col("step") > 1)
    counts = later.group_by(*_COLUMNS).agg(pl.len().alias("n"))
    counts = counts.sort("n", *_COLUMNS, descending=[True, False, False, False], nulls_last=True)
    _refuse_empty(counts)
    names = [(html, element.name) for html, page in cases.pages.items() for element in page.elements]
    on_page = pl.DataFrame(names, schema={"page": pl.String, "element": pl.String}, orient="row")
    ranked = counts.with_row_index("rank")
    possible = on_page.join(ranked.filter(pl.col("element").is_not_null()), on="element")
    leaving = ranked.filter(pl.col("action") == "terminate").head(1)
    pages = pl.DataFrame({"page": list(cases.pages)}, schema={"page": pl.String})
    everywhere = pages.join(leaving, how="cross") if leaving.height else possible.clear()
    best = (
        pl.concat([possible.select("page", "rank", *_COLUMNS), everywhere.select("page", "rank", *_COLUMNS)])
        .sort("rank")
        .unique("page", keep="first", maintain_order=True)
    )
    rows = cases.table.select("case", "page").join(best, on="page", how="left", maintain_order="left")
    return NextActionPredictions.certain("majority", rows.select("case", *_COLUMNS))


def page_majority_predictions(cases: NextActionCases, training: WebSessions) -> NextActionPredictions:
    """A harder floor: what people did most often on pages of the same form, with elements by their place.

    Two pages have the same form if their elements are the same but for the words of single items: then `results.*.view`
    is its first, second or third one, in training as in the case.

    Args:
        cases: The cases.
        training: Sessions of other people.
    """
    later = training.table.filter(pl.col("step") > 1).select("page", *_COLUMNS)
    _refuse_empty(later)
    pages = training.pages()
    known = _forms(pages)
    counted = (
        later.join(known, on=["page", "element"], how="left", nulls_equal=True)
        .group_by("form", "action", "place", "text")
        .agg(pl.len().alias("n"))
        .sort("n", "action", "place", "text", descending=[True, False, False, False], nulls_last=True)
        .unique("form", keep="first", maintain_order=True)
    )
    mine = _forms(cases.pages)
    form_of = mine.unique("page", keep="first", maintain_order=True).select("page", "form")
    rows = cases.table.select("case", "page").join(form_of, on="page", how="left", maintain_order="left")
    rows = rows.join(counted, on="form", how="left", maintain_order="left")
    rows = rows.join(
        mine.select("page", "place", "element").filter(pl.col("element").is_not_null()),
        on=["page", "place"], how="left", maintain_order="left",
    )  # fmt: skip
    plain = majority_predictions(cases, training).table.select("case", *(pl.col(c).alias(f"m_{c}") for c in _COLUMNS))
    rows = rows.join(plain, on="case", how="left", maintain_order="left")
    known_form = pl.col("action").is_not_null() & (pl.col("element").is_not_null() | (pl.col("action") == "terminate"))
    picked = [pl.when(known_form).then(pl.col(c)).otherwise(pl.col(f"m_{c}")).alias(c) for c in _COLUMNS]
    return NextActionPredictions.certain("majority by page", rows.select("case", *picked))


def known_preferences(cases: NextActionCases) -> NextActionPredictions:
    """The ceiling of generated sessions: the action that the preferences behind them make likeliest.

    Raises:
        HumanDataError: If the sessions do not say it; only generated ones do.
    """
    if "likely_action" not in cases.table.columns:
        raise HumanDataError("these sessions do not say what was likeliest.", "Only generated sessions do.")
    rows = cases.table.select("case", *(pl.col(f"likely_{name}").alias(name) for name in _COLUMNS))
    return NextActionPredictions.certain("known preferences", rows)


def _forms(pages: dict[str, WebPage]) -> pl.DataFrame:
    """The form of each page, and the place of each of its elements: `page`, `form`, `element`, `place`.

    A row without an element stands for leaving.
    """
    rows: list[tuple[str, str, str | None, str | None]] = []
    for html, page in pages.items():
        places: dict[str, str] = {}
        counts: dict[str, int] = {}
        for element in page.elements:
            parts = element.name.split(".")
            shape = ".".join([parts[0], "*", parts[-1]]) if len(parts) > 2 else element.name
            counts[shape] = counts.get(shape, 0) + 1
            places[element.name] = f"{shape} {counts[shape]}"
        form = " ".join(sorted(counts))
        rows.append((html, form, None, None))
        rows += [(html, form, name, place) for name, place in places.items()]
    schema = {"page": pl.String, "form": pl.String, "element": pl.String, "place": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _refuse_empty(table: pl.DataFrame) -> None:
    if not table.height:
        raise HumanDataError("there are no sessions to take a majority from.", "Let a part of them be for training.")
