"""An online community before it opens, after Social Simulacra (Park and others, UIST 2022).

In each step, new threads are opened and every open thread grows by at most one reply. Every random
number of a thread is keyed by the thread and its turn, so that a change in one thread changes
nothing in another.
"""

from datetime import timedelta
from typing import Any, ClassVar

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.engine.scenario import Field, ReportTable, Scenario, metric
from populace.minds import expand
from populace.people import Id, People
from populace.questions import Choice, Utterance
from populace.runs.reader import RunReader
from populace.scenarios.forum import moderation, wording
from populace.scenarios.forum.design import ForumDesign
from populace.scenarios.forum.membership import MemberIndex, numbered_people, people_from_seeds, with_roles
from populace.scenarios.forum.moderation import POWERS, ModeratorAct
from populace.scenarios.forum.report import forum_report
from populace.scenarios.forum.what_if import ForcedReply, WhatIf, guest
from populace.worlds.forum import POSTS, Board, SpeakerDraw, Threads, chances, gini

_SECONDS = 3600


class Forum(Scenario):
    """Members of a community write posts and reply to each other, as its design says."""

    design: ForumDesign = Field(
        "repair-bench",
        validate_default=True,
        description="The community: a YAML file, or a design that ships.",
    )
    expand: bool = Field(
        True, description="Whether the model makes more people from the personas; otherwise these repeat."
    )
    describe: bool = Field(True, description="Whether writers are told the goal and the rules of the community.")
    personas: bool = Field(True, description="Whether writers have a name and a persona, and not only a number.")
    embedder: str = Field("hashing", description="The embedder that finds people who are nearly the same.")
    whatif: WhatIf | None = Field(None, description="A post from which its thread continues in another way.")

    tick: ClassVar[timedelta] = timedelta(seconds=_SECONDS)
    chart: ClassVar[tuple[str, ...]] = ("posts", "replies", "participants")

    async def setup(self) -> People:
        """Make the people, and an empty board."""
        design = self.design
        people = with_roles(await self._make_people(), design, self.rng)
        self.board = Board(people.ids.dtype)
        self.first_design = design
        self.threads = Threads(design.posts, design.replies)
        self.speakers = SpeakerDraw(design.posts)
        self.members = MemberIndex()
        self.next_slot = 0
        self.unreadable = 0
        self.applied_what_if: WhatIf | None = None
        self.what_if_step = 0
        self.votes_cast: set[tuple[int, Id]] = set()
        self.tables["posts"] = self.board.posts.select(*POSTS)
        for sentence in design.contradictions():
            self.event("warning", text=sentence)
        return people

    async def _make_people(self) -> People:
        design = self.design
        if not self.personas:
            return numbered_people(people_from_seeds(design, self.rng))
        if not self.expand:
            return people_from_seeds(design, self.rng)
        expansion = await expand(
            self,
            design.personas,
            design.people,
            goal=design.goal,
            embedder=self.open_embedder(self.embedder),
            rng=self.rng,
        )
        self.event("expanded", **dict(expansion.counts))
        return expansion.people

    def profile(self) -> str:
        """The template of a person's profile."""
        return wording.PROFILE if self.personas else wording.NAME_ALONE

    def length(self) -> int:
        """The most steps that the run can still take; it ends earlier once no thread can grow."""
        design, threads = self.design, self.threads
        growing = threads.growing()
        remaining = int((threads.limit[growing] - threads.turns[growing]).max(initial=0))
        if self.next_slot < design.posts:
            batch = min(design.together, self.people.where(standing={"ne": "banned"}).count())
            remaining = max(remaining, -(-(design.posts - self.next_slot) // max(1, batch)) + design.replies)
        return self.t + max(remaining, 1 + design.replies if self._what_if_pending else 1)

    def stop(self) -> str | None:
        """The run ends once no thread can grow."""
        active = self.next_slot < self.design.posts or len(self.threads.growing()) or self._what_if_pending
        return None if active else "every thread has come to rest"

    async def step(self) -> None:
        """Open new threads, and add at most one reply to every open one; all writers see the same board."""
        self.first_design.check_change(self.design)
        forced = self._apply_what_if()
        self.members.update(self.people)
        self.speakers.pool = self.members.pool
        drafts = [self._openings(), *self._replies(forced)]
        posts = [table for table in await self.each(drafts, self._write) if table is not None]
        if forced is not None and forced.text is not None:
            posts.append(self._user_post(forced))
        await self._moderate(self._publish(posts))
        await self._vote()

    def _apply_what_if(self) -> ForcedReply | None:
        """Reopen the thread of a what-if in the first step of the fork; returns the reply that it asks for, if any."""
        what_if = self.whatif
        if what_if is None or not self._what_if_pending:
            return None
        post = self.board.find(what_if.post)
        if post is None:
            raise UsageError(f"there is no post {what_if.post}.", f"Posts are numbered 1 to {len(self.board)}.")
        self.applied_what_if, self.what_if_step = what_if, self.t
        slot = int(post["slot"])
        self.threads.reopen(slot, what_if.draw, max(self.design.replies, 1))
        if not what_if.has_responder:
            return None
        if what_if.person is not None:
            author: Id = self.people.person(what_if.person).id
            if author == post["author"]:
                raise UsageError(f"post {what_if.post} is by {post['name']}, who cannot reply to themselves.")
        else:
            author, one = guest(self.people, what_if.as_)
            self.people.add(one)
        return ForcedReply(slot, author, what_if.post, post["name"], what_if.line)

    def _openings(self) -> pl.DataFrame:
        """Drafts of new threads: who opens each, and the front page that newcomers have read before."""
        design, members = self.design, self.members
        if not members.join.any():
            self.next_slot = design.posts
        most = min(design.together, design.posts - self.next_slot, int(members.join.sum()))
        slots = np.arange(self.next_slot, self.next_slot + most)
        self.next_slot += len(slots)
        who = self.speakers.openers(self.stage.settings.seed, slots, members.join)
        front = self.board.front(design.sorting, design.front, self._seconds)
        is_new = members.newcomer[who]
        read = np.where(is_new, wording.front_page(front), "")
        if front.height and is_new.any():
            ids = self.people.ids.gather(members.row[who[is_new]])
            self.events("read", ids, posts=pl.Series([front["post"].to_list()] * ids.len()))
        return pl.DataFrame({"slot": slots, "who": who, "read": read.tolist()})

    def _replies(self, forced: ForcedReply | None) -> list[pl.DataFrame]:
        """Drafts of replies: who replies to whom in which thread, in a table for each random continuation."""
        design, threads, members, seed = self.design, self.threads, self.members, self.stage.settings.seed
        slots = threads.draw_growing(seed, design.reply_chance, certain=self._reopened_slot())
        if forced is not None:
            slots = slots[slots != forced.slot]
        turns, draws = threads.turns[slots], threads.draw[slots]
        who = self.speakers.responders(seed, slots, turns, draws, members.join, members.speak, design.new_chance)
        threads.open[slots[who < 0]] = False
        threads.turns[slots] += 1
        slots, turns, draws, who = (column[who >= 0] for column in (slots, turns, draws, who))
        aside = chances(seed, "aside", slots, turns, draws) < design.aside_chance
        luck = chances(seed, "which", slots, turns, draws)
        ids = self.people.ids.gather(members.row[who])
        table = self.board.reply_targets(slots, ids, slots[aside], luck.tolist())
        table = table.with_columns(who=pl.Series(who), draw=pl.Series(draws)).filter(pl.col("parent").is_not_null())
        if forced is not None:
            threads.turns[forced.slot] += 1
        if forced is not None and forced.text is None:
            row = {"slot": forced.slot, "parent": forced.parent, "to": forced.to}
            row |= {"who": members.number(forced.author), "draw": int(threads.draw[forced.slot])}
            table = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
        transcripts = self.board.transcripts(table["slot"].to_numpy(), design.room).select("transcript", "trimmed")
        table = pl.concat([table, transcripts], how="horizontal").filter(pl.col("transcript").is_not_null())
        most = int(table["draw"].max() or 0) if table.height else 0  # type: ignore[arg-type]
        return [table.filter(pl.col("draw") == draw).drop("draw") for draw in range(most + 1)]

    async def _write(self, draft: pl.DataFrame) -> pl.DataFrame | None:
        """Have the posts of one table written; those that cannot be read are dropped and counted."""
        if not draft.height:
            return None
        opening = "read" in draft.columns
        writers = self.people.rows(self.members.row[draft["who"].to_numpy()])
        question = Utterance(
            wording.ASK_OPENING if opening else wording.ASK_REPLY, limit=self.design.length, title=opening
        )
        warned = (writers["standing"] == "warned").to_numpy()
        fields: dict[str, Any] = {name: draft[name] for name in ("read", "to", "transcript") if name in draft.columns}
        answers = await self.ask(
            writers,
            question,
            given=(wording.COMMUNITY if self.describe else wording.UNDESCRIBED)
            + (wording.OPENING if opening else wording.REPLY),
            purpose="opening" if opening else "reply",
            warned=np.where(warned, wording.WARNED, "").tolist(),
            **self._community(),
            **fields,
        )
        texts = question.split_titles(answers.values)
        posts = pl.concat([draft, texts], how="horizontal").with_columns(name=writers["name"], author=writers.ids)
        if opening:
            posts = posts.with_columns(parent=pl.lit(None, pl.Int64), trimmed=pl.lit(0))
        readable = posts.drop_nulls("text")
        self.unreadable += posts.height - readable.height
        columns = ("slot", "parent", "who", "author", "name", "title", "text", "trimmed")
        return readable.select(*columns, pl.lit("model").alias("origin"))

    def _user_post(self, forced: ForcedReply) -> pl.DataFrame:
        person = self.people.person(forced.author)
        row: dict[str, Any] = {"slot": forced.slot, "parent": forced.parent, "who": self.members.number(person.id)}
        row |= {"author": person.id, "name": person.name, "title": None, "text": forced.text, "trimmed": 0}
        schema = {"title": pl.String(), "author": self.people.ids.dtype}
        return pl.DataFrame([row | {"origin": "hand"}], schema_overrides=schema)

    def _publish(self, posts: list[pl.DataFrame]) -> pl.DataFrame:
        """Put new posts on the board, each at its own time within the step; returns them as numbered."""
        if not sum(part.height for part in posts):
            return self.board.posts.clear()
        rows = pl.concat(posts, how="vertical_relaxed")
        slots = rows["slot"].to_numpy()
        turns, draws = self.threads.turns[slots], self.threads.draw[slots]
        within_step = (chances(self.stage.settings.seed, "time", slots, turns, draws) * _SECONDS).astype(np.int64)
        rows = rows.with_columns(time=pl.Series(within_step + self._seconds))
        self.speakers.record(slots, rows["who"].to_numpy())
        new = self.board.add(rows)
        openings = new.filter(pl.col("parent").is_null())
        self.threads.mark_open(openings["slot"].to_numpy(), openings["post"].to_numpy())
        self.tables["posts"] = new.select(*POSTS)
        return new

    async def _moderate(self, new: pl.DataFrame) -> None:
        """Let moderators look at new posts, by the triggers of the design or by the model."""
        design, threads = self.design, self.threads
        if design.moderate_by == "nobody":
            return
        slots = new["slot"].to_numpy()
        luck = chances(self.stage.settings.seed, "moderator", slots, threads.turns[slots], threads.draw[slots])
        on_duty = moderation.moderators_on_duty(self.people, luck)
        if design.moderate_by == "rule":
            acts = moderation.acts_by_trigger(design, new, on_duty) if on_duty else []
        else:
            # A scope for every thread, with a new post or not, so that the draws of a thread depend on no other.
            posts: list[dict[str, Any] | None] = [None] * len(threads)
            for post, moderator in zip(new.iter_rows(named=True), on_duty, strict=False):
                posts[post["slot"]] = post | {"moderator": moderator}
            acts = [act for act in await self.each(posts, self._moderator_act) if act is not None]
        if acts:
            moderation.apply_acts(acts, self.board, threads, self.people)
            self.tables["moderation"] = moderation.moderation_table(acts, self.people.ids.dtype)

    async def _moderator_act(self, post: dict[str, Any] | None) -> ModeratorAct | None:
        """What the model does as the moderator of one new post, if anything."""
        if post is None:
            return None
        moderator = self.people.take([post["moderator"]])
        fields = {**self._community(), "writer": post["name"], "said": _titled_text(post)}
        powers = Choice(wording.ASK_POWER, options=POWERS)
        power = (await self.ask(moderator, powers, given=wording.JUDGING, purpose="moderation", **fields)).one
        if power is None or power == "nothing":
            return None
        rule = None
        if self.design.rules:
            rules = Choice(
                wording.ASK_RULE, options=tuple(str(number) for number in range(1, len(self.design.rules) + 1))
            )
            number = (await self.ask(moderator, rules, given=wording.JUDGING, purpose="moderation", **fields)).one
            rule = None if number is None else int(str(number))
        reason = self.design.rules[rule - 1].text if rule else ""
        return ModeratorAct(post["post"], post["moderator"], str(power), rule, reason, post["author"])

    async def _vote(self) -> None:
        """Let some members each vote on a post of the front page on which they have not voted yet."""
        await self.each([self._ballots()] if self.design.votes else [], self._cast)

    def _ballots(self) -> pl.DataFrame:
        front = self.board.front(self.design.sorting, self.design.front, self._seconds)
        candidates = self.board.posts.filter(pl.col("slot").is_in(front["slot"].implode()), ~pl.col("removed")).select(
            "post", "author", "name", "title", "text"
        )
        members = np.flatnonzero(self.members.join)
        count = min(self.design.votes, len(members)) if candidates.height else 0
        rows = []
        for number in self.rng.choice(members, count, replace=False).tolist():
            who = self.people.ids[int(self.members.row[number])]
            post = candidates.row(int(self.rng.integers(candidates.height)), named=True)
            if post["author"] != who and (post["post"], who) not in self.votes_cast:
                text = _titled_text(post)
                rows.append({"who": number, "post": post["post"], "writer": post["name"], "said": text})
        return pl.DataFrame(rows)

    async def _cast(self, ballots: pl.DataFrame) -> None:
        if not ballots.height:
            return
        readers = self.people.rows(self.members.row[ballots["who"].to_numpy()])
        answers = await self.ask(
            readers,
            Choice(wording.ASK_VOTE, options=("up", "down", "nothing")),
            given=wording.READING,
            purpose="vote",
            writer=ballots["writer"],
            said=ballots["said"],
            **self._community(),
        )
        self.votes_cast |= set(zip(ballots["post"].to_list(), readers.ids.to_list(), strict=True))
        value = answers.values.cast(pl.String).replace_strict({"up": 1, "down": -1}, default=0, return_dtype=pl.Int64)
        votes = pl.DataFrame({"post": ballots["post"], "person": readers.ids, "vote": value}).filter(
            pl.col("vote") != 0
        )
        if votes.height:
            self.board.vote(votes["post"], votes["vote"])
            self.tables["votes"] = votes

    def _community(self) -> dict[str, Any]:
        return {"community": self.design.name, "goal": self.design.goal, "nudges": wording.nudges(self.design)}

    def _reopened_slot(self) -> int:
        """The thread that a what-if reopened in this step; -1 where there is none."""
        what_if = self.applied_what_if
        post = self.board.find(what_if.post) if what_if and self.what_if_step == self.t else None
        return -1 if post is None else int(post["slot"])

    @property
    def _what_if_pending(self) -> bool:
        return self.whatif is not None and self.whatif != self.applied_what_if

    @property
    def _seconds(self) -> int:
        """The time at which the current step began."""
        return (self.t - 1) * _SECONDS

    def view(self) -> list[str]:
        """Warnings about the rules, and the latest posts."""
        latest = self.board.posts.tail(4).select("post", "name", "text").iter_rows()
        lines = [f"{post}  {name}: {' '.join(text.split())[:90]}" for post, name, text in latest]
        return [f"warning: {sentence}" for sentence in self.design.contradictions()] + lines

    @metric
    def posts(self) -> int:
        """The number of threads."""
        return int(self.board.posts["parent"].is_null().sum())

    @metric
    def replies(self) -> int:
        """The number of replies."""
        return len(self.board) - self.posts()

    @metric
    def participants(self) -> int:
        """The number of people who have written at least one post."""
        return self.board.posts["author"].n_unique()

    @metric
    def newcomer_share(self) -> float | None:
        """The share of posts by newcomers."""
        newcomers = self.people.where(role="newcomer").ids
        share = self.board.posts["author"].is_in(newcomers.implode()).mean()
        return float(share) if isinstance(share, (int, float)) else None

    @metric
    def inequality(self) -> float | None:
        """The Gini coefficient of posts per person, with people who wrote nothing."""
        by_writer = self.board.posts["author"].value_counts()["count"].to_numpy()
        return gini(np.concatenate([by_writer, np.zeros(max(0, len(self.people) - len(by_writer)), np.int64)]))

    @metric
    def mean_length(self) -> float | None:
        """The mean number of characters of a post."""
        mean = self.board.posts["text"].str.len_chars().mean()
        return float(mean) if isinstance(mean, (int, float)) else None

    @metric
    def dropped(self) -> int:
        """The number of posts that could not be read and reached no thread."""
        return self.unreadable

    @metric
    def removed(self) -> int:
        """The number of posts that moderators removed."""
        return int(self.board.posts["removed"].sum())

    @classmethod
    def report(cls, run: RunReader) -> list[ReportTable]:
        """The threads with most replies, the people who wrote most, and the acts of moderators."""
        return forum_report(run)


def _titled_text(post: dict[str, Any]) -> str:
    return f"{post['title']}\n{post['text']}" if post["title"] else str(post["text"])
