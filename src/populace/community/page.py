"""A community as one HTML file that looks like a forum and opens from the disk.

The page holds no script and may load nothing: its own policy forbids it. Whatever people wrote
is shown as text, whichever characters it holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from populace.base.errors import StorageError, UsageError
from populace.community.community import SORTINGS, Community
from populace.community.display import escaped
from populace.community.profiles import hue, person_key, profiles
from populace.community.terminal import age
from populace.community.word_filter import WordFilter
from populace.runs.export import RESPONSIBLE_USE
from populace.runs.settings_text import decider_text

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_KINDS = {"prescriptive": "wanted", "restrictive": "not wanted"}
_SORTING = {"new": "New", "top": "Top", "hot": "Hot"}


def write_page(
    community: Community,
    path: str | Path,
    *,
    verdicts: pl.DataFrame | None = None,
    word_filter: WordFilter | None = None,
) -> Path:
    """Write the page of a community.

    Args:
        community: The community.
        path: The file, which must not exist yet.
        verdicts: What judges found, with post, question, rule and value; `Judgements.verdicts()` gives it.
        word_filter: Which texts are hidden until asked for; the list that ships by default.
    """
    path = Path(path)
    if path.exists():
        raise UsageError(f"{path} exists already.", "Name another place, or remove it first.")
    made = render_page(community, verdicts=verdicts, word_filter=word_filter)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from error
    return path


def render_page(
    community: Community, *, verdicts: pl.DataFrame | None = None, word_filter: WordFilter | None = None
) -> str:
    """The page of a community, as text; the arguments are those of `write_page`."""
    word_filter = WordFilter.read() if word_filter is None else word_filter
    posts = community.read_in_order
    shown = posts.with_columns(
        hidden=word_filter.hides(posts["text"]), veiled_title=word_filter.hides(posts["title"].fill_null(""))
    )
    found = _found(verdicts)
    acts = _grouped(community.moderation.sort("step"))
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    name = escaped(community.design.name)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="Populace: simulated people, text by a language model">',
        f'<link rel="icon" href="data:,"><title>{name} (simulated)</title><style>{style}</style></head><body>',
        '<div class="notice" role="note">A simulation: the people do not exist, and a language model wrote the text'
        ", except where a post says otherwise.</div>",
        f'<header class="masthead" style="--hue:{zlib.crc32(name.encode()) % 360}"><div>'
        f'<h1><bdi dir="auto">{name}</bdi></h1><p dir="auto">{escaped(community.design.goal)}</p></div></header>',
        '<div class="frame"><main>',
        _bar(community, bool(found)),
        '<div class="list">',
        *_threads(community, shown, found, acts),
        "</div></main>",
        _side(community, verdicts),
        f"</div><footer>{escaped(RESPONSIBLE_USE)}</footer>",
        *profiles(community),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _bar(community: Community, judged: bool) -> str:
    ways = "".join(
        f'<label><input type="radio" name="by" id="by-{way}"{" checked" if way == community.design.sorting else ""}>'
        f"{label}</label>"
        for way, label in _SORTING.items()
    )
    flagged = '<label class="end"><input type="checkbox" id="only-flagged"> only flagged</label>' if judged else ""
    return f'<div class="card bar" role="group" aria-label="Sort threads">{ways}{flagged}</div>'


def _threads(
    community: Community, posts: pl.DataFrame, found: dict[int, list[str]], acts: dict[int, list[dict[str, Any]]]
) -> Iterator[str]:
    places = {way: {t: i for i, t in enumerate(community.threads(way)["thread"].to_list())} for way in SORTINGS}
    rows = posts.partition_by("thread", as_dict=True, maintain_order=True)
    for number, thread in enumerate(community.threads().to_dicts()):
        key = thread["thread"]
        written = rows[(key,)].to_dicts()
        order = ";".join([f"--first:{number}", *(f"--{way}:{places[way][key]}" for way in SORTINGS)])
        flags = sum(len(found.get(post["post"], ())) > 0 for post in written)
        yield (
            f'<article class="card thread{" flagged" if flags else ""}" id="thread-{key}" style="{order}">'
            f"<details{' open' if number == 0 else ''}>{_headline(thread, written[0], flags)}"
        )
        yield from _posts(written, found, acts)
        yield "</details></article>"


def _headline(thread: dict[str, Any], first: dict[str, Any], flags: int) -> str:
    title = escaped(thread["title"] or first["text"][:80] or f"Thread {thread['thread']}")
    if first["veiled_title"] or (not thread["title"] and first["hidden"]):
        title = "Title hidden by the filter"
    replies, score = thread["posts"] - 1, thread["score"]
    tags = _tag("locked", "warn") if thread["status"] == "locked" else ""
    tags += _tag("removed", "bad") if thread["status"] == "removed" else ""
    tags += _tag(f"{flags} flagged", "bad") if flags else ""
    answers = f"{replies} {'reply' if replies == 1 else 'replies'}"
    people = "1 person" if thread["participants"] == 1 else f"{thread['participants']} people"
    told = f"{answers} · {people} · {age(thread['opened'])}"
    return (
        f'<summary>{_votes(score)}<div><h2 class="title"><bdi dir="auto">{title}</bdi></h2>'
        f'<div class="meta">by <bdi dir="auto">{escaped(thread["name"])}</bdi> · {told} {tags}</div></div></summary>'
    )


def _posts(
    written: list[dict[str, Any]], found: dict[int, list[str]], acts: dict[int, list[dict[str, Any]]]
) -> Iterator[str]:
    """The posts in reading order; `open_at` holds the depths of the posts that are not closed yet."""
    first, *replies = written
    yield (
        f'<div class="opening{_kinds(first, found)}" id="post-{first["post"]}">'
        f'<div class="head">{_head(first, found)}</div>{_body(first, acts)}</div>'
    )
    if not replies:
        return
    yield '<div class="replies">'
    open_at: list[int] = []
    for post in replies:
        while open_at and open_at[-1] >= post["depth"]:
            open_at.pop()
            yield "</div></details>"
        open_at.append(post["depth"])
        yield (
            f'<details open class="post{_kinds(post, found)}" id="post-{post["post"]}">'
            f"<summary>{_head(post, found)}</summary>"
            f'{_body(post, acts)}<div class="replies">'
        )
    yield "</div></details>" * len(open_at)
    yield "</div>"


def _head(post: dict[str, Any], found: dict[int, list[str]]) -> str:
    key, name = person_key(post["author"]), escaped(post["name"])
    votes = f" · {post['score']:+d}" if post["score"] else ""
    tags = _tag("written by hand", "good") if post["origin"] == "hand" else ""
    tags += _tag("removed", "bad") if post["status"] == "removed" else ""
    tags += "".join(_tag(text, "bad") for text in found.get(post["post"], ()))
    return (
        f'<button class="who" popovertarget="{key}"><span class="face" style="--hue:{hue(post["author"])}" '
        f'aria-hidden="true">{name[:1] if name[:1].isalnum() else "•"}</span><bdi dir="auto">{name}</bdi></button>'
        f"<span>#{post['post']} · {age(post['time'])}{votes}</span>{tags}"
    )


def _body(post: dict[str, Any], acts: dict[int, list[dict[str, Any]]]) -> str:
    words = f'<span class="words"><bdi dir="auto">{escaped(post["text"])}</bdi></span>'
    if post["veiled_title"]:
        words = f'<strong><bdi dir="auto">{escaped(post["title"])}</bdi></strong>\n{words}'
    if post["hidden"] or post["veiled_title"]:
        words = f'<details class="veil"><summary>Hidden by the filter. Show it</summary>{words}</details>'
    told = "".join(map(_act, acts.get(post["post"], ())))
    made_by = "hand" if post["origin"] == "hand" else "model"
    return f'<div class="body" data-written-by="{made_by}">{words}{told}</div>'


def _act(act: dict[str, Any]) -> str:
    rule = f" (rule {act['rule']})" if act["rule"] is not None else ""
    reason = f': <bdi dir="auto">{escaped(act["reason"])}</bdi>' if act["reason"] else ""
    return f'<div class="act">⚑ {escaped(act["power"])}{rule}{reason}</div>'


def _side(community: Community, verdicts: pl.DataFrame | None) -> str:
    design, run = community.design, community.run
    broken: dict[int, int] = {}
    if verdicts is not None and verdicts.height:
        yes = verdicts.filter(pl.col("rule").is_not_null(), pl.col("value") == "yes")
        broken = dict(yes.group_by("rule").agg(pl.col("post").n_unique()).iter_rows())
    rules = "".join(
        f'<li class="{rule.kind}"><div><small>{_KINDS[rule.kind]}</small><span dir="auto">{escaped(rule.text)}</span> '
        f"{_broken(broken.get(number, 0))}</div></li>"
        for number, rule in enumerate(design.rules, 1)
    )
    regime = run.manifest.regime
    rows = [
        ("people", str(len(community.people))),
        ("threads", str(community.posts["thread"].n_unique())),
        ("posts", str(community.posts.height)),
        ("removed", str(int((community.posts["status"] == "removed").sum()))),
        ("run", run.name),
        ("model", decider_text(regime.decider, regime.model)),
        ("seed", str(regime.seed)),
        ("made by", run.manifest.environment.get("author", "unknown")),
        ("made on", run.manifest.created[:10]),
    ]
    facts = "".join(f'<dt>{name}</dt><dd><bdi dir="auto">{escaped(value)}</bdi></dd>' for name, value in rows)
    judges = ""
    if verdicts is not None and verdicts.height:
        names = ", ".join(sorted(set(verdicts["judge"].to_list())))
        judges = f'<div class="card small"><h2>Judged by</h2><p>{escaped(names)}. A judge may err.</p></div>'
    return (
        f'<aside><div class="card"><h2>Rules</h2><ol class="rules">{rules or "<li>There are none.</li>"}</ol></div>'
        f'<div class="card"><h2>About</h2><dl class="facts">{facts}</dl></div>{judges}</aside>'
    )


def _broken(times: int) -> str:
    return _tag("broken once" if times == 1 else f"broken {times} times", "bad") if times else ""


def _found(verdicts: pl.DataFrame | None) -> dict[int, list[str]]:
    """What a post is flagged for, in words; one flag for each question, however many judges agree."""
    if verdicts is None or not verdicts.height:
        return {}
    rows = verdicts.filter(pl.col("flag").is_not_null()).unique(["post", "flag"], maintain_order=True)
    flags: dict[int, list[str]] = {}
    for post, flag in rows.select("post", "flag").iter_rows():
        flags.setdefault(post, []).append(flag)
    return flags


def _kinds(post: dict[str, Any], found: dict[int, list[str]]) -> str:
    return (" removed" if post["status"] == "removed" else "") + (" breaks" if found.get(post["post"]) else "")


def _grouped(acts: pl.DataFrame) -> dict[int, list[dict[str, Any]]]:
    grouped: dict[int, list[dict[str, Any]]] = {}
    for act in acts.to_dicts():
        grouped.setdefault(act["post"], []).append(act)
    return grouped


def _votes(score: int) -> str:
    kind = "up" if score > 0 else "down" if score < 0 else ""
    mark = "▼" if score < 0 else "▲"
    return f'<span class="votes {kind}" aria-label="{score} votes"><small>{mark}</small>{score}</span>'


def _tag(text: str, kind: str) -> str:
    return f'<span class="tag {kind}">{escaped(text)}</span>'
