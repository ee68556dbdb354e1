"""Language models and embedders: their interfaces, and those that come with the package."""

from populace.models.adapter_card import ADAPTER_KINDS, AdapterCard
from populace.models.adapters import Adapter, read_adapter, write_adapter
from populace.models.artifacts import SMOLLM2, Artifact, cache_folder
from populace.models.base import Capabilities, ChatMessage, Failure, Model, ModelTraits, Reply, ReplyOrFailure, Request
from populace.models.code import model_code
from populace.models.embedded import EmbeddedModel
from populace.models.embedders import EMBEDDER_FORMS, Embedder, HashingEmbedder, MiniLM, open_embedder
from populace.models.embedding_cache import CachedEmbedder
from populace.models.hub_file import HubFile
from populace.models.openai_compatible import OpenAICompatible
from populace.models.openai_embedder import OpenAIEmbedder
from populace.models.peft_folder import from_peft
from populace.models.providers import PROVIDERS, Provider
from populace.models.registry import MODEL_FORMS, MODEL_SUMMARY, check_model, model_traits, open_model
from populace.models.scripted import Scripted
from populace.models.transformers_model import TransformersModel

__all__ = [
    "ADAPTER_KINDS",
    "EMBEDDER_FORMS",
    "MODEL_FORMS",
    "MODEL_SUMMARY",
    "PROVIDERS",
    "SMOLLM2",
    "Adapter",
    "AdapterCard",
    "Artifact",
    "CachedEmbedder",
    "Capabilities",
    "ChatMessage",
    "EmbeddedModel",
    "Embedder",
    "Failure",
    "HashingEmbedder",
    "HubFile",
    "MiniLM",
    "Model",
    "ModelTraits",
    "OpenAICompatible",
    "OpenAIEmbedder",
    "Provider",
    "Reply",
    "ReplyOrFailure",
    "Request",
    "Scripted",
    "TransformersModel",
    "cache_folder",
    "check_model",
    "from_peft",
    "model_code",
    "model_traits",
    "open_embedder",
    "open_model",
    "read_adapter",
    "write_adapter",
]
