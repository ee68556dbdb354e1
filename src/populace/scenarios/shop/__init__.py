"""Shoppers use a web shop, page by page: what do they look at, and do they buy?"""

from populace.scenarios.shop.shop import Shop

__all__ = ["Shop"]
