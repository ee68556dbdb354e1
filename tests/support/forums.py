"""A small forum, and scripted models that write in one."""

from __future__ import annotations

import hashlib
from typing import Any

import polars as pl

from populace import Run, simulate
from populace.models import Request, Scripted
from populace.scenarios.forum import Forum

SEEDS = ["a beekeeper on a city roof", "sells honey at the market", "is afraid of wasps"]
SMALL: dict[str, Any] = {
    "name": "Hives",
    "goal": "help each other keep bees",
    "rules": [{"prescriptive": "say where your hive stands"}, {"restrictive": "advertising honey"}],
    "personas": SEEDS,
    "posts": 8,
    "together": 4,
    "people": 20,
}
WORDS = (
    "bees hive smoke frame queen comb nectar clover sting veil brood swarm wax honey roof garden winter sugar".split()
)


def scripted_text(request: Request) -> str:
    """Words that depend only on the request and its seed."""
    text = f"{request.messages}{request.seed}"
    digest = hashlib.blake2b(text.encode(), digest_size=12).digest()
    return "Here " + " ".join(WORDS[byte % len(WORDS)] for byte in digest) + " again."


def scripted_reply(request: Request) -> dict[str, float] | str:
    """A text, or every option with the same probability where there are options."""
    return (
        {option: 1 / len(request.options) for option in request.options} if request.options else scripted_text(request)
    )


def silent(request: Request) -> str:
    """Nothing that could be a post."""
    return "<br>"


def writer() -> Scripted:
    return Scripted(scripted_reply, spec="scripted:writer")


def forum(model: Scripted | None = None, *, seed: int = 3, keep: Any = "nothing", **design: Any) -> Run:
    """A run of a small forum, with some entries of its design changed."""
    scenario = Forum(design=SMALL | design, expand=False)
    return simulate(scenario, model=model or writer(), seed=seed, keep=keep)


def threads(run: Run) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    """The posts of each thread by its opening: author, text, position of the parent, step, time and trimmed."""
    by_opening: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for part in run.history("posts").partition_by("thread", maintain_order=True):
        place = {post: number for number, post in enumerate(part["post"])}
        rows = part.select("author", "text", "parent", "step", "time", "trimmed").rows()
        lines = [(author, text, place.get(parent), *rest) for author, text, parent, *rest in rows]
        by_opening[part["author"][0], part["text"][0]] = lines
    return by_opening


def posts(run: Run) -> pl.DataFrame:
    return run.history("posts")
