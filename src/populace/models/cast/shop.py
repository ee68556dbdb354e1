"""How the cast uses a web shop: it searches for what it wants, opens products, and buys or leaves."""

import re
from collections.abc import Mapping

from populace.models.cast.scene import Scene

_WISHES = re.compile(r"shopping online for (?P<first>.+?)(?: and then for (?P<second>.+?))?\. You want to spend")
_TITLE = re.compile(r"<h1>(.*?)</h1>")
_ACTIONS = {"click", "type and submit", "terminate"}
_PULLS = (
    (r"\.view$", 6.0),
    (r"^product\.add_to_cart$", 14.0),
    (r"^cart\.check_out$", 20.0),
    (r"^checkout\.place_order$", 25.0),
    (r"^categories\.", 2.0),
    (r"^product\.back", 4.0),
    (r"^sort\.|^pages\.", 1.0),
)
"""How much the cast likes to click an element, by its name; any other counts a fifth."""


def is_shop(scene: Scene) -> bool:
    """Whether somebody uses a web shop."""
    return "You use a web shop." in scene.user and _WISHES.search(scene.text) is not None


def distribution(scene: Scene) -> Mapping[str, float] | None:
    """The probabilities of actions, or of elements to click; None for anything else."""
    options = scene.request.options
    if set(options) <= _ACTIONS:
        weights = {"click": 1.0, "type and submit": 0.1, "terminate": 0.08}
        if not _typed(scene) or ("<h1>Cart</h1>" in scene.user and _next_wish(scene) not in _typed(scene)):
            weights |= {"click": 0.3, "type and submit": 1.0}
    elif "Which element do you click?" in scene.user:
        likes = {option: scene.taste(option) for option in options}
        weights = {option: _pull(option) * (0.5 + likes[option]) for option in options}
    else:
        return None
    total = sum(weights[option] for option in options)
    return {option: weights[option] / total for option in options}


def text(scene: Scene) -> str:
    """What the cast types into a field, or thinks about a page."""
    if "What do you type" in scene.user:
        return _next_wish(scene)
    title = _TITLE.search(scene.user)
    where = title[1] if title else "this page"
    lines = (
        f"I want {_next_wish(scene)}, and I see whether {where} brings me there.",
        f"On {where} I look for {_next_wish(scene)} that I can afford.",
        f"I am still looking for {_next_wish(scene)}, so I go on from here.",
    )
    return scene.pick(lines, "thought")


def _typed(scene: Scene) -> list[str]:
    return re.findall(r'You typed "(.*?)" into', scene.user)


def _next_wish(scene: Scene) -> str:
    """The first wish, and the second after the first was searched for."""
    wishes = _WISHES.search(scene.text)
    if wishes is None:
        return "something nice"
    second = wishes["second"]
    return second if second and wishes["first"] in _typed(scene) else wishes["first"]


def _pull(element: str) -> float:
    return next((weight for pattern, weight in _PULLS if re.search(pattern, element)), 0.2)
