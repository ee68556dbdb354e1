"""Between question and model: the call store, the budget, what was used."""

from populace.broker.broker import Broker
from populace.broker.budget import Budget, Price, price_file, price_of
from populace.broker.store import CallStore, MemoryCallStore
from populace.broker.usage import Usage

__all__ = ["Broker", "Budget", "CallStore", "MemoryCallStore", "Price", "Usage", "price_file", "price_of"]
