"""A shop on the web: what is searched is found, what is done changes the page, and what is impossible is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from populace.base.errors import ActionRefusedError, UnknownNameError, WorldError
from populace.worlds.web.catalogue import CatalogueFile, ProductCatalogue
from populace.worlds.web.page import WebPage
from populace.worlds.web.shop import MAX_CART, ShopDesign, View, WebShop
from populace.worlds.web.shop_generator import generate_catalogue, generate_shop
from populace.worlds.web.storefront import Storefront

GOODS = pl.DataFrame(
    {
        "name": ["Tea Pot", "Iron Pot", "Tea Cup", "Lamp"],
        "category": ["tea", "cooking", "tea", "light"],
        "price": [20.0, 30.0, 5.0, 40.0],
        "rating": [4.0, 4.5, 3.0, 5.0],
        "reviews": [10, 99, 50, 1],
    }
)


def front(count: int = 1, **design: object) -> Storefront:
    shop = WebShop("Corner", ProductCatalogue.from_table(GOODS), ShopDesign(**design))  # type: ignore[arg-type]
    return Storefront(shop, pl.Series(range(count)))


def page(shop: Storefront, who: int = 0) -> WebPage:
    return WebPage.read(shop.page_texts(pl.Series([who]))[0])


def results(shop: Storefront) -> list[str]:
    return [name.split(".")[1] for name in page(shop).clickable if name.startswith("results.")]


def test_a_session_from_search_to_order() -> None:
    shop = front()
    shop.type_and_submit(0, "header.search", "  tea   pot ")
    assert page(shop).title == "Results for tea pot, sorted by relevance"
    assert results(shop) == ["tea_pot", "iron_pot", "tea_cup"] or results(shop)[0] == "tea_pot"
    shop.click(0, "sort.by_price")
    assert results(shop)[0] == "tea_cup"
    shop.click(0, "results.tea_cup.view")
    shop.click(0, "product.back_to_results")
    assert "sorted by price" in page(shop).title
    shop.click(0, "results.tea_pot.view")
    shop.click(0, "product.add_to_cart")
    assert "Total $20.00" in page(shop).html
    shop.click(0, "cart.check_out")
    assert "to pay $24.90" in page(shop).html
    shop.click(0, "checkout.place_order")
    assert shop.ended.all() and shop.ordered.all() and page(shop).elements == ()
    assert shop.table().row(0, named=True)["cart"] == "Tea Pot"


def test_what_is_impossible_is_refused_with_the_reason_and_changes_nothing() -> None:
    shop = front()
    before = shop.table()
    for act, reason in (
        (lambda: shop.click(0, "checkout.place_order"), "no element 'checkout.place_order'"),
        (lambda: shop.click(0, "header.search"), "is a field"),
        (lambda: shop.type_and_submit(0, "header.cart", "x"), "is no field"),
        (lambda: shop.type_and_submit(0, "header.search", " \n "), "an empty text"),
    ):
        with pytest.raises(ActionRefusedError, match=reason):
            act()
    assert shop.table().equals(before)
    shop.terminate(0)
    with pytest.raises(ActionRefusedError, match="over"):
        shop.click(0, "header.home")
    with pytest.raises(UnknownNameError):
        shop.terminate(9)


def test_a_cart_that_is_full_refuses_one_more_and_removal_moves_the_rest_up() -> None:
    goods = generate_catalogue(np.random.default_rng(1), 1, MAX_CART + 1)
    shop = Storefront(WebShop("Big", goods, ShopDesign(results_per_page=10)), pl.Series([0]))
    for product in range(MAX_CART + 1):
        shop.type_and_submit(0, "header.search", goods.categories[0])
        shop.click(0, f"results.{goods.words[product]}.view")
        if product < MAX_CART:
            shop.click(0, "product.add_to_cart")
    with pytest.raises(ActionRefusedError, match="no more fit"):
        shop.click(0, "product.add_to_cart")
    shop.click(0, "header.cart")
    shop.click(0, f"cart.{goods.words[1]}.remove")
    assert shop.cart[0].tolist() == [0, 2, 3, 4, 5, -1]


def test_hostile_words_in_names_and_searches_stay_text() -> None:
    goods = GOODS.with_columns(
        name=pl.Series(["<script>alert(1)</script>", 'x"><a name="free">', "Tea\x1b[31m", "{page}"])
    )
    shop = Storefront(WebShop("<b>", ProductCatalogue.from_table(goods)), pl.Series([0]))
    shop.type_and_submit(0, "header.search", '<a name="gift">script page</a>')
    html = shop.page_texts(pl.Series([0]))[0]
    assert "<script" not in html and "\x1b" not in html
    assert {"gift", "free"}.isdisjoint(page(shop).clickable)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"price": [20.0, -1.0, 5.0, 40.0]}, "line 2: the price of 'Iron Pot' is -1, below zero"),
        ({"name": ["Tea Pot", "Iron Pot", "tea-pot", "Lamp"]}, "line 3: two products have the name 'tea-pot'"),
        ({"name": ["Tea Pot", None, "Cup", "Lamp"]}, "line 2: a product needs a name"),
        ({"price": ["20", "free", "5", "40"]}, "line 2: price, rating and reviews of 'Iron Pot' must be numbers"),
        ({"price": [20.0, float("inf"), 5.0, 40.0]}, "line 2"),
        ({"rating": [4.0, 4.5, 3.0, 51.0]}, "line 4: the rating of 'Lamp' is 51"),
        ({"reviews": [1, -3, 1, 1]}, "below zero"),
    ],
)
def test_a_catalogue_with_a_wrong_row_is_refused_by_line(change: dict[str, list[object]], problem: str) -> None:
    table = GOODS.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    with pytest.raises(WorldError, match=problem):
        ProductCatalogue.from_table(table)


def test_a_catalogue_is_read_from_csv_jsonl_and_parquet_with_its_lines(tmp_path: Path) -> None:
    GOODS.write_csv(tmp_path / "goods.csv")
    GOODS.write_ndjson(tmp_path / "goods.jsonl")
    GOODS.write_parquet(tmp_path / "goods.parquet")
    tables = [ProductCatalogue.read(file).table for file in sorted(tmp_path.iterdir())]
    assert all(table.equals(tables[0]) for table in tables)
    (tmp_path / "bad.csv").write_text("name,category,price\nCup,tea,5\nPot,tea,-2\n")
    with pytest.raises(WorldError, match=r"bad\.csv, line 3: the price of 'Pot' is -2"):
        ProductCatalogue.read(tmp_path / "bad.csv")
    (tmp_path / "bad.jsonl").write_text('{"name": "Cup", "category": "tea", "price": 5}\n{"name": [1]}\n')
    with pytest.raises(WorldError, match="line 2"):
        ProductCatalogue.read(tmp_path / "bad.jsonl")
    for name, hint in (("none.csv", "there is no file"), ("goods.txt", "not a CSV")):
        with pytest.raises(WorldError, match=hint):
            ProductCatalogue.read(tmp_path / name)
    with pytest.raises(WorldError, match="different lengths"):
        CatalogueFile(name="x", products={"name": ["a"], "price": []}).catalogue()


def test_many_visitors_at_once_do_the_same_as_one_after_the_other() -> None:
    shop = front(3)
    for who, word in enumerate(("tea", "pot", "tea")):
        shop.type_and_submit(who, "header.search", word)
    pages, of_visitor = shop.pages(np.arange(3))
    assert len(pages) == 2 and of_visitor[0] == of_visitor[2] != of_visitor[1]
    shop.click(1, "results.iron_pot.view")
    assert shop.view.tolist() == [View.RESULTS, View.PRODUCT, View.RESULTS]


def test_a_made_up_shop_depends_on_its_seed_and_number_alone() -> None:
    assert generate_shop(2, seed=1).catalogue.table.equals(generate_shop(2, seed=1).catalogue.table)
    tables = [generate_shop(number, seed).catalogue.table for number, seed in ((2, 1), (3, 1), (2, 2))]
    assert not tables[0].equals(tables[1]) and not tables[0].equals(tables[2])
    assert len({generate_shop(number, seed=1).name for number in range(60)}) == 60


@pytest.mark.parametrize("design", [{"results_per_page": 0}, {"shipping": -1.0}, {"first_sort": "colour"}])
def test_a_design_that_cannot_be_is_refused(design: dict[str, object]) -> None:
    with pytest.raises(WorldError):
        ShopDesign(**design)  # type: ignore[arg-type]
