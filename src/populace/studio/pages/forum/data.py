"""What the forum page shows: a community at a step, with what moderators did, judges found and the filter hides."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from populace.base.errors import UnknownNameError
from populace.community import Community
from populace.community.community import Sorting
from populace.community.judges import read_judgements
from populace.community.word_filter import WordFilter
from populace.people import Id
from populace.runs.reader import RunReader


@dataclass(frozen=True)
class Flag:
    """What a judge found in an utterance.

    Attributes:
        text: In a few words, such as `breaks rule 2`.
        judge: Who found it.
        wording: What the judge was asked.
        answer: What it said.
        chance: How sure it was of that, where it says so.
    """

    text: str
    judge: str
    wording: str
    answer: str
    chance: float | None


@dataclass(frozen=True)
class Mark:
    """What a moderator did about an utterance, by which rule and for which reason."""

    power: str
    moderator: str
    rule: int | None
    rule_text: str
    reason: str
    step: int


@dataclass(frozen=True)
class ForumPost:
    """One post as a researcher reads it.

    Attributes:
        path: Of the decision that made it; empty where it was written by hand or cannot be found.
        hidden: Whether the filter hides it until it is asked for.
        removed: Whether a moderator removed it.
    """

    post: int
    parent: int | None
    depth: int
    author: Id
    name: str
    title: str
    text: str
    time: int
    step: int
    ups: int
    downs: int
    origin: str
    hidden: bool
    removed: bool
    flags: tuple[Flag, ...]
    marks: tuple[Mark, ...]
    path: str

    @property
    def score(self) -> int:
        """Votes for it minus votes against."""
        return self.ups - self.downs


@dataclass(frozen=True)
class Member:
    """Somebody of the community, with what they wrote."""

    id: Id
    name: str
    persona: str
    role: str
    standing: str
    posts: int
    removed: int
    votes: int
    cast: int
    wrote: pl.DataFrame


class ForumView:
    """A community as it was after a step.

    Args:
        run: The run.
        at: The step; the end by default.
        viewing: Which texts are hidden until asked for; the list that ships by default.
        like: A view of the same run whose tables need not be read again.
    """

    def __init__(
        self, run: RunReader, at: int | None = None, viewing: WordFilter | None = None, *, like: ForumView | None = None
    ) -> None:
        self.run = run
        self.community: Community = Community(run, at) if like is None else like.community.as_of(at)
        self.viewing = WordFilter.read() if viewing is None else viewing

    def loaded(self) -> Self:
        """All that takes time, read now and not when it is drawn."""
        _ = self.posts, self.community.people, self.community.moderation
        return self

    @functools.cached_property
    def posts(self) -> pl.DataFrame:
        """Every post, with whether it is hidden, its votes for and against, and how many flags it has."""
        posts = self.community.posts
        votes = self.community.votes.group_by("post").agg(
            ups=(pl.col("vote") > 0).sum().cast(pl.Int64), downs=(pl.col("vote") < 0).sum().cast(pl.Int64)
        )
        flagged = self.flagged.group_by("post").agg(flags=pl.col("flag").n_unique().cast(pl.Int64))
        return (
            posts.with_columns(
                hidden=self.viewing.hides(posts["text"]) | self.viewing.hides(posts["title"].fill_null("")),
                removed=pl.col("status") == "removed",
            )
            .join(votes, on="post", how="left", maintain_order="left")
            .join(flagged, on="post", how="left", maintain_order="left")
            .with_columns(pl.col("ups", "downs", "flags").fill_null(0))
        )

    @functools.cached_property
    def verdicts(self) -> pl.DataFrame:
        """Every verdict of every judge, on posts that were there."""
        found = read_judgements(self.community).verdicts()
        return found.filter(pl.col("post").is_in(self.community.posts["post"].implode()))

    @property
    def flagged(self) -> pl.DataFrame:
        """The verdicts that a reader should be told of."""
        return self.verdicts.filter(pl.col("flag").is_not_null())

    @property
    def judges(self) -> list[str]:
        """Who judged, in order."""
        return self.verdicts["judge"].unique(maintain_order=True).to_list()

    def rules(self) -> pl.DataFrame:
        """The rules: number, kind, text, and how many posts break each, as any judge says."""
        rules = self.community.design.rules
        listed = pl.DataFrame(
            [(number, rule.kind, rule.text) for number, rule in enumerate(rules, 1)],
            schema={"rule": pl.Int64, "kind": pl.String, "text": pl.String},
            orient="row",
        )
        broken = self.flagged.group_by("rule").agg(broken=pl.col("post").n_unique().cast(pl.Int64))
        return listed.join(broken, on="rule", how="left", maintain_order="left").with_columns(
            pl.col("broken").fill_null(0)
        )

    def threads(self, sorting: Sorting | None = None, *, search: str = "", flagged: bool = False) -> pl.DataFrame:
        """A row for each thread, in the order of a sorting.

        The columns are those of `Community.threads` with `flags` (how many posts have some), `hidden` (whether the
        filter hides its opening), `found` (the posts that were searched for) and `heading`, which shows the title
        only where it is neither hidden nor removed.

        Args:
            sorting: `new`, `top` or `hot`; the design's own way by default.
            search: Only threads in which somebody wrote this, or whose author goes by it; case does not count.
            flagged: Only threads in which a judge found something.
        """
        wanted = search.strip().lower()
        posts = self.posts
        if wanted:
            fields = [pl.col(name).fill_null("").str.to_lowercase() for name in ("title", "text", "name")]
            posts = posts.filter(pl.any_horizontal(field.str.contains(wanted, literal=True) for field in fields))
        found = posts.group_by("thread").agg(pl.col("post").alias("found"))
        marks = self.posts.group_by("thread").agg(
            flags=(pl.col("flags") > 0).sum().cast(pl.Int64),
            hidden=pl.col("hidden").sort_by("post").first(),
            opening=pl.col("text").sort_by("post").first().str.slice(0, 200),
        )
        listed = (
            self.community.threads(sorting)
            .join(marks, on="thread", how="left", maintain_order="left")
            .join(found, on="thread", how="inner", maintain_order="left")
            .with_columns(heading=_heading())
        )
        return listed.filter(pl.col("flags") > 0) if flagged else listed

    def thread(self, post: int) -> list[ForumPost]:
        """The thread that holds a post, in the order in which it is read."""
        number = self.community.thread(post).number
        return self._utterances(self.posts.filter(pl.col("thread") == number).sort("place"))

    def said(self, posts: Sequence[int]) -> list[ForumPost]:
        """Some utterances, in the order of writing."""
        return self._utterances(self.posts.filter(pl.col("post").is_in(list(posts))))

    def members(self) -> pl.DataFrame:
        """Everybody: id, name, role, standing, posts and votes received; who wrote most comes first."""
        people = self.community.people.frame
        wrote = self.posts.group_by("author").agg(
            posts=pl.len().cast(pl.Int64), votes=pl.col("score").sum(), removed=pl.col("removed").sum().cast(pl.Int64)
        )
        named = [pl.col(name).cast(pl.String) if name in people.columns else pl.lit("").alias(name) for name in _TOLD]
        return (
            people.select("id", *named)
            .join(wrote, left_on="id", right_on="author", how="left", maintain_order="left")
            .with_columns(pl.col("posts", "votes", "removed").fill_null(0))
            .sort("posts", descending=True, maintain_order=True)
        )

    def member(self, who: str) -> Member:
        """Somebody by id, as it stands in an address."""
        found = self.members().filter(pl.col("id").cast(pl.String) == who)
        if not found.height:
            raise UnknownNameError("member", who, self.community.people.ids.cast(pl.String).to_list())
        row = found.row(0, named=True)
        wrote = self.posts.filter(pl.col("author") == row["id"]).sort("post", descending=True)
        cast = self.community.votes
        given = cast.filter(pl.col("person") == row["id"]).height if cast.height else 0
        return Member(**row | {name: row[name] or "" for name in _TOLD}, cast=given, wrote=wrote)

    def _utterances(self, posts: pl.DataFrame) -> list[ForumPost]:
        numbers = posts["post"].implode()
        flags: dict[int, list[Flag]] = {}
        for row in self.flagged.filter(pl.col("post").is_in(numbers)).iter_rows(named=True):
            sure = row["yes"] if row["yes"] is None or row["value"] == "yes" else 1 - row["yes"]
            flags.setdefault(row["post"], []).append(
                Flag(row["flag"], row["judge"], row["wording"], row["value"], sure)
            )
        marks = self._marks(numbers)
        paths = decision_paths(self.run, posts)
        return [
            ForumPost(
                **{name: row[name] for name in _PLAIN},
                title=row["title"] or "",
                text=row["text"] or "",
                flags=tuple(flags.get(row["post"], ())),
                marks=tuple(marks.get(row["post"], ())),
                path=path,
            )
            for row, path in zip(posts.iter_rows(named=True), paths, strict=True)
        ]

    def _marks(self, numbers: pl.Series) -> dict[int, list[Mark]]:
        names = dict(self.community.people.frame.select("id", _name(self.community.people.frame)).iter_rows())
        rules = [rule.text for rule in self.community.design.rules]
        acts = self.community.moderation.filter(pl.col("post").is_in(numbers)).sort("step")
        found: dict[int, list[Mark]] = {}
        for act in acts.iter_rows(named=True):
            rule = act["rule"]
            text = rules[rule - 1] if rule is not None and 0 < rule <= len(rules) else ""
            who = str(names.get(act["moderator"], act["moderator"]))
            made = Mark(act["power"], who, rule, text, act["reason"] or "", act["step"])
            found.setdefault(act["post"], []).append(made)
        return found


_PLAIN = ("post", "parent", "depth", "author", "name", "time", "step", "ups", "downs", "origin", "hidden", "removed")
_TOLD = ("name", "persona", "role", "standing")


def decision_paths(run: RunReader, posts: pl.DataFrame) -> list[str]:
    """For each post the path of the decision that made it, by its step, author and words; empty where none fits.

    Args:
        run: The run.
        posts: Posts of it, with step, author and text.
    """
    steps = posts["step"].unique().sort().to_list()
    parts = [answers for answers in (run.answers(at=step) for step in steps) if answers.height]
    if not parts:
        return [""] * posts.height
    said = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("value").is_not_null())
    wanted = posts.select("post", "step", "text", person=pl.col("author").cast(pl.String))
    by = said.select("step", "path", pl.col("person").cast(pl.String), pl.col("value").cast(pl.String))
    found = (
        wanted.join(by, on=["step", "person"], how="left", maintain_order="left_right")
        # An opening is answered as JSON, with a title beside the text.
        .filter((pl.col("value") == pl.col("text")) | (pl.col("value").str.json_path_match("$.text") == pl.col("text")))
        .unique("post", keep="first", maintain_order=True)
        .select("post", "path")
    )
    paths = wanted.join(found, on="post", how="left", maintain_order="left")["path"].fill_null("")
    return paths.to_list()


def thread_facts(utterances: Sequence[ForumPost]) -> dict[str, Any]:
    """How many replies, people, removed and flagged utterances a thread has."""
    return {
        "replies": len(utterances) - 1,
        "people": len({each.author for each in utterances}),
        "removed": sum(each.removed for each in utterances),
        "flagged": sum(bool(each.flags) for each in utterances),
    }


def _heading() -> pl.Expr:
    number = pl.concat_str([pl.lit("Thread "), pl.col("thread")])
    own = pl.when(pl.col("title").fill_null("") != "").then("title").when(pl.col("opening") != "").then("opening")
    return (
        pl.when(pl.col("status") == "removed")
        .then(number + pl.lit(", whose opening a moderator removed"))
        .when("hidden")
        .then(number + pl.lit(", hidden by the filter"))
        .otherwise(own.otherwise(number))
    )


def _name(people: pl.DataFrame) -> pl.Expr:
    return pl.col("name") if "name" in people.columns else pl.col("id").cast(pl.String).alias("name")
