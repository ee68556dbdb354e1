"""What judges found: rates with intervals, how far judges agree, and a check by hand."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from populace.base.errors import StorageError, UsageError
from populace.base.randomness import stream
from populace.community.criteria import criteria
from populace.statistics import agreement, proportion

if TYPE_CHECKING:
    from populace.community.community import Community
    from populace.statistics import Agreement

SCHEMA: dict[str, pl.DataType] = {
    "post": pl.Int64(),
    "question": pl.String(),
    "rule": pl.Int64(),
    "wording": pl.String(),
    "judge": pl.String(),
    "fingerprint": pl.String(),
    "value": pl.String(),
    "status": pl.String(),
    "yes": pl.Float64(),
}
ANY_RULE = "any_rule"
"""The name under which a post counts that breaks at least one rule."""


class Judgements:
    """The verdicts of one or several judges on the posts of a community.

    Args:
        table: A row for each post, question and judge: its value (`yes`, `no` or empty), status, and the
            probability of yes where the model gave one.
        community: The community.
    """

    def __init__(self, table: pl.DataFrame | None, community: Community) -> None:
        found = (
            pl.DataFrame(schema=SCHEMA)
            if table is None
            else table.select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
        )
        kept = found.unique(["post", "question", "fingerprint"], keep="last", maintain_order=True)
        self.table = kept.with_columns(judge=_told_apart(kept))
        self.community = community

    def __repr__(self) -> str:
        return f"<{self.table.height} judgements by {', '.join(self.judges) or 'nobody'}>"

    @property
    def judges(self) -> list[str]:
        """Who judged."""
        return self.table["judge"].unique(maintain_order=True).to_list()

    def verdicts(self) -> pl.DataFrame:
        """Every verdict, with `flag`: what a reader should be told of the post, or nothing."""
        known = criteria(self.community.design)
        flags = pl.DataFrame(
            [(each.name, each.flagged, each.flag) for each in known],
            schema={"question": pl.String, "flagged": pl.String, "flag": pl.String},
            orient="row",
        )
        joined = self.table.join(flags, on="question", how="left", maintain_order="left")
        return joined.with_columns(pl.when(pl.col("value") == pl.col("flagged")).then("flag")).drop("flagged")

    def by_post(self) -> pl.DataFrame:
        """A row for each post, question and judge with `yes` as 0 or 1, and `any_rule` as a question of its own."""
        valid = self.table.filter(pl.col("value").is_not_null()).select(
            "post", "question", "judge", said=(pl.col("value") == "yes").cast(pl.Int64), rule="rule"
        )
        broken = (
            valid.filter(pl.col("rule").is_not_null())
            .group_by("post", "judge", maintain_order=True)
            .agg(pl.col("said").max())
            .select("post", pl.lit(ANY_RULE).alias("question"), "judge", "said")
        )
        return pl.concat([valid.drop("rule"), broken])

    def rates(self, *, resamples: int = 1000) -> pl.DataFrame:
        """The share of posts that each judge says yes to, by question, with intervals of 95 %.

        `low` and `high` are Wilson's, for posts that are independent. Posts of one thread are not, so
        `low_by_thread` and `high_by_thread` come from drawing whole threads anew.

        Args:
            resamples: How often threads are drawn.
        """
        threads = self.community.posts.select("post", "thread")
        rows = []
        for (question, judge), part in self.by_post().group_by("question", "judge", maintain_order=True):
            said = part.join(threads, on="post", how="left", maintain_order="left")
            found = proportion(int(said["said"].sum()), said.height)
            row = {"question": question, "judge": judge, "posts": said.height, "yes": int(said["said"].sum())}
            row |= {"rate": found.value, "low": found.low, "high": found.high}
            # Drawn anew, a rate of 0 or 1 stays what it is, which says nothing about how sure it is.
            if 0 < found.value < 1 and said["thread"].n_unique() > 1:
                row["low_by_thread"], row["high_by_thread"] = _by_thread(said, resamples)
            rows.append(row)
        invalid = self.table.group_by("question", "judge").agg(invalid=pl.col("value").is_null().mean())
        return pl.DataFrame(rows).join(invalid, on=["question", "judge"], how="left") if rows else pl.DataFrame()

    def agreement(self, question: str | None = None) -> dict[str, Agreement]:
        """How far judges agree on each question that at least two of them answered about the same two posts or more.

        Args:
            question: Only this one.
        """
        said = self.by_post()
        if question is not None:
            said = said.filter(pl.col("question") == question)
        found = {}
        for (name,), part in said.group_by("question", maintain_order=True):
            if (part.group_by("post").len()["len"] > 1).sum() > 1:
                found[str(name)] = agreement(part, item="post", rater="judge", value="said")
        return found

    def sample(self, count: int, path: str | Path, *, seed: int = 0, rater: str = "") -> Path:
        """Write posts to be judged by a person: a CSV with a blank for every question.

        The verdicts of the model are not shown, so that they sway nobody.

        Args:
            count: How many posts.
            path: The file, which must not exist yet.
            seed: Which posts.
            rater: The name of the person, where it is known already.
        """
        path = Path(path)
        if path.exists():
            raise UsageError(f"{path} exists already.", "Name another place, or remove it first.")
        posts = self.table["post"].unique(maintain_order=True)
        if not posts.len():
            raise UsageError("no post has been judged, so there is nothing to check.")
        chosen = stream(seed, "check/sample").permutation(posts.len())[:count]
        questions = self.table["question"].unique(maintain_order=True).to_list()
        blank = (
            self.community.posts.filter(pl.col("post").is_in(posts.gather(np.sort(chosen)).implode()))
            .select("post", "title", "text")
            .with_columns(pl.lit(rater).alias("rater"), *(pl.lit("").alias(name) for name in questions))
        )
        try:
            blank.write_csv(path)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error.strerror or error}.") from error
        return path

    def with_check(self, path: str | Path) -> Judgements:
        """These judgements with those of people, read from a CSV that `sample` wrote and somebody filled in.

        A blank counts as no answer. `yes`, `y` and `1`, and `no`, `n` and `0`, are read in any case.

        Args:
            path: The file.
        """
        try:
            filled = pl.read_csv(path, infer_schema=False)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UsageError(f"{path} cannot be read: {error}.") from error
        questions = [name for name in self.table["question"].unique(maintain_order=True) if name in filled.columns]
        if "post" not in filled.columns or not questions:
            raise UsageError(f"{path} has no column `post`, or none of a question.", "Begin with a sample file.")
        read = {"yes": "yes", "y": "yes", "1": "yes", "no": "no", "n": "no", "0": "no"}
        index = ["post", "rater"] if "rater" in filled.columns else ["post"]
        long = (
            filled.with_row_index("line", offset=2)
            .unpivot(questions, index=["line", *index], variable_name="question")
            .with_columns(pl.col("value").str.strip_chars().str.to_lowercase())
            .filter(pl.col("value").is_not_null(), pl.col("value") != "")
        )
        odd = long.filter(~pl.col("value").is_in(list(read)))
        if odd.height:
            line, name, value = odd.row(0, named=True)["line"], odd["question"][0], odd["value"][0]
            raise UsageError(f"{path}, row {line}: {name} is {value!r}; it is yes, no or blank.")
        who = pl.col("rater").fill_null("").str.strip_chars() if "rater" in filled.columns else pl.lit("")
        wordings = self.table.select("question", "rule", "wording").unique("question", keep="first")
        people = (
            long.with_columns(who.alias("who"), pl.col("post").cast(pl.Int64, strict=False))
            .join(wordings, on="question", how="left", maintain_order="left")
            .select(
                "post",
                "question",
                "rule",
                "wording",
                judge=pl.when(pl.col("who") == "").then(pl.lit("person")).otherwise(pl.lit("person ") + pl.col("who")),
                fingerprint=pl.lit("person ") + pl.col("who"),
                value=pl.col("value").replace_strict(read, return_dtype=pl.String),
                status=pl.lit("ok"),
                yes=pl.lit(None, pl.Float64),
            )
        )
        return Judgements(pl.concat([self.table, people]), self.community)


def _by_thread(said: pl.DataFrame, resamples: int) -> tuple[float, float]:
    """Where the rate lies in 95 of 100 communities whose threads are drawn from these, each as a whole."""
    threads = said.group_by("thread", maintain_order=True).agg(pl.col("said").sum(), pl.len())
    count = threads.height
    drawn = stream(0, "judgements/threads").multinomial(count, np.full(count, 1 / count), size=resamples)
    rates = (drawn @ threads["said"].to_numpy()) / (drawn @ threads["len"].to_numpy())
    low, high = np.quantile(rates, [0.025, 0.975])
    return float(low), float(high)


def _told_apart(table: pl.DataFrame) -> pl.Series:
    """The names of judges, with a few digits of the fingerprint where two models go by one name."""
    models = table.select("judge", "fingerprint").unique(maintain_order=True)
    names = models["judge"].to_list()
    told = {
        fingerprint: f"{name} {hashlib.blake2b(fingerprint.encode(), digest_size=2).hexdigest()}"
        for name, fingerprint in models.iter_rows()
        if names.count(name) > 1
    }
    return table.select(
        pl.col("fingerprint").replace_strict(told, default=pl.col("judge"), return_dtype=pl.String)
    ).to_series()
