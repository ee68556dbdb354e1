"""The data of the forum page: a community after a step, with acts of moderators, verdicts and hidden texts."""

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

_POST_COLUMNS = ("post", "parent", "depth", "author", "name", "title", "text", "time", "step", "ups", "downs")
_MEMBER_COLUMNS = ("name", "persona", "role", "standing")


@dataclass(frozen=True)
class Flag:
    """The verdict of a judge that a post breaks a rule or meets another criterion.

    Attributes:
        text: The criterion in a few words, such as `breaks rule 2`.
        wording: The question that the judge was asked.
        answer: Its answer.
        chance: The probability of that answer, where the judge gives one.
    """

    text: str
    judge: str
    wording: str
    answer: str
    chance: float | None


@dataclass(frozen=True)
class ModerationMark:
    """An act of a moderator on a post, with the rule and the reason."""

    power: str
    moderator: str
    rule: int | None
    rule_text: str
    reason: str
    step: int


@dataclass(frozen=True)
class ForumPost:
    """One post with all that a researcher needs.

    Attributes:
        hidden: Whether the word filter hides it.
        removed: Whether a moderator removed it.
        marks: The acts of moderators on it.
        path: The path of the decision that wrote it; empty where it was written by hand or none matches.
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
    marks: tuple[ModerationMark, ...]
    path: str

    @property
    def score(self) -> int:
        """Votes for it minus votes against."""
        return self.ups - self.downs

    @property
    def covered(self) -> bool:
        """Whether its words are shown only after a click."""
        return self.hidden or self.removed


@dataclass(frozen=True)
class Member:
    """A member of the community; `wrote` are the member's posts, the latest first, `cast` the number of votes given."""

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
        word_filter: Which texts are hidden until a click; those with a word of the list that ships by default.
        like: A view of the same run whose tables need not be read again.
    """

    def __init__(
        self,
        run: RunReader,
        at: int | None = None,
        word_filter: WordFilter | None = None,
        *,
        like: ForumView | None = None,
    ) -> None:
        self.run = run
        self.community: Community = Community(run, at) if like is None else like.community.as_of(at)
        self.word_filter = WordFilter.read() if word_filter is None else word_filter

    def load(self) -> Self:
        """Read now what is otherwise read when it is drawn, and return the view."""
        _ = self.posts, self.community.people, self.community.moderation
        return self

    @functools.cached_property
    def posts(self) -> pl.DataFrame:
        """Every post, with whether it is hidden, its votes for and against, and its number of flags."""
        posts = self.community.posts
        votes = self.community.votes.group_by("post").agg(
            ups=(pl.col("vote") > 0).sum().cast(pl.Int64), downs=(pl.col("vote") < 0).sum().cast(pl.Int64)
        )
        flags = self.flags.group_by("post").agg(flags=pl.col("flag").n_unique().cast(pl.Int64))
        return (
            posts.with_columns(
                hidden=self.word_filter.hides(posts["text"]) | self.word_filter.hides(posts["title"].fill_null("")),
                removed=pl.col("status") == "removed",
            )
            .join(votes, on="post", how="left", maintain_order="left")
            .join(flags, on="post", how="left", maintain_order="left")
            .with_columns(pl.col("ups", "downs", "flags").fill_null(0))
        )

    @functools.cached_property
    def verdicts(self) -> pl.DataFrame:
        """Every verdict of every judge on the posts of that step."""
        verdicts = read_judgements(self.community).verdicts()
        return verdicts.filter(pl.col("post").is_in(self.community.posts["post"].implode()))

    @property
    def flags(self) -> pl.DataFrame:
        """The verdicts that flag a post."""
        return self.verdicts.filter(pl.col("flag").is_not_null())

    @property
    def judges(self) -> list[str]:
        """The names of the judges."""
        return self.verdicts["judge"].unique(maintain_order=True).to_list()

    def rules(self) -> pl.DataFrame:
        """The rules: number, kind, text, and how many posts break each according to any judge."""
        rules = pl.DataFrame(
            [(number, rule.kind, rule.text) for number, rule in enumerate(self.community.design.rules, 1)],
            schema={"rule": pl.Int64, "kind": pl.String, "text": pl.String},
            orient="row",
        )
        broken = self.flags.group_by("rule").agg(broken=pl.col("post").n_unique().cast(pl.Int64))
        counts = rules.join(broken, on="rule", how="left", maintain_order="left")
        return counts.with_columns(pl.col("broken").fill_null(0))

    def threads(self, sorting: Sorting | None = None, *, search: str = "", flagged: bool = False) -> pl.DataFrame:
        """A row for each thread, sorted.

        The columns are those of `Community.threads` with `flags` (how many posts have some), `hidden` (whether the
        filter hides its opening), `found` (the posts that match the search) and `heading`, which shows the title
        only where it is neither hidden nor removed.

        Args:
            sorting: `new`, `top` or `hot`; that of the design by default.
            search: Text that a post or the name of its author must contain, in any case of letters.
            flagged: Only threads with a flagged post.
        """
        words = search.strip().lower()
        matches = self.posts
        if words:
            fields = [pl.col(name).fill_null("").str.to_lowercase() for name in ("title", "text", "name")]
            matches = matches.filter(pl.any_horizontal(field.str.contains(words, literal=True) for field in fields))
        facts = self.posts.group_by("thread").agg(
            flags=(pl.col("flags") > 0).sum().cast(pl.Int64),
            hidden=pl.col("hidden").sort_by("post").first(),
            opening=pl.col("text").sort_by("post").first().str.slice(0, 200),
        )
        threads = (
            self.community.threads(sorting)
            .join(facts, on="thread", how="left", maintain_order="left")
            .join(matches.group_by("thread").agg(found="post"), on="thread", how="inner", maintain_order="left")
            .with_columns(heading=_heading())
        )
        return threads.filter(pl.col("flags") > 0) if flagged else threads

    def thread(self, post: int) -> list[ForumPost]:
        """The thread of a post, in reading order."""
        number = self.community.thread(post).number
        return self._forum_posts(self.posts.filter(pl.col("thread") == number).sort("place"))

    def some_posts(self, numbers: Sequence[int]) -> list[ForumPost]:
        """Posts by their numbers, in the order of writing."""
        return self._forum_posts(self.posts.filter(pl.col("post").is_in(list(numbers))))

    def members(self) -> pl.DataFrame:
        """Everybody: id, name, persona, role, standing, posts, votes received and posts removed; most posts first."""
        people = self.community.people.frame
        counts = self.posts.group_by("author").agg(
            posts=pl.len().cast(pl.Int64), votes=pl.col("score").sum(), removed=pl.col("removed").sum().cast(pl.Int64)
        )
        texts = [pl.col(name).cast(pl.String) if name in people.columns else pl.lit("").alias(name)
                 for name in _MEMBER_COLUMNS]  # fmt: skip
        return (
            people.select("id", *texts)
            .join(counts, left_on="id", right_on="author", how="left", maintain_order="left")
            .with_columns(pl.col("posts", "votes", "removed").fill_null(0))
            .sort("posts", descending=True, maintain_order=True)
        )

    def member(self, who: str) -> Member:
        """A member by the id in an address."""
        matches = self.members().filter(pl.col("id").cast(pl.String) == who)
        if not matches.height:
            raise UnknownNameError("member", who, self.community.people.ids.cast(pl.String).to_list())
        row = matches.with_columns(pl.col(*_MEMBER_COLUMNS).fill_null("")).row(0, named=True)
        posts = self.posts.filter(pl.col("author") == row["id"]).sort("post", descending=True)
        votes = self.community.votes
        cast = votes.filter(pl.col("person") == row["id"]).height if votes.height else 0
        return Member(**row, cast=cast, wrote=posts)

    def _forum_posts(self, posts: pl.DataFrame) -> list[ForumPost]:
        flags: dict[int, list[Flag]] = {}
        for row in self.flags.filter(pl.col("post").is_in(posts["post"].implode())).iter_rows(named=True):
            chance = row["yes"] if row["yes"] is None or row["value"] == "yes" else 1 - row["yes"]
            flag = Flag(row["flag"], row["judge"], row["wording"], row["value"], chance)
            flags.setdefault(row["post"], []).append(flag)
        acts = self.community.acts_by_post()
        plain = posts.select(*_POST_COLUMNS, "origin", "hidden", "removed")
        plain = plain.with_columns(pl.col("title", "text").fill_null(""), path=decision_paths(self.run, posts))
        return [
            ForumPost(
                **row,
                flags=tuple(flags.get(row["post"], ())),
                marks=tuple(map(self._moderation_mark, acts.get(row["post"], ()))),
            )
            for row in plain.iter_rows(named=True)
        ]

    @functools.cached_property
    def _names(self) -> dict[Id, str]:
        people = self.community.people.frame
        return dict(people.select("id", "name").iter_rows()) if "name" in people.columns else {}

    def _moderation_mark(self, act: dict[str, Any]) -> ModerationMark:
        rules, rule = self.community.design.rules, act["rule"]
        text = rules[rule - 1].text if rule is not None and 0 < rule <= len(rules) else ""
        moderator = str(self._names.get(act["moderator"], act["moderator"]))
        return ModerationMark(act["power"], moderator, rule, text, act["reason"] or "", act["step"])


def decision_paths(run: RunReader, posts: pl.DataFrame) -> pl.Series:
    """For each post the path of the decision that wrote it, by step, author and text; empty where none matches."""
    steps = posts["step"].unique().sort().to_list()
    answers = [table for table in (run.answers(at=step) for step in steps) if table.height]
    if not answers:
        return pl.Series([""] * posts.height, dtype=pl.String)
    texts = posts.select("post", "step", "text", person=pl.col("author").cast(pl.String))
    values = (
        pl.concat(answers, how="diagonal_relaxed")
        .filter(pl.col("value").is_not_null())
        .select("step", "path", pl.col("person", "value").cast(pl.String))
    )
    matches = (
        texts.join(values, on=["step", "person"], how="left", maintain_order="left_right")
        # An opening is answered as JSON, with a title beside the text.
        .filter((pl.col("value") == pl.col("text")) | (pl.col("value").str.json_path_match("$.text") == pl.col("text")))
        .unique("post", keep="first", maintain_order=True)
        .select("post", "path")
    )
    return texts.join(matches, on="post", how="left", maintain_order="left")["path"].fill_null("")


def thread_facts(posts: Sequence[ForumPost]) -> dict[str, Any]:
    """How many replies, people, removed and flagged posts a thread has."""
    return {
        "replies": len(posts) - 1,
        "people": len({each.author for each in posts}),
        "removed": sum(each.removed for each in posts),
        "flagged": sum(bool(each.flags) for each in posts),
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
