"""What people think of the answers of simulated people: scores and rewritings, kept in a plain form."""

from populace.feedback.feedback import Accord, Feedback
from populace.feedback.items import Item
from populace.feedback.queues import Drawn, Queue
from populace.feedback.rewriting import rewritten
from populace.feedback.sources import Source, sources

__all__ = ["Accord", "Drawn", "Feedback", "Item", "Queue", "Source", "rewritten", "sources"]
