"""A community before it opens, after Social Simulacra (Park and others, UIST 2022).

Threads are opened, and in each step every open thread grows by at most one reply. Everything random
in a thread is keyed by the thread and its turn, so that a change in one changes nothing in another.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.minds import expand
from populace.models import open_embedder
from populace.people import Id, People
from populace.questions import Choice, Utterance
from populace.runs.reader import RunReader
from populace.scenarios.forum import moderation
from populace.scenarios.forum.design import ForumDesign
from populace.scenarios.forum.membership import MemberIndex, people_from_seeds, with_roles
from populace.scenarios.forum.moderation import POWERS, ModeratorAct
from populace.scenarios.forum.report import forum_report
from populace.scenarios.forum.what_if import WhatIf, guest
from populace.scenarios.forum.wording import (
    ASK_OPENING,
    ASK_POWER,
    ASK_REPLY,
    ASK_RULE,
    ASK_VOTE,
    COMMUNITY,
    JUDGING,
    NAME_ALONE,
    OPENING,
    PROFILE,
    READING,
    REPLY,
    UNDESCRIBED,
    WARNED,
    front_page,
    nudges,
)
from populace.worlds.forum import POSTS, Board, SpeakerDraw, Threads, chances, gini

_SECONDS = 3600


class Forum(Scenario):
    """People of a community write posts and answer each other, as its design says."""

    design: ForumDesign = Field(
        "repair-bench", validate_default=True, description="The community: a YAML file, or a design that ships."
    )
    expand: bool = Field(True, description="Whether the model makes many people of the few; otherwise they repeat.")
    describe: bool = Field(True, description="Whether writers are told what the community is for, and its rules.")
    personas: bool = Field(True, description="Whether writers are told who they are beyond a name.")
    embedder: str = Field("hashing", description="Which embedder tells people apart who are nearly the same.")
    whatif: WhatIf | None = Field(None, description="How a thread goes on from an utterance in another way.")

    tick: ClassVar[timedelta] = timedelta(seconds=_SECONDS)
    chart: ClassVar[tuple[str, ...]] = ("posts", "replies", "participants")

    async def setup(self) -> People:
        """Who is there, and an empty board."""
        design = self.design
        people = with_roles(await self._inhabited(), design, self.rng)
        self.board = Board(people.ids.dtype)
        self.threads = Threads(design.posts, design.replies)
        self.speakers = SpeakerDraw(design.posts)
        self.members = MemberIndex()
        self.planned = 0
        self.lost = 0
        self.turned: WhatIf | None = None
        self.turned_at = 0
        self.voted: set[tuple[int, Id]] = set()
        self.tables["posts"] = self.board.posts.select(POSTS)
        for sentence in design.contradictions():
            self.event("warning", text=sentence)
        return people

    async def _inhabited(self) -> People:
        """Many people from the few of the design: by the model, or by repeating them."""
        design = self.design
        if not (self.expand and self.personas):
            return people_from_seeds(design, self.rng)
        made = await expand(
            self, design.personas, design.people, goal=design.goal, embedder=open_embedder(self.embedder), rng=self.rng
        )
        self.event("expanded", **dict(made.counts))
        return made.people

    def profile(self) -> str:
        """Who one is."""
        return PROFILE if self.personas else NAME_ALONE

    def length(self) -> int:
        """As many steps as it can take at most from here; it ends before, once all is at rest."""
        design, threads = self.design, self.threads
        growing = threads.growing()
        left = int((threads.limit[growing] - threads.turns[growing]).max(initial=0))
        if self.planned < design.posts:
            batch = min(design.together, self.people.where(standing={"ne": "banned"}).count())
            left = max(left, -(-(design.posts - self.planned) // max(1, batch)) + design.replies)
        return self.t + max(left, 1 + design.replies if self._is_turned else 1)

    def stop(self) -> str | None:
        """The community is at rest once every thread is."""
        waiting = self.planned < self.design.posts or len(self.threads.growing()) or self._is_turned
        return None if waiting else "every thread has come to rest"

    async def step(self) -> None:
        """New threads are opened, and every open one grows by at most one reply; all see the same board."""
        asked = self._what_if()
        self.members.update(self.people)
        self.speakers.pool = self.members.pool
        drafts = [self._openings(), *self._replies(asked)]
        written = [made for made in await self.each(drafts, self._write) if made is not None]
        if asked is not None and asked["text"] is not None:
            written.append(self._by_hand(asked))
        new = self._publish(written)
        await self._moderate(new)
        await self._vote()

    def _what_if(self) -> dict[str, Any] | None:
        """The utterance that a fork answers in its first step, and by whom."""
        wanted = self.whatif
        if wanted is None or not self._is_turned:
            return None
        found = self.board.find(wanted.post)
        if found is None:
            raise UsageError(f"there is no utterance {wanted.post} here.", f"There are 1 to {len(self.board)}.")
        self.turned, self.turned_at = wanted, self.t
        slot = int(found["slot"])
        self.threads.reopen(slot, wanted.draw, max(self.design.replies, 1))
        if not wanted.answers:
            return None
        if wanted.person is not None:
            who: Id = self.people.person(wanted.person).id
            if who == found["author"]:
                raise UsageError(f"utterance {wanted.post} is by {found['name']}, who cannot reply to themselves.")
        else:
            who, one = guest(self.people, wanted.as_)
            self.people.add(one)
        return {"slot": slot, "who": who, "parent": wanted.post, "to": found["name"], "text": wanted.line}

    def _openings(self) -> pl.DataFrame:
        """Who opens the next threads, and what they have read before."""
        design, roll = self.design, self.members
        if not roll.join.any():
            self.planned = design.posts
        most = min(design.together, design.posts - self.planned, int(roll.join.sum()))
        slots = np.arange(self.planned, self.planned + most)
        self.planned += len(slots)
        who = self.speakers.openers(self.stage.seed, slots, roll.join)
        front = self.board.front(design.sorting, design.front, self._seconds)
        new = roll.newcomer[who]
        read = np.where(new, front_page(front), "")
        if front.height and new.any():
            ids = self.people.ids.gather(roll.row[who[new]])
            self.events("read", ids, posts=pl.Series([front["post"].to_list()] * ids.len()))
        return pl.DataFrame({"slot": slots, "who": who, "read": read.tolist()})

    def _replies(self, asked: dict[str, Any] | None) -> list[pl.DataFrame]:
        """Who answers in which thread, in a table for each way to go on."""
        design, threads, roll, seed = self.design, self.threads, self.members, self.stage.seed
        slots = threads.go_on(seed, design.reply_chance, surely=self._turning())
        if asked is not None:
            slots = slots[slots != asked["slot"]]
        turns, draws = threads.turns[slots], threads.draw[slots]
        who = self.speakers.responders(seed, slots, turns, draws, roll.join, roll.speak, design.new_chance)
        threads.open[slots[who < 0]] = False
        threads.turns[slots] += 1
        slots, turns, draws, who = (column[who >= 0] for column in (slots, turns, draws, who))
        aside = chances(seed, "aside", slots, turns, draws) < design.aside_chance
        luck = chances(seed, "which", slots, turns, draws)
        ids = self.people.ids.gather(roll.row[who])
        table = self.board.reply_targets(slots, ids, slots[aside], luck.tolist())
        table = table.with_columns(who=pl.Series(who), draw=pl.Series(draws)).filter(pl.col("parent").is_not_null())
        if asked is not None:
            threads.turns[asked["slot"]] += 1
        if asked is not None and asked["text"] is None:
            one = {"slot": asked["slot"], "parent": asked["parent"], "to": asked["to"]}
            extra = one | {"who": roll.number(asked["who"]), "draw": int(threads.draw[asked["slot"]])}
            table = pl.concat([table, pl.DataFrame([extra], schema=table.schema)])
        shown = self.board.transcripts(table["slot"].to_numpy(), design.room).select("transcript", "trimmed")
        table = pl.concat([table, shown], how="horizontal").filter(pl.col("transcript").is_not_null())
        most = int(table["draw"].max() or 0) if table.height else 0  # type: ignore[arg-type]
        return [table.filter(pl.col("draw") == draw).drop("draw") for draw in range(most + 1)]

    async def _write(self, draft: pl.DataFrame) -> pl.DataFrame | None:
        """Have one table of posts written; what cannot be read is dropped and counted."""
        if not draft.height:
            return None
        opening = "read" in draft.columns
        writers = self.people.rows(self.members.row[draft["who"].to_numpy()])
        question = Utterance(ASK_OPENING if opening else ASK_REPLY, limit=self.design.length, title=opening)
        warned = (writers["standing"] == "warned").to_numpy()
        told: dict[str, Any] = {name: draft[name] for name in ("read", "to", "transcript") if name in draft.columns}
        answers = await self.ask(
            writers,
            question,
            given=(COMMUNITY if self.describe else UNDESCRIBED) + (OPENING if opening else REPLY),
            purpose="opening" if opening else "reply",
            warned=np.where(warned, WARNED, "").tolist(),
            **self._community(),
            **told,
        )
        said = question.split_titles(answers.values)
        made = pl.concat([draft, said], how="horizontal").with_columns(name=writers["name"], author=writers.ids)
        if opening:
            made = made.with_columns(parent=pl.lit(None, pl.Int64), trimmed=pl.lit(0))
        kept = made.filter(pl.col("text").is_not_null())
        self.lost += made.height - kept.height
        columns = ("slot", "parent", "who", "author", "name", "title", "text", "trimmed")
        return kept.select(*columns, pl.lit("model").alias("origin"))

    def _by_hand(self, asked: dict[str, Any]) -> pl.DataFrame:
        """A line that the user wrote, in the mouth of whoever was chosen."""
        person = self.people.person(asked["who"])
        row = {"slot": asked["slot"], "parent": asked["parent"], "who": self.members.number(person.id)}
        said = {"author": person.id, "name": person.name, "title": None, "text": asked["text"], "trimmed": 0}
        schema = {"title": pl.String(), "author": self.people.ids.dtype}
        return pl.DataFrame([row | said | {"origin": "hand"}], schema_overrides=schema)

    def _publish(self, written: list[pl.DataFrame]) -> pl.DataFrame:
        """Put what was written on the board, each post at a time of its own within the step."""
        if not written or not sum(part.height for part in written):
            return self.board.posts.clear()
        rows = pl.concat(written, how="vertical_relaxed")
        slots = rows["slot"].to_numpy()
        turns, draws = self.threads.turns[slots], self.threads.draw[slots]
        at = (chances(self.stage.seed, "time", slots, turns, draws) * _SECONDS).astype(np.int64)
        rows = rows.with_columns(time=pl.Series(at + (self.t - 1) * _SECONDS))
        self.speakers.record(slots, rows["who"].to_numpy())
        new = self.board.add(rows)
        first = new.filter(pl.col("parent").is_null())
        self.threads.mark_open(first["slot"].to_numpy(), first["post"].to_numpy())
        self.tables["posts"] = new.select(POSTS)
        return new

    async def _moderate(self, new: pl.DataFrame) -> None:
        design, threads = self.design, self.threads
        if design.moderate_by == "nobody":
            return
        slots = new["slot"].to_numpy()
        luck = chances(self.stage.seed, "moderator", slots, threads.turns[slots], threads.draw[slots])
        watching = moderation.moderators_on_duty(self.people, luck)
        if design.moderate_by == "rule":
            acts = moderation.acts_by_trigger(design, new, watching) if watching else []
        else:
            # A scope for each thread, whether it has a new post or not, keeps the draws of one apart from the others.
            posts: list[dict[str, Any] | None] = [None] * len(threads)
            for post, moderator in zip(new.iter_rows(named=True), watching, strict=False):
                posts[post["slot"]] = post | {"moderator": moderator}
            acts = [act for act in await self.each(posts, self._judge) if act is not None]
        if acts:
            moderation.apply_acts(acts, self.board, threads, self.people)
            self.tables["moderation"] = moderation.moderation_table(acts, self.people.ids.dtype)

    async def _judge(self, post: dict[str, Any] | None) -> ModeratorAct | None:
        """A moderator looks at one new post."""
        if post is None:
            return None
        moderator = self.people.take([post["moderator"]])
        said = f"{post['title']}\n{post['text']}" if post["title"] else post["text"]
        told = {**self._community(), "writer": post["name"], "said": said}
        power = Choice(ASK_POWER, options=POWERS)
        done = (await self.ask(moderator, power, given=JUDGING, purpose="moderation", **told)).one
        if done is None or done == "nothing":
            return None
        rule = None
        if self.design.rules:
            options = tuple(str(number) for number in range(1, len(self.design.rules) + 1))
            named = await self.ask(
                moderator, Choice(ASK_RULE, options=options), given=JUDGING, purpose="moderation", **told
            )
            rule = None if named.one is None else int(str(named.one))
        reason = self.design.rules[rule - 1].text if rule else ""
        return ModeratorAct(post["post"], post["moderator"], str(done), rule, reason, post["author"])

    async def _vote(self) -> None:
        """Readers go down the front page and vote on a post that they had not voted on."""
        await self.each([self._ballots()] if self.design.votes else [], self._cast)

    def _ballots(self) -> pl.DataFrame:
        front = self.board.front(self.design.sorting, self.design.front, self._seconds)
        seen = self.board.posts.filter(pl.col("slot").is_in(front["slot"].implode()), ~pl.col("removed")).select(
            "post", "author", "name", "title", "text"
        )
        members = np.flatnonzero(self.members.join)
        count = min(self.design.votes, len(members)) if seen.height else 0
        rows = []
        for number in self.rng.choice(members, count, replace=False).tolist():
            who = self.people.ids[int(self.members.row[number])]
            post = seen.row(int(self.rng.integers(seen.height)), named=True)
            if post["author"] != who and (post["post"], who) not in self.voted:
                said = f"{post['title']}\n{post['text']}" if post["title"] else post["text"]
                rows.append({"who": number, "post": post["post"], "writer": post["name"], "said": said})
        return pl.DataFrame(rows)

    async def _cast(self, ballots: pl.DataFrame) -> None:
        if not ballots.height:
            return
        readers = self.people.rows(self.members.row[ballots["who"].to_numpy()])
        answers = await self.ask(
            readers,
            Choice(ASK_VOTE, options=("up", "down", "nothing")),
            given=READING,
            purpose="vote",
            writer=ballots["writer"],
            said=ballots["said"],
            **self._community(),
        )
        self.voted |= set(zip(ballots["post"].to_list(), readers.ids.to_list(), strict=True))
        value = answers.values.cast(pl.String).replace_strict({"up": 1, "down": -1}, default=0, return_dtype=pl.Int64)
        votes = pl.DataFrame({"post": ballots["post"], "person": readers.ids, "vote": value}).filter(
            pl.col("vote") != 0
        )
        if votes.height:
            self.board.vote(votes["post"], votes["vote"])
            self.tables["votes"] = votes

    def _community(self) -> dict[str, Any]:
        return {"community": self.design.name, "goal": self.design.goal, "nudges": nudges(self.design)}

    def _turning(self) -> int:
        """The thread that is turned in this step; -1 where none is."""
        found = self.board.find(self.turned.post) if self.turned and self.turned_at == self.t else None
        return -1 if found is None else int(found["slot"])

    @property
    def _is_turned(self) -> bool:
        """Whether a thread is yet to be turned."""
        return self.whatif is not None and self.whatif != self.turned

    @property
    def _seconds(self) -> int:
        return (self.t - 1) * _SECONDS

    def view(self) -> list[str]:
        """The latest posts, and what should be known about the rules."""
        latest = self.board.posts.tail(4).select("post", "name", "text").iter_rows()
        lines = [f"{post}  {name}: {' '.join(text.split())[:90]}" for post, name, text in latest]
        return [f"warning: {sentence}" for sentence in self.design.contradictions()] + lines

    @metric
    def posts(self) -> int:
        """How many threads there are."""
        return int(self.board.posts["parent"].is_null().sum())

    @metric
    def replies(self) -> int:
        """How many replies there are."""
        return len(self.board) - self.posts()

    @metric
    def participants(self) -> int:
        """How many people have written anything."""
        return self.board.posts["author"].n_unique()

    @metric
    def newcomer_share(self) -> float | None:
        """The share of what was written that newcomers wrote."""
        new = self.people.where(role="newcomer").ids
        found = self.board.posts["author"].is_in(new.implode()).mean()
        return float(found) if isinstance(found, (int, float)) else None

    @metric
    def inequality(self) -> float | None:
        """The Gini coefficient of how much people wrote, those who wrote nothing counted."""
        wrote = self.board.posts["author"].value_counts()["count"].to_numpy()
        return gini(np.concatenate([wrote, np.zeros(max(0, len(self.people) - len(wrote)), np.int64)]))

    @metric
    def mean_length(self) -> float | None:
        """The mean number of characters of what was written."""
        found = self.board.posts["text"].str.len_chars().mean()
        return float(found) if isinstance(found, (int, float)) else None

    @metric
    def dropped(self) -> int:
        """How many posts could not be read and reached no thread."""
        return self.lost

    @metric
    def removed(self) -> int:
        """How many posts moderators removed."""
        return int(self.board.posts["removed"].sum())

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """The liveliest threads, who wrote most, and what moderators did."""
        return forum_report(run)
