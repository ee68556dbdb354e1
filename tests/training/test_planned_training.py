import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace.base.errors import ModelFileError, TrainingError, UnknownNameError
from populace.models.adapters import read_adapter
from populace.models.peft_folder import from_peft
from populace.training.correction_plan import CorrectionPlan
from populace.training.plan import TrainingPlan
from populace.training.planned_training import PlannedTraining
from populace.worlds.web.session_generator import generate_sessions
from populace.worlds.web.sessions import WebSessions
from support.commands import populace
from support.corpora import small_corpus
from support.tiny_models import tiny_folder


def plan_file(folder: Path, base: Path, **changes: object) -> Path:
    plan = {
        "name": "tiny",
        "base": str(base),
        "licences": ["CC0-1.0", "MIT"],
        "data": [{"decisions": "corpus", "passes": 1}, {"situations": 1, "passes": 1}],
        "settings": {"rank": 2, "length": 640, "batch": 4, "pool": 1, "check_every": 1},
    }
    path = folder / "plan.yaml"
    path.write_text(json.dumps(plan | changes), "utf-8")
    return path


@pytest.fixture
def corpus(tmp_path):
    return small_corpus(tmp_path / "corpus")


def test_a_plan_trains_scores_and_leaves_an_adapter_with_its_manifest(tmp_path, corpus, tiny_base):
    path = plan_file(tmp_path, tiny_base, data=[{"decisions": "corpus", "passes": 1}])
    command = ["train", str(path), "--to", str(tmp_path / "out"), "--device", "cpu"]
    result = populace(*command)
    assert result.returncode == 0, result.stderr
    assert "unseen people" in result.stdout and "majority" in result.stdout
    adapter = read_adapter(tmp_path / "out" / "tiny.gguf")
    assert adapter.card.kind == "human"
    assert adapter.card.figures["trained task"]["tasks"] == 1
    assert adapter.card.figures["attitude"]["gap"]["retest"] == pytest.approx(0.5, abs=0.4)
    assert any("MIT" in licence for licence in adapter.card.licences)
    assert (tmp_path / "out" / "curve.csv").is_file()
    for option in ("--only-score", "--no-score"):
        again = populace(*command, option)
        assert again.returncode == 0, again.stderr
        assert read_adapter(tmp_path / "out" / "tiny.gguf").card.figures == adapter.card.figures
    assert "tiny is trained already" in again.stdout
    changed = {
        "a": {"tasks": "x"},
        "b": {"predictors": 5},
        "c": {"cases": [1], "predictors": {"d": 5, "e": {"accuracy": 7}}},
    }
    (tmp_path / "out" / "figures.json").write_text(json.dumps(changed))
    last = populace(*command, "--no-score")
    assert last.returncode == 0 and "P000" not in last.stderr
    assert "sharing yes" in " ".join(again.stdout.split())


def test_an_adapter_may_keep_a_part_of_what_it_learned_also_after_an_interruption(tmp_path, corpus, tiny_base):
    data = [{"decisions": "corpus", "passes": 1, "expected": 0.5}]
    settings = {"rank": 2, "length": 640, "batch": 4, "pool": 1, "check_every": 1}
    tensors = {}
    for strength in (1.0, 0.5):
        path = plan_file(tmp_path, tiny_base, data=data, settings={**settings, "strength": strength})
        training = PlannedTraining(TrainingPlan.read(path), tmp_path / f"out {strength}")
        training.train("cpu")
        training.train("cpu")  # Nothing is left to learn, and what is kept stays the same.
        tensors[strength] = read_adapter(training.adapter_file).tensors
    for name, (a, b) in tensors[1.0].items():
        assert np.allclose(tensors[0.5][name][0], a)
        assert np.allclose(tensors[0.5][name][1], b / 2, atol=1e-5)
        assert np.abs(b).max() > 0


