"""Other continuations of a post: the forks that continue it, and where each differs from the original."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from populace.base.errors import PopulaceError, RunNotFoundError
from populace.community.multiverse import Multiverse
from populace.community.what_if import find_post
from populace.engine.run import Run
from populace.journal import Manifest
from populace.studio.library import Library
from populace.studio.pages.forum.data import ForumPost, ForumView


@dataclass(frozen=True)
class Continuation:
    """A fork that continues a post in another way.

    Attributes:
        run: Its name.
        post: The number of the post.
        text: Who answers, and with which words.
        draw: Its number in a multiverse; 0 for a what-if.
    """

    run: str
    post: int
    text: str
    draw: int


@dataclass(frozen=True)
class ThreadSide:
    """A thread beside others.

    Attributes:
        run: The name of its run.
        text: Who answers in this continuation; empty for the original.
        state: The state of the run.
        posts: The posts in the order of writing.
        shared: How many posts at the beginning are the same as in the original.
    """

    run: str
    text: str
    state: str
    posts: list[ForumPost]
    shared: int


def continuation(manifest: Manifest, parent: str, names: dict[Any, str]) -> Continuation | None:
    """What a fork of a run continues, or None where it is not a what-if of that run; `names` are those of people."""
    settings = manifest.regimes[-1].parameters.get("whatif")
    if manifest.parent is None or manifest.parent.run != parent:
        return None
    if not isinstance(settings, dict) or "post" not in settings:
        return None
    who = settings.get("as_") or names.get(settings.get("person")) or settings.get("person")
    text = "" if who is None else str(who)
    if settings.get("line"):
        text = f"{text or 'the designer'}: “{settings['line']}”"
    draw = int(settings.get("draw") or 0)
    return Continuation(manifest.run, int(settings["post"]), text or "by another draw", draw)


def fork_manifests(library: Library, name: str) -> list[Manifest]:
    """The manifests of all forks of a run."""
    manifests = []
    for fork in library.forks(name):
        try:
            manifests.append(library.run(fork).manifest)
        except RunNotFoundError:
            continue  # Deleted in this moment.
    return manifests


def continuations(manifests: Iterable[Manifest], view: ForumView, post: int | None = None) -> list[Continuation]:
    """The forks that continue a post of a run, or any post, sorted by draw and name.

    Args:
        manifests: The manifests of the forks.
        view: The forum of the run.
        post: The post.
    """
    people = view.community.people.frame
    names = dict(people.select("id", "name").iter_rows()) if "name" in people.columns else {}
    forks = (continuation(manifest, view.run.name, names) for manifest in manifests)
    matches = [each for each in forks if each is not None and post in (None, each.post)]
    return sorted(matches, key=lambda each: (each.draw, each.run))


def continuation_counts(forks: Iterable[Continuation]) -> dict[int, tuple[int, int]]:
    """How many what-ifs, and how many forks of a multiverse, there are of each post."""
    counts: dict[int, tuple[int, int]] = {}
    for each in forks:
        whatifs, draws = counts.get(each.post, (0, 0))
        counts[each.post] = (whatifs + (each.draw == 0), draws + (each.draw > 0))
    return counts


def thread_side(view: ForumView, original: ForumView, post: int, text: str = "") -> ThreadSide:
    """The thread of a post in a fork, beside the original's; all posts of the original are shared with itself.

    What is shared ends with the post: a reply that happens to be the same is still a reply of the fork's own.
    """
    posts, others = (sorted(each.thread(post), key=lambda post: post.post) for each in (view, original))
    pairs = zip(posts, others, strict=False)
    same = [_content(one) == _content(other) and one.post <= post for one, other in pairs]
    own = view.run.name == original.run.name
    shared = len(posts) if own else (same.index(False) if False in same else len(same))
    return ThreadSide(view.run.name, text, view.run.manifest.status.state, posts, shared)


def comparison(original: Run, forks: Sequence[Run], post: int | None) -> pl.DataFrame:
    """What differs between runs, as `Multiverse.compare` has it, without forks that have no such post yet."""
    ready = [run for run in forks if post is None or _has_post(run, post)]
    return Multiverse(original, ready, post).compare()


def continuation_command(
    run: str,
    post: int,
    *,
    who: str = "",
    person: str = "",
    line: str = "",
    count: int = 0,
    model: str = "",
    judge: str = "",
) -> tuple[str, ...]:
    """The arguments of the command that makes one continuation, or several where there is a count.

    Args:
        run: The run.
        post: The post.
        who: A description of who answers.
        person: The id of the member who answers.
        line: The words of the answer.
        count: How many continuations; 0 for a what-if.
        model: Another model than the run's.
        judge: A model that judges all continuations.

    Example:
        >>> continuation_command("forum-1", 3, who="a troll")
        ('whatif', 'forum-1', '--post', '3', '--as', 'a troll')
    """
    arguments = ["multiverse", run, "--n", str(count)] if count else ["whatif", run]
    arguments += ["--post", str(post)]
    options = {"--as": who, "--person": person, "--say": line, "--model": model, "--judge": judge}
    for option, text in options.items():
        value = text.strip()
        # Joined by =, so that words that begin with a dash are not taken for an option.
        if value:
            arguments += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return tuple(arguments)


def _has_post(run: Run, post: int) -> bool:
    try:
        find_post(run, post)
    except PopulaceError:
        return False
    return True


def _content(post: ForumPost) -> tuple[Any, ...]:
    return post.author, post.title, post.text, post.origin
