from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from populace.base.errors import PeopleError, PopulaceError, UnknownNameError
from populace.people import Network, People


@pytest.fixture
def people() -> People:
    return People(pl.DataFrame({"id": [0, 1, 2, 3], "shirt": ["blue", "blue", "green", "green"]}))


def ties(*pairs: tuple[object, object], directed: bool = False) -> Network:
    return Network(pl.DataFrame(pairs, schema=["source", "target"], orient="row"), directed=directed)


def test_a_tie_counts_for_both_ends(people: People) -> None:
    network = ties((0, 1), (0, 2))
    assert network.degree(people).to_list() == [2, 1, 1, 0]
    assert network.count(people, shirt="blue").to_list() == [1, 1, 1, 0]
    assert network.neighbours(0).to_list() == [1, 2]
    assert network.neighbours(2).to_list() == [0]


def test_a_directed_tie_counts_for_its_source_only(people: People) -> None:
    network = ties((0, 1), (0, 2), (3, 0), directed=True)
    assert network.degree(people).to_list() == [2, 0, 0, 1]
    assert network.neighbours(1).to_list() == []


def test_shares_are_of_the_neighbours_and_empty_for_those_without_any(people: People) -> None:
    assert ties((0, 1), (0, 2)).share(people, shirt="blue").to_list() == [0.5, 1.0, 1.0, None]


def test_counts_are_in_table_order_whatever_the_order_of_ties(people: People) -> None:
    turned = people.take([3, 1, 0, 2])
    assert ties((2, 0), (0, 1)).degree(turned).to_list() == [0, 1, 2, 1]


def test_a_tie_that_is_listed_from_both_ends_makes_one_neighbour(people: People) -> None:
    assert ties((0, 1), (1, 0)).count(people, shirt="blue").to_list() == [1, 1, 0, 0]


def test_the_join_has_a_row_for_each_person_and_neighbour(people: People) -> None:
    table = ties((0, 1), (0, 2)).join(people, "shirt")
    assert table.sort("id", "neighbour").rows() == [(0, 1, "blue"), (0, 2, "green"), (1, 0, "blue"), (2, 0, "blue")]


def test_columns_of_a_tie_stay_with_it_in_both_directions(people: People) -> None:
    edges = pl.DataFrame({"a": [0, 1], "b": [1, 2], "trust": [0.5, 0.9]})
    table = Network(edges, source="a", target="b").join(people)
    assert sorted(table.select("id", "neighbour", "trust").rows()) == [
        (0, 1, 0.5),
        (1, 0, 0.5),
        (1, 2, 0.9),
        (2, 1, 0.9),
    ]


def test_an_edge_table_with_a_column_named_id_of_its_own_is_a_people_error(people: People) -> None:
    edges = pl.DataFrame({"source": [0], "target": [1], "id": [77]})
    with pytest.raises(PopulaceError, match="id"):
        Network(edges).join(people, "shirt")


def test_an_unknown_column_in_a_join_is_named_with_the_nearest(people: People) -> None:
    with pytest.raises(UnknownNameError) as raised:
        ties((0, 1)).join(people, "shrit")
    assert raised.value.nearest == "shirt"


def test_an_unknown_column_in_a_condition_is_named_with_the_nearest(people: People) -> None:
    with pytest.raises(UnknownNameError) as raised:
        ties((0, 1)).count(people, shrit="blue")
    assert raised.value.nearest == "shirt"


def test_a_tie_to_nobody_is_found_by_check(people: People) -> None:
    ties((0, 1)).check(people)
    with pytest.raises(PeopleError, match="ties 8") as raised:
        ties((0, 1), (2, 9), (8, 9)).check(people)
    assert "2 such ids" in (raised.value.hint or "")


def test_ties_between_another_kind_of_id_are_a_people_error(people: People) -> None:
    with pytest.raises(PeopleError, match="id"):
        ties(("ann", "bo")).check(people)


