"""Human feedback on answers of simulated people: scores and rewritten answers, stored as JSON lines."""

from populace.feedback.feedback import FeedbackStore, RaterAgreement
from populace.feedback.items import Item
from populace.feedback.queues import Queue, QueueSample
from populace.feedback.rewrite import parse_rewrite
from populace.feedback.sources import Source, read_sources

__all__ = ["FeedbackStore", "Item", "Queue", "QueueSample", "RaterAgreement", "Source", "parse_rewrite", "read_sources"]
