"""Networks: ties between people, as an edge table that is joined with the population."""

from typing import Any, Self

import polars as pl

from populace.base.errors import PeopleError
from populace.people.selection import filter_expression
from populace.people.table import Id, People


class Network:
    """Who is tied to whom.

    Args:
        edges: A table with a row for each tie and a column for each end; further columns are attributes of the tie.
        source: The column of one end.
        target: The column of the other end.
        directed: Whether a tie leads only from source to target.

    Example:
        >>> people = People(pl.DataFrame({"id": [0, 1, 2], "shirt": ["blue", "blue", "green"]}))
        >>> ties = Network(pl.DataFrame({"source": [0, 0], "target": [1, 2]}))
        >>> ties.count(people, shirt="blue").to_list()
        [1, 1, 1]
    """

    def __init__(
        self, edges: pl.DataFrame, *, source: str = "source", target: str = "target", directed: bool = False
    ) -> None:
        for column in (source, target):
            if column not in edges.columns:
                raise PeopleError(f"the edge table has no column {column!r}; it has {', '.join(edges.columns)}.")
            if edges[column].null_count():
                row = int(edges[column].is_null().arg_max() or 0)
                raise PeopleError(f"the edge table, column {column!r}, row {row + 1}: the id is missing.")
        self.edges = edges.rename({source: "source", target: "target"}, strict=False)
        self.directed = directed
        if {"id", "neighbour"} & set(self.edges.columns):
            raise PeopleError("the edge table has a column 'id' or 'neighbour' of its own.", "Rename it.")
        directions = [self.edges]
        if not directed:
            reverse = self.edges.rename({"source": "target", "target": "source"}).select(self.edges.columns)
            directions.append(reverse.filter(pl.col("source") != pl.col("target")))
        self._directed = pl.concat(directions)

    @classmethod
    def from_graph(cls, graph: Any) -> Self:
        """Ties from a networkx graph whose nodes are ids; edge attributes become columns."""
        rows = [{"source": a, "target": b, **data} for a, b, data in graph.edges(data=True)]
        if not rows:
            raise PeopleError("the graph has no edges.")
        return cls(pl.DataFrame(rows, infer_schema_length=None), directed=graph.is_directed())

    def __len__(self) -> int:
        return self.edges.height

    def check(self, people: People) -> None:
        """Raise PeopleError if an end of a tie is the id of nobody in the population."""
        if self.edges["source"].dtype.is_integer() != people.ids.dtype.is_integer():
            raise PeopleError(f"the ties name {self.edges['source'].dtype} ids, the people have {people.ids.dtype}.")
        ends = pl.concat([self.edges["source"], self.edges["target"]]).unique(maintain_order=True)
        unknown = ends.filter(~ends.is_in(people.ids.implode()))
        if unknown.len():
            raise PeopleError(
                f"the network ties {unknown[0]!r}, and nobody has that id.", f"{unknown.len()} such ids in all."
            )

    def neighbours(self, who: Id) -> pl.Series:
        """The ids of the people to whom a person is tied."""
        return self._directed.filter(pl.col("source") == who)["target"].alias("id")

    def join(self, people: People, *columns: str) -> pl.DataFrame:
        """One row for each person and neighbour, with the neighbour's columns."""
        neighbours = pl.DataFrame([people.ids.alias("target"), *(people[column] for column in columns)])
        ties = self._directed.join(neighbours, on="target", how="inner", maintain_order="left")
        return ties.rename({"source": "id", "target": "neighbour"})

    def degree(self, people: People) -> pl.Series:
        """How many ties each person has, in table order."""
        return self.count(people).alias("degree")

    def count(self, people: People, **conditions: Any) -> pl.Series:
        """How many neighbours of each person meet the conditions, in table order."""
        meeting = people.frame.filter(filter_expression(conditions, people.columns)).select(
            pl.col("id").alias("target")
        )
        ties = self._directed.join(meeting, on="target", how="semi").group_by("source")
        counts = ties.agg(pl.col("target").n_unique().alias("count"))
        ids = people.ids.to_frame()
        by_person = ids.join(counts, left_on="id", right_on="source", how="left", maintain_order="left")
        return by_person["count"].fill_null(0).cast(pl.Int64)

    def share(self, people: People, **conditions: Any) -> pl.Series:
        """The share of each person's neighbours who meet the conditions; empty for people without neighbours."""
        meeting, all_ties = self.count(people, **conditions), self.count(people)
        return (meeting / pl.select(pl.when(all_ties > 0).then(all_ties)).to_series()).alias("share")
