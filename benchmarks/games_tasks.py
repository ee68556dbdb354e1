"""Games and experiments as a folder that `populace tasks` reads: tasks.jsonl and decisions.parquet.

    python benchmarks/games_tasks.py DATA TO

DATA holds `games/` and `experiments/`. The tasks: the dictator game and both sides of the ultimatum game (first round,
100 to divide; amounts are rounded to tens), the repeated prisoner's dilemma of Dal Bó and Fréchette (2011) in its six
treatments, and four effects of Many Labs 2. Of the 14 effects with answers by person these four are the ones with two
conditions that differ in words alone and whose answer is a choice or a scale. The wording is ours, after the papers.
"""

import json
import sys
from pathlib import Path

import polars as pl

MOBLAB = ("yutxie/ChatGPT-Behavioral, PNAS 2024", "MIT")
PD = ("Dal Bó and Fréchette (2011), through fdvorak/stratEst", "CC BY 4.0")
ML2 = ("Many Labs 2", "GPL-3")
TENS = [str(amount) for amount in range(0, 101, 10)]


def card(name: str, family: str, question: str, options: list[str], source: tuple[str, str]) -> dict[str, object]:
    """The card of a task."""
    return {
        "id": name, "family": family, "question": question, "options": options, "source": source[0],
        "licence": source[1],
    }  # fmt: skip


CARDS = [
    card(
        "dictator",
        "game",
        "You are paired with another person whom you do not know. You have 100 dollars to divide between "
        "yourself and the other person, who has no say in it. How many dollars do you give to the other "
        "person?",
        TENS,
        MOBLAB,
    ),
    card(
        "ultimatum_offer",
        "game",
        "You are paired with another person whom you do not know. You propose how to divide 100 dollars "
        "between the two of you. If the other person accepts, the money is divided as you propose; if not, "
        "both get nothing. How many dollars do you offer to the other person?",
        TENS,
        MOBLAB,
    ),
    card(
        "ultimatum_accept",
        "game",
        "You are paired with another person whom you do not know. The other person proposes how to divide 100"
        " dollars between the two of you. If you accept, the money is divided as proposed; if not, both get "
        "nothing. What is the smallest number of dollars for you that you would accept?",
        TENS,
        MOBLAB,
    ),
    card(
        "repeated_pd",
        "game",
        "You play a game with another person. In each round both of you choose, at the same time, to "
        "cooperate or to defect. If both cooperate, each gets {both_cooperate} points; if both defect, each "
        "gets 25. If you defect and the other cooperates, you get 50 and the other 12; if you cooperate and "
        "the other defects, you get 12 and the other 50. After each round there is another round with the "
        "same person with a chance of {chance}. {last_round} What do you choose?",
        ["cooperate", "defect"],
        PD,
    ),
    card(
        "less_is_better",
        "experiment",
        "Imagine that you are about to study abroad and have received a gift from a friend as a farewell. It "
        "is {gift}. How generous do you think the friend was, from 1 (not generous at all) to 6 (very "
        "generous)?",
        ["1", "2", "3", "4", "5", "6"],
        ML2,
    ),
    card(
        "framing",
        "experiment",
        "Imagine that you are about to buy a leather jacket for {jacket} dollars and a ceramic vase for "
        "{vase} dollars. The salesperson tells you that the {item} you wish to buy is on sale at the other "
        "branch of the store, 20 minutes away, for {sale} dollars. Would you make the trip to the other "
        "store?",
        ["yes", "no"],
        ML2,
    ),
    card(
        "trolley",
        "experiment",
        "{story} Is it morally permissible to do so?",
        ["yes", "no"],
        ML2,
    ),
    card(
        "tempting_fate",
        "experiment",
        "Imagine that you are in a large lecture class. You {prepared} the reading for today. The professor "
        "is about to pick one student at random to answer a question about it. How likely do you think it is "
        "that the professor picks you, from 1 (not at all likely) to 10 (extremely likely)?",
        [str(point) for point in range(1, 11)],
        ML2,
    ),
]
STORIES = {
    "SideEffect": "A train whose brakes have failed is about to kill five people on the track. A bystander can throw a "
    "switch that turns the train onto a side track, where it would kill one person. The bystander considers "
    "throwing the switch to save the five.",
    "GreaterGood": "A train whose brakes have failed is about to kill five people on the track. A bystander on a "
    "bridge over the track can push a large man onto the track, whose body would stop the train but who would be "
    "killed. The bystander considers pushing the man to save the five.",
}
COAT = "a wool coat for 55 dollars, from a store whose wool coats cost 50 to 500 dollars"
SCARF = "a wool scarf for 45 dollars, from a store whose wool scarfs cost 5 to 50 dollars"
EFFECTS = {
    "Hsee.1": ("less_is_better", {
        "Coat": {"condition": "coat", "gift": COAT},
        "Scarf": {"condition": "scarf", "gift": SCARF},
    }),
    "Tversky.1": ("framing", {
        "Cheap": {"condition": "cheap", "jacket": "250", "vase": "30", "item": "vase", "sale": "20"},
        "Expensive": {"condition": "expensive", "jacket": "30", "vase": "250", "item": "vase", "sale": "240"},
    }),
    "Hauser.1": ("trolley", {name: {"condition": name, "story": story} for name, story in STORIES.items()}),
    "Risen.1": ("tempting_fate", {
        "Unprepared": {"condition": "unprepared", "prepared": "have not done"},
        "Prepared": {"condition": "prepared", "prepared": "have done"},
    }),
}  # fmt: skip
LAST = {
    None: "This is the first round.", "cc": "In the last round you cooperated and the other cooperated.",
    "cd": "In the last round you cooperated and the other defected.",
    "dc": "In the last round you defected and the other cooperated.",
    "dd": "In the last round you defected and the other defected.",
}  # fmt: skip


