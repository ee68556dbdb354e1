"""The questions of judges about posts, and their verdicts: rates, agreement between judges, and a check by people."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.foreign_columns import csv_table
from populace.base.randomness import stream
from populace.community.files import read_csv, write_new_file
from populace.scenarios.forum.design import ForumDesign
from populace.statistics import agreement, proportion

if TYPE_CHECKING:
    from populace.community.community import Community
    from populace.statistics import Agreement

_WHOLE, _TEXT = pl.Int64(), pl.String()
SCHEMA: dict[str, pl.DataType] = {
    "post": _WHOLE, "question": _TEXT, "rule": _WHOLE, "wording": _TEXT, "judge": _TEXT, "fingerprint": _TEXT,
    "value": _TEXT, "status": _TEXT, "yes": pl.Float64(),
}  # fmt: skip
ANY_RULE = "any_rule"
"""The question, made from those about rules, whether a post breaks at least one of them."""


@dataclass(frozen=True)
class Criterion:
    """A yes-or-no question about one post.

    Attributes:
        name: Its name in tables.
        text: The question as the judge reads it.
        rule: The number of the rule that it is about, if any.
        flagged: The answer for which a post is flagged.
        flag: What the flag says.
    """

    name: str
    text: str
    rule: int | None = None
    flagged: str = "yes"
    flag: str = ""


GENERAL = (
    Criterion("on_topic", "Is the post about what this community is for?", flagged="no", flag="off topic"),
    Criterion("civil", "Is the post civil towards the other people in the thread?", flagged="no", flag="uncivil"),
    Criterion("harassment", "Does the post attack or demean a group of people?", flag="attacks a group"),
    Criterion("spam", "Is the post an advertisement, or repetition without content?", flag="spam"),
)
"""The questions for every community."""

_ABOUT = {"prescriptive": "what is wanted", "restrictive": "what is not wanted"}


def criteria(design: ForumDesign) -> tuple[Criterion, ...]:
    """The questions about a post of a community: the general ones, then one for each rule.

    Example:
        >>> design = ForumDesign(name="Tea", goal="to talk of tea", rules=["No coffee."], personas=["Ann", "Bo"])
        >>> criteria(design)[-1].text
        'A rule of the community, about what is not wanted: “No coffee.” Does the post break this rule?'
    """
    rules = [
        Criterion(
            f"rule_{number}",
            f"A rule of the community, about {_ABOUT[rule.kind]}: “{rule.text}” Does the post break this rule?",
            number,
            flag=f"breaks rule {number}",
        )
        for number, rule in enumerate(design.rules, 1)
    ]
    return (*GENERAL, *rules)


class Judgements:
    """The verdicts of one or several judges on the posts of a community.

    Args:
        table: A row for each post, question and judge: its value (`yes`, `no` or null), status, and the
            probability of yes where the model gave one.
        community: The community.
    """

    def __init__(self, table: pl.DataFrame | None, community: Community) -> None:
        table = pl.DataFrame(schema=SCHEMA) if table is None else table
        table = table.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        table = table.unique(["post", "question", "fingerprint"], keep="last", maintain_order=True)
        self.table = table.with_columns(judge=_distinct_names(table))
        self.community = community

    def __repr__(self) -> str:
        return f"<{self.table.height} judgements by {', '.join(self.judges) or 'nobody'}>"

    @property
    def judges(self) -> list[str]:
        """The names of the judges."""
        return self.table["judge"].unique(maintain_order=True).to_list()

    def verdicts(self) -> pl.DataFrame:
        """Every verdict, with `flag`: what a reader should know about the post, or null."""
        flags = pl.DataFrame(
            [(each.name, each.flagged, each.flag) for each in criteria(self.community.design)],
            schema={"question": pl.String, "flagged": pl.String, "flag": pl.String},
            orient="row",
        )
        verdicts = self.table.join(flags, on="question", how="left", maintain_order="left")
        return verdicts.with_columns(pl.when(pl.col("value") == pl.col("flagged")).then("flag")).drop("flagged")

    def by_post(self) -> pl.DataFrame:
        """A row for each post, question and judge with `is_yes` as 0 or 1, and `any_rule` as a question of its own."""
        valid = self.table.filter(pl.col("value").is_not_null()).select(
            "post", "question", "judge", is_yes=(pl.col("value") == "yes").cast(pl.Int64), rule="rule"
        )
        any_rule = (
            valid.filter(pl.col("rule").is_not_null())
            .group_by("post", "judge", maintain_order=True)
            .agg(pl.col("is_yes").max())
            .select("post", pl.lit(ANY_RULE).alias("question"), "judge", "is_yes")
        )
        return pl.concat([valid.drop("rule"), any_rule])

    def rates(self, *, resamples: int = 1000) -> pl.DataFrame:
        """The share of posts for which each judge says yes, by question, with 95 % intervals.

        `low` and `high` are mid-P, which assumes independent posts. Posts of one thread are not independent, so
        `low_by_thread` and `high_by_thread` come from a bootstrap of whole threads.

        Args:
            resamples: The number of bootstrap samples.
        """
        threads = self.community.posts.select("post", "thread")
        rows = []
        for (question, judge), part in self.by_post().group_by("question", "judge", maintain_order=True):
            answers = part.join(threads, on="post", how="left", maintain_order="left")
            yes = int(answers["is_yes"].sum())
            rate = proportion(yes, answers.height)
            row = {"question": question, "judge": judge, "posts": answers.height, "yes": yes}
            row |= {"rate": rate.value, "low": rate.low, "high": rate.high}
            # A rate of 0 or 1 is the same in every bootstrap sample, which says nothing about its uncertainty.
            if 0 < rate.value < 1 and answers["thread"].n_unique() > 1:
                row["low_by_thread"], row["high_by_thread"] = _bootstrap_interval(answers, resamples)
            rows.append(row)
        invalid = self.table.group_by("question", "judge").agg(invalid=pl.col("value").is_null().mean())
        return pl.DataFrame(rows).join(invalid, on=["question", "judge"], how="left") if rows else pl.DataFrame()

    def agreement(self, question: str | None = None) -> dict[str, Agreement]:
        """The agreement of judges on each question that at least two of them answered about the same two posts or more.

        Args:
            question: Only this question.
        """
        answers = self.by_post()
        if question is not None:
            answers = answers.filter(pl.col("question") == question)
        return {
            str(name): agreement(part, item="post", rater="judge", value="is_yes")
            for (name,), part in answers.group_by("question", maintain_order=True)
            if (part.group_by("post").len()["len"] > 1).sum() > 1
        }

    def sample(self, count: int, path: str | Path, *, seed: int = 0, rater: str = "") -> Path:
        """Write a CSV of posts for a person to judge, with an empty column for every question.

        It does not show the verdicts of the models, so that they influence nobody.

        Args:
            count: The number of posts.
            path: The file, which must not exist yet.
            seed: The seed by which the posts are chosen.
            rater: The name of the person, if it is known already.
        """
        posts = self.table["post"].unique(maintain_order=True)
        if not posts.len():
            raise UsageError("no post has been judged, so there is nothing to check.")
        sample = stream(seed, "check/sample").permutation(posts.len())[:count]
        questions = self.table["question"].unique(maintain_order=True).to_list()
        form = (
            self.community.posts.filter(pl.col("post").is_in(posts.gather(np.sort(sample)).implode()))
            .select("post", "title", "text")
            .with_columns(pl.lit(rater).alias("rater"), *(pl.lit("").alias(name) for name in questions))
        )
        return write_new_file(path, csv_table(form).write_csv())

    def with_check(self, path: str | Path) -> Judgements:
        """These judgements and those of people, read from a CSV that `sample` wrote and a person filled in.

        An empty cell is no answer. `yes`, `y` and `1`, and `no`, `n` and `0`, are accepted in upper or lower case.

        Args:
            path: The file.
        """
        filled = read_csv(path)
        questions = [name for name in self.table["question"].unique(maintain_order=True) if name in filled.columns]
        if "post" not in filled.columns or not questions:
            raise UsageError(f"{path} has no column `post`, or none of a question.", "Begin with a sample file.")
        words = {"yes": "yes", "y": "yes", "1": "yes", "no": "no", "n": "no", "0": "no"}
        index = ["post", "rater"] if "rater" in filled.columns else ["post"]
        long = (
            filled.with_row_index("line", offset=2)
            .unpivot(questions, index=["line", *index], variable_name="question")
            .with_columns(pl.col("value").str.strip_chars().str.to_lowercase())
            .filter(pl.col("value").is_not_null(), pl.col("value") != "")
        )
        invalid = long.filter(~pl.col("value").is_in(list(words)))
        if invalid.height:
            line, name, value = invalid.select("line", "question", "value").row(0)
            raise UsageError(f"{path}, row {line}: {name} is {value!r}; write yes, no or nothing.")
        rater = pl.col("rater").fill_null("").str.strip_chars() if "rater" in filled.columns else pl.lit("")
        wordings = self.table.select("question", "rule", "wording").unique("question", keep="first")
        people = (
            long.with_columns(rater.alias("rater"), pl.col("post").cast(pl.Int64, strict=False))
            .join(wordings, on="question", how="left", maintain_order="left")
            .select(
                "post",
                "question",
                "rule",
                "wording",
                judge=(pl.lit("person ") + pl.col("rater")).str.strip_chars_end(),
                fingerprint=pl.lit("person ") + pl.col("rater"),
                value=pl.col("value").replace_strict(words, return_dtype=pl.String),
                status=pl.lit("ok"),
                yes=pl.lit(None, pl.Float64),
            )
        )
        return Judgements(pl.concat([self.table, people]), self.community)


def _bootstrap_interval(answers: pl.DataFrame, resamples: int) -> tuple[float, float]:
    """The 95 % percentile interval of the rate, from samples of whole threads with replacement."""
    threads = answers.group_by("thread", maintain_order=True).agg(pl.col("is_yes").sum(), pl.len())
    count = threads.height
    times = stream(0, "judgements/threads").multinomial(count, np.full(count, 1 / count), size=resamples)
    rates = (times @ threads["is_yes"].to_numpy()) / (times @ threads["len"].to_numpy())
    low, high = np.quantile(rates, [0.025, 0.975])
    return float(low), float(high)


def _distinct_names(table: pl.DataFrame) -> pl.Series:
    """The names of the judges, with a few digits of the fingerprint where two models have the same name."""
    models = table.select("judge", "fingerprint").unique(maintain_order=True)
    names = models["judge"].to_list()
    distinct = {
        fingerprint: f"{name} {hashlib.blake2b(fingerprint.encode(), digest_size=2).hexdigest()}"
        for name, fingerprint in models.iter_rows()
        if names.count(name) > 1
    }
    return table.select(
        pl.col("fingerprint").replace_strict(distinct, default=pl.col("judge"), return_dtype=pl.String)
    ).to_series()
