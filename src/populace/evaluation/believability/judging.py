"""Judges rank the answers of one resident to one question, blind to the conditions.

The order of answers is drawn anew for each judge, resident and question. A model picks the most believable answer,
then the most believable of the rest, and so on: each pick is a choice between letters, of which the model gives the
probabilities. Equal answers are shown once, and their conditions share a rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import polars as pl

from populace.base.randomness import stream
from populace.broker import CallStore, MemoryCallStore
from populace.community.model_caller import ModelCaller
from populace.questions import LABELS, Choice

PROFILE = "You judge interviews. You know the person who was interviewed, and you say which answer is most believable."
GIVEN = "The person:\n{life}\n\nThe interviewer asked: “{wording}”\n\nAnswers that were given in their name:\n{answers}"
QUESTION = (
    "Which answer is the most believable for this person: true to who they are and to what they lived through, and "
    "claiming nothing that they cannot know?"
)

_TEXT, _NUMBER = pl.String(), pl.Float64()
RANKINGS: dict[str, pl.DataType] = {
    "judge": _TEXT, "run": _TEXT, "resident": _TEXT, "area": _TEXT, "question": _TEXT, "condition": _TEXT,
    "position": pl.Int64(), "shown": pl.Int64(), "rank": _NUMBER,
}  # fmt: skip
"""The columns of rankings: `position` is where the answer was shown, `rank` 1 is the most believable."""


@dataclass(frozen=True)
class ShownAnswer:
    """An answer as a judge sees it.

    Attributes:
        conditions: The conditions that gave it.
        text: The answer on one line.
        position: Where it was shown, from 1.
    """

    conditions: tuple[str, ...]
    text: str
    position: int


@dataclass
class RankingTask:
    """The answers of one resident to one question, in the order in which a judge sees them.

    Attributes:
        run: The run.
        resident: The resident.
        area: The area of the question.
        question: The name of the question.
        wording: The question.
        life: What the judge is told of the resident.
        shown: The answers in the order shown.
        picks: The answers that were picked so far, the most believable first.
        failed: Whether the judge gave no valid answer.
    """

    run: str
    resident: str
    area: str
    question: str
    wording: str
    life: str
    shown: tuple[ShownAnswer, ...]
    picks: list[ShownAnswer] = field(default_factory=list)
    failed: bool = False

    @property
    def rest(self) -> list[ShownAnswer]:
        """The answers that are not picked yet, in the order shown."""
        return [answer for answer in self.shown if answer not in self.picks]

    def pick(self, label: str | None) -> None:
        """Note the pick of the judge among the rest; the last answer needs no pick."""
        if label is None:
            self.failed = True
            return
        self.picks.append(self.rest[LABELS.index(label)])
        if len(self.rest) == 1:
            self.picks += self.rest


def ranking_tasks(
    answers: pl.DataFrame, lives: pl.DataFrame, wordings: dict[str, str], judge: str, seed: int
) -> list[RankingTask]:
    """What a judge is to rank: a task for each resident and question with two different valid answers or more.

    Args:
        answers: The answers, as `Interviews.answers`.
        lives: What is known of residents, as `Interviews.lives`.
        wordings: The text of every question by its name.
        judge: The name of the judge; each sees another order.
        seed: Fixes the orders.
    """
    life_of = {(run, resident): life for run, resident, life in lives.select("run", "resident", "life").iter_rows()}
    valid = answers.filter(pl.col("answer").is_not_null())
    tasks = []
    keys = ["run", "resident", "area", "question"]
    for (run, resident, area, question), part in valid.group_by(keys, maintain_order=True):
        by_text: dict[str, list[str]] = {}
        for condition, text in part.select("condition", "answer").iter_rows():
            by_text.setdefault(" ".join(text.split()), []).append(condition)
        if part.height < 2:
            continue
        rng = stream(seed, f"believability/order/{judge}/{run}/{resident}/{question}")
        texts = list(by_text)
        order = [texts[place] for place in rng.permutation(len(texts)).tolist()]
        shown = tuple(ShownAnswer(tuple(by_text[text]), text, place) for place, text in enumerate(order, 1))
        life = life_of.get((str(run), str(resident)), "")
        task = RankingTask(str(run), str(resident), str(area), str(question), wordings[str(question)], life, shown)
        if len(shown) == 1:
            task.picks.append(shown[0])
        tasks.append(task)
    return tasks


def rank_by_model(
    tasks: Sequence[RankingTask],
    caller: ModelCaller,
    *,
    open_store: Callable[[], CallStore] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Let a model rank the answers of every task, and return the rankings.

    Args:
        tasks: What to rank.
        caller: The model, with its limits.
        open_store: Opens the call store; replies are kept in memory by default.
        on_progress: Gets how many picks were made, and how many there are.
    """
    total = sum(max(0, len(task.shown) - 1) for task in tasks)
    done = 0
    while True:
        waiting = [task for task in tasks if not task.failed and len(task.rest) > 1]
        if not waiting:
            return rankings_table(tasks, caller.spec)
        most = max(len(task.rest) for task in waiting)
        round_tasks = [task for task in waiting if len(task.rest) == most]
        rows = pl.DataFrame(
            {
                "id": range(len(round_tasks)),
                "life": [task.life for task in round_tasks],
                "wording": [task.wording for task in round_tasks],
                "answers": [_listing(task.rest) for task in round_tasks],
            }
        )
        answers, _ = caller.ask(
            rows,
            Choice(QUESTION, options=tuple(LABELS[:most])),
            profile=PROFILE,
            given=GIVEN,
            store=open_store() if open_store else MemoryCallStore(),
            purpose="believability judging",
        )
        for task, label in zip(round_tasks, answers.values.to_list(), strict=True):
            task.pick(label)
        done += len(round_tasks)
        if on_progress is not None:
            on_progress(done, total)


def _listing(answers: Sequence[ShownAnswer]) -> str:
    return "\n".join(f"{LABELS[place]}: {answer.text}" for place, answer in enumerate(answers))


def rankings_table(tasks: Sequence[RankingTask], judge: str) -> pl.DataFrame:
    """A row for each condition of each task, with its rank; conditions with equal answers share the mean of theirs.

    A task in which the judge gave no valid answer has rows without a rank.
    """
    rows = []
    for task in tasks:
        ranks = {} if task.failed else _ranks(task.picks)
        for answer in task.shown:
            for condition in answer.conditions:
                where = (judge, task.run, task.resident, task.area, task.question, condition)
                rows.append((*where, answer.position, len(task.shown), ranks.get(condition)))
    return pl.DataFrame(rows, schema=RANKINGS, orient="row")


def _ranks(picks: Sequence[ShownAnswer]) -> dict[str, float]:
    ranks: dict[str, float] = {}
    for answer in picks:
        count = len(answer.conditions)
        ranks |= dict.fromkeys(answer.conditions, len(ranks) + (count + 1) / 2)
    return ranks
