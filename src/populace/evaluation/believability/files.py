"""Files that people fill in: answers in the place of residents, and rankings of answers."""

from pathlib import Path

import polars as pl

from populace.base.errors import UnknownNameError, UsageError
from populace.base.foreign_columns import csv_table
from populace.community.files import read_csv, write_new_file
from populace.community.study import rater_name
from populace.evaluation.believability.conditions import PEOPLE
from populace.evaluation.believability.interview_questions import InterviewQuestion
from populace.evaluation.believability.judging import RankingTask, rankings_table
from populace.questions import LABELS


def write_answer_form(path: str | Path, lives: pl.DataFrame, questions: tuple[InterviewQuestion, ...]) -> Path:
    """Write a CSV in which people answer in the place of residents: a row for each resident and question.

    Args:
        path: The file, which must not exist yet.
        lives: What is known of residents.
        questions: The questions.
    """
    wordings = pl.DataFrame({"question": [q.id for q in questions], "wording": [q.text for q in questions]})
    form = lives.select("run", "resident", "name", "life").join(wordings, how="cross")
    return write_new_file(path, csv_table(form.with_columns(answer=pl.lit(""))).write_csv())


def read_people_answers(
    path: str | Path, lives: pl.DataFrame, questions: tuple[InterviewQuestion, ...]
) -> pl.DataFrame:
    """The answers that people wrote in the place of residents, as a condition of their own.

    Args:
        path: A CSV with the columns resident (id or name), question (its name) and answer, perhaps run. Rows without
            an answer are left out.
        lives: The residents of the study.
        questions: The questions of the study.
    """
    table = read_csv(path)
    missing = next((name for name in ("resident", "question", "answer") if name not in table.columns), None)
    if missing is not None:
        raise UsageError(f"{path} has no column {missing!r}.", "It needs resident, question and answer.")
    rows = table.with_row_index("line", offset=2).with_columns(
        pl.col("resident", "question", "answer").fill_null("").str.strip_chars()
    )
    rows = rows.filter(pl.col("answer") != "")
    areas = {question.id: question.area for question in questions}
    unknown = rows.filter(~pl.col("question").is_in(list(areas)))
    if unknown.height:
        raise UnknownNameError("question of the study", str(unknown["question"][0]), areas, f"See {path}.")
    known = pl.concat([lives.select("run", "resident", "name", key=name) for name in ("resident", "name")])
    known = known.unique(["run", "resident", "key"], maintain_order=True)
    rows = rows.rename({"resident": "key"})
    on = ["run", "key"] if "run" in rows.columns else ["key"]
    joined = rows.join(known, on=on, how="left", maintain_order="left")
    lost = joined.filter(pl.col("resident").is_null())
    if lost.height:
        raise UnknownNameError("resident of the study", str(lost["key"][0]), known["key"].to_list(), f"See {path}.")
    twice = joined.filter(pl.struct("run", "resident", "question").is_duplicated())
    if twice.height:
        line, who, question = twice.select("line", "key", "question").row(-1)
        raise UsageError(
            f"{path}, row {line}: there is another answer of {who} to {question!r}, or another resident of that name.",
            "Keep one answer each; name residents by id, and the run where there are several.",
        )
    return joined.select(
        "run",
        "resident",
        "name",
        pl.col("question").replace_strict(areas, return_dtype=pl.String).alias("area"),
        "question",
        condition=pl.lit(PEOPLE),
        answer="answer",
        status=pl.lit("ok"),
        recalled=pl.lit(0, pl.Int64),
    )


def write_ranking_form(path: str | Path, tasks: list[RankingTask]) -> Path:
    """Write a blind CSV in which a person ranks answers: a row for each answer, without its condition.

    Args:
        path: The file, which must not exist yet.
        tasks: What to rank, in the orders drawn for this person.
    """
    rows = [
        {
            "run": task.run,
            "resident": task.resident,
            "question": task.question,
            "life": task.life,
            "wording": task.wording,
            "letter": LABELS[answer.position - 1],
            "answer": answer.text,
            "rank": "",
        }
        for task in tasks
        if len(task.shown) > 1
        for answer in task.shown
    ]
    if not rows:
        raise UsageError("there is nothing to rank: no resident has two different answers to a question.")
    return write_new_file(path, csv_table(pl.DataFrame(rows)).write_csv())


def read_rankings(path: str | Path, tasks: list[RankingTask], judge: str) -> pl.DataFrame:
    """The rankings that a person made in a form: 1 is the most believable, equal numbers are ties.

    Answers without a number, and questions with only one number, count as not ranked.

    Args:
        path: The form, filled in.
        tasks: The tasks from which the form was written.
        judge: The name of the person.
    """
    judge = rater_name(judge)
    table = read_csv(path)
    missing = next((name for name in ("resident", "question", "letter", "rank") if name not in table.columns), None)
    if missing is not None:
        raise UsageError(f"{path} has no column {missing!r}.", "Begin with a form that --form writes.")
    lines = table.with_row_index("line", offset=2).with_columns(pl.col("rank").fill_null("").str.strip_chars())
    numbers = lines.with_columns(number=pl.col("rank").cast(pl.Float64, strict=False))
    wrong = numbers.filter(pl.col("rank") != "", pl.col("number").is_null() | ~pl.col("number").is_between(1, 26))
    if wrong.height:
        raise UsageError(f"{path}, row {wrong['line'][0]}: {wrong['rank'][0]!r} is no rank.", "Write 1, 2, 3 …")
    run = pl.col("run") if "run" in lines.columns else pl.lit("")
    marks = {
        (where, who, question, letter): number
        for where, who, question, letter, number in numbers.select(
            run.alias("run"), "resident", "question", "letter", "number"
        ).iter_rows()
        if number is not None
    }
    order = rankings_table(tasks, f"person {judge}").with_columns(
        letter=pl.col("position").map_elements(lambda place: LABELS[place - 1], return_dtype=pl.String)
    )
    given = [marks.get(key) for key in order.select("run", "resident", "question", "letter").iter_rows()]
    task = ["run", "resident", "question"]
    ranked = order.with_columns(rank=pl.Series(given, dtype=pl.Float64)).filter(pl.col("rank").is_not_null())
    ranked = ranked.filter(pl.col("position").n_unique().over(task) > 1)
    if not ranked.height:
        raise UsageError(
            f"{path} ranks nothing of this study.", "Fill the column rank, and name the judge of the form."
        )
    return ranked.with_columns(rank=pl.col("rank").rank("average").over(task)).drop("letter")
