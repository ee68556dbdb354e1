"""A community as one HTML file that looks like a forum and opens from the disk.

The page contains no script and loads nothing: its own content security policy forbids it. The text
of people is shown as text, whatever characters it contains: the template escapes every expression.
"""

import functools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup

from populace.base.foreign import for_page
from populace.base.formatting import plural
from populace.community.community import SORTINGS, Community
from populace.community.files import write_new_file
from populace.community.judgements import Judgements
from populace.community.terminal import age
from populace.community.word_filter import WordFilter
from populace.runs.export import RESPONSIBLE_USE
from populace.runs.settings_text import decider_text

_FOLDER = Path(__file__).parent
_LINKS = 8
"""A profile of a person links to this many posts at most."""


def write_page(
    community: Community,
    path: str | Path,
    *,
    verdicts: pl.DataFrame | None = None,
    word_filter: WordFilter | None = None,
) -> Path:
    """Write the page of a community to a file, and return its path.

    Args:
        community: The community.
        path: The file, which must not exist yet.
        verdicts: The verdicts of judges, with post, question, rule and value, as from `Judgements.verdicts()`.
        word_filter: Which texts are hidden until a click; by default those with a word of the list that ships.
    """
    return write_new_file(path, render_page(community, verdicts=verdicts, word_filter=word_filter))


def render_page(
    community: Community, *, verdicts: pl.DataFrame | None = None, word_filter: WordFilter | None = None
) -> str:
    """The page of a community, as text; the arguments are those of `write_page`."""
    word_filter = WordFilter.read() if word_filter is None else word_filter
    verdicts = Judgements(None, community).verdicts() if verdicts is None else verdicts
    by_post = verdicts.drop_nulls("flag").group_by("post").agg(pl.col("flag").unique(maintain_order=True))
    flags: dict[int, list[str]] = dict(by_post.iter_rows())
    violations = verdicts.filter(pl.col("rule").is_not_null(), pl.col("value") == "yes")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            style=Markup(_FOLDER.joinpath("page.css").read_text(encoding="utf-8")),
            design=community.design,
            sortings=SORTINGS,
            threads=_threads(community, word_filter, flags),
            flagged=bool(flags),
            violations=dict(violations.group_by("rule").agg(pl.col("post").n_unique()).iter_rows()),
            judges=sorted(set(verdicts["judge"].to_list())),
            facts=_facts(community),
            writer=community.writer,
            profiles=_profiles(community),
            responsible_use=RESPONSIBLE_USE,
        )
    )


@functools.cache
def _environment() -> jinja2.Environment:
    """The template engine, which escapes every expression and replaces what acts or hides in it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=for_page,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"age": age, "hue": hue, "person_key": person_key, "plural": plural}
    return environment


def _threads(community: Community, word_filter: WordFilter, flags: dict[int, list[str]]) -> Iterator[dict[str, Any]]:
    """The threads in the order of the design, each with its opening post, its replies and its rank in every order."""
    posts = community.posts_in_reading_order
    posts = posts.with_columns(hidden=word_filter.hides(posts["text"]), title_hidden=word_filter.hides(posts["title"]))
    by_thread = posts.partition_by("thread", as_dict=True, maintain_order=True)
    acts = community.acts_by_post()
    ranks = {by: {thread: rank for rank, thread in enumerate(community.threads(by)["thread"])} for by in SORTINGS}
    for first, thread in enumerate(community.threads().iter_rows(named=True)):
        number = thread["thread"]
        rows = [
            row | {"flags": flags.get(row["post"], []), "acts": acts.get(row["post"], [])}
            for row in by_thread[(number,)].iter_rows(named=True)
        ]
        opening, *replies = rows
        yield thread | {
            "headline": _headline(thread, opening),
            "order": ";".join([f"--first:{first}", *(f"--{by}:{rank[number]}" for by, rank in ranks.items())]),
            "flagged": sum(bool(row["flags"]) for row in rows),
            "opening": opening,
            "left_open": _nest(replies),
            "replies": replies,
        }


def _headline(thread: dict[str, Any], opening: dict[str, Any]) -> str:
    if opening["title_hidden"] or (not thread["title"] and opening["hidden"]):
        return "Title hidden by the filter"
    return thread["title"] or opening["text"][:80] or f"Thread {thread['thread']}"


def _nest(replies: list[dict[str, Any]]) -> int:
    """Set on each reply how many earlier replies it `closes`; returns how many are open after the last.

    The template nests replies without recursion, since a thread may be deeper than Python's stack.
    """
    open_depths: list[int] = []
    for reply in replies:
        deeper = [depth for depth in open_depths if depth < reply["depth"]]
        reply["closes"] = len(open_depths) - len(deeper)
        open_depths = [*deeper, reply["depth"]]
    return len(open_depths)


def person_key(author: int | str) -> str:
    """The id of a person's profile within the page. It contains nothing that a person chose.

    Example:
        >>> person_key(3), person_key('"><script>')
        ('person-3', 'person-xd4ac9384')
    """
    return f"person-{author}" if isinstance(author, int) else f"person-x{zlib.crc32(author.encode()):08x}"


def hue(name: int | str) -> int:
    """The colour of a person or a community, the same on every page, as an angle from 0 to 359."""
    return zlib.crc32(str(name).encode()) % 360


def _profiles(community: Community) -> list[dict[str, Any]]:
    """For each person who wrote: author, name, count, score, removed, first posts, role, standing and persona."""
    writers = community.posts.group_by("author", maintain_order=True).agg(
        pl.col("name").first(),
        pl.len().alias("count"),
        pl.col("score").sum(),
        (pl.col("status") == "removed").sum().alias("removed"),
        pl.col("post").head(_LINKS).alias("posts"),
    )
    people = {row["id"]: row for row in community.people.frame.to_dicts()}
    columns = ("role", "standing", "persona")
    return [
        row | {column: people.get(row["author"], {}).get(column) for column in columns} for row in writers.to_dicts()
    ]


def _facts(community: Community) -> dict[str, object]:
    run, posts = community.run, community.posts
    regime = run.manifest.regime
    return {
        "people": len(community.people),
        "threads": posts["thread"].n_unique(),
        "posts": posts.height,
        "removed": int((posts["status"] == "removed").sum()),
        "run": run.name,
        "model": decider_text(regime.decider, public_model_name(regime.model)),
        "seed": regime.seed,
        "made on": run.manifest.created[:10],
    }


def public_model_name(spec: str) -> str:
    """The name of a model without what is private about it: the address of a server, the folder of a file.

    Example:
        >>> public_model_name("http://10.0.0.7:8000/v1#llama-3"), public_model_name("embedded:/home/ann/small.gguf")
        ('llama-3', 'embedded:small.gguf')
        >>> public_model_name("http://10.0.0.7:8000/v1"), public_model_name("scripted:cast")
        ('a model on a server', 'scripted:cast')
    """
    if "://" in spec:
        return spec.partition("#")[2] or "a model on a server"
    kind, colon, path = spec.partition(":")
    return f"{kind}{colon}{path.replace(chr(92), '/').rsplit('/', 1)[-1]}" if kind == "embedded" else spec