def test_parts_of_an_adapter_may_keep_less_than_others(tmp_path, corpus, tiny_base):
    data = [{"decisions": "corpus", "passes": 1}]
    settings = {"rank": 2, "length": 640, "batch": 4, "pool": 1, "check_every": 1}
    first = {"strength": 0.5, "layers": [0, 0], "matrices": ["q_proj", "v_proj"]}
    tensors = []
    for name, strengths in (("whole", []), ("weaker", [first, {"strength": 0.5, "matrices": ["v_proj"]}])):
        path = plan_file(tmp_path, tiny_base, data=data, settings={**settings, "strengths": strengths})
        training = PlannedTraining(TrainingPlan.read(path), tmp_path / name)
        training.train("cpu")
        tensors.append(read_adapter(training.adapter_file).tensors)
    whole, weaker = tensors
    for name, (_, b) in whole.items():
        layer, matrix = name.split(".")[1:3]
        factor = (0.5 if layer == "0" and matrix in ("attn_q", "attn_v") else 1) * (0.5 if matrix == "attn_v" else 1)
        assert np.allclose(weaker[name][1], b * factor, atol=1e-5)
        assert np.abs(b).max() > 0
    assert {name.split(".")[1] for name in whole} >= {"0", "1"}, "there is a layer beside the first"


@pytest.mark.parametrize(
    "part", [{"layers": [3, 1]}, {"layers": [-1, 1]}, {"matrices": []}, {"matrices": ["head"]}, {}]
)
def test_a_strength_of_no_part_is_an_error(tmp_path, corpus, tiny_base, part):
    strengths = [{"strength": 0.5, **part} if part else {"strength": 2}]
    with pytest.raises(TrainingError, match="strengths"):
        TrainingPlan.read(plan_file(tmp_path, tiny_base, settings={"strengths": strengths}))


def test_a_strength_of_what_is_not_there_is_refused_before_anything_is_learned(tmp_path, corpus, tiny_base):
    def plan(**settings: object) -> TrainingPlan:
        return TrainingPlan.read(plan_file(tmp_path, tiny_base, settings={"rank": 2, **settings}))

    half = {"strength": 0.5}
    with pytest.raises(TrainingError, match="belong to an adapter"):
        plan(rank=0, strengths=[half])
    with pytest.raises(TrainingError, match="belong to an adapter"):
        plan(rank=0, strength=0.5)
    with pytest.raises(TrainingError, match="v_proj, which the adapter does not change"):
        plan(matrices=["q_proj"], strengths=[{**half, "matrices": ["v_proj"]}])
    training = PlannedTraining(plan(strengths=[{**half, "layers": [0, 90]}]), tmp_path / "out")
    with pytest.raises(TrainingError, match="the layers 0 to 90, and the last layer is"):
        training.train("cpu")
    assert training.last_look() is None


def test_only_the_last_layers_may_be_trained_and_the_others_keep_what_they_have(tmp_path, corpus, tiny_base):
    settings = {"rank": 2, "length": 640, "batch": 4, "pool": 1, "check_every": 1}
    data = [{"decisions": "corpus", "passes": 1}]
    first = PlannedTraining(
        TrainingPlan.read(plan_file(tmp_path, tiny_base, data=data, settings=settings)), tmp_path / "a"
    )
    first.train("cpu")
    before = read_adapter(first.adapter_file).tensors
    changes = {"data": data, "start": "a/tiny.gguf", "settings": {**settings, "layers": 1}}
    second = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base, **changes)), tmp_path / "b")
    second.train("cpu")
    after = read_adapter(second.adapter_file).tensors
    changed = {name.split(".")[1] for name in after if not np.array_equal(after[name][1], before[name][1])}
    assert changed == {"1"} and {name.split(".")[1] for name in after} == {"0", "1"}
    whole = {"data": data, "settings": {**settings, "rank": 0, "layers": 1}}
    network = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base, **whole)), tmp_path / "c").network("cpu")
    trained = {name for name, each in network.named_parameters() if each.requires_grad}
    assert trained and not any("layers.0." in name or "embed" in name for name in trained)