def test_ties_between_string_ids(people: People) -> None:
    people_by_name = People(pl.DataFrame({"id": ["ann", "bo", "cy"], "happy": [True, True, False]}))
    assert ties(("ann", "bo"), ("bo", "cy")).count(people_by_name, happy=True).to_list() == [1, 1, 1]


def test_ids_in_an_edge_table_may_be_of_a_smaller_type(people: People) -> None:
    edges = pl.DataFrame({"source": np.array([0], np.int32), "target": np.array([1], np.int32)})
    assert Network(edges).degree(people).to_list() == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ({"from": [0], "target": [1]}, ["'source'", "from, target"]),
        ({"source": [0, None], "target": [1, 2]}, ["'source'", "row 2"]),
        ({"source": [0, 1, 2], "target": [1, 2, None]}, ["'target'", "row 3"]),
    ],
)
def test_an_invalid_edge_table_is_refused_by_column_and_row(
    edges: dict[str, list[int | None]], words: list[str]
) -> None:
    with pytest.raises(PeopleError) as raised:
        Network(pl.DataFrame(edges))
    assert all(word in str(raised.value) for word in words)


def test_a_network_without_ties_leaves_everybody_alone(people: People) -> None:
    network = Network(pl.DataFrame(schema={"source": pl.Int64, "target": pl.Int64}))
    assert network.degree(people).to_list() == [0, 0, 0, 0]
    assert len(network) == 0


def test_a_graph_of_networkx_becomes_ties_with_its_attributes(people: People) -> None:
    graph = nx.Graph()
    graph.add_edge(0, 1, trust=0.5)
    graph.add_edge(1, 2)
    network = Network.from_graph(graph)
    assert len(network) == 2
    assert network.edges["trust"].to_list() == [0.5, None]
    assert network.degree(people).to_list() == [1, 2, 1, 0]


def test_a_directed_graph_stays_directed(people: People) -> None:
    network = Network.from_graph(nx.DiGraph([(0, 1), (0, 2)]))
    assert network.directed
    assert network.degree(people).to_list() == [2, 0, 0, 0]


def test_a_graph_without_edges_is_refused() -> None:
    with pytest.raises(PeopleError, match="no edges"):
        Network.from_graph(nx.empty_graph(4))


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[0] != e[1]), min_size=1))
@settings(max_examples=30, deadline=None)
def test_counts_agree_with_networkx(pairs: set[tuple[int, int]]) -> None:
    graph = nx.Graph(sorted(pairs))
    people = People(pl.DataFrame({"even": [i % 2 == 0 for i in range(8)]}))
    graph.add_nodes_from(range(8))
    network = Network.from_graph(graph)
    assert network.degree(people).to_list() == [graph.degree[i] for i in range(8)]
    even = [sum(j % 2 == 0 for j in graph[i]) for i in range(8)]
    assert network.count(people, even=True).to_list() == even


def test_a_hundred_thousand_people_on_a_ring_have_two_neighbours_each() -> None:
    ids = np.arange(100_000)
    people = People(pl.DataFrame({"id": ids, "ill": ids % 2 == 0}))
    ring = Network(pl.DataFrame({"source": ids, "target": (ids + 1) % 100_000}))
    assert ring.degree(people).unique().to_list() == [2]
    assert ring.count(people, ill=True).to_list()[:4] == [0, 2, 0, 2]


def test_a_graph_a_list_of_pairs_and_a_table_of_pandas_make_the_same_network(people: People) -> None:
    graph = nx.Graph([(0, 1), (1, 2)])
    table = nx.to_pandas_edgelist(graph)
    for edges in (graph, [(0, 1), (1, 2)], table, {"source": [0, 1], "target": [1, 2]}):
        assert Network(edges).degree(people).to_list() == [1, 2, 1, 0]
    assert Network(nx.DiGraph([(0, 1)])).directed
    assert Network(nx.MultiGraph([(0, 1), (0, 1)])).degree(people).to_list() == [1, 1, 0, 0]


