"""Carries a training plan out: data is checked and divided, a network trained, saved, and scored on unseen people."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import TrainingError
from populace.base.foreign_columns import csv_table
from populace.base.table_files import UNREADABLE, read_plain_table, reading_problem
from populace.evaluation.human_decisions import HumanDecisions
from populace.models.adapter_bases import read_base, weights_sha256
from populace.models.adapter_names import open_adapter
from populace.models.artifacts import SMOLLM2
from populace.models.licences import Sharing
from populace.models.peft_folder import RECORD, from_peft
from populace.models.transformers_model import TransformersModel
from populace.training.adapter_strength import check_layers, weaken_adapter
from populace.training.base_network import add_lora, freeze_first_layers, load_adapter, load_base
from populace.training.decision_division import DecisionDivision, task_summary
from populace.training.examples import TrainingExamples
from populace.training.held_out import score_decisions, task_scores
from populace.training.own_files import check_own_values, damaged, parse_own_json, read_own_text
from populace.training.plan import DataPart, GeneratedSessions, TrainingPlan
from populace.training.recorded_examples import RecordedDivision
from populace.training.sequences import ModelVocabulary
from populace.training.session_division import SHOPPER_ASSUMPTION, SessionDivision
from populace.training.situations import ASSUMPTIONS, Assumption, SituationSource
from populace.training.supervised import Look, Source, Trainer
from populace.training.training_state import STATE, locked_folder, read_facts, write_text
from populace.training.unfamiliar import UnfamiliarSource, question_draw, write_unfamiliar

FIGURES = "figures.json"
"""The file of the scores of a training."""


class PlannedTraining:
    """A plan with its data read, checked and divided.

    Args:
        plan: What is to be done.
        folder: Where everything is written: the state, the curve, the adapter, the scores and the manifest.
        say: Told what is prepared, where that takes long.

    Raises:
        TrainingError: If data is under a licence that the plan does not name, nothing is left to learn from, or
            somebody to be tested is in training.
    """

    def __init__(
        self, plan: TrainingPlan, folder: str | Path, *, say: Callable[[str], None] = lambda text: None
    ) -> None:
        self.plan, self.folder, self._say = plan, Path(folder), say
        self.base = _base_file(plan.base)
        self.vocabulary = ModelVocabulary(self.base)
        self._decisions: dict[Path, DecisionDivision] = {}
        self._sessions: dict[Path | GeneratedSessions, SessionDivision] = {}
        for part in plan.data:
            if part.decisions is not None and part.decisions not in self._decisions:
                self._decisions[part.decisions] = DecisionDivision.read(part.decisions, plan.held_out, plan.licences)
            if part.sessions is not None and part.sessions not in self._sessions:
                self._sessions[part.sessions] = SessionDivision(part, plan.licences)
        self._recorded = {part: RecordedDivision.read(part, plan.licences) for part in plan.data if part.recorded}
        self.start = None if plan.start is None else open_adapter(plan.start, read_base(self.base)).card
        self.tested = self._tested()
        self._check_adapter_licence()

    def _check_adapter_licence(self) -> None:
        licence = self.plan.adapter_licence
        problem = Sharing.of(self._data()).problem(licence) if licence else None
        if problem:
            raise TrainingError(
                f"the adapter cannot be under {licence!r}: {problem}.",
                "Change `adapter_licence`, leave this data out, or leave `adapter_licence` out: the adapter then names "
                "no licence, and `populace models` says whether it may be passed on.",
            )

    def _tested(self) -> HumanDecisions | None:
        """The decisions of another folder to score on, whose people must be unknown."""
        if self.plan.test is None:
            return None
        tested = HumanDecisions.read(self.plan.test)
        people = [each.people for each in self._divisions]
        known = pl.concat([pl.Series("person", [], pl.String), *people])
        shared = tested.table.filter(pl.col("person").is_in(known.unique().implode()))["person"].unique().sort()
        if len(shared):
            raise TrainingError(
                f"{len(shared)} people to be tested are in training, among them {shared[0]!r}.",
                "Score on other people: a model that has seen somebody's answers is no test.",
            )
        return tested

    def sources(self, device: str = "cpu") -> list[Source]:
        """Where examples come from, in the order of the plan's data.

        Args:
            device: Where the base answers questions to which nobody's answer is known.
        """
        return [self._source(part, device) for part in self.plan.data]

    def _source(self, part: DataPart, device: str) -> Source:
        seed = self.plan.settings.seed
        if part.unfamiliar:
            return self._unfamiliar(part, device)
        if part.sessions is not None:
            return self._sessions[part.sessions].source(part, self.vocabulary, seed)
        if part.recorded:
            return self._recorded[part].source(part, self.vocabulary, seed)
        if part.decisions is not None:
            division = self._decisions[part.decisions]
            expected = division.expected(self.folder, seed, self._say_expected) if part.expected else None
            return division.source(part, self.vocabulary, seed, expected)
        return SituationSource(self.vocabulary, parts=part.situations, seed=seed, kinds=part.kinds)

    def _unfamiliar(self, part: DataPart, device: str) -> UnfamiliarSource:
        """Made-up questions, with what the base says to them, or with no preference."""
        model = None
        if part.keeps_to == "base":
            self._say(f"the base answers {part.unfamiliar} parts of made-up questions")
            model = TransformersModel(self.base, device=device)
        divisions = self._decisions.values()
        return write_unfamiliar(
            self.unfamiliar_file(self.plan.data.index(part)),
            model,
            self.vocabulary,
            part.unfamiliar,
            self.plan.settings.seed,
            people=[facts for each in divisions for facts in each.known_facts()],
            draw=question_draw(part.asked, [each.training for each in divisions]),
            licence=self.unfamiliar_licence(part),
            flattening=part.flattening,
        )

    def unfamiliar_file(self, number: int) -> Path:
        """Where the made-up questions of a part are kept; what is there already is taken as it is."""
        return self.folder / f"unfamiliar-{number}-{self.identity()[:16]}.parquet"

    def unfamiliar_licence(self, part: DataPart) -> str:
        """The licence of made-up questions: ours, or those of the decisions whose words they have."""
        licences = {licence for each in self._decisions.values() for licence in each.training.licences}
        return "CC0-1.0" if part.asked == "everyday" else "; ".join(sorted(licences))

    def _say_expected(self, text: str) -> None:
        self._say(f"what is expected of people: {text}")

    @property
    def _divisions(self) -> list[DecisionDivision | SessionDivision | RecordedDivision]:
        return [*self._decisions.values(), *self._sessions.values(), *self._recorded.values()]

    def unseen(self) -> TrainingExamples:
        """Some examples of people who are not in training, asked plainly."""
        seed = self.plan.settings.seed
        return TrainingExamples.concat(
            [table for each in self._divisions for table in each.unseen(self.vocabulary, seed)]
        )

    def network(self, device: str) -> Any:
        """The base with a fresh adapter, or with the one that the plan begins with."""
        model = load_base(self.base, device, self.plan.settings.precision)
        settings = self.plan.settings
        if settings.rank:
            model = add_lora(model, settings.rank, settings.seed, settings.matrices)
            check_layers(model, settings.strengths)
            if self.plan.start is not None:
                load_adapter(model, self.plan.start, self.base)
        if settings.layers:
            freeze_first_layers(model, settings.layers)
        return model

    def train(self, device: str, *, workers: int = 0, watch: Callable[[Look], None] = lambda look: None) -> Any:
        """Train, or go on where an interrupted training stopped; returns the network."""
        with locked_folder(self.folder):
            return self._train(device, workers, watch)

    def _train(self, device: str, workers: int, watch: Callable[[Look], None]) -> Any:
        model = self.network(device)
        trainer = Trainer(
            model, self.vocabulary, self.plan.settings, folder=self.folder, workers=workers, identity=self.identity()
        )

        def look_on(look: Look) -> None:
            write_text(self.folder / "curve.csv", _curve_text(trainer.looks))
            watch(look)

        passes = [part.passes for part in self.plan.data]
        before = self.last_look()
        trainer.train(self.sources(device), passes, unseen=self.unseen(), watch=look_on)
        if self.last_look() != before:
            (self.folder / FIGURES).unlink(missing_ok=True)  # They are of an earlier state.
        write_text(self.folder / "curve.csv", _curve_text(trainer.looks))
        settings = self.plan.settings
        if settings.rank:
            weaken_adapter(model, settings.strength, settings.strengths)  # The state of the training keeps all of it.
        model.save_pretrained(self.folder / self._weights)
        if self.plan.settings.rank:
            record: dict[str, Any] = {"name": self.plan.name, "base_name": self.base.stem}
            record |= {
                "base_sha256": weights_sha256(self.base),
                "manifest": self.manifest(trainer.looks, self.figures()),
            }
            write_text(self.folder / "adapter" / RECORD, json.dumps(record))
            self.write_adapter(trainer.looks, self.figures())
        return model

    @property
    def _made_up_sessions(self) -> bool:
        return any(each.made_up for each in self._sessions.values())

    @property
    def too_long(self) -> int:
        """How many examples of the training in the folder were left out so far, as they are longer than `length`."""
        path = self.folder / STATE
        return check_own_values(int, read_facts(path).get("too_long", 0), path)

    def last_look(self) -> Look | None:
        """The look from which a training in the folder goes on; None where there is no state."""
        path = self.folder / STATE
        looks = check_own_values(list[list[Any]], read_facts(path).get("looks", []), path)
        if not looks:
            return None
        return check_own_values(Look, dict(zip(Look.__dataclass_fields__, looks[-1], strict=False)), path)

    @property
    def adapter_file(self) -> Path:
        """The file of the adapter, once it is trained."""
        return self.folder / f"{self.plan.name}.gguf"

    @property
    def _weights(self) -> str:
        """The folder of the trained weights: an adapter, or the whole model where all weights are trained."""
        return "adapter" if self.plan.settings.rank else "model"

    def identity(self) -> str:
        """A digest of all that decides what is learned; a state of another plan is not continued."""
        data = [each.digest() for each in self._divisions]
        text = json.dumps([self.plan.model_dump(mode="json"), data, weights_sha256(self.base)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def saved_network(self, device: str) -> Any:
        """The base with the adapter that training wrote to the folder."""
        settings = self.plan.settings
        if not (self.folder / self._weights).is_dir():
            raise TrainingError(
                f"{self.folder} holds no trained {self._weights}.", "Train it first, without --only-score."
            )
        if not settings.rank:
            return load_base(self.folder / self._weights, device, settings.precision)
        model = add_lora(
            load_base(self.base, device, settings.precision), settings.rank, settings.seed, settings.matrices
        )
        load_adapter(model, self.folder / self._weights, self.base)
        return model

    def figures(self) -> dict[str, Any]:
        """The scores of the training in the folder; empty before it is scored."""
        path = self.folder / FIGURES
        if not path.exists():
            return {}
        return check_own_values(dict[str, dict[str, Any]], parse_own_json(read_own_text(path), path), path)

    def looks(self) -> list[Look]:
        """The looks of the training in the folder, from its curve."""
        path = self.folder / "curve.csv"
        if not path.exists():
            return []
        try:
            table = read_plain_table(path, infer_schema_length=None)
        except UNREADABLE as error:
            raise damaged(path, reading_problem(error)) from error
        missing = [name for name in Look.__dataclass_fields__ if name not in table.columns]
        if missing:
            raise damaged(path, f"it has no column {missing[0]!r}")
        return [check_own_values(Look, row, path, line) for line, row in enumerate(table.iter_rows(named=True), 2)]

    def score(self, model: Any, name: str = "figures", *, trained: bool = True) -> dict[str, Any]:
        """Score on held-out people, topics, tasks and shops; writes and returns the figures.

        Args:
            model: The network.
            name: The name of the file of figures and of the table of tasks.
            trained: Whether the network is the trained one; otherwise it is the base.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        figures: dict[str, Any] = {}
        tables = []
        for division in self._decisions.values():
            table, mine = division.score(model, self.vocabulary)
            tables.append(table)
            figures |= mine
        if self.tested is not None:
            scored = score_decisions(model, self.vocabulary, self.tested)
            table = task_scores(scored, self._others(self.tested)).with_columns(part=pl.lit("test"), family=pl.lit(""))
            tables.append(table)
            figures["test"] = task_summary(table)
        if tables:
            csv_table(pl.concat(tables, how="diagonal_relaxed")).write_csv(self.folder / f"{name}.csv")
        write_text(self.folder / f"{name}.json", json.dumps(figures, indent=1))
        if self._sessions and (self.plan.settings.rank or not trained):
            who = self.plan.name if trained else "zero-shot"
            spec = self._model_string(next(model.parameters()).device.type, trained)
            for sessions in self._sessions.values():
                figures |= sessions.score(spec, self.folder, who, self.plan.settings.seed)
                write_text(self.folder / f"{name}.json", json.dumps(figures, indent=1))
        return figures

    def _model_string(self, device: str, trained: bool) -> str:
        adapter = f"+{self.adapter_file.resolve()}" if trained else ""
        return f"transformers:{self.base.resolve()}{adapter}?device={device}"

    def _others(self, tested: HumanDecisions) -> HumanDecisions:
        """Other people's decisions in the tasks that are tested; where nobody else is known, those of the tested."""
        tables = [each.everything.table for each in self._decisions.values()]
        known = pl.concat([tested.table.clear(), *tables]).filter(pl.col("task").is_in(list(tested.tasks)))
        alone = tested.table.filter(~pl.col("task").is_in(known["task"].unique().implode()))
        return HumanDecisions(tested.tasks, pl.concat([known, alone]))

    @property
    def _kind(self) -> str:
        """What the adapter learned from, with what the adapter learned from that it began with."""
        kind = self.plan.kind
        if kind == "human" and self._made_up_sessions:
            kind = "calibrated"
        return self.start.kind if kind == "human" and self.start is not None else kind

    def _data(self) -> list[dict[str, Any]]:
        """The data that the adapter learned from, and that of the adapter that it began with."""
        data = [each.manifest() for each in self._divisions]
        if self.plan.situations:
            data.append({"name": "made-up situations", "sha256": "", "licence": "CC0-1.0"})
        if any(part.unfamiliar for part in self.plan.data):
            data.append({"name": "made-up questions without answers", "sha256": "", "licence": "CC0-1.0"})
        if self.start is not None:
            earlier = [dict(each) for each in self.start.data] or [{"name": f"the adapter {self.start.name}"}]
            known = {(each.get("name"), each.get("sha256")) for each in data}
            data += [each for each in earlier if (each.get("name"), each.get("sha256")) not in known]
        return data

    def manifest(self, looks: list[Look], figures: dict[str, Any]) -> dict[str, Any]:
        """What went into the adapter and how it scores: data with digests and licences, splits, settings, curve."""
        assumptions: list[Assumption] = []
        if self.plan.situations:
            assumptions += ASSUMPTIONS
        if self._made_up_sessions:
            assumptions.append(SHOPPER_ASSUMPTION)
        known = [vars(each) for each in assumptions]
        earlier = None if self.start is None else self.start.manifest.get("assumptions")
        return {
            "kind": self._kind,
            "licence": self.plan.adapter_licence,
            "note": self.plan.note,
            "start": "" if self.start is None else self.start.name,
            "data": self._data(),
            "assumptions": [*known, *(each for each in earlier or [] if each not in known)],
            "splits": {
                "people": "crc32(person) modulo 10: 0 test, 1 development, the rest training",
                "tasks held out": sorted(self.plan.held_out.tasks),
                "topics held out": sorted(self.plan.held_out.topics),
            },
            "settings": self.plan.settings.model_dump(mode="json"),
            "passes": [part.passes for part in self.plan.data],
            "expected": [part.expected for part in self.plan.data],
            "smoothing": [part.smoothing for part in self.plan.data],
            "unfamiliar": [part.unfamiliar for part in self.plan.data],
            "too long": self.too_long,
            "figures": figures,
            "curve": [vars(look) for look in looks],
        }

    def write_adapter(self, looks: list[Look], figures: dict[str, Any]) -> Path:
        """Write the adapter in its folder as one GGUF file, with its manifest."""
        manifest = self.manifest(looks, figures)
        write_text(self.folder / "manifest.json", json.dumps(manifest, indent=1))
        from_peft(self.folder / "adapter", self.base, self.adapter_file, manifest=manifest, name=self.plan.name)
        return self.adapter_file


def _base_file(base: str) -> Path:
    if base == "embedded":
        return SMOLLM2.fetch(None)
    path = Path(base).expanduser()
    if not path.exists():
        raise TrainingError(f"there is no model {path}.", "Name a GGUF file or a folder, or `embedded`.")
    return path


def _curve_text(looks: list[Look]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(Look.__dataclass_fields__)
    writer.writerows([*vars(look).values()] for look in looks)
    return file.getvalue()
