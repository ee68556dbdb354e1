"""Calls to models: the broker, the call store, limits, prices and usage."""

from populace.broker.broker import Broker
from populace.broker.call_settings import CallSettings
from populace.broker.prices import FREE, Price, cost_text, currency, money_text, price_file, price_of
from populace.broker.store import CallStore, MemoryCallStore
from populace.broker.usage import Usage

__all__ = [
    "FREE",
    "Broker",
    "CallSettings",
    "CallStore",
    "MemoryCallStore",
    "Price",
    "Usage",
    "cost_text",
    "currency",
    "money_text",
    "price_file",
    "price_of",
]