def test_more_layers_than_the_base_has_cannot_be_trained(tmp_path, corpus, tiny_base):
    settings = {"rank": 2, "length": 640, "layers": 3}
    path = plan_file(tmp_path, tiny_base, data=[{"decisions": "corpus"}], settings=settings)
    with pytest.raises(TrainingError, match="3 layers are to be trained, and the base has 2"):
        PlannedTraining(TrainingPlan.read(path), tmp_path / "out").train("cpu")


def test_made_up_situations_make_an_adapter_calibrated(tmp_path, corpus, tiny_base):
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base))
    manifest = PlannedTraining(plan, tmp_path / "out").manifest([], {})
    assert plan.kind == manifest["kind"] == "calibrated"
    assert manifest["assumptions"][0]["source"]


def test_a_licence_that_the_plan_does_not_name_is_refused(tmp_path, corpus, tiny_base):
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, licences=["CC0-1.0"]))
    with pytest.raises(TrainingError, match="'MIT' \\(such as price\\)"):
        PlannedTraining(plan, tmp_path / "out")


def test_a_licence_of_the_adapter_that_its_data_forbid_is_refused(tmp_path, corpus, tiny_base):
    tasks = corpus / "tasks.jsonl"
    tasks.write_text(tasks.read_text().replace('"MIT"', '"GPL-3"'))
    changes = {"licences": ["CC0-1.0", "GPL-3"], "adapter_licence": "MIT"}
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, **changes))
    with pytest.raises(TrainingError, match="cannot be under 'MIT': what it is made from asks for GPL-3.0"):
        PlannedTraining(plan, tmp_path / "out")
    PlannedTraining(plan.model_copy(update={"adapter_licence": "GPL-3.0-or-later"}), tmp_path / "out")
    PlannedTraining(plan.model_copy(update={"adapter_licence": ""}), tmp_path / "out")


def test_an_adapter_to_begin_with_brings_its_data_its_licences_and_its_kind(tmp_path, corpus, tiny_base):
    first = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base)), tmp_path / "first")
    first.network("cpu").save_pretrained(tmp_path / "first" / "adapter")
    document = {"name": "first", "manifest": first.manifest([], {})}
    document["manifest"]["data"].append({"name": "my survey", "sha256": "", "licence": "CC BY-NC 4.0"})
    (tmp_path / "first" / "adapter" / "populace-adapter.json").write_text(json.dumps(document))
    changes = {"data": [{"decisions": "corpus"}], "start": str(tmp_path / "first" / "adapter")}
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, **changes))
    manifest = PlannedTraining(plan, tmp_path / "next").manifest([], {})
    assert manifest["kind"] == "calibrated", "what it began with had learned made-up situations"
    assert [each["name"] for each in manifest["data"]] == ["corpus", "made-up situations", "my survey"]
    assert manifest["assumptions"] == document["manifest"]["assumptions"]
    with pytest.raises(TrainingError, match="my survey: 'CC BY-NC 4.0' allows no commercial use"):
        PlannedTraining(plan.model_copy(update={"adapter_licence": "MIT"}), tmp_path / "next")


def test_training_may_begin_with_a_folder_a_file_or_a_name(tmp_path, corpus, tiny_base, monkeypatch):
    monkeypatch.setenv("POPULACE_CACHE", str(tmp_path / "cache"))
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base))
    first = PlannedTraining(plan, tmp_path / "first").network("cpu")
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        for name, weights in first.named_parameters():
            if "lora_B" in name:
                weights.copy_(torch.linspace(-1, 1, weights.numel()).reshape(weights.shape))
    first.save_pretrained(tmp_path / "first" / "adapter")
    named = tmp_path / "cache" / "adapters" / "mine.gguf"
    from_peft(tmp_path / "first" / "adapter", tiny_base, named, manifest={"kind": "human"})
    learned = {name: weights for name, weights in first.named_parameters() if weights.requires_grad}
    for start, most in ((str(tmp_path / "first" / "adapter"), 0.0), (str(named), 0.01), ("mine", 0.01)):
        changed = TrainingPlan.read(plan_file(tmp_path, tiny_base, start=start))
        network = PlannedTraining(changed, tmp_path / "next").network("cpu")
        weights = dict(network.named_parameters())
        assert max(float((weights[name] - each).detach().abs().max()) for name, each in learned.items()) <= most


