"""The language models: what one is, and the kinds that there are."""

from populace.models.artifacts import SMOLLM2, Artifact, cache_folder
from populace.models.base import Capabilities, Failure, Message, Model, Outcome, Reply, Request
from populace.models.embedded import Embedded
from populace.models.embedders import EMBEDDERS, Embedder, Hashing, MiniLM, embedder
from populace.models.embedding_cache import Cached
from populace.models.naming import FORMS, open_model
from populace.models.scripted import Scripted
from populace.models.served import Served
from populace.models.served_embedder import OpenAIEmbedder

__all__ = [
    "EMBEDDERS",
    "FORMS",
    "SMOLLM2",
    "Artifact",
    "Cached",
    "Capabilities",
    "Embedded",
    "Embedder",
    "Failure",
    "Hashing",
    "Message",
    "MiniLM",
    "Model",
    "OpenAIEmbedder",
    "Outcome",
    "Reply",
    "Request",
    "Scripted",
    "Served",
    "cache_folder",
    "embedder",
    "open_model",
]
