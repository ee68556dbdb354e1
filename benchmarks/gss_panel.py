"""The General Social Survey panels of 2006 and 2008 in the form that `populace panel` reads.

    python benchmarks/gss_panel.py DATA TO

DATA holds `gss_panel/gss_panel06_core.csv.gz`, `…08…`, `gss_panel/items_reliability.csv` and `behaviour/tasks.jsonl`.
For each panel, TO gets `panel06.csv.gz`, `items.csv` and `held_out06.txt`. The rules below choose items and people; no
model and no answer of a held-out person plays a part in them.

Items that are predicted: those whose card says `attitude` and is complete without the interviewer's card, that are not
reports of what people do or have, and that at least 600 people of each panel answered in the first two waves; of these
the 60 with the smallest crc32 of their name. Items that agents may know: confidence in institutions, national
spending, and some more attitudes without a card, none of which is predicted.

People who are held out: those who answered at least five of the 60 items in both waves and whose name falls into the
test part of the corpus of human decisions (crc32 modulo 10 is 0), then those of its development part (1), in the order
of crc32, up to 200. Models that were fine-tuned on the training part of that corpus have seen none of them.
"""

import difflib
import gzip
import json
import sys
import zlib
from pathlib import Path

import polars as pl

PANELS = ("06", "08")
LEAST = 600
TARGETS = 60
HELD_OUT = 200

REPORTS = "xmovie socbar socfrend socommun savesoul reborn spfund health finrela parsol".split()
INCOMPLETE = "racopen reliten".split()
UNORDERED = "aged fair helpful trust bible divlaw getahead kidssol pornlaw".split()
MORE_CONTEXT = "homosex sexeduc spanking affrmact courts colhomo helpblk racdif1 racdif2 racdif3 racdif4".split()
WORDS = {
    "almst always wrg": "almost always wrong", "sometimes wrong": "wrong only sometimes",
    "fair": "would try to be fair", "take advantage": "would take advantage of you",
    "govt reduce diff": "the government should reduce income differences",
    "no govt action": "the government should not concern itself with reducing income differences",
    "both equally": "hard work, luck equally important", "hard work": "hard work most important",
    "luck or help": "luck most important", "dont believe": "don't believe",
    "some higher power": "higher power", "believe but doubts": "believe with doubts", "know god exists": "no doubts",
    "neither": "neither agree nor disagree", "legal": "should be legal", "not legal": "should not be legal",
    "lookout for self": "looking out for themselves", "govt do more": "government should do more",
    "govt does too much": "government does too much", "govt action": "government should help",
    "govt should help": "government should help", "people help selves": "people should care for themselves",
    "illegal to all": "there should be laws against the distribution of pornography whatever the age",
    "illegal under 18": "there should be laws against the distribution of pornography to persons under 18",
    "can trust": "most people can be trusted", "cannot trust": "can't be too careful", "stay same": "stay as is",
    "book of fables": "ancient book", "satisfied": "pretty well satisfied",
}  # fmt: skip
ABBREVIATIONS = {
    "oppose pref": "oppose", "strongly oppose pref": "strongly oppose", "support pref": "support",
    "strongly support pref": "strongly support", "govt help blks": "government should help",
}  # fmt: skip
PORN_LEGAL = "there should be no laws forbidding the distribution of pornography"
PROFILE = {
    "age": "age", "sex": "sex", "race": "race", "hispanic": "hispanic_origin", "degree": "highest_degree",
    "marital": "marital_status", "childs": "children", "wrkstat": "work", "income": "family_income",
    "class": "social_class", "region": "region", "born": "born_in_the_US", "relig": "religion",
    "attend": "attends_church", "partyid": "party", "polviews": "political_views",
}  # fmt: skip
VALUES = {
    "lt high school": "less than high school", "e. sou. central": "East South Central",
    "e. nor. central": "East North Central", "w. sou. central": "West South Central",
    "w. nor. central": "West North Central", "lt $1000": "less than $1000",
    "ind,near dem": "Independent, near Democrat",
    "ind,near rep": "Independent, near Republican", "not str republican": "not strong Republican",
    "not str democrat": "not strong Democrat", "extrmly conservative": "extremely conservative",
    "slghtly conservative": "slightly conservative", "unempl, laid off": "unemployed",
    "temp not working": "not at work",
    "working fulltime": "working full time", "working parttime": "working part time",
    "sevrl times a yr": "several times a year", "nrly every week": "nearly every week",
    "2-3x a month": "2-3 times a month",
    "more thn once wk": "more than once a week", "lt once a year": "less than once a year",
}  # fmt: skip


