"""Web sessions as a table: who saw which page, and what they did on it.

A row is one action. The columns are `person`, `session`, `step`, `page` (simplified HTML), `action` (`click`,
`type_and_submit` or `terminate`), `element` (its name on the page; none for `terminate`) and `text` (what was typed).
Where they are known: `shop`, `profile` (who the person is, in words), `reasoning` (why they did it, in words) and
`outcome` (`purchase` or `terminate`, the same in every row of a session; without it, a session that ends with a click
counts as a purchase).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from populace.base.errors import WorldError
from populace.base.foreign_columns import csv_table
from populace.worlds.web.page import WebPage
from populace.worlds.web.session_checks import session_problems
from populace.worlds.web.tables import LINE, read_web_table

MAX_SESSION_BYTES = 1_000_000_000
MAX_ACTIONS = 5_000_000

ACTIONS = ("click", "type_and_submit", "terminate")
NEEDED = ("person", "session", "step", "page", "action", "element", "text")
OPTIONAL = ("shop", "profile", "reasoning", "outcome")
PARTS = ("training", "development", "unseen_people", "unseen_shops", "unseen_both")
"""The parts of a split: people and shops that may be learned from, and what is held out."""

_TENTHS = 10
_SHOP_SHARE = 0.2


@dataclass(frozen=True)
class WebSessions:
    """Sessions of people on web pages.

    Attributes:
        table: A row for each action, in the order of sessions and steps.
        left_out: What was wrong with sessions that were left out: `line`, `session` and `problem`.

    Example:
        >>> row = {"person": "a", "session": "1", "step": 1, "page": '<a name="tea">Tea</a>', "action": "click"}
        >>> sessions = WebSessions.from_table(pl.DataFrame([row | {"element": "tea", "text": None}]))
        >>> sessions.outcomes.rows()
        [('1', 'a', 'purchase', 1)]
    """

    table: pl.DataFrame
    left_out: pl.DataFrame = field(default_factory=pl.DataFrame)

    def __len__(self) -> int:
        return int(self.table["session"].n_unique())

    @classmethod
    def from_table(
        cls, table: pl.DataFrame, *, where: str = "the table of sessions", drop_bad: bool = False
    ) -> WebSessions:
        """Sessions from a table with the columns that every log has.

        Args:
            table: The table; a column `line` counts its rows where it is there.
            where: What the table is, for messages.
            drop_bad: Leave whole sessions out in which a row is wrong, and say so in `left_out`.

        Raises:
            WorldError: If a column is missing, or a row is wrong and `drop_bad` is not set: the person is missing, the
                action is unknown, its element is not on the page, or the steps of a session do not follow each other.
                The text names the line.
        """
        missing = [name for name in NEEDED if name not in table.columns]
        if missing:
            raise WorldError(f"{where} has no column {missing[0]!r}.", f"It needs {', '.join(NEEDED)}.")
        if LINE not in table.columns:
            table = table.with_row_index(LINE, offset=1)
        words = [name for name in (*NEEDED, *OPTIONAL) if name != "step" and name in table.columns]
        blank = [pl.col(name).cast(pl.String).replace("", None) for name in words]
        table = table.with_columns(*blank, pl.col("step").cast(pl.Int64, strict=False))
        table = table.with_columns(
            *(pl.lit(None, pl.String).alias(name) for name in OPTIONAL if name not in table.columns)
        )
        problems = session_problems(table)
        if problems.height and not drop_bad:
            row = problems.row(0, named=True)
            more = f"{problems.height:,} rows are wrong. " if problems.height > 1 else ""
            raise WorldError(
                f"{where}, line {row[LINE]}: {row['problem']}.", f"{more}Mend them, or leave their sessions out."
            )
        table = table.filter(~pl.col("session").is_in(problems["session"].to_list())) if problems.height else table
        if problems.height:
            table = table.filter(pl.col("person").is_not_null() & pl.col("session").is_not_null())
        if not table.height:
            raise WorldError(f"{where} holds no session that can be used.")
        return cls(table.drop(LINE).sort("session", "step", maintain_order=True), problems)

    @classmethod
    def read(cls, path: str | Path, *, drop_bad: bool = False) -> WebSessions:
        """The sessions in a CSV, JSONL or Parquet file; see `from_table`."""
        path = Path(path)
        table = read_web_table(path, most=MAX_SESSION_BYTES, rows=MAX_ACTIONS)
        return cls.from_table(table, where=path.name, drop_bad=drop_bad)

    def write(self, path: str | Path) -> Path:
        """Write the sessions as CSV, JSONL or Parquet, by the ending of the name."""
        path = Path(path)
        if path.suffix == ".parquet":
            self.table.write_parquet(path)
        elif path.suffix == ".jsonl":
            self.table.write_ndjson(path)
        elif path.suffix == ".csv":
            csv_table(self.table).write_csv(path)
        else:
            raise WorldError(f"sessions cannot be written to {path}.", "End its name with .csv, .jsonl or .parquet.")
        return path

    @property
    def outcomes(self) -> pl.DataFrame:
        """How each session ended: `session`, `person`, `outcome` (null where it is unknown) and `length`."""
        last = pl.col("action").last()
        by_action = pl.when(last == "terminate").then(pl.lit("terminate")).otherwise(pl.lit("purchase"))
        stated = self.table["outcome"].null_count() < self.table.height
        outcome = pl.col("outcome").last() if stated else by_action
        return self.table.group_by("session", maintain_order=True).agg(
            pl.col("person").first(), outcome.alias("outcome"), pl.len().cast(pl.Int64).alias("length")
        )

    @property
    def purchase_elements(self) -> tuple[str, ...]:
        """The elements with which sessions end that are purchases."""
        ends = (
            self.table.group_by("session", maintain_order=True)
            .last()
            .join(self.outcomes.select("session", ended=pl.col("outcome")), on="session")
        )
        bought = ends.filter((pl.col("ended") == "purchase") & (pl.col("action") == "click"))
        return tuple(bought["element"].unique().sort().to_list())

    def pages(self) -> dict[str, WebPage]:
        """The distinct pages, read."""
        return {html: WebPage.read(html) for html in self.table["page"].unique(maintain_order=True).to_list()}

    def take(self, rows: pl.Expr) -> WebSessions:
        """The sessions of which the rows hold."""
        return replace(self, table=self.table.filter(rows))

    def split(self, *, salt: str = "") -> dict[str, WebSessions]:
        """The sessions in the parts of `PARTS`; a part may be empty.

        A person's part follows from their name alone (crc32 modulo 10: 0 is unseen, 1 is development), as for
        `HumanDecisions.split`. Of the shops, the fifth with the smallest hash is unseen, at least one if there are two.

        Args:
            salt: Put before every name; another salt makes another split.
        """
        people = self.table["person"].unique().to_list()
        remainder = {name: zlib.crc32((salt + name).encode()) % _TENTHS for name in people}
        known = sorted(self.table["shop"].drop_nulls().unique().to_list(), key=lambda name: _hash(salt, name))
        held_out = known[: max(1, round(len(known) * _SHOP_SHARE))] if len(known) > 1 else []
        tenth = self.table["person"].replace_strict(remainder, return_dtype=pl.Int64)
        unseen_shop = self.table["shop"].is_in(held_out).fill_null(value=False)
        unseen_person, development = tenth == 0, tenth == 1
        masks = {
            "training": ~unseen_person & ~development & ~unseen_shop,
            "development": development & ~unseen_shop,
            "unseen_people": unseen_person & ~unseen_shop,
            "unseen_shops": ~unseen_person & ~development & unseen_shop,
            "unseen_both": unseen_person & unseen_shop,
        }
        return {name: replace(self, table=self.table.filter(mask)) for name, mask in masks.items()}


def join_sessions(parts: Iterable[WebSessions]) -> WebSessions:
    """Several tables of sessions as one."""
    tables = [part.table for part in parts]
    return WebSessions(pl.concat(tables, how="diagonal"))


def _hash(salt: str, name: str) -> tuple[int, str]:
    return zlib.crc32((salt + name).encode()), name