def test_an_adapter_of_another_form_to_begin_with_is_refused(tmp_path, corpus, tiny_base):
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base))
    PlannedTraining(plan, tmp_path / "first").network("cpu").save_pretrained(tmp_path / "first" / "adapter")
    settings = {"rank": 4, "length": 640, "batch": 4}
    changes = {"settings": settings, "start": str(tmp_path / "first" / "adapter")}
    other = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base, **changes)), tmp_path / "next")
    with pytest.raises(TrainingError, match="has the rank 2 .* the plan has the rank 4"):
        other.network("cpu")
    unknown = TrainingPlan.read(plan_file(tmp_path, tiny_base, start="peopel"))
    with pytest.raises(UnknownNameError, match="people"):
        PlannedTraining(unknown, tmp_path / "next")


def test_people_to_be_tested_may_not_be_in_training(tmp_path, corpus, tiny_base):
    small_corpus(tmp_path / "test", 20, first=40)
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, test="test"))
    with pytest.raises(TrainingError, match="to be tested are in training"):
        PlannedTraining(plan, tmp_path / "out")


def test_other_people_may_be_tested(tmp_path, corpus, tiny_base):
    small_corpus(tmp_path / "test", 5, first=1000)
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, test="test"))
    tested = PlannedTraining(plan, tmp_path / "out").tested
    assert tested is not None and tested.table["person"].n_unique() == 5


def test_what_is_held_out_is_in_no_source(tmp_path, corpus, tiny_base):
    data = [{"decisions": "corpus", "passes": 1}]
    plan = TrainingPlan.read(
        plan_file(tmp_path, tiny_base, data=data, held_out={"tasks": ["walk"], "topics": ["Core"]})
    )
    training = PlannedTraining(plan, tmp_path / "out")
    tasks = {
        task
        for source in training.sources()
        for part in range(source.parts)
        for task in source.examples(part).table["task"]
    }
    assert tasks == {"price"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": []}, "data"),
        ({"data": [{"passes": 1}]}, "either `decisions`"),
        ({"data": [{"decisions": "corpus", "sessions": {"people": 9}}]}, "either `decisions`"),
        ({"data": [{"sessions": "log.csv"}]}, "need their `licence`"),
        ({"data": [{"sessions": {"people": 9}, "topics": ["x"]}]}, "choose among decisions"),
        ({"data": [{"decisions": "corpus", "reasoning": "recorded"}]}, "belongs to `sessions`"),
        ({"data": [{"sessions": {"people": 9, "reasoning": "all"}}]}, "reasoning"),
        ({"data": [{"sessions": {"people": 0}}]}, "people: input should be greater"),
        ({"data": [{"decisions": "corpus", "passes": 0}]}, "passes"),
        ({"data": [{"decisions": "corpus", "kinds": ["others"]}]}, "choose among `situations`"),
        ({"data": [{"situations": 1, "kinds": ["weather"]}]}, "kinds"),
        ({"name": "../x"}, "name"),
        ({"settings": {"rank": -1}}, "rank"),
        ({"settings": {"matrices": ["nothing"]}}, "matrices"),
        ({"speed": 9}, "speed"),
    ],
)
def test_a_wrong_plan_names_what_is_wrong(tmp_path, tiny_base, changes, message):
    with pytest.raises(TrainingError, match=message):
        TrainingPlan.read(plan_file(tmp_path, tiny_base, **changes))


def test_a_held_out_task_that_does_not_exist_is_named(tmp_path, corpus, tiny_base):
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, held_out={"tasks": ["wlak"]}))
    with pytest.raises(UnknownNameError, match="walk"):
        PlannedTraining(plan, tmp_path / "out")


