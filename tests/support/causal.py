"""A causal study for tests: prices of two products, three covariates, three people."""

from __future__ import annotations

from typing import Any

from populace.causal import CausalStudy

DECLARATION: dict[str, Any] = {
    "title": "Two products",
    "treatment": {
        "name": "price",
        "levels": [0.5, 1.0, 1.5],
        "scale": "regular_price",
        "statement": "Today {product} costs ${price:.2f}.",
        "label": "${price:.2f}",
        "drawn_from": "half to one and a half of the regular price",
    },
    "setting": "You are in a supermarket and look at {product}.",
    "question": "Do you put it into your basket?",
    "options": ["buy", "leave"],
    "success": "buy",
    "covariates": [
        {
            "name": "past_price",
            "statement": "Last week it cost ${past_price:.2f}.",
            "question": "What did {product} cost last week?",
            "unit": "dollars",
            "values": [0.8, 1.0, 1.2],
            "scale": "regular_price",
            "comparable": True,
        },
        {"name": "days", "question": "In how many days does {product} expire?", "unit": "days"},
        {"name": "shop", "statement": "The shop is {shop}.", "values": ["large", "small"]},
    ],
    "items": [
        {"item": "cola", "product": "a bottle of cola", "regular_price": 2.0},
        {"item": "bread", "product": "a loaf of bread", "regular_price": 3.5},
    ],
    "personas": [{"age": 23, "work": "nurse"}, {"age": 41, "work": "driver"}, {"age": 67, "work": "retired"}],
    "population": "adults who shop for food",
    "forecasts": 2,
}


def study(**changes: Any) -> CausalStudy:
    """The study, with some of its keys changed."""
    return CausalStudy.read(DECLARATION | changes)
