"""A shop on the web: its pages, and what a click on each element does.

Pages are home, results, product, cart, checkout and the confirmation of an order. A page is a function of what the
visitor looks at, so that everybody who looks at the same gets the same page, which is written once.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from populace.base.errors import WorldError
from populace.worlds.web.catalogue import ProductCatalogue
from populace.worlds.web.page import PageNode, WebPage, element_words, render_page

SortOrder = Literal["relevance", "price", "rating"]
SORT_ORDERS: tuple[SortOrder, ...] = ("relevance", "price", "rating")

SEARCH = "header.search"
"""The field for a search, which every page has."""
ORDER = "checkout.place_order"
"""The element that buys what is in the cart."""
MAX_CART = 6
"""How many products fit into a cart."""
NOTHING = -1
"""In the place of a product or a query: none."""


class View(enum.IntEnum):
    """Which page a visitor looks at."""

    HOME = 0
    RESULTS = 1
    PRODUCT = 2
    CART = 3
    CHECKOUT = 4
    ORDERED = 5


class PageEffect(enum.IntEnum):
    """What using an element does."""

    GO_HOME = 0
    SEARCH = 1
    SORT = 2
    TURN = 3
    VIEW = 4
    ADD = 5
    REMOVE = 6
    SEE_CART = 7
    CHECK_OUT = 8
    ORDER = 9
    BACK = 10
    CATEGORY = 11


class PageState(NamedTuple):
    """What a page shows; what a page does not depend on is `NOTHING` or 0.

    Attributes:
        view: Which page.
        query: The number of the query of the results, also of those that a product was opened from.
        sort: The number of the order of the results.
        number: The number of the page of the results, from 0.
        product: The product.
        cart: The products in the cart, padded with `NOTHING`.
    """

    view: int
    query: int
    sort: int
    number: int
    product: int
    cart: tuple[int, ...]


@dataclass(frozen=True)
class ShopPage:
    """A page of a shop, with what its elements do.

    Attributes:
        page: The page.
        effects: The effect of each element and what it is about, in the order of `page.elements`.
    """

    page: WebPage
    effects: tuple[tuple[PageEffect, int], ...]

    def effect(self, element: str) -> tuple[PageEffect, int] | None:
        """The effect of an element by its name; None where the page does not have it."""
        names = [each.name for each in self.page.elements]
        return self.effects[names.index(element)] if element in names else None


@dataclass(frozen=True)
class ShopDesign:
    """How a shop presents what it sells; a change of it can be tried as an experiment.

    Attributes:
        results_per_page: How many products a page of results shows.
        first_sort: The order of results before anybody sorts them.
        shipping: What shipping costs.
        shipping_early: Whether results and product pages say what shipping costs, and not only the checkout.
        ratings: Whether results show ratings; product pages always do.
        notice: A line at the top of every page; empty for none.
    """

    results_per_page: int = 5
    first_sort: SortOrder = "relevance"
    shipping: float = 4.9
    shipping_early: bool = False
    ratings: bool = True
    notice: str = ""

    def __post_init__(self) -> None:
        if not 1 <= self.results_per_page <= 10:
            raise WorldError(f"a page of {self.results_per_page} results cannot be shown.", "Show 1 to 10 of them.")
        if not 0 <= self.shipping < float("inf"):
            raise WorldError(f"shipping cannot cost {self.shipping}.", "Let it cost 0 or more.")
        if self.first_sort not in SORT_ORDERS:
            raise WorldError(f"results cannot be sorted by {self.first_sort!r}.", f"Sort by {', '.join(SORT_ORDERS)}.")


@dataclass
class WebShop:
    """A shop: what it sells and how it shows it, with every page that somebody has looked at.

    Attributes:
        name: Its name.
        catalogue: What it sells.
        design: How it shows it.
        queries: Every query so far; states name them by number.
    """

    name: str
    catalogue: ProductCatalogue
    design: ShopDesign = field(default_factory=ShopDesign)
    queries: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._query_numbers: dict[str, int] = {query: number for number, query in enumerate(self.queries)}
        self._results: dict[tuple[int, int], npt.NDArray[np.int64]] = {}
        self._pages: dict[PageState, ShopPage] = {}
        self._category_words = element_words(self.catalogue.categories, "category")

    def query_number(self, query: str) -> int:
        """The number of a query, a new one for a query that was never asked."""
        if query not in self._query_numbers:
            self._query_numbers[query] = len(self.queries)
            self.queries.append(query)
        return self._query_numbers[query]

    def results(self, query: int, sort: int) -> npt.NDArray[np.int64]:
        """The products that a query finds, in order."""
        key = (query, sort)
        if key not in self._results:
            rows = self.catalogue.matches(self.queries[query])
            values = {"price": self.catalogue.prices, "rating": -self.catalogue.ratings}.get(SORT_ORDERS[sort])
            self._results[key] = rows if values is None else rows[np.argsort(values[rows], kind="stable")]
        return self._results[key]

    def results_on_page(self, query: int, sort: int, number: int) -> npt.NDArray[np.int64]:
        """The products on one page of the results."""
        count = self.design.results_per_page
        return self.results(query, sort)[number * count : (number + 1) * count]

    def total(self, cart: tuple[int, ...]) -> float:
        """What the products of a cart cost, without shipping."""
        return float(sum(self.catalogue.prices[product] for product in cart if product != NOTHING))

    def page(self, state: PageState) -> ShopPage:
        """The page that a state shows."""
        if state not in self._pages:
            self._pages[state] = self._write(state)
        return self._pages[state]

    def _write(self, state: PageState) -> ShopPage:
        bodies = {
            View.HOME: self._home,
            View.RESULTS: self._result_list,
            View.PRODUCT: self._product,
            View.CART: self._cart,
            View.CHECKOUT: self._checkout,
            View.ORDERED: self._ordered,
        }
        title, nodes, effects = bodies[View(state.view)](state)
        count = sum(product != NOTHING for product in state.cart)
        header = PageNode(
            "nav",
            name="header",
            children=[PageNode("input", name="search"), PageNode("a", "Home", "home"),
                      PageNode("a", f"Cart ({count})", "cart")],
        )  # fmt: skip
        notice = [PageNode("p", self.design.notice)] if self.design.notice else []
        above = [(PageEffect.SEARCH, NOTHING), (PageEffect.GO_HOME, NOTHING), (PageEffect.SEE_CART, NOTHING)]
        if state.view == View.ORDERED:
            return ShopPage(render_page(title, [*notice, *nodes]), ())
        return ShopPage(render_page(title, [header, *notice, *nodes]), (*above, *effects))

    def _home(self, state: PageState) -> _Body:
        links = zip(self._category_words, self.catalogue.categories, strict=True)
        entries = [PageNode("li", children=[PageNode("a", text, word)]) for word, text in list(links)[:10]]
        effects = [(PageEffect.CATEGORY, number) for number in range(len(entries))]
        return self.name, [PageNode("ul", name="categories", children=entries)], effects

    def _result_list(self, state: PageState) -> _Body:
        query = self.queries[state.query]
        everything = self.results(state.query, state.sort)
        here = self.results_on_page(state.query, state.sort, state.number).tolist()
        if not len(everything):
            return f"No results for {query}", [PageNode("p", "Nothing matches. Try another search.")], []
        effects: list[tuple[PageEffect, int]] = []
        sorts = []
        for number, order in enumerate(SORT_ORDERS):
            if number != state.sort:
                sorts.append(PageNode("a", f"Sort by {order}", f"by_{order}"))
                effects.append((PageEffect.SORT, number))
        items = []
        for product in here:
            text = f"{self._line(product, ratings=self.design.ratings)} "
            items.append(PageNode("li", text, self.catalogue.words[product], [PageNode("a", "View", "view")]))
            effects.append((PageEffect.VIEW, product))
        nodes = [PageNode("p", name="sort", children=sorts), PageNode("ul", name="results", children=items)]
        turns = []
        if (state.number + 1) * self.design.results_per_page < len(everything):
            turns.append(PageNode("a", "Next page", "next"))
            effects.append((PageEffect.TURN, state.number + 1))
        if state.number:
            turns.append(PageNode("a", "Previous page", "previous"))
            effects.append((PageEffect.TURN, state.number - 1))
        if turns:
            nodes.append(PageNode("p", name="pages", children=turns))
        return f"Results for {query}, sorted by {SORT_ORDERS[state.sort]}", nodes, effects

    def _product(self, state: PageState) -> _Body:
        children = [PageNode("button", "Add to cart", "add_to_cart")]
        effects = [(PageEffect.ADD, state.product)]
        if state.query != NOTHING:
            children.append(PageNode("a", "Back to results", "back_to_results"))
            effects.append((PageEffect.BACK, NOTHING))
        name = self.catalogue.names([state.product])[0]
        text = f"{self._line(state.product, ratings=True)} "
        return name, [PageNode("p", text), PageNode("p", name="product", children=children)], effects

    def _cart(self, state: PageState) -> _Body:
        products = [product for product in state.cart if product != NOTHING]
        if not products:
            return "Cart", [PageNode("p", "Your cart is empty.")], []
        items, effects = [], []
        for product in products:
            line = f"{self.catalogue.names([product])[0]}, {_money(self.catalogue.prices[product])} "
            items.append(PageNode("li", line, self.catalogue.words[product], [PageNode("a", "Remove", "remove")]))
            effects.append((PageEffect.REMOVE, product))
        shipping = f", {_money(self.design.shipping)} shipping" if self.design.shipping_early else ""
        total = PageNode("p", f"Total {_money(self.total(state.cart))}{shipping} ")
        button = PageNode("p", name="cart", children=[PageNode("button", "Check out", "check_out")])
        effects.append((PageEffect.CHECK_OUT, NOTHING))
        return "Cart", [PageNode("ul", name="cart", children=items), total, button], effects

    def _checkout(self, state: PageState) -> _Body:
        goods, shipping = self.total(state.cart), self.design.shipping
        text = f"Products {_money(goods)}, shipping {_money(shipping)}, to pay {_money(goods + shipping)} "
        buttons = [PageNode("button", "Place the order", "place_order"), PageNode("a", "Back to the cart", "back")]
        effects = [(PageEffect.ORDER, NOTHING), (PageEffect.SEE_CART, NOTHING)]
        return "Checkout", [PageNode("p", text), PageNode("p", name="checkout", children=buttons)], effects

    def _ordered(self, state: PageState) -> _Body:
        return "Thank you for your order", [PageNode("p", f"You paid {_money(self._paid(state))}.")], []

    def _paid(self, state: PageState) -> float:
        return self.total(state.cart) + self.design.shipping

    def _line(self, product: int, *, ratings: bool) -> str:
        name, _, price, rating, reviews = self.catalogue.table.row(product)
        words = f"{name}, {_money(price)}"
        words += f" + {_money(self.design.shipping)} shipping" if self.design.shipping_early else ""
        return words + (f", {rating:.1f} stars ({reviews:.0f} reviews)" if ratings else "")


_Body = tuple[str, list[PageNode], list[tuple[PageEffect, int]]]


def _money(amount: float) -> str:
    return f"${amount:.2f}"