def test_a_plan_that_is_no_plan_and_a_base_that_is_not_there(tmp_path, corpus, tiny_base):
    (tmp_path / "list.yaml").write_text("[1, 2]")
    with pytest.raises(TrainingError, match="not a training plan"):
        TrainingPlan.read(tmp_path / "list.yaml")
    plan = TrainingPlan.read(plan_file(tmp_path, tmp_path / "nothing.gguf"))
    with pytest.raises(TrainingError, match="no model"):
        PlannedTraining(plan, tmp_path / "out")


def test_the_shipped_recipes_can_be_read():
    folder = Path(__file__).parents[2] / "recipes"
    names = {path.stem: TrainingPlan.read(path).name for path in folder.glob("people*.yaml")}
    assert names == {
        "people": "people",
        "people-calibrated": "people-calibrated",
        "people-calibrated-prices": "people-calibrated",
        "people-first": "people",
        "people-unfamiliar": "people",
    }
    assert {CorrectionPlan.read(path).name for path in folder.glob("correct-*.yaml")} == {"habit", "in-character"}


def test_a_folder_is_not_continued_under_another_plan(tmp_path, corpus, tiny_base):
    data = [{"decisions": "corpus", "passes": 1}]
    path = plan_file(tmp_path, tiny_base, data=data)
    command = ["train", str(path), "--to", str(tmp_path / "out"), "--device", "cpu", "--no-score"]
    assert populace(*command).returncode == 0
    assert populace(*command).returncode == 0, "the same plan goes on, here at its end"
    plan_file(tmp_path, tiny_base, data=[{"decisions": "corpus", "passes": 2}])
    refused = populace(*command)
    assert refused.returncode == 2 and "another plan" in refused.stderr


def test_a_start_from_an_adapter_of_another_base_is_refused_by_hash(tmp_path, corpus, tiny_base):
    data = [{"decisions": "corpus", "passes": 1}]
    first = plan_file(tmp_path, tiny_base, data=data)
    assert populace("train", str(first), "--to", str(tmp_path / "out"), "--device", "cpu", "--no-score").returncode == 0
    other = tiny_folder(tmp_path / "other", seed=9)
    plan = TrainingPlan.read(plan_file(tmp_path, other, data=data, start=str(tmp_path / "out" / "adapter")))
    with pytest.raises(ModelFileError):
        PlannedTraining(plan, tmp_path / "next").network("cpu")


def test_all_weights_can_be_trained_and_scored_again(tmp_path, corpus, tiny_base):
    settings = {"rank": 0, "length": 640, "batch": 4, "pool": 1, "check_every": 1}
    path = plan_file(tmp_path, tiny_base, data=[{"decisions": "corpus", "passes": 1}], settings=settings)
    command = ["train", str(path), "--to", str(tmp_path / "out"), "--device", "cpu"]
    assert populace(*command).returncode == 0
    figures = (tmp_path / "out" / "figures.json").read_text()
    again = populace(*command, "--only-score")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out" / "figures.json").read_text() == figures


def test_scoring_what_was_never_trained_is_refused(tmp_path, corpus, tiny_base):
    refused = populace("train", str(plan_file(tmp_path, tiny_base)), "--to", str(tmp_path / "out"), "--only-score")
    assert refused.returncode == 2 and "holds no trained adapter" in " ".join(refused.stderr.split())


def test_examples_that_do_not_fit_are_refused_and_not_learned_as_nothing(tmp_path, corpus, tiny_base):
    settings = {"rank": 2, "length": 32, "batch": 4, "pool": 1}
    path = plan_file(tmp_path, tiny_base, data=[{"decisions": "corpus", "passes": 1}], settings=settings)
    refused = populace("train", str(path), "--to", str(tmp_path / "out"), "--device", "cpu")
    assert refused.returncode == 2 and "fits into 32 tokens" in refused.stderr


def test_people_may_be_tested_when_only_situations_are_learned(tmp_path, corpus, tiny_base):
    small_corpus(tmp_path / "test", 5, first=1000)
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, data=[{"situations": 1}], test="test"))
    assert PlannedTraining(plan, tmp_path / "out").tested is not None