def main(data: Path, to: Path) -> None:
    """Write the cards and the decisions."""
    to.mkdir(parents=True, exist_ok=True)
    (to / "tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in CARDS), encoding="utf-8")
    parts = [*_moblab(data / "games"), _dilemma(data / "games"), *_effects(data / "experiments")]
    order = ["task", "person", "order", "profile", "seen", "answer", "retest"]
    table = pl.concat([part.select(pl.col(name).cast(pl.String) for name in order) for part in parts])
    table.with_columns(pl.col("order").cast(pl.Int64)).write_parquet(to / "decisions.parquet", compression="zstd")
    print(table.group_by("task").agg(pl.len(), pl.col("person").n_unique().alias("people")).sort("task"))


def _tens(column: str) -> pl.Expr:
    return ((pl.col(column) / 10).round(0) * 10).cast(pl.Int64).cast(pl.String)


def _moblab(folder: Path) -> list[pl.DataFrame]:
    dictator = pl.read_csv(folder / "moblab_dictator.csv.gz", infer_schema_length=None)
    dictator = dictator.filter((pl.col("Role") == "first") & (pl.col("Total") == 100))
    dictator = dictator.with_columns(given=pl.col("move").cast(pl.Float64, strict=False)).filter(
        pl.col("given").is_between(0, 100)
    )
    rounds = [dictator.filter(pl.col("Round") == r).unique("UserID", keep="first", maintain_order=True) for r in (1, 2)]
    again = rounds[1].select("UserID", _tens("given").alias("retest"))
    first = rounds[0].join(again, on="UserID", how="left").with_columns(_tens("given").alias("answer"))
    plain = [pl.lit(None).alias(name) for name in ("profile", "seen")]
    tables = [
        first.select(pl.lit("dictator").alias("task"), person="UserID", order=1, answer="answer", retest="retest")
    ]
    ultimatum = pl.read_csv(folder / "moblab_ultimatum_strategy.csv.gz", infer_schema_length=None)
    ultimatum = ultimatum.filter(pl.col("Round") == 1).unique("UserID", keep="first", maintain_order=True)
    for task, column in (("ultimatum_offer", "propose"), ("ultimatum_accept", "accept")):
        mine = ultimatum.with_columns(pl.col(column).cast(pl.Float64, strict=False)).filter(
            pl.col(column).is_between(0, 100)
        )
        tables.append(
            mine.select(
                pl.lit(task).alias("task"), _tens(column).alias("answer"), person="UserID", order=1, retest=None
            )
        )
    return [table.with_columns(plain) for table in tables]


def _dilemma(folder: Path) -> pl.DataFrame:
    table = pl.read_csv(folder / "repeated_pd_df2011.csv.gz", infer_schema_length=None)
    seen = [
        json.dumps(
            {
                "condition": row["treatment"],
                "both_cooperate": row["treatment"].split("R")[1],
                "chance": "1 in 2" if row["treatment"].startswith("D5") else "3 in 4",
                "last_round": LAST[row["input"]],
            }
        )
        for row in table.iter_rows(named=True)
    ]
    return table.with_columns(
        pl.lit("repeated_pd").alias("task"),
        pl.format("df{}", pl.col("id")).alias("person"),
        pl.int_range(pl.len()).over("id").alias("order"),
        pl.lit(None).alias("profile"),
        pl.lit(None).alias("retest"),
        pl.Series("seen", seen),
        pl.col("choice").replace_strict({"c": "cooperate", "d": "defect"}).alias("answer"),
    )


def _effects(folder: Path) -> list[pl.DataFrame]:
    table = pl.read_csv(folder / "ml2_individual_primary.csv.gz", infer_schema_length=0)
    tables = []
    for analysis, (task, conditions) in EFFECTS.items():
        mine = table.filter(pl.col("analysis") == analysis)
        sex = pl.col("sex").replace_strict({"1.0": "male", "2.0": "female"}, default=None)
        country = pl.col("Country").replace({"USA": "the United States", "UK": "the United Kingdom"})
        profile = pl.struct(sex.alias("sex"), country.alias("country")).struct.json_encode()
        seen = {name: json.dumps(fields) for name, fields in conditions.items()}
        tables.append(
            mine.select(
                pl.lit(task).alias("task"), pl.format("ml2:{}:{}", "source", "uID").alias("person"),
                pl.lit(1).alias("order"), profile.alias("profile"),
                pl.col("condition").replace_strict(seen).alias("seen"),
                pl.col("response").str.to_lowercase().alias("answer"), pl.lit(None).alias("retest"),
            )
        )  # fmt: skip
    return tables


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
