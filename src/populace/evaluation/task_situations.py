"""The different situations in which the people of a corpus of human decisions decided."""

import polars as pl

from populace.base.errors import HumanDataError
from populace.base.table_files import reading_problem
from populace.evaluation.human_decisions import HumanDecisions


def task_situations(decisions: HumanDecisions) -> pl.DataFrame:
    """What people were asked and what is known of them, each combination once.

    Returns:
        A row for each situation, in the order of the tasks: `situation` (its number), `task`, `question`, `persona`
        (what is known of the person, in lines), `seen` and `profile` as they stand in the table, and `decisions` (how
        many were made in it).

    Example:
        >>> from populace.evaluation import DecisionTask
        >>> task = DecisionTask("tea", "attitude", "Tea or coffee?", "CC0", ("tea", "coffee"))
        >>> table = pl.DataFrame({"task": ["tea"] * 2, "person": ["a", "b"], "answer": ["tea", "coffee"]})
        >>> task_situations(HumanDecisions.from_table(table, {"tea": task})).select("question", "decisions").rows()
        [('Tea or coffee?', 2)]
    """
    return situations_of_decisions(decisions).unique("situation", keep="first", maintain_order=True).select(
        "situation", "task", "question", "persona", "seen", "profile", "decisions"
    )  # fmt: skip


def situations_of_decisions(decisions: HumanDecisions) -> pl.DataFrame:
    """A row for each decision, with the number of its situation and with what was asked."""
    tables = []
    for name in decisions.tasks:
        rows = decisions.table.filter(pl.col("task") == name)
        tables.append(rows.with_columns(question=decisions.prompts(name)))
    table = pl.concat(tables)
    try:
        table = table.with_columns(persona=_personas(table["profile"]))
    except pl.exceptions.PolarsError as error:
        raise HumanDataError(
            f"a `profile` cannot be read: {reading_problem(error)}.",
            "It is a JSON object of texts and numbers, the same kind in every row.",
        ) from error
    keys = ["task", "question", "persona"]
    numbered = table.select(keys).unique(maintain_order=True).with_row_index("situation")
    counts = table.group_by(keys).agg(pl.len().alias("decisions"))
    numbered = numbered.with_columns(pl.col("situation").cast(pl.Int64)).join(counts, on=keys, how="left")
    return table.join(numbered, on=keys, how="left", maintain_order="left")


def _personas(profiles: pl.Series) -> pl.Series:
    """The fields of a profile in lines; a text for each distinct profile is made once."""
    distinct = profiles.unique().drop_nulls()
    if not distinct.len():
        return pl.Series("persona", [""]).new_from_index(0, profiles.len())
    fields = distinct.str.json_decode(infer_schema_length=None)
    lines = [
        pl.when(pl.col(name).is_null())
        .then(pl.lit(""))
        .otherwise(pl.lit(f"\n- {name.replace('_', ' ')}: ") + pl.col(name).cast(pl.String))
        for name in fields.struct.fields
    ]
    text = fields.struct.unnest().select(pl.concat_str(lines).alias("lines"))["lines"]
    frame = pl.DataFrame({"profile": distinct, "lines": text})
    words = frame.with_columns(
        persona=pl.when(pl.col("lines") == "").then(pl.lit("")).otherwise(pl.lit("About you:") + pl.col("lines"))
    )
    joined = pl.DataFrame({"profile": profiles}).join(words, on="profile", how="left", maintain_order="left")
    return joined["persona"].fill_null("")