def small_log(path):
    """Sessions on two short pages in two shops, of which one is held out: everybody looks at tea and buys it."""
    page = '<a name="tea.view">Tea</a><a name="cup.view">Cup</a>'
    rows = [
        (f"p{number}", f"s{number}", step, page, "click", element, None, f"shop-{number % 2}", "You like tea.")
        for number in range(30)
        for step, element in ((1, "cup.view"), (2, "tea.view"))
    ]
    columns = ["person", "session", "step", "page", "action", "element", "text", "shop", "profile"]
    pl.DataFrame(rows, schema=columns, orient="row").write_csv(path)
    return path


def test_a_log_of_sessions_trains_an_adapter_that_is_scored_on_unseen_shops(tmp_path, tiny_base):
    small_log(tmp_path / "log.csv")
    settings = {"rank": 2, "length": 900, "batch": 4, "pool": 1, "check_every": 1, "matrices": ["q_proj"]}
    data = [{"sessions": "log.csv", "licence": "MIT"}]
    path = plan_file(tmp_path, tiny_base, data=data, settings=settings)
    done = populace("train", str(path), "--to", str(tmp_path / "out"), "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert "unseen people" in done.stdout and "majority by page" in done.stdout
    assert f"--modeltransformers:{tiny_base}+" in "".join(done.stdout.split()), "an adapter works on its own base alone"
    card = read_adapter(tmp_path / "out" / "tiny.gguf").card
    assert card.kind == "human" and list(card.licences) == ["MIT"]
    figures = card.figures["sessions in unseen shops"]
    assert list(figures["predictors"]) == ["majority", "majority by page", "tiny"]
    assert figures["predictors"]["majority"]["accuracy"]["value"] == 1
    again = populace("train", str(path), "--to", str(tmp_path / "out"), "--device", "cpu", "--zero-shot", "--json")
    assert again.returncode == 0, again.stderr
    assert "zero-shot" in json.loads(again.stdout)["data"]["figures"]["sessions in unseen shops"]["predictors"]


def test_made_up_sessions_make_an_adapter_calibrated(tmp_path, tiny_base):
    data = [{"sessions": {"people": 20, "shops": 2, "visits": 1, "seed": 3}}]
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, data=data))
    manifest = PlannedTraining(plan, tmp_path / "out").manifest([], {})
    assert plan.kind == manifest["kind"] == "calibrated"
    assert [each["name"] for each in manifest["assumptions"]] == ["made-up shoppers"]
    assert manifest["data"][0]["people"] > 0 and manifest["data"][0]["licence"] == "CC0-1.0"


def write_human_log(path, seed):
    """A log without the truth that only the generator knows."""
    table = generate_sessions(20, shops=2, visits=1, seed=seed).table
    WebSessions(table.drop("likely_action", "likely_element", "likely_text", "chance")).write(path)


def test_a_log_of_made_up_sessions_does_not_pass_for_one_of_people(tmp_path, tiny_base):
    generate_sessions(20, shops=2, visits=1, seed=3).write(tmp_path / "log.parquet")
    data = [{"sessions": "log.parquet", "licence": "CC0-1.0"}]
    manifest = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base, data=data)), tmp_path / "out").manifest(
        [], {}
    )
    assert manifest["kind"] == "calibrated"
    assert [each["name"] for each in manifest["assumptions"]] == ["made-up shoppers"]


