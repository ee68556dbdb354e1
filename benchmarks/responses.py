"""What moves a model in the prompts of the shipped scenarios: others, words, traits, illness, news and prices.

    python benchmarks/responses.py embedded+people-calibrated

prints the chance of the first option in each condition, as a Markdown table. Nothing is drawn: the numbers are those
of the model's distribution.
"""

from __future__ import annotations

import json
import sys
import tempfile

import polars as pl

from populace import Choice, People, Scenario, simulate
from populace.scenarios.epidemic.epidemic import HEALTH, NEWS, TOWN
from populace.scenarios.norms.norms import COUNTS, OFFICE, OWN

SHIRT = "Which shirt do you wear to work today?"
STAY = "Do you stay at home all day today?"
PRICES = {
    "demand, buys coffee": (
        "You are shopping in a supermarket and come to this product: Coffee (ground), 500 g. "
        "The last time that you looked, it cost $6.00. The price is ${price}.00."
    ),
    "… in other words": "Coffee usually costs 6 dollars. Here it costs {price} dollars.",
}
Conditions = list[tuple[str, str]]
"""For each condition the profile and the text that is told."""


def chances(model: str, question: str, options: tuple[str, str], conditions: Conditions) -> tuple[list[float], float]:
    """The chance of the first option in each condition, and the least probability that fell on the options."""

    class Conditioned(Scenario):
        """Everybody is asked once, each in a condition of their own."""

        def setup(self) -> People:
            return People(pl.DataFrame(conditions, schema=["who", "text"], orient="row"))

        def profile(self) -> str:
            return "{who}"

        def length(self) -> int:
            return 1

        async def step(self) -> None:
            await self.ask(self.people, Choice(question, options=options), given="{text}")

    with tempfile.TemporaryDirectory() as folder:
        prompts = simulate(Conditioned(), model=model, seed=1, workspace=folder).prompts()
    by_condition = {}
    for row in prompts.iter_rows(named=True):
        fields = json.loads(row["fields"])
        by_condition[fields["who"], fields["text"]] = row["probabilities"][0], row["mass"]
    first, masses = zip(*(by_condition[condition] for condition in conditions), strict=True)
    return list(first), min(masses)


def office(who: str, words: tuple[str, str], *, own: bool = False, workers: int = 20) -> Conditions:
    """The office of `norms` with none to all in the first colour."""
    first, second = words
    template = OFFICE + (OWN if own else "") + COUNTS
    return [
        (who, template.format(others=workers - 1, first=first, second=second, worn=first, workers=workers,
                              firsts=count, seconds=workers - count))
        for count in range(0, workers + 1, workers // 4)
    ]  # fmt: skip


def rows(model: str) -> list[tuple[str, list[float], float]]:
    """Each line of the table: what it is, the chances, and the least mass."""
    table = []
    for who, own in (
        ("You are Sandra.", False),
        ("You are Sandra, a conformist person.", False),
        ("You are Sandra, an extremely conformist person.", True),
        ("You are Sandra, a non-conformist person.", True),
    ):
        for words in (("blue", "green"), ("green", "blue")):
            name = f"norms, {who.removeprefix('You are ')[:-1]}{', wore it' if own else ''}: P({words[0]})"
            table.append((name, *chances(model, SHIRT, words, office(who, words, own=own))))
    resident = "You are Sandra, 40 years old."
    feelings = [(resident, f"{TOWN} {health}") for health in HEALTH]
    table.append(("epidemic, stays: normal, light cough, fever", *chances(model, STAY, ("yes", "no"), feelings)))
    news = [(resident, f"{TOWN} {HEALTH[0]}{NEWS.format(news=share)}") for share in (0.0, 1.0, 3.5, 7.0)]
    table.append(("… normal, news of 0, 1, 3.5, 7 %", *chances(model, STAY, ("yes", "no"), news)))
    for name, text in PRICES.items():
        prices = [("You are Sandra.", text.format(price=price)) for price in (1, 2, 4, 6, 8, 12, 20)]
        line = f"{name} at 1, 2, 4, 6, 8, 12, 20, usually 6"
        table.append((line, *chances(model, "Do you buy it?", ("yes", "no"), prices)))
    return table


def main(model: str) -> None:
    """Print the table of a model."""
    print(f"| {model} | chances | least mass |\n|---|---|---|")
    for name, numbers, mass in rows(model):
        print(f"| {name} | {' '.join(f'{number:.2f}' for number in numbers)} | {mass:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "embedded+people-calibrated")
