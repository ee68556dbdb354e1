"""The language models: what one is, and the kinds that there are."""

from populace.models.artifacts import SMOLLM2, Artifact, cache_folder
from populace.models.base import Capabilities, Failure, Message, Model, Outcome, Reply, Request
from populace.models.embedded import Embedded
from populace.models.naming import FORMS, open_model
from populace.models.scripted import Scripted
from populace.models.served import Served

__all__ = [
    "FORMS",
    "SMOLLM2",
    "Artifact",
    "Capabilities",
    "Embedded",
    "Failure",
    "Message",
    "Model",
    "Outcome",
    "Reply",
    "Request",
    "Scripted",
    "Served",
    "cache_folder",
    "open_model",
]