def test_examples_that_are_too_long_are_counted_also_after_an_interruption(tmp_path, corpus, tiny_base):
    settings = {"rank": 2, "length": 128, "batch": 4, "pool": 1, "check_every": 1}
    path = plan_file(tmp_path, tiny_base, data=[{"decisions": "corpus", "passes": 2}], settings=settings)
    training = PlannedTraining(TrainingPlan.read(path), tmp_path / "whole")
    training.train("cpu")
    assert training.too_long > 0

    def stop(look):
        raise KeyboardInterrupt

    parts = PlannedTraining(TrainingPlan.read(path), tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        parts.train("cpu", watch=stop)
    assert 0 < parts.too_long < training.too_long
    done = populace("train", str(path), "--to", str(tmp_path / "parts"), "--device", "cpu", "--no-score")
    assert f"{training.too_long} examples were left out" in " ".join(done.stdout.split())
    assert read_adapter(tmp_path / "parts" / "tiny.gguf").card.manifest["too long"] == training.too_long


def test_a_log_of_sessions_is_learned_from_beside_decisions(tmp_path, corpus, tiny_base):
    log = tmp_path / "log.parquet"
    write_human_log(log, seed=3)
    part = {"sessions": "log.parquet", "licence": "MIT"}
    data = [part, {"decisions": "corpus"}]
    training = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base, data=data)), tmp_path / "out")
    sessions, _ = training.sources()
    parts = WebSessions.read(log).split()
    people = {name for number in range(sessions.parts) for name in sessions.examples(number).table["person"]}
    assert people == set(parts["training"].table["person"]), "nobody else, and nothing of an unseen shop"
    assert set(training.unseen().table["person"]) & people == set()
    manifest = training.manifest([], {})
    assert manifest["kind"] == "human" and not manifest["assumptions"]
    assert [each["licence"] for each in manifest["data"]] == ["CC0-1.0; MIT", "MIT"]
    before = training.identity()
    write_human_log(log, seed=2)
    changed = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base, data=data)), tmp_path / "out")
    assert changed.identity() != before, "another log is another training"
    other = TrainingPlan.read(plan_file(tmp_path, tiny_base, data=[part | {"licence": "private"}]))
    with pytest.raises(TrainingError, match="log.parquet is under a licence that the plan does not name: 'private'"):
        PlannedTraining(other, tmp_path / "out")


def test_people_of_sessions_in_training_may_not_be_tested(tmp_path, tiny_base):
    sessions = generate_sessions(20, shops=2, visits=1, seed=3)
    somebody = sessions.split()["training"].table["person"][0]
    folder = small_corpus(tmp_path / "test", 5, first=1000)
    text = (folder / "decisions.csv").read_text().replace("person-1000", somebody)
    (folder / "decisions.csv").write_text(text)
    data = [{"sessions": {"people": 20, "shops": 2, "visits": 1, "seed": 3}}]
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, data=data, test="test"))
    with pytest.raises(TrainingError, match="to be tested are in training"):
        PlannedTraining(plan, tmp_path / "out")


def test_too_few_people_of_sessions_are_named(tmp_path, tiny_base):
    plan = TrainingPlan.read(plan_file(tmp_path, tiny_base, data=[{"sessions": {"people": 1, "shops": 2}}]))
    with pytest.raises(TrainingError, match="no session of made-up web sessions is in the part"):
        PlannedTraining(plan, tmp_path / "out")


@pytest.mark.parametrize("content", [b"{", b"[]", b"5", b"", b"\xff", b"[" * 5000, b'{"test": 5}'])
def test_figures_that_cannot_be_read_are_named(tiny_base: Path, corpus: Path, tmp_path: Path, content: bytes) -> None:
    training = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base)), tmp_path / "out")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "figures.json").write_bytes(content)
    with pytest.raises(TrainingError, match="figures.json: "):
        training.figures()


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"step\n1\n", b"step,progress,loss,unseen_loss,tokens,targets\nx,1,1,,1,1\n", b"\x1f\x8b"]
)
def test_a_curve_that_cannot_be_read_is_named(tiny_base: Path, corpus: Path, tmp_path: Path, content: bytes) -> None:
    training = PlannedTraining(TrainingPlan.read(plan_file(tmp_path, tiny_base)), tmp_path / "out")
    (tmp_path / "out").mkdir()
    curve = tmp_path / "out" / "curve.csv"
    curve.write_bytes(b"step,progress,loss,unseen_loss,tokens,targets\n1,0.5,2.5,,10,5\n2,1,nan,3,20,9\n")
    assert [look.unseen_loss for look in training.looks()] == [None, 3.0]
    curve.write_bytes(content)
    with pytest.raises(TrainingError, match=r"curve.csv(, line 2)?: "):
        training.looks()
