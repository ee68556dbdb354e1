"""The demand study: products, shoppers, designs, and a report that says first what cannot be believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from populace import Scripted, simulate
from populace.base.errors import ParameterError
from populace.causal import DESIGNS, CausalDesign, ask_causal_study
from populace.evaluation import DemandReport, HumanCurve
from populace.evaluation.demand_report import item_shares
from populace.evaluation.shoppers import read_shoppers
from populace.models import Request
from populace.scenarios.demand import Demand, demand_study
from populace.scenarios.demand.personas import TABLE, generate_personas
from populace.scenarios.demand.products import PRICE_POINTS, elasticity_of, read_products
from populace.scenarios.demand.study import default_shoppers
from support.commands import populace

SMALL = demand_study(read_products().head(4), default_shoppers(6))
RISING = Scripted(lambda request: {"yes": 0.9 if "$9.00" in request.messages[-1][1] else 0.1, "no": 0.1})


def test_there_are_forty_products_and_eleven_prices_from_nothing_to_twice_the_regular_price() -> None:
    products = read_products()
    assert products.height == products["name"].n_unique() == 40
    assert PRICE_POINTS == (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
    study = demand_study()
    assert (len(study.items), len(study.treatment.values), len(study.personas)) == (40, 11, 500)
    assert all(elasticity_of(category) < 0 for category in products["category"])


def test_the_shoppers_that_ship_are_those_of_the_generator() -> None:
    assert pl.read_csv(TABLE).equals(generate_personas(500))


@pytest.mark.parametrize("design", DESIGNS)
def test_a_dry_run_is_valid_in_every_design_and_demand_falls(design: CausalDesign) -> None:
    run = simulate(Demand(products=3, shoppers=6, design=design), model="scripted:cast", keep="nothing")
    assert set(run.answers()["status"].cast(pl.String)) == {"ok"}
    shares = run.history("responses").group_by("level").agg(pl.col("y").mean()).sort("level")["y"]
    assert shares[0] > shares[5] > shares[10]


def test_unstated_prices_follow_the_price_in_a_dry_run() -> None:
    run = simulate(Demand(products=2, shoppers=2, drift=True, points=3), model="scripted:cast", keep="nothing")
    past = (
        run.history("responses").filter(pl.col("covariate") == "past_price").group_by("level").agg(pl.col("y").mean())
    )
    assert past.sort("level")["y"].is_sorted() and past["y"].n_unique() == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,description,category,unit\nmilk,fresh,milk,1 litre\n", "has no column 'price'"),
        ("name,description,category,unit,price\nmilk,fresh,milk,1 litre,-2\n", "the regular price of 'milk' is -2"),
        ("name,description,category,unit,price\nmilk,a,milk,1,2\nmilk,b,milk,1,3\n", "'milk' is there twice"),
        ("name,description,category,unit,price\n,a,milk,1,2\n", "no name or no unit"),
    ],
)
def test_products_that_cannot_be_sold_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "products.csv"
    path.write_text(text)
    with pytest.raises(ParameterError, match=words):
        read_products(path)


PRODUCT = 'name = "milk"\ndescription = "fresh"\ncategory = "milk"\nunit = "1 litre"\n'


@pytest.mark.parametrize(
    "text",
    ["product = 5", "product = [{name = 'a'}, 5]", "product = " + "[" * 5000, "product = [[]]", "product = {a = 1}", "[[product]]\nname = [1]",
     "product = 'x'", f"[[product]]\n{PRODUCT}price = [1]", f"[[product]]\n{PRODUCT}price = {{a = 1}}", f"[[product]]\n{PRODUCT}price = 1979-05-27",
     f"[[product]]\n{PRODUCT}price = 1{'0' * 400}", f"[[product]]\n{PRODUCT}price = 1{'0' * 9000}", f"[[product]]\n{PRODUCT}price = true",
     f"[[product]]\n{PRODUCT}price = nan", f"[[product]]\n{PRODUCT}", "product = []", "", "[["],
)  # fmt: skip
def test_a_file_of_something_else_than_products_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "products.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match="products.toml") as raised:
        read_products(path)
    assert "recursion" not in raised.value.what


def test_products_of_a_file_are_read_with_their_prices(tmp_path: Path) -> None:
    path = tmp_path / "products.toml"
    path.write_text(
        f"[[product]]\n{PRODUCT}price = 1.1\nextra = [1]\n[[product]]\n{PRODUCT.replace('milk', 'tea')}price = 2\n"
    )
    assert read_products(path).select("name", "price").rows() == [("milk", 1.1), ("tea", 2.0)]


def test_a_price_below_zero_is_refused() -> None:
    with pytest.raises(ParameterError, match="below zero"):
        demand_study(points=(-0.2, 1.0))


def human_table(study: Any = SMALL) -> pl.DataFrame:
    """People who buy at each price of each product as the scripted cast does, with some chance."""
    results = ask_causal_study(study, designs=("blind",), model="scripted:cast", diagnostics=False, keep="nothing")
    cells = item_shares(results.responses["blind"])
    rows = [
        {"item": row["item"], "level": row["level"], "buy": int(number < round(20 * row["share"]))}
        for row in cells.iter_rows(named=True)
        for number in range(20)
    ]
    return pl.DataFrame(rows)


def test_a_curve_that_does_not_fall_is_uninformative_first(tmp_path: Path) -> None:
    results = ask_causal_study(SMALL, designs=("blind",), model=RISING, diagnostics=False, keep="nothing")
    report = DemandReport.of(results, HumanCurve.of(human_table()))
    assert report.findings()[0].startswith("Uninformative")
    markdown = next(file for file in report.write(tmp_path) if file.suffix == ".md").read_text()
    first = next(line for line in markdown.splitlines() if line.startswith(("- ", "* ")))
    assert "Uninformative" in first


def test_the_report_holds_distances_of_designs_halves_and_baselines() -> None:
    results = ask_causal_study(
        SMALL, designs=("blind", "aggregate"), model="scripted:cast", diagnostics=False, keep="nothing"
    )
    report = DemandReport.of(results, HumanCurve.of(human_table()))
    found = {each.name: each.value for each in report.distances}
    assert list(found) == [
        "blind",
        "aggregate",
        "the other half of the people",
        "flat demand",
        "average elasticity",
        "logistic on price",
    ]
    assert found["blind"] < found["flat demand"]
    assert report.results.informative and not report.findings()[0].startswith("Uninformative")
    json.dumps(report.figures(), allow_nan=False)


def test_a_design_without_valid_answers_is_not_compared() -> None:
    def broken(request: Request) -> Any:
        return {"yes": 0.5, "no": 0.5} if request.options else "I would rather not say."

    results = ask_causal_study(
        SMALL, designs=("blind", "within"), model=Scripted(broken), diagnostics=False, keep="nothing"
    )
    report = DemandReport.of(results, HumanCurve.of(human_table()))
    assert "within" in report.not_compared and "within" not in [each.name for each in report.distances]
    assert any("not compared with people" in text for text in report.findings())
    report.document()
    json.dumps(report.figures(), allow_nan=False)


def test_shoppers_come_from_a_human_table_without_what_they_bought(tmp_path: Path) -> None:
    path = tmp_path / "human.csv"
    path.write_text("person,level,buy,age\na,1,yes,30\na,2,no,30\nb,1,no,40\n")
    assert read_shoppers(path).to_dicts() == [{"persona": "a", "age": 30}, {"persona": "b", "age": 40}]


def test_what_is_not_known_of_a_shopper_is_said(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,work\n30,\n,nurse\n")
    assert read_shoppers(path).to_dicts() == [{"age": "30", "work": "not known"}, {"age": "not known", "work": "nurse"}]


def test_a_study_whose_levels_are_words_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        "treatment: {name: label, levels: [organic, plain], statement: 'It is {label}.'}\n"
        "setting: You see apples.\nquestion: Do you buy?\noptions: [yes, no]\nsuccess: yes\n"
    )
    result = populace("demand", "--study", str(path), "--model", "scripted:cast", "--workspace", str(tmp_path))
    assert result.returncode == 2 and "are words, not numbers" in result.stderr and not (tmp_path / "runs").exists()


def test_the_command_asks_reports_and_reports_again_from_its_runs(tmp_path: Path) -> None:
    human = tmp_path / "human.csv"
    human_table().write_csv(human)
    shared = ["--human", str(human), "--design", "blind", "--workspace", str(tmp_path / "ws"), "--json"]
    asked = populace(
        "demand", "--shoppers", "6", "--no-diagnostics", *[f"--product={item['product']}" for item in SMALL.items],
        "--model", "scripted:cast", "--to", str(tmp_path / "a"), *shared,
    )  # fmt: skip
    again = populace("demand", "--runs", str(tmp_path / "ws"), "--to", str(tmp_path / "b"), *shared)
    first, second = json.loads(asked.stdout)["data"], json.loads(again.stdout)["data"]
    assert first["human"] == second["human"] and first["designs"]["blind"]["response"] == "responds"
    assert any("do not say where the price comes from" in note for note in first["notes"])


def test_the_command_refuses_other_levels_before_it_asks(tmp_path: Path) -> None:
    human = tmp_path / "human.csv"
    human.write_text("item,level,buy\norange juice,4.5,1\norange juice,4.7,0\n")
    result = populace("demand", "--product", "orange juice", "--human", str(human), "--model", "scripted:cast")
    assert result.returncode == 2 and "level 4.7 of 'orange juice'" in result.stderr
    alone = populace("demand", "--column", "level=price", "--check")
    assert alone.returncode == 2 and "Add --human TABLE" in alone.stderr


def test_the_report_of_a_run_says_whether_demand_falls() -> None:
    run = simulate(Demand(products=3, shoppers=6), model="scripted:cast", keep="nothing")
    [table] = Demand.report(run)
    assert table.table["value"][0] == "demand falls with the price"
    flat = simulate(Demand(products=3, shoppers=6), model="scripted:uniform", keep="nothing")
    assert Demand.report(flat)[0].table["value"][0] == "uninformative: does not respond"
    assert (
        Demand.report(simulate(Demand(products=1, shoppers=1, drift=True), model="scripted:cast", keep="nothing")) == []
    )
