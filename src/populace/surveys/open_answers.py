"""Open answers in groups: answers that share a word which says what they are about."""

import polars as pl

OTHER = "other answers"
"""The group of the answers that share no word with enough others."""

_MOST_GROUPS = 12
_LEAST_SHARE = 0.02
_WORD = r"[\p{L}\p{N}]+(?:['’]\p{L}+)?"
_STOP_WORDS = (
    "a about actually after again all almost also always am an and another any anything are aren't around as at away "
    "be because been before being both but by can can't cannot could couldn't did didn't do does doesn't doing don't "
    "done each either else enough especially even ever every everything few find for from generally get gets getting "
    "go going got had has hasn't have haven't having he her here hers him his how however i i'd i'll i'm i've if in "
    "into is isn't it it's its itself just keep kind know least less let like lot lots made make makes many may maybe "
    "me mean might mine more most mostly much must my myself need never no nor not now of off often oh on once one "
    "only onto or other others our out over own part particularly perhaps pretty probably quite rather really reason "
    "said same say see seem seems several she should simply since so some something sometimes still such sure than "
    "that that's the their them then there there's these they thing things think this those though through to too "
    "truly try up us use usually very want was wasn't way we well were weren't what when where which while who why "
    "will with within without won't would yes you you're your yours"
).split()


def answer_groups(answers: pl.Series, question: str = "") -> pl.Series:
    """The group of each answer, by a word that it shares with many others; empty where there is no answer.

    Groups are made one after the other. Of all words but those of the question and those that say little (`the`,
    `really`), the one in most of the answers that are left makes a group of these answers. A group has at least two
    answers and 2 % of all, and there are at most twelve. Answers without such a word are grouped where they are equal.
    Answers are grouped by their words alone: two words for one thing make two groups.

    Args:
        answers: The answers, a text for each person.
        question: The text of the question.

    Example:
        >>> answer_groups(pl.Series(["I like the taste.", "It tastes good!", "Out of habit.", "A habit"])).to_list()
        ['taste', 'taste', 'habit', 'habit']
    """
    rows = pl.DataFrame({"answer": answers}).with_row_index("row").drop_nulls()
    words = _content_words(rows, question)
    least = max(2.0, _LEAST_SHARE * rows.height)
    groups: list[pl.DataFrame] = []
    while words.height and len(groups) < _MOST_GROUPS:
        # Of words in equally many answers, longer ones say more.
        counts = words.group_by("word").len("n").with_columns(size=pl.col("word").str.len_chars())
        word, count, _ = counts.sort(["n", "size", "word"], descending=[True, True, False]).row(0)
        if count < least:
            break
        members = words.filter(pl.col("word") == word).select("row", group=pl.lit(word, pl.String))
        groups.append(members)
        words = words.join(members, on="row", how="anti", maintain_order="left")
    known = pl.concat([rows.select("row").clear().with_columns(group=pl.lit("", pl.String)), *groups])
    table = rows.join(known, on="row", how="left").with_columns(pl.col("group").fill_null(OTHER))
    places = pl.DataFrame({"answer": answers}).with_row_index("row").select("row")
    return places.join(table, on="row", how="left", maintain_order="left")["group"].alias(answers.name)


def _content_words(rows: pl.DataFrame, question: str) -> pl.DataFrame:
    """The words of each answer that say what it is about, each once; the whole answer where it has no such word."""
    text = pl.col("answer").str.to_lowercase().str.replace_all("’", "'")
    words = rows.select("row", word=text.str.extract_all(_WORD).list.unique(maintain_order=True)).explode("word")
    words = words.drop_nulls()
    # A plural counts as its singular where somebody uses that.
    singular = pl.col("word").str.strip_suffix("s")
    vocabulary = words["word"].unique()
    words = words.with_columns(
        word=pl.when((pl.col("word").str.len_chars() > 4) & singular.is_in(vocabulary.implode()))
        .then(singular)
        .otherwise("word")
    )
    left_out = pl.concat([pl.Series(_STOP_WORDS), pl.Series([question.lower()]).str.extract_all(_WORD).explode()])
    content = words.filter(~pl.col("word").is_in(left_out.implode())).unique(maintain_order=True)
    whole = rows.join(content, on="row", how="anti").select("row", word=text.str.extract_all(_WORD).list.join(" "))
    return pl.concat([content, whole.filter(pl.col("word") != "")])
