"""How the scripted cast takes part in a discussion: everybody has a leaning, and arguments move it a little."""

import re
from typing import Any

from populace.models.cast.scene import Scene, data, first_name, holds_word, key_part
from populace.models.expected_reply import text_chance

_TOPIC = re.compile(r'The topic: "(?P<topic>.*?)"')
_LATELY = re.compile(r"What was said lately:\n(?P<said>.*?)\n\nWhat do you say", re.DOTALL)


def topic(scene: Scene) -> str:
    """The topic of a discussion, or nothing."""
    match = _TOPIC.search(scene.user)
    return match["topic"] if match else ""


def contribution(scene: Scene) -> dict[str, str]:
    """What somebody says, and where they stand."""
    lines, stance = data("discussion"), "for" if _leaning(scene) > 0 else "against"
    match = _LATELY.search(scene.user)
    last = match["said"].split("\n")[-1] if match else ""
    name, _, words = last.partition(": ")
    other = "against" if stance == "for" else "for"
    own = _arguments(topic(scene))
    is_opposed = any(key_part(line) in words for line in own[other]) and scene.chance("reply") < 0.4
    text = scene.pick(lines["any"][f"reply_{stance}"] if is_opposed else own[stance], "say")
    return {"say": text.format(name=first_name(name)), "stance": stance}


def position(scene: Scene) -> dict[str, float]:
    """The probabilities of the points of a scale of agreement."""
    points = scene.request.options
    place = 0.5 + _leaning(scene) / 2
    centre = place * (len(points) - 1)
    weights = [0.3 ** abs(number - centre) for number in range(len(points))]
    return {point: weight / sum(weights) for point, weight in zip(points, weights, strict=True)}


def _leaning(scene: Scene) -> float:
    """Where somebody stands between -1 and 1: their own opinion, moved by the arguments that they remember."""
    own = 2 * text_chance(scene.person, topic(scene)) - 1
    own = 0.25 + 0.75 * own if own > 0 else -0.25 + 0.75 * own
    memories = scene.user.partition("What comes to your mind:")[2].partition("What was said lately:")[0]
    sides = _arguments(topic(scene))
    count = {side: sum(key_part(line) in memories for line in sides[side]) for side in ("for", "against")}
    return max(-1.0, min(1.0, own + 0.1 * (count["for"] - count["against"])))


def _arguments(about: str) -> dict[str, list[str]]:
    """The arguments for and against a topic: its own first, where there are any."""
    lines: dict[str, Any] = data("discussion")
    own = [each for each in lines["topic"] if holds_word(about, tuple(each["words"]))]
    return {side: [line for part in (*own, lines["any"]) for line in part[side]] for side in ("for", "against")}
