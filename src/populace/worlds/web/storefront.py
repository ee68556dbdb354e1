"""The visitors of a shop: what each looks at, what lies in their cart, and whether their session is over.

States are columns. People who look at the same share a page, and an action of many visitors is carried out at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.base.action_outcomes import ActionOutcome
from populace.base.errors import ActionRefusedError, UnknownNameError
from populace.people import Id
from populace.worlds.web.shop import (
    MAX_CART,
    NOTHING,
    ORDER,
    SORT_ORDERS,
    PageEffect,
    PageState,
    ShopPage,
    View,
    WebShop,
)

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Storefront:
    """A shop with its visitors, who act in it.

    Args:
        shop: The shop.
        ids: The visitors.

    Attributes:
        view: The page of each visitor.
        query: The number of the query whose results they came from.
        sort: The order of these results.
        number: The page of these results.
        product: The product that they look at.
        cart: The products in their cart, a row for each visitor.
        terminated: Who left.
        ordered: Who bought.

    Example:
        >>> from populace.worlds.web.catalogue import ProductCatalogue
        >>> goods = pl.DataFrame({"name": ["Tea Pot"], "category": ["kitchen"], "price": [20.0]})
        >>> front = Storefront(WebShop("Corner", ProductCatalogue.from_table(goods)), pl.Series([7]))
        >>> front.type_and_submit(7, "header.search", "tea").text
        'You searched for “tea”.'
        >>> front.options("elements", pl.Series([7])).to_list()[0][-1]
        'results.tea_pot.view'
    """

    def __init__(self, shop: WebShop, ids: pl.Series) -> None:
        self.shop = shop
        self.ids = ids
        self._rows = {who: row for row, who in enumerate(ids.to_list())}
        count = ids.len()
        self.view: Ints = np.full(count, int(View.HOME))
        self.query: Ints = np.full(count, NOTHING)
        self.sort: Ints = np.full(count, SORT_ORDERS.index(shop.design.first_sort))
        self.number: Ints = np.zeros(count, np.int64)
        self.product: Ints = np.full(count, NOTHING)
        self.cart: Ints = np.full((count, MAX_CART), NOTHING)
        self.terminated: Bools = np.zeros(count, np.bool_)
        self.ordered: Bools = np.zeros(count, np.bool_)
        self._carry_out: dict[int, Callable[[Ints, Ints], None]] = {
            PageEffect.GO_HOME: lambda rows, _: self._go(rows, View.HOME),
            PageEffect.SEARCH: self._show_results,
            PageEffect.CATEGORY: self._show_category,
            PageEffect.SORT: self._sort,
            PageEffect.TURN: self._turn,
            PageEffect.VIEW: self._view,
            PageEffect.ADD: self._add,
            PageEffect.REMOVE: self._remove,
            PageEffect.SEE_CART: lambda rows, _: self._go(rows, View.CART),
            PageEffect.CHECK_OUT: lambda rows, _: self._go(rows, View.CHECKOUT),
            PageEffect.BACK: lambda rows, _: self._go(rows, View.RESULTS),
            PageEffect.ORDER: self._order,
        }

    @property
    def ended(self) -> Bools:
        """Whose session is over."""
        ended: Bools = self.terminated | self.ordered
        return ended

    def rows_of(self, ids: pl.Series) -> Ints:
        """The rows of some visitors."""
        return np.array([self._row(who) for who in ids.to_list()], np.int64)

    def pages(self, rows: Ints) -> tuple[list[ShopPage], Ints]:
        """The distinct pages that some visitors look at, and which of them each sees."""
        states = np.column_stack([self._shown_state(rows), self.cart[rows]])
        distinct, of_visitor = np.unique(states, axis=0, return_inverse=True)
        pages = [
            self.shop.page(PageState(view, query, sort, number, product, tuple(cart)))
            for view, query, sort, number, product, *cart in distinct.tolist()
        ]
        return pages, np.asarray(of_visitor, np.int64).reshape(-1)

    def page_texts(self, ids: pl.Series) -> pl.Series:
        """The simplified HTML that each visitor sees."""
        pages, of_visitor = self.pages(self.rows_of(ids))
        texts = pl.Series("page", [page.page.html for page in pages], dtype=pl.String)
        return texts[pl.Series(of_visitor)] if ids.len() else texts.clear()

    def options(self, what: str, ids: pl.Series) -> pl.Series:
        """What visitors can choose: `elements` that they can click, `inputs` that they can type into."""
        if what not in ("elements", "inputs"):
            raise UnknownNameError("kind of option", what, ("elements", "inputs"))
        pages, of_visitor = self.pages(self.rows_of(ids))
        lists = [list(page.page.clickable if what == "elements" else page.page.inputs) for page in pages]
        options = pl.Series(what, lists, dtype=pl.List(pl.String))
        return options[pl.Series(of_visitor)] if ids.len() else options.clear()

    def click(self, who: Id, element: str) -> ActionOutcome:
        """Click an element of the page that a visitor sees."""
        row, effect, about = self._used(who, element)
        if effect == PageEffect.SEARCH:
            raise ActionRefusedError(f"{element} is a field; type into it.")
        if effect == PageEffect.ADD and (self.cart[row] != NOTHING).all():
            raise ActionRefusedError(f"the cart holds {MAX_CART} products, and no more fit.")
        rows = np.array([row])
        self.use(rows, np.array([effect]), np.array([about]))
        return ActionOutcome("You placed the order." if element == ORDER else f"You clicked {element}.")

    def type_and_submit(self, who: Id, element: str, text: str) -> ActionOutcome:
        """Type a text into a field of the page that a visitor sees, and submit it."""
        row, effect, _ = self._used(who, element)
        if effect != PageEffect.SEARCH:
            raise ActionRefusedError(f"{element} is no field; click it.")
        words = " ".join(text.split())
        if not words:
            raise ActionRefusedError("an empty text finds nothing.")
        self.use(np.array([row]), np.array([effect]), np.array([self.shop.query_number(words)]))
        return ActionOutcome(f"You searched for “{words}”.")

    def terminate(self, who: Id) -> ActionOutcome:
        """Leave the shop."""
        row = self._row(who)
        self._check_open(row)
        self.terminated[row] = True
        return ActionOutcome("You left the shop.")

    def use(self, rows: Ints, effects: Ints, about: Ints) -> None:
        """Carry out what many visitors do, each by the effect of an element and what it is about.

        Args:
            rows: The rows of the visitors, each once.
            effects: What each does.
            about: The product, the page number, the order, the category or the number of the query.
        """

        for effect in sorted(set(effects.tolist())):
            if effect in self._carry_out:
                chosen = effects == effect
                self._carry_out[effect](rows[chosen], about[chosen])

    def table(self) -> pl.DataFrame:
        """The state of every visitor, for the journal."""
        queries = pl.Series([*self.shop.queries, None], dtype=pl.String)
        names = pl.Series([*self.shop.catalogue.table["name"].to_list(), None], dtype=pl.String)
        carts = [[product for product in cart if product != NOTHING] for cart in self.cart.tolist()]
        return pl.DataFrame(
            {
                "visitor": self.ids,
                "view": [View(view).name.lower() for view in self.view.tolist()],
                "query": queries[pl.Series(self.query % len(queries))],
                "product": names[pl.Series(self.product % len(names))],
                "cart": pl.Series(
                    ["; ".join(self.shop.catalogue.names(products)) for products in carts], dtype=pl.String
                ),
                "terminated": self.terminated,
                "ordered": self.ordered,
            }
        )

    def _shown_state(self, rows: Ints) -> Ints:
        """The parts of the state that the page of each visitor depends on."""
        view = self.view[rows]
        results, product = view == View.RESULTS, view == View.PRODUCT
        from_results = product & (self.query[rows] != NOTHING)
        return np.column_stack(
            [
                view,
                np.where(results, self.query[rows], np.where(from_results, 0, NOTHING)),
                np.where(results, self.sort[rows], 0),
                np.where(results, self.number[rows], 0),
                np.where(product, self.product[rows], NOTHING),
            ]
        )

    def _used(self, who: Id, element: str) -> tuple[int, PageEffect, int]:
        """The row of a visitor, and what an element of their page does."""
        row = self._row(who)
        self._check_open(row)
        effect = self._page(row).effect(element)
        if effect is None:
            raise ActionRefusedError(f"the page has no element {element!r}.")
        return row, *effect

    def _page(self, row: int) -> ShopPage:
        """The page of one visitor, as `pages` gives it for many."""
        ((view, query, sort, number, product),) = self._shown_state(np.array([row])).tolist()
        return self.shop.page(PageState(view, query, sort, number, product, tuple(self.cart[row].tolist())))

    def _check_open(self, row: int) -> None:
        if self.terminated[row] or self.ordered[row]:
            raise ActionRefusedError("the session is over.")

    def _row(self, who: Id) -> int:
        if who not in self._rows:
            raise UnknownNameError("visitor", str(who), [str(each) for each in self._rows])
        return self._rows[who]

    def _go(self, rows: Ints, view: View) -> None:
        self.view[rows] = int(view)

    def _show_results(self, rows: Ints, queries: Ints) -> None:
        self.query[rows], self.number[rows] = queries, 0
        self.sort[rows] = SORT_ORDERS.index(self.shop.design.first_sort)
        self._go(rows, View.RESULTS)

    def _show_category(self, rows: Ints, categories: Ints) -> None:
        names = [self.shop.query_number(name) for name in self.shop.catalogue.categories]
        self._show_results(rows, np.array(names, np.int64)[categories])

    def _sort(self, rows: Ints, orders: Ints) -> None:
        self.sort[rows], self.number[rows] = orders, 0

    def _turn(self, rows: Ints, numbers: Ints) -> None:
        self.number[rows] = numbers

    def _view(self, rows: Ints, products: Ints) -> None:
        self.product[rows] = products
        self._go(rows, View.PRODUCT)

    def _remove(self, rows: Ints, products: Ints) -> None:
        self.cart[rows] = _without(self.cart[rows], products)

    def _order(self, rows: Ints, _: Ints) -> None:
        self.ordered[rows] = True
        self._go(rows, View.ORDERED)

    def _add(self, rows: Ints, products: Ints) -> None:
        """Put a product into carts in which it does not lie yet; a full cart stays as it is."""
        carts = self.cart[rows]
        there = (carts == products[:, None]).any(1)
        place = (carts == NOTHING).argmax(1)
        fits = ~there & (carts[np.arange(len(rows)), place] == NOTHING)
        carts[np.flatnonzero(fits), place[fits]] = products[fits]
        self.cart[rows] = carts
        self._go(rows, View.CART)


def _without(carts: Ints, products: Ints) -> Ints:
    """The carts without one product each, the others moved together."""
    left = np.where(carts == products[:, None], NOTHING, carts)
    order = np.argsort(left == NOTHING, axis=1, kind="stable")
    moved: Ints = np.take_along_axis(left, order, axis=1)
    return moved
