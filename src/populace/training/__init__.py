"""Training: models learn to act like people, from decisions of people and from stated assumptions."""

from populace.training.base_network import choose_device, load_base
from populace.training.decision_examples import DecisionSource
from populace.training.examples import TrainingExamples
from populace.training.plan import DataPart, HeldOut, TrainingPlan
from populace.training.planned_training import PlannedTraining
from populace.training.rendering import render_shares, render_texts
from populace.training.sequences import ModelVocabulary, Sequences, pack
from populace.training.situations import ASSUMPTIONS, Assumption, SituationSource
from populace.training.supervised import Look, Source, Trainer, lessons
from populace.training.supervised_settings import SupervisedSettings

__all__ = [
    "ASSUMPTIONS",
    "Assumption",
    "DataPart",
    "DecisionSource",
    "HeldOut",
    "Look",
    "ModelVocabulary",
    "PlannedTraining",
    "Sequences",
    "SituationSource",
    "Source",
    "SupervisedSettings",
    "Trainer",
    "TrainingExamples",
    "TrainingPlan",
    "choose_device",
    "lessons",
    "load_base",
    "pack",
    "render_shares",
    "render_texts",
]