def test_values_of_neighbours_are_in_table_order_and_each_neighbour_counts_once() -> None:
    people = People({"id": ["d", "b", "a", "c"], "opinion": [4, 2, None, 3]})
    network = Network([("a", "b"), ("a", "d"), ("d", "a"), ("a", "c"), ("b", "c")])
    assert network.collect(people, "opinion").to_list() == [[], [3], [4, 2, 3], [2]]
    assert network.mean(people, "opinion").to_list() == [None, 3.0, 3.0, 2.0]


def test_people_without_neighbours_have_an_empty_list_no_mean_and_a_count_of_nought(people: People) -> None:
    network = ties((0, 1))
    numbers = people.with_columns(age=[10, 20, 30, 40])
    assert network.collect(numbers, "shirt").to_list() == [["blue"], ["blue"], [], []]
    assert network.mean(numbers, "age").to_list() == [20.0, 10.0, None, None]
    nobody = Network(pl.DataFrame(schema={"source": pl.Int64, "target": pl.Int64}))
    assert nobody.collect(numbers, "shirt").to_list() == [[], [], [], []]
    assert nobody.mean(numbers, "age").to_list() == [None] * 4


def test_a_mean_can_be_weighted_by_an_attribute_of_the_ties(people: People) -> None:
    numbers = people.with_columns(age=[10, 20, 30, 40])
    graph = nx.MultiDiGraph()
    graph.add_edge(0, 1, trust=1.0)
    graph.add_edge(0, 2, trust=2.0)
    graph.add_edge(0, 2, trust=1.0)
    assert Network(graph).mean(numbers, "age", weight="trust").to_list() == [27.5, None, None, None]
    with pytest.raises(PeopleError, match="no attribute 'trsut'; they have trust"):
        Network(graph).mean(numbers, "age", weight="trsut")
    with pytest.raises(PeopleError, match="holds String, and only numbers have a mean"):
        Network(graph).mean(numbers, "shirt")


@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda e: e[0] != e[1]), min_size=1))
@settings(max_examples=30, deadline=None)
def test_means_and_lists_agree_with_networkx(pairs: set[tuple[int, int]]) -> None:
    graph = nx.DiGraph(sorted(pairs))
    graph.add_nodes_from(range(8))
    people = People({"id": [7, 6, 5, 4, 3, 2, 1, 0], "x": [i * i for i in range(7, -1, -1)]})
    expected = [sorted((j * j for j in graph.successors(i)), reverse=True) for i in people.ids]
    assert Network(graph).collect(people, "x").to_list() == expected
    means = [sum(values) / len(values) if values else None for values in expected]
    assert Network(graph).mean(people, "x").to_list() == pytest.approx(means)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (nx.grid_2d_graph(2, 2), "has the node (0, 0)"),
        (nx.Graph([("a", 1)]), "both kinds"),
        (["ann", "bo"], "list of str, not a table"),
        (np.eye(3), "numpy.ndarray, not a table"),
        (pl.DataFrame({"source": [0.5], "target": [1.0]}), "holds Float64"),
        (pl.DataFrame({"source": [0], "target": ["a"]}), "different types"),
        (7, "the network is 7, not a table"),
    ],
)
def test_what_is_no_network_is_refused_by_what_it_is(edges: object, message: str) -> None:
    with pytest.raises(PeopleError) as raised:
        Network(edges)
    assert message in str(raised.value)


def test_nodes_that_are_nobody_are_refused_at_first_use_and_can_be_left_out(people: People) -> None:
    network = Network(nx.path_graph(6))
    with pytest.raises(PeopleError, match=r"ties 4, and nobody has that id.*network\.within\(people\)"):
        network.count(people, shirt="blue")
    assert network.within(people).degree(people).to_list() == [1, 2, 2, 1]
    with pytest.raises(PeopleError, match=r"name people as 'Medici', and the ids of these people look like 0"):
        Network([("Medici", "Pazzi")]).mean(people, "id")


def test_ties_to_people_who_left_are_ignored(people: People) -> None:
    network = ties((0, 1), (0, 2))
    assert network.degree(people).to_list() == [2, 1, 1, 0]
    people.remove(people.take([2]))
    assert network.collect(people, "shirt").to_list() == [["blue"], ["blue"], []]
