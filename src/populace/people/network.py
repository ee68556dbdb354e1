"""Networks: ties between people, as an edge table that is joined with the population."""

from typing import Any, Self

import polars as pl

from populace.base.errors import PeopleError
from populace.base.formatting import plural
from populace.people.selection import filter_expression
from populace.people.table import Id, People
from populace.people.tables import to_frame

_HINT = (
    "Pass a table with the columns source and target, a list of pairs such as [(0, 1), (1, 2)], or a networkx graph; "
    "nx.from_numpy_array(matrix) makes one of a matrix."
)


class Network:
    """Who is tied to whom.

    Args:
        edges: A table with a row for each tie and a column for each end; further columns are attributes of the tie. A
            table of polars or pandas, a list of pairs of ids, or a networkx graph whose nodes are ids.
        source: The column of one end.
        target: The column of the other end.
        directed: Whether a tie leads only from source to target; a graph says so itself.

    Example:
        >>> people = People(pl.DataFrame({"id": [0, 1, 2], "shirt": ["blue", "blue", "green"], "age": [20, 30, 50]}))
        >>> ties = Network([(0, 1), (0, 2)])
        >>> ties.count(people, shirt="blue").to_list()
        [1, 1, 1]
        >>> ties.collect(people, "shirt").to_list()
        [['blue', 'green'], ['blue'], ['blue']]
        >>> ties.mean(people, "age").to_list()
        [40.0, 20.0, 20.0]
    """

    def __init__(
        self, edges: Any, *, source: str = "source", target: str = "target", directed: bool | None = None
    ) -> None:
        if hasattr(edges, "is_directed") and hasattr(edges, "edges"):
            directed = edges.is_directed() if directed is None else directed
            edges = _graph_edges(edges, source, target)
        elif _is_pairs(edges):
            edges = pl.DataFrame([tuple(pair) for pair in edges], schema=[source, target], orient="row", strict=False)
        frame = to_frame(edges, "the network", hint=_HINT)
        for column in (source, target):
            if column not in frame.columns:
                raise PeopleError(
                    f"the edge table has no column {column!r}; it has {', '.join(frame.columns)}.",
                    'Name the columns of the two ends: Network(table, source="…", target="…").',
                )
            if frame[column].null_count():
                row = int(frame[column].is_null().arg_max() or 0)
                raise PeopleError(f"the edge table, column {column!r}, row {row + 1}: the id is missing.")
        frame = frame.rename({source: "source", target: "target"}, strict=False)
        self.edges = frame.with_columns(_ids(frame["source"]), _ids(frame["target"]))
        self.directed = bool(directed)
        self._fitted = False
        if {"id", "neighbour"} & set(self.edges.columns):
            raise PeopleError("the edge table has a column 'id' or 'neighbour' of its own.", "Rename it.")
        if self.edges["source"].dtype != self.edges["target"].dtype:
            kinds = f"{self.edges['source'].dtype} and {self.edges['target'].dtype}"
            raise PeopleError(f"the two ends of a tie hold ids of different types: {kinds}.", "Give both one type.")
        directions = [self.edges]
        if not self.directed:
            reverse = self.edges.rename({"source": "target", "target": "source"}).select(self.edges.columns)
            directions.append(reverse.filter(pl.col("source") != pl.col("target")))
        self._directed = pl.concat(directions)

    @classmethod
    def from_graph(cls, graph: Any) -> Self:
        """Ties from a networkx graph whose nodes are ids; edge attributes become columns. The same as `Network(graph)`.

        Example:
            >>> import networkx as nx
            >>> Network.from_graph(nx.path_graph(3)).degree(People.named(3)).to_list()
            [1, 2, 1]
        """
        return cls(graph)

    def __len__(self) -> int:
        return self.edges.height

    def __repr__(self) -> str:
        return f"<network of {len(self)} {'directed ' if self.directed else ''}ties>"

    def check(self, people: People) -> None:
        """Raise PeopleError if an end of a tie is the id of nobody in the population."""
        ends = pl.concat([self.edges["source"], self.edges["target"]]).unique(maintain_order=True)
        self._check_type(people)
        unknown = ends.filter(~ends.is_in(people.ids.implode()))
        if unknown.len():
            raise PeopleError(
                f"the network ties {unknown[0]!r}, and nobody has that id.",
                f"{plural(unknown.len(), 'such id')} in all. To leave their ties out, write: network.within(people)",
            )

    def within(self, people: People) -> Self:
        """The ties between these people alone.

        Example:
            >>> len(Network([(0, 1), (1, 7)]).within(People.named(3)))
            1
        """
        self._check_type(people)
        known = pl.col("source").is_in(people.ids.implode()) & pl.col("target").is_in(people.ids.implode())
        return type(self)(self.edges.filter(known), directed=self.directed)

    def neighbours(self, who: Id) -> pl.Series:
        """The ids of the people to whom a person is tied."""
        if isinstance(who, str) == self._directed["source"].dtype.is_integer():
            return self._directed["target"].clear().alias("id")
        return self._directed.filter(pl.col("source") == who)["target"].alias("id")

    def join(self, people: People, *columns: str) -> pl.DataFrame:
        """A table with a row for each person and neighbour, with the attributes of the tie and the neighbour's columns.

        It has no row for people without neighbours, and is not in the order of the people: to get one value for each
        person, use `count`, `share`, `mean` or `collect`.

        Example:
            >>> people = People(pl.DataFrame({"id": ["ann", "bo"], "age": [31, 45]}))
            >>> Network([("ann", "bo")]).join(people, "age").rows()
            [('ann', 'bo', 45), ('bo', 'ann', 31)]
        """
        self._fit(people)
        neighbours = pl.DataFrame([people.ids.alias("target"), *(people[column] for column in columns)])
        ties = self._directed.join(neighbours, on="target", how="inner", maintain_order="left")
        return ties.rename({"source": "id", "target": "neighbour"})

    def degree(self, people: People) -> pl.Series:
        """How many neighbours each person has, in table order."""
        return self.count(people).alias("degree")

    def count(self, people: People, **conditions: Any) -> pl.Series:
        """How many neighbours of each person meet the conditions, in table order; 0 for people without neighbours."""
        self._fit(people)
        meeting = people.frame.filter(filter_expression(conditions, people.columns)).select(
            pl.col("id").alias("target")
        )
        ties = self._directed.join(meeting, on="target", how="semi").group_by("source")
        counts = ties.agg(pl.col("target").n_unique().alias("count"))
        return _of_everybody(people, counts)["count"].fill_null(0).cast(pl.Int64)

    def share(self, people: People, **conditions: Any) -> pl.Series:
        """The share of each person's neighbours who meet the conditions, in table order.

        It is null for people without neighbours; `.fill_null(0)` gives them a value.
        """
        meeting, all_ties = self.count(people, **conditions), self.count(people)
        return (meeting / pl.select(pl.when(all_ties > 0).then(all_ties)).to_series()).alias("share")

    def mean(self, people: People, column: str, *, weight: str | None = None) -> pl.Series:
        """The mean of a column over each person's neighbours, in table order.

        It is null for people without neighbours. Neighbours without a value are left out.

        Args:
            people: The people.
            column: A column of numbers or truth values.
            weight: An attribute of the ties to weigh neighbours with, such as trust; each tie counts with its weight.
        """
        kind = people[column].dtype
        if not (kind.is_numeric() or kind == pl.Boolean):
            raise PeopleError(
                f"column {column!r} holds {kind}, and only numbers have a mean.",
                f'Write share(people, {column}="…") for the share of a value, or collect(people, "{column}").',
            )
        self._fit(people)
        ties = self._values(people, column, self._pairs() if weight is None else self._weighted(weight))
        value = pl.col("value").cast(pl.Float64)
        mean = value.mean() if weight is None else (value * pl.col(weight)).sum() / pl.col(weight).sum()
        return _of_everybody(people, ties.group_by("source").agg(mean.alias("mean")))["mean"].fill_nan(None)

    def collect(self, people: People, column: str) -> pl.Series:
        """The values of a column among each person's neighbours, as a list for each person, in table order.

        The values stand in the table order of the neighbours. Neighbours without a value are left out, and people
        without neighbours have an empty list. A template writes a list with commas, and an empty one as `none`.
        """
        self._fit(people)
        ties = self._values(people, column, self._pairs())
        lists = ties.group_by("source", maintain_order=True).agg("value")
        empty = pl.Series([[]], dtype=pl.List(people[column].dtype))
        return _of_everybody(people, lists)["value"].fill_null(pl.lit(empty)).alias(column)

    def _values(self, people: People, column: str, ties: pl.DataFrame) -> pl.DataFrame:
        """A row for each tie to a neighbour who has a value, in table order of the neighbours."""
        rows = pl.DataFrame([people.ids.alias("target"), people[column].alias("value")]).with_row_index("row")
        pairs = ties.join(rows.filter(pl.col("value").is_not_null()), on="target", how="inner")
        return pairs.sort("row")

    def _pairs(self) -> pl.DataFrame:
        """Every person with each of their neighbours once."""
        return self._directed.select("source", "target").unique()

    def _weighted(self, weight: str) -> pl.DataFrame:
        """Every tie with its weight."""
        if weight not in self.edges.columns:
            raise PeopleError(
                f"ties have no attribute {weight!r}; they have {', '.join(self.edges.columns[2:]) or 'none'}."
            )
        weights = self.edges[weight]
        if not weights.dtype.is_numeric() or weights.null_count() or not (weights >= 0).all():
            raise PeopleError(f"the attribute {weight!r} of a tie is not a number of at least 0.", "Give each tie one.")
        return self._directed.select("source", "target", weight)

    def _fit(self, people: People) -> None:
        """Check once that every end of a tie is somebody; later on people may come and go."""
        if not self._fitted and not people.is_selection:
            self.check(people)
            self._fitted = True
        self._check_type(people)

    def _check_type(self, people: People) -> None:
        if self.edges.height and self.edges["source"].dtype != people.ids.dtype:
            raise PeopleError(
                f"the ties name people as {self.edges['source'][0]!r}, and the ids of these people look like "
                f"{people.ids[0]!r}.",
                'Use the same ids for both: pc.People({"id": [0, 1, …], …}).',
            )


