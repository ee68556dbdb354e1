"""How shoppers with known preferences act: up to three possible actions for each visitor, with their probabilities.

The rule reads only what the page shows and what the shopper remembers of the session. It makes sessions whose truth is
known, and stands in for a model in a simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from populace.worlds.web.shop import MAX_CART, NOTHING, SORT_ORDERS, PageEffect, View
from populace.worlds.web.shoppers import wish_numbers
from populace.worlds.web.storefront import Storefront

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LEAVE = -1
"""In the place of an effect: to terminate."""
ALTERNATIVES = 3
_MOST_VIEWED = 8


@dataclass
class Intentions:
    """What each visitor may do next.

    Attributes:
        effects: The effects of up to three actions, a row for each visitor; `LEAVE` terminates.
        about: What each is about.
        chances: The probability of each; rows add up to 1, and equal actions stand once.
    """

    effects: Ints
    about: Ints
    chances: Floats

    def pick(self, uniform: Floats) -> Ints:
        """The place of one action for each visitor, by a number in [0, 1)."""
        places: Ints = (uniform[:, None] >= self.chances.cumsum(1)[:, :-1]).sum(1)
        return places

    def likeliest(self) -> Ints:
        """The place of the likeliest action of each visitor."""
        places: Ints = self.chances.argmax(1)
        return places

    def merge_equal(self) -> None:
        """Give the probability of an action that stands twice to its first place."""
        for first in range(ALTERNATIVES):
            for second in range(first + 1, ALTERNATIVES):
                same = (self.effects[:, first] == self.effects[:, second]) & (
                    self.about[:, first] == self.about[:, second]
                )
                self.chances[same, first] += self.chances[same, second]
                self.chances[same, second] = 0.0


class ShopperRule:
    """The rule by which shoppers with known preferences act in a storefront.

    Args:
        front: The shop and its visitors.
        shoppers: Their preferences, as `draw_wishes` gives them, a row for each visitor.

    Example:
        >>> from populace.worlds.web.shop_generator import generate_shop
        >>> from populace.worlds.web.shoppers import draw_preferences, draw_wishes
        >>> shop, rng = generate_shop(0, seed=1), np.random.default_rng(1)
        >>> shoppers = draw_wishes(draw_preferences(3, rng), shop.catalogue, rng)
        >>> rule = ShopperRule(Storefront(shop, pl.Series([0, 1, 2])), shoppers)
        >>> rule.intentions(np.arange(3)).chances.sum(1).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, front: Storefront, shoppers: pl.DataFrame) -> None:
        self.front, self.shop = front, front.shop
        catalogue = self.shop.catalogue
        count = shoppers.height
        self.first, self.second = (
            wish_numbers(shoppers[name], catalogue).to_numpy() for name in ("wish", "second_wish")
        )
        names = [shoppers["wish"], shoppers["second_wish"]]
        self._queries = [
            np.array([self.shop.query_number(word) if word else NOTHING for word in each.to_list()]) for each in names
        ]
        self.budget = shoppers["budget"].to_numpy().astype(np.float64)
        self.least_rating = shoppers["least_rating"].to_numpy().astype(np.float64)
        orders = {name: number for number, name in enumerate(SORT_ORDERS)}
        self.sorting = shoppers["sorting"].replace_strict(orders, return_dtype=pl.Int64).to_numpy()
        self.browses = shoppers["browses"].to_numpy()
        self.patience = shoppers["patience"].to_numpy()
        self.hesitant = shoppers["hesitant"].to_numpy()
        self.on_second: Bools = np.zeros(count, np.bool_)
        self.viewed: Ints = np.full((count, _MOST_VIEWED), NOTHING)
        self.views: Ints = np.zeros(count, np.int64)
        self._category = wish_numbers(catalogue.table["category"], catalogue).to_numpy()
        self._costs = catalogue.prices + (self.shop.design.shipping if self.shop.design.shipping_early else 0.0)

    def intentions(self, rows: Ints) -> Intentions:
        """What visitors may do next.

        Args:
            rows: Visitors whose session is not over.
        """
        count = len(rows)
        plan = Intentions(
            np.full((count, ALTERNATIVES), LEAVE), np.full((count, ALTERNATIVES), NOTHING),
            np.zeros((count, ALTERNATIVES)),
        )  # fmt: skip
        plan.chances[:, 0] = 1.0
        view = self.front.view[rows]
        for name, decide in (
            (View.HOME, self._at_home),
            (View.RESULTS, self._at_results),
            (View.PRODUCT, self._at_product),
            (View.CART, self._at_cart),
            (View.CHECKOUT, self._at_checkout),
        ):
            places = np.flatnonzero(view == name)
            if len(places):
                decide(plan, places, rows[places])
        plan.merge_equal()
        return plan

    def note(self, rows: Ints, effects: Ints, about: Ints) -> None:
        """Let visitors remember what they did: products that they viewed, and that they turned to a second wish."""
        viewing = effects == PageEffect.VIEW
        some, products = rows[viewing], about[viewing]
        self.viewed[some, self.views[some] % _MOST_VIEWED] = products
        self.views[some] += 1
        searching = (effects == PageEffect.SEARCH) & (self.second[rows] != NOTHING)
        turned = rows[searching & (about == self._queries[1][rows])]
        self.on_second[turned] = True
        self.views[turned] = 0

    def _wish(self, rows: Ints) -> Ints:
        return np.where(self.on_second[rows], self.second[rows], self.first[rows])

    def _left(self, rows: Ints) -> Floats:
        """What visitors can still spend, beside what is in their cart."""
        return np.asarray(self.budget[rows] - self._total(rows))

    def _total(self, rows: Ints) -> Floats:
        carts = self.front.cart[rows]
        return np.asarray(np.where(carts == NOTHING, 0.0, self.shop.catalogue.prices[carts]).sum(1))

    def _at_home(self, plan: Intentions, places: Ints, rows: Ints) -> None:
        wish = self._wish(rows)
        query = np.where(self.on_second[rows], self._queries[1][rows], self._queries[0][rows])
        listed = (wish >= 0) & (wish < 10)
        by_list = np.where(listed, np.where(self.browses[rows], 0.9, 0.05), 0.0)
        _put(plan, places, 0, PageEffect.SEARCH, query, 1 - by_list)
        _put(plan, places, 1, PageEffect.CATEGORY, wish, by_list)

    def _at_results(self, plan: Intentions, places: Ints, rows: Ints) -> None:
        front, design = self.front, self.shop.design
        keys = np.column_stack([front.query[rows], front.sort[rows], front.number[rows]])
        distinct, of_row = np.unique(keys, axis=0, return_inverse=True)
        of_row = np.asarray(of_row).reshape(-1)
        lists = np.full((len(distinct), design.results_per_page), NOTHING)
        more = np.zeros(len(distinct), np.bool_)
        for place, (query, sort, number) in enumerate(distinct.tolist()):
            here = self.shop.results_on_page(query, sort, number)
            lists[place, : len(here)] = here
            more[place] = (number + 1) * design.results_per_page < len(self.shop.results(query, sort))
        shown, more = lists[of_row], more[of_row]
        fresh = self._fresh(shown, rows)
        good = fresh & self._suits(shown, rows, ratings=design.ratings)
        good_first = shown[np.arange(len(rows)), good.argmax(1)]
        fresh_first = shown[np.arange(len(rows)), fresh.argmax(1)]
        any_good, tired = good.any(1), self.views[rows] >= self.patience[rows]
        full = (front.cart[rows] != NOTHING).any(1)
        # Each rule overrides those above it.
        _put(plan, places[full], 0, PageEffect.SEE_CART, NOTHING, 0.9)
        _put(plan, places[full], 1, LEAVE, NOTHING, 0.1)
        turning = more & (front.number[rows] + 1 < self.patience[rows]) & ~tired
        self._reset(plan, places[turning])
        _put(plan, places[turning], 0, PageEffect.TURN, front.number[rows][turning] + 1, 0.8)
        _put(plan, places[turning], 1, LEAVE, NOTHING, 0.2)
        going = any_good & ~tired
        self._reset(plan, places[going])
        _put(plan, places[going], 0, PageEffect.VIEW, good_first[going], 0.85)
        _put(plan, places[going], 1, PageEffect.VIEW, fresh_first[going], 0.1)
        _put(plan, places[going], 2, LEAVE, NOTHING, 0.05)
        unsorted = (self.sorting[rows] != front.sort[rows]) & (self.sorting[rows] != 0) & (shown[:, 0] != NOTHING)
        unsorted &= ~tired & (front.number[rows] == 0) & (self.views[rows] == 0)
        self._reset(plan, places[unsorted])
        _put(plan, places[unsorted], 0, PageEffect.SORT, self.sorting[rows][unsorted], 0.9)
        _put(plan, places[unsorted], 1, LEAVE, NOTHING, 0.1)

    def _at_product(self, plan: Intentions, places: Ints, rows: Ints) -> None:
        front = self.front
        product = front.product[rows][:, None]
        in_cart = (front.cart[rows] == product).any(1)
        good = self._suits(product, rows, ratings=True)[:, 0] & ~in_cart & (front.cart[rows, MAX_CART - 1] == NOTHING)
        tired = self.views[rows] >= self.patience[rows]
        full = (front.cart[rows] != NOTHING).any(1)
        back = front.query[rows] != NOTHING
        _put(plan, places, 0, np.where(full, PageEffect.SEE_CART, LEAVE), NOTHING, 0.9)
        _put(plan, places, 1, np.where(back, PageEffect.BACK, LEAVE), NOTHING, 0.1)
        going = ~tired & back
        _put(plan, places[going], 0, PageEffect.BACK, NOTHING, 0.9)
        _put(plan, places[going], 1, LEAVE, NOTHING, 0.1)
        self._reset(plan, places[good])
        _put(plan, places[good], 0, PageEffect.ADD, front.product[rows][good], 0.92)
        _put(plan, places[good], 1, np.where(back, PageEffect.BACK, LEAVE)[good], NOTHING, 0.05)
        _put(plan, places[good], 2, LEAVE, NOTHING, 0.03)

    def _at_cart(self, plan: Intentions, places: Ints, rows: Ints) -> None:
        shipping = self.shop.design.shipping if self.shop.design.shipping_early else 0.0
        carts = self.front.cart[rows]
        full, total = (carts != NOTHING).any(1), self._total(rows)
        over = full & (total + shipping > self.budget[rows])
        ready = full & ~over
        leaving = np.where(self.hesitant[rows], 0.3, 0.05)
        _put(plan, places[ready], 0, PageEffect.CHECK_OUT, NOTHING, 1 - leaving[ready])
        _put(plan, places[ready], 1, LEAVE, NOTHING, leaving[ready])
        last = carts[np.arange(len(rows)), np.maximum((carts != NOTHING).sum(1) - 1, 0)]
        _put(plan, places[over], 0, PageEffect.REMOVE, last[over], 0.7)
        _put(plan, places[over], 1, LEAVE, NOTHING, 0.3)
        second = ready & (self.second[rows] != NOTHING) & ~self.on_second[rows]
        self._reset(plan, places[second])
        _put(plan, places[second], 0, PageEffect.SEARCH, self._queries[1][rows][second], 0.85)
        _put(plan, places[second], 1, PageEffect.CHECK_OUT, NOTHING, 0.1)
        _put(plan, places[second], 2, LEAVE, NOTHING, 0.05)

    def _at_checkout(self, plan: Intentions, places: Ints, rows: Ints) -> None:
        over = self._total(rows) + self.shop.design.shipping > self.budget[rows]
        leaving = np.where(over, 0.85, np.where(self.hesitant[rows], 0.3, 0.04))
        _put(plan, places, 0, np.where(over, PageEffect.SEE_CART, PageEffect.ORDER), NOTHING, 1 - leaving)
        _put(plan, places, 1, LEAVE, NOTHING, leaving)

    def _fresh(self, shown: Ints, rows: Ints) -> Bools:
        """Which of the products shown a visitor has neither viewed nor put into the cart."""
        known = np.concatenate([self.viewed[rows], self.front.cart[rows]], axis=1)
        fresh: Bools = (shown != NOTHING) & ~(shown[:, :, None] == known[:, None, :]).any(2)
        return fresh

    def _suits(self, products: Ints, rows: Ints, *, ratings: bool) -> Bools:
        """Which products are what a visitor looks for, as far as one can see it."""
        suits: Bools = (products != NOTHING) & (self._category[products] == self._wish(rows)[:, None])
        suits &= self._costs[products] <= self._left(rows)[:, None]
        if ratings:
            suits &= self.shop.catalogue.ratings[products] >= self.least_rating[rows][:, None]
        return suits

    @staticmethod
    def _reset(plan: Intentions, places: Ints) -> None:
        plan.effects[places], plan.about[places], plan.chances[places] = LEAVE, NOTHING, 0.0


def _put(
    plan: Intentions, places: Ints, slot: int, effect: int | Ints, about: int | Ints, chance: float | Floats
) -> None:
    """Set one alternative of some visitors."""
    plan.effects[places, slot], plan.about[places, slot], plan.chances[places, slot] = effect, about, chance
