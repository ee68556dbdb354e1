from __future__ import annotations

import pytest

from populace.base.errors import ModelError, UnknownNameError
from populace.cluster import Node
from populace.models import check_model, model_code, model_traits, open_model
from populace.models.cluster_model import share_nodes


def node(name: str, cpus: int, gpus: int = 0) -> Node:
    return Node(name, name, cpus, gpus)


@pytest.mark.parametrize("spec", ["ray:", "ray:embedded", "ray:embedded*", "ray:embedded*0", "ray:embedded*-1", "ray:*2",
                                  "ray:embedded*two", "ray:embedded*99999999999", "ray:ray:embedded*2*2"])  # fmt: skip
def test_a_string_that_does_not_say_which_model_and_how_often_is_refused(spec: str) -> None:
    with pytest.raises(ModelError, match=r"Write ray:SPEC\*N"):
        check_model(spec)


def test_the_model_of_each_process_must_be_one_that_a_machine_runs_itself() -> None:
    with pytest.raises(UnknownNameError):
        check_model("ray:gpt-4o*2")
    with pytest.raises(ModelError, match="concurrency"):
        check_model("ray:openai:gpt-4o*2")
    assert open_model("ray:embedded?threads=1*2").spec == "ray:embedded?threads=1*2"


def test_traits_and_code_are_those_of_the_model_itself() -> None:
    assert model_traits("ray:embedded*2") == model_traits("embedded")
    assert model_traits("ray:scripted:uniform*2").scripted
    assert model_code("ray:scripted:mine:sceptic*2") == model_code("scripted:mine:sceptic") != []


def test_each_process_has_a_gpu_where_there_are_some_and_more_than_there_are_is_refused() -> None:
    nodes = [node("a", 16, 2), node("b", 16, 1), node("c", 64)]
    shares = share_nodes(nodes, 3, "ray:transformers:m*3", gpus=True)
    assert [(share.node.name, share.cpus, share.gpus) for share in shares] == [("a", 8, 1), ("a", 8, 1), ("b", 16, 1)]
    with pytest.raises(ModelError, match=r"asks for 4 processes, and the cluster has 3 GPUs.*at most \*3"):
        share_nodes(nodes, 4, "ray:transformers:m*4", gpus=True)


def test_without_gpus_processes_share_the_processors_and_more_than_there_are_is_refused() -> None:
    nodes = [node("a", 2), node("b", 4)]
    shares = share_nodes(nodes, 3, "ray:embedded*3", gpus=False)
    assert [(share.node.name, share.cpus, share.gpus) for share in shares] == [("a", 2, 0), ("b", 2, 0), ("b", 2, 0)]
    with pytest.raises(ModelError, match="6 processors"):
        share_nodes(nodes, 7, "ray:embedded*7", gpus=False)