def _of_everybody(people: People, table: pl.DataFrame) -> pl.DataFrame:
    """A table by source, with one row for each person in table order."""
    if not table.height:
        table = table.clear().with_columns(pl.col("source").cast(people.ids.dtype))
    return people.ids.to_frame().join(table, left_on="id", right_on="source", how="left", maintain_order="left")


def _is_pairs(edges: Any) -> bool:
    return (
        isinstance(edges, (list, tuple))
        and len(edges) > 0
        and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in edges)
    )


def _ids(column: pl.Series) -> pl.Series:
    """One end of the ties, as whole numbers or text."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64)
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if not column.len():
        return column
    raise PeopleError(f"the edge table, column {column.name!r}, holds {column.dtype}; ids are whole numbers or text.")


def _graph_edges(graph: Any, source: str, target: str) -> pl.DataFrame:
    """The edges of a networkx graph, with their attributes as columns."""
    rows = []
    for first, second, attributes in graph.edges(data=True):
        for node in (first, second):
            if not isinstance(node, (int, str)) and not hasattr(node, "__index__"):
                raise PeopleError(
                    f"the graph has the node {node!r}; nodes are ids of people, whole numbers or text.",
                    "Write: pc.Network(networkx.convert_node_labels_to_integers(graph))",
                )
        if source in attributes or target in attributes:
            raise PeopleError(f"the edges of the graph have an attribute {source!r} or {target!r}.", "Rename it.")
        rows.append({source: first, target: second, **{str(name): value for name, value in attributes.items()}})
    if not rows:
        raise PeopleError("the graph has no edges.", "Add edges to it first.")
    kinds = {isinstance(row[end], str) for row in rows for end in (source, target)}
    if len(kinds) > 1:
        raise PeopleError("the graph has nodes of both kinds, numbers and text.", "Ids of people are all of one type.")
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)
