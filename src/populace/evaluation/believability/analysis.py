"""What the rankings of a believability study say: skill by condition, tests, agreement of judges, position bias."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from populace.base.errors import UsageError
from populace.base.formatting import percent, plural
from populace.statistics import (
    Agreement,
    KruskalWallis,
    adjust,
    agreement,
    difference,
    dunn,
    kendall_w,
    kruskal_wallis,
    p_text,
    proportion,
    true_skill,
    within_blocks,
)
from populace.statistics.values import library

_TASK = ["judge", "run", "resident", "question"]
_BIASED = 0.01
"""The p value below which the choices of a judge are said to depend on the position."""


@dataclass(frozen=True)
class PositionBias:
    """Whether the first pick of a judge depends on where answers were shown; orders were drawn at random.

    Attributes:
        judge: The judge.
        shares: For each position from 1, the share of first picks that fell on it.
        expected: For each position, the share that fair picks would give.
        p: Probability of picks as uneven if the position did not matter (chi-squared).
        n: First picks.
    """

    judge: str
    shares: tuple[float, ...]
    expected: tuple[float, ...]
    p: float
    n: int

    @property
    def biased(self) -> bool:
        """Whether the position matters more than chance explains."""
        return self.p < _BIASED

    def __str__(self) -> str:
        place = int(np.argmax(np.array(self.shares) - np.array(self.expected)))
        best = f"position {place + 1} was picked first in {percent(self.shares[place])} of {self.n:,}"
        fair = f"{percent(self.expected[place])} would be fair; p {p_text(self.p, equals='= ')}"
        if self.biased:
            return f"{self.judge} has a position bias: {best} ({fair}). Its rankings say less about the conditions."
        return f"{self.judge} shows no position bias: {best} ({fair})."


class Believability:
    """The answers of a study and how judges ranked them.

    Args:
        answers: The answers, as `Interviews.answers`.
        rankings: The rankings of all judges, with the columns of `RANKINGS`.
        conditions: The names of the conditions, in the order of tables.
        seed: Fixes the draws of the bootstrap.
    """

    def __init__(self, answers: pl.DataFrame, rankings: pl.DataFrame, conditions: list[str], seed: int = 0) -> None:
        self.answers = answers
        self.rankings = rankings
        self.conditions = conditions
        self.seed = seed
        self._skills: dict[tuple[str | None, int], pl.DataFrame] = {}

    @cached_property
    def valid(self) -> pl.DataFrame:
        """The rankings in which the judge gave a valid answer."""
        return self.rankings.filter(pl.col("rank").is_not_null())

    @property
    def judges(self) -> list[str]:
        """The names of the judges."""
        return self.rankings["judge"].unique(maintain_order=True).to_list()

    def skills(self, area: str | None = None, *, resamples: int = 200) -> pl.DataFrame:
        """TrueSkill of every condition, the most believable first, with intervals.

        `low` and `high` are TrueSkill's own; `low_by_cluster` and `high_by_cluster` come from drawing residents anew,
        as the answers of one resident are not independent.

        Args:
            area: Only questions of this area.
            resamples: The number of bootstrap samples.
        """
        key = (area, resamples)
        if key not in self._skills:
            self._skills[key] = self._compute_skills(area, resamples)
        return self._skills[key]

    def _compute_skills(self, area: str | None, resamples: int) -> pl.DataFrame:
        rows = self._ranked(area).with_columns(life=pl.concat_str("run", "resident", separator="/"))
        return true_skill(
            rows,
            competitor="condition",
            rank="rank",
            ranking=_TASK,
            cluster="life",
            seed=self.seed,
            resamples=resamples,
        )

    def areas(self) -> pl.DataFrame:
        """The mean rank of every condition by area, with the number of rankings."""
        means = self._ranked(None).group_by("area", "condition").agg(mean_rank=pl.col("rank").mean(), n=pl.len())
        order = pl.Enum(self.conditions)
        return means.sort("area", pl.col("condition").cast(order))

    @cached_property
    def _means(self) -> pl.DataFrame:
        """The mean rank of every condition by each resident, over questions and judges."""
        rows = self._ranked(None).with_columns(life=pl.concat_str("run", "resident", separator="/"))
        means = rows.group_by("life", "condition").agg(pl.col("rank").mean())
        wide = means.pivot(on="condition", index="life", values="rank").sort("life")
        return wide.select(name for name in self.conditions if name in wide.columns)

    def p_over_residents(self) -> float | None:
        """Whether any two conditions differ: p of exchanging them within residents; None for one resident."""
        values = self._means.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        return within_blocks(values, seed=self.seed) if min(values.shape) > 1 else None

    def test(self) -> KruskalWallis:
        """Whether the ranks of any two conditions differ (Kruskal and Wallis), as the source reports it.

        It counts every rank as independent of all others. Ranks of the same resident are not, so that p is too small:
        `p_over_residents` is the test to rely on.
        """
        return kruskal_wallis(self._groups())

    def pairs(self) -> pl.DataFrame:
        """Which conditions differ. A negative difference of mean ranks favours `a`.

        `p_residents` comes from exchanging both within residents, `p` from Dunn's test, which counts every rank as
        independent and is too small; each is adjusted by Holm.
        """
        table = dunn(self._groups())
        p = [self._p_of_pair(a, b) for a, b in table.select("a", "b").iter_rows()]
        adjusted = pl.Series(adjust(p), dtype=pl.Float64).fill_nan(None)
        return table.with_columns(p_residents=pl.Series(p, dtype=pl.Float64), p_residents_adjusted=adjusted)

    def _p_of_pair(self, a: str, b: str) -> float | None:
        both = self._means.select(pl.col(a).cast(pl.Float64), pl.col(b).cast(pl.Float64)).drop_nulls()
        if both.height < 2:
            return None
        return difference(both[a], both[b], paired=True, method="permutation", seed=self.seed, share=False).p

    def concordance(self) -> float | None:
        """Kendall's W of the judges, averaged over residents and questions that several ranked; None without any."""
        values = []
        for _, part in self.valid.group_by("run", "resident", "question", maintain_order=True):
            wide = part.pivot(on="condition", index="judge", values="rank").drop("judge").to_numpy()
            wide = wide[:, ~np.isnan(wide.astype(np.float64)).any(axis=0)].astype(np.float64)
            if min(wide.shape) > 1:
                values.append(kendall_w(wide))
        known = [value for value in values if not math.isnan(value)]
        return float(np.mean(known)) if known else None

    def agreement(self) -> Agreement | None:
        """Krippendorff's alpha of the judges over ranks; None where no two judges ranked the same answers."""
        keys = pl.concat_str("run", "resident", "question", "condition", separator="\x1f")
        ranks = self.valid.select("judge", "rank", item=keys)
        try:
            return agreement(ranks, item="item", rater="judge", value="rank", level="ordinal", seed=self.seed)
        except UsageError:
            return None

    def position_biases(self) -> list[PositionBias]:
        """For every judge, whether the first pick depends on where answers were shown."""
        return list(self._biases())

    def _biases(self) -> Iterator[PositionBias]:
        shown = self.valid.filter(pl.col("position").is_not_null(), pl.col("shown") > 1)
        for judge in self.judges:
            mine = shown.filter(pl.col("judge") == judge)
            best = mine.filter(pl.col("rank") == pl.col("rank").min().over(_TASK))
            # A shared best answer has one position; different answers that share the best rank are no pick.
            best = best.unique([*_TASK, "position"]).filter(pl.len().over(_TASK) == 1)
            if not best.height:
                continue
            most = int(best["shown"].max())  # type: ignore[arg-type]
            counts = np.bincount(best["position"].to_numpy() - 1, minlength=most).astype(np.float64)
            sizes = best["shown"].to_numpy()
            expected = np.array([float((1 / sizes[sizes > place]).sum()) for place in range(most)])
            chi = float(((counts - expected) ** 2 / expected).sum())
            p = float(library("scipy.special").gammaincc((most - 1) / 2, chi / 2))
            n = best.height
            yield PositionBias(judge, tuple((counts / n).tolist()), tuple((expected / n).tolist()), p, n)

    def invalid_answers(self) -> pl.DataFrame:
        """For every condition, how many answers were invalid, with the share and its interval."""
        rows = []
        for condition in self.conditions:
            mine = self.answers.filter(pl.col("condition") == condition)
            missing = int(mine["answer"].null_count())
            if mine.height:
                share = proportion(missing, mine.height)
                rows.append((condition, mine.height, missing, share.value, share.low, share.high))
        names = ["condition", "answers", "invalid", "share", "low", "high"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def failed_rankings(self) -> pl.DataFrame:
        """For every judge, how many rankings there are, and in how many no valid answer was given."""
        tasks = self.rankings.group_by(_TASK, maintain_order=True).agg(failed=pl.col("rank").is_null().any())
        return tasks.group_by("judge", maintain_order=True).agg(rankings=pl.len(), failed=pl.col("failed").sum())

    def findings(self) -> list[str]:
        """What was found, in sentences."""
        skills, test, pairs = self.skills(), self.test(), self.pairs()
        order = " > ".join(skills["condition"].to_list())
        sentences = [f"The order of believability (TrueSkill): {order}."]
        p, residents = self.p_over_residents(), self._means.height
        own = f"H({test.freedom}) = {test.h:.1f}, p {p_text(test.p, equals='= ')}, n = {test.n:,}"
        if p is None:
            sentences.append(f"One resident only: whether conditions differ for others is not known ({own}).")
        else:
            verdict = "differ" if p < 0.05 else "do not differ more than chance explains"
            sentences.append(
                f"The ranks of conditions {verdict} over {residents} residents: p {p_text(p, equals='= ')} (if every "
                f"rank were independent: {own})."
            )
        apart = pairs.filter(pl.col("p_residents_adjusted") < 0.05)
        differences = f"{apart.height} of {plural(pairs.height, 'pair')} of conditions differ over residents (Holm)"
        least = 2.0 ** (1 - residents) * pairs.height
        few = f"; {residents} residents are too few to show any" if not apart.height and least >= 0.05 else ""
        sentences.append(f"{differences}{few}.")
        return [*sentences, *self.cautions()]

    def cautions(self) -> list[str]:
        """What a reader must know about the judges and the answers."""
        texts = [str(bias) for bias in self.position_biases()]
        agreed, concordance = self.agreement(), self.concordance()
        if agreed is None:
            texts.append("One judge only, or no answer that two judges ranked: how far judges agree is not known.")
        else:
            alpha = f"Krippendorff's alpha {agreed.alpha}"
            w = "" if concordance is None else f", Kendall's W {concordance:.2f}"
            texts.append(f"Agreement of {plural(agreed.raters, 'judge')}: {alpha}{w}.")
        for row in self.failed_rankings().filter(pl.col("failed") > 0).iter_rows(named=True):
            texts.append(f"{row['judge']} gave no valid ranking in {row['failed']:,} of {row['rankings']:,}.")
        for row in self.invalid_answers().filter(pl.col("invalid") > 0).iter_rows(named=True):
            texts.append(f"{row['condition']}: {row['invalid']:,} of {row['answers']:,} answers are invalid.")
        return texts

    def _ranked(self, area: str | None) -> pl.DataFrame:
        rows = self.valid if area is None else self.valid.filter(pl.col("area") == area)
        if not rows.height:
            raise UsageError("nothing has been ranked yet.", "Name a judge, or read rankings that people made.")
        return rows

    def _groups(self) -> dict[str, pl.Series]:
        rows = self._ranked(None)
        groups = {name: rows.filter(pl.col("condition") == name)["rank"] for name in self.conditions}
        return {name: ranks for name, ranks in groups.items() if ranks.len()}