def main(data: Path, to: Path) -> None:
    """Write the panels, the items and the held-out people."""
    to.mkdir(parents=True, exist_ok=True)
    cards = {}
    for line in (data / "behaviour" / "tasks.jsonl").read_text(encoding="utf-8").splitlines():
        card = json.loads(line)
        if card["id"] == "gss_god":
            card["options"][1] = "no way to find out"
        cards[card["id"]] = card
    folder = data / "gss_panel"
    facts = {row["variable"]: row for row in pl.read_csv(folder / "items_reliability.csv").iter_rows(named=True)}
    raw = {
        panel: pl.read_csv(folder / f"gss_panel{panel}_core.csv.gz", infer_schema_length=0, null_values=["", "NA"])
        for panel in PANELS
    }
    eligible = [
        name
        for name, row in facts.items()
        if cards.get(f"gss_{name}", {}).get("kind") == "attitude"
        and name not in (*REPORTS, *INCOMPLETE)
        and all((row[f"n_w1w2_p{panel}"] or 0) >= LEAST for panel in PANELS)
    ]
    targets = sorted(eligible, key=lambda name: zlib.crc32(name.encode()))[:TARGETS]
    context = [
        n
        for n in facts
        if (n.startswith(("con", "nat")) and (n == "conarmy" or not n.endswith("y"))) or n in MORE_CONTEXT
    ]
    items, words = [], {}
    for name in sorted(targets) + sorted(context):
        labels = sorted({label for table in raw.values() for label in table[name].drop_nulls().unique()})
        card = cards[f"gss_{name}"] if name in targets else {}
        plain = [WORDS.get(label.lower(), ABBREVIATIONS.get(label.lower(), label.lower())) for label in labels]
        words[name] = _words(name, labels, card["options"]) if card else dict(zip(labels, plain, strict=True))
        present = set(words[name].values())
        options = [o for o in card.get("options", []) if o in present] or sorted(present)
        title = (
            (card.get("title") or facts[name]["label"])
            .strip()
            .replace("confid.", "confidence")
            .replace("confid in", "confidence in")
        )
        title = f"national spending on {title}" if name.startswith("nat") else title
        items.append(
            {
                "id": name,
                "text": " ".join(card["question"].split()) if card else title,
                "options": "|".join(options),
                "ordered": "no" if name in UNORDERED or name in context else "yes",
                "topic": card["topics"][0] if card.get("topics") else "",
                "title": title,
                "role": "target" if name in targets else "context",
            }
        )
    pl.DataFrame(items).write_csv(to / "items.csv")
    for panel, table in raw.items():
        _write(panel, table, words, targets, to)
    print(f"{len(eligible)} eligible items, {len(targets)} predicted, {len(context)} known")


def _words(name: str, labels: list[str], options: list[str]) -> dict[str, str]:
    """The option that each label of the file stands for."""
    words = {}
    for label in labels:
        low = label.lower().strip()
        if name == "pornlaw" and low == "legal":
            words[label] = PORN_LEGAL
            continue
        close = [option for option in options if option.startswith(f"yes, {low}")]
        found = next((each for each in (low, WORDS.get(low, ""), *close[:1]) if each in options), None)
        if found is None:
            found = difflib.get_close_matches(low, options, 1, 0.0)[0]
            print(f"  {name}: {label!r} is taken as {found!r}", file=sys.stderr)
        words[label] = found
    if len(set(words.values())) < len(words):
        raise SystemExit(f"{name}: two labels stand for one option: {words}")
    return words


def _write(panel: str, raw: pl.DataFrame, words: dict[str, dict[str, str]], targets: list[str], to: Path) -> None:
    texts = [
        pl.col(old).str.to_lowercase().replace(VALUES).str.replace("89 or older", "89").alias(new)
        for old, new in PROFILE.items()
    ]
    answers = [pl.col(name).replace_strict(mapping, default=None).alias(name) for name, mapping in words.items()]
    person = pl.lit(f"gss{panel}:") + pl.col("firstid")
    table = raw.select(person.alias("person"), "wave", *texts, *answers).filter(
        pl.col("sex").is_not_null() & pl.col("wave").is_in(["1", "2"])
    )
    (to / f"panel{panel}.csv.gz").write_bytes(gzip.compress(table.write_csv().encode(), mtime=0))
    first, second = (table.filter(pl.col("wave") == wave).select("person", *targets) for wave in ("1", "2"))
    both = first.join(second, on="person", how="inner", suffix=" again")
    twice = pl.sum_horizontal((pl.col(n).is_not_null() & pl.col(f"{n} again").is_not_null()) for n in targets)
    names = both.filter(twice >= 5)["person"].to_list()
    parts = [[n for n in names if zlib.crc32(n.encode()) % 10 == part] for part in (0, 1)]
    order = [name for part in parts for name in sorted(part, key=lambda n: zlib.crc32(n.encode()))]
    (to / f"held_out{panel}.txt").write_text("\n".join(order[:HELD_OUT]) + "\n", encoding="utf-8")
    count = table["person"].n_unique()
    print(f"panel {panel}: {count} people, {len(parts[0])} of the test part, {len(parts[1])} of the other")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
