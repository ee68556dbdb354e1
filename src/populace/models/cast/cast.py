"""The script of the cast: one reply to any request, valid wherever a valid one is possible."""

import functools
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from populace.models.base import Request
from populace.models.cast import community, debate, purchases, shop, town
from populace.models.cast.scene import Scene, content_words, contents_digest, data
from populace.models.expected_reply import text_chance
from populace.models.json_values import JsonValues

_LABEL = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)
_QUESTION = re.compile(r"(?:^|(?<=[\n.!?]))[^\n.!?]*\?")


class Cast:
    """A script that writes like people: on the topic, in reply to the prompt, and always in the same way.

    Everybody has tastes of their own, which depend on their name. Nothing that it writes is a finding.

    Example:
        >>> request = Request((("user", "How are you?\\nAnswer in your own words, in at most 60 words."),))
        >>> Cast()(request) == Cast()(request)
        True
    """

    def __init__(self) -> None:
        self.contents = contents_digest()

    def __call__(self, request: Request) -> Mapping[str, float] | str:
        """Reply to a request."""
        scene = Scene.of(request)
        kind = scene.expected.kind
        if kind == "option":
            return _distribution(scene)
        if kind == "object":
            return json.dumps(_object(scene), ensure_ascii=False)
        if kind == "number":
            price = purchases.unstated_price(scene) if purchases.is_purchase(scene) else None
            if price is not None:
                return str(price)
            return str(scene.expected.bounds.at(_centred(scene.chance("number"), scene.taste(_question(scene)))))
        if kind == "reasoning":
            return scene.pick(data("survey")["reasons"], "reason")
        if town.is_conversation(scene):
            return town.conversation_line(scene)
        if town.is_aim(scene):
            return town.aim(scene)
        if shop.is_shop(scene):
            return shop.text(scene)
        if "and what is between you?" in scene.user:
            return town.relationship(scene)
        if community.is_community(scene):
            return community.post(scene)
        return _text(scene)


def _distribution(scene: Scene) -> Mapping[str, float]:
    """The probabilities of the options, by what they mean; letters are read as the options that they stand for."""
    options = scene.request.options
    words = dict(_LABEL.findall(scene.user))
    if all(option in words for option in options) and len(set(words.values())) == len(words):
        meanings = tuple(words[option] for option in options)
        likely = _distribution(Scene.of(scene.request._replace(options=meanings)))
        return {option: likely[meaning] for option, meaning in zip(options, meanings, strict=True)}
    if shop.is_shop(scene) and (choice := shop.distribution(scene)):
        return choice
    if set(options) == {"yes", "no"} and purchases.is_purchase(scene):
        return purchases.purchase(scene)
    if community.is_community(scene) and (judgement := community.judgement(scene)):
        return judgement
    if "Do you start a conversation with" in scene.user and set(options) == {"yes", "no"}:
        return town.starts_conversation(scene)
    if "Does it change what you do for the rest of the day?" in scene.user and set(options) == {"yes", "no"}:
        return town.reacts(scene)
    if set(options) == {"answer", "end it"}:
        return town.goes_on(scene)
    if scene.user.startswith("Something that happened to you:") and "10" in options:
        return town.importance(scene)
    if debate.topic(scene) and "How far do you agree" in scene.user:
        return debate.position(scene)
    return _scale(scene) if all(re.fullmatch(r"-?\d+", option) for option in options) else _tastes(scene)


def _scale(scene: Scene) -> Mapping[str, float]:
    """A peak at a point of the scale that is the person's own."""
    options = sorted(scene.request.options, key=int)
    centre = _centred(0.5, scene.taste(_question(scene))) * (len(options) - 1)
    weights = {option: 0.45 ** abs(number - centre) for number, option in enumerate(options)}
    return {option: weights[option] / sum(weights.values()) for option in scene.request.options}


def _tastes(scene: Scene) -> Mapping[str, float]:
    """Probabilities by the taste of the person, whatever the order of the options."""
    about = _question(scene)
    weights = {option: math.exp(3 * text_chance(f"{scene.person}{about}", option)) for option in scene.request.options}
    return {option: weight / sum(weights.values()) for option, weight in weights.items()}


def _object(scene: Scene) -> Any:
    schema = scene.expected.schema
    keys = set(schema.get("properties", {}))
    if keys == {"say", "stance"} and debate.topic(scene):
        return debate.contribution(scene)
    if purchases.is_purchase(scene) and (replies := purchases.answers(scene)):
        return replies
    if keys == {"plan"} and "Stroke" in schema.get("$defs", {}):
        return {"plan": town.plan(scene)}
    if keys == {"actions"} and "_Finer" in schema.get("$defs", {}):
        return {"actions": town.details(scene)}
    if keys == {"people"} and schema["properties"]["people"].get("items", {}).get("type") == "string":
        return {"people": community.personas(scene, _count_in(scene, "Describe"))}
    statements = len(re.findall(r"^\d+\. ", scene.user, re.MULTILINE))
    if keys == {"insights"} and statements:
        lines = data("town")["insights"]
        number = int(scene.chance("because") * statements) + 1
        return {"insights": [{"insight": scene.pick(lines, "insight"), "because": [number]}]}
    if keys == {"questions"}:
        return {"questions": [scene.pick(data("town")["questions"], "question")]}
    expected = scene.expected
    words = functools.partial(_field_text, scene)
    return JsonValues(schema, scene.chance, words, expected.fields, expected.total).value()


def _field_text(scene: Scene, place: str) -> str:
    """A text for a field of a form, by the name of the field."""
    name = re.sub(r"[/\d+]+$", "", place).rsplit("/", 1)[-1].casefold()
    lines = data("survey")
    if re.search(r"(?:^|_)name|who$", name):
        return scene.pick(lines["names"], place)
    if re.search(r"place|where|town|city|location", name):
        return scene.pick(lines["places"], place)
    if name == "persona":
        return community.personas(scene, 1)[0]
    if re.search(r"doing|activity|action", name):
        return scene.pick(data("town")["plan"]["details"], place)
    return _text(scene, place)


def _text(scene: Scene, salt: str = "") -> str:
    """An answer in free words, now and then about a word of the question."""
    lines = data("survey")
    words = content_words(_question(scene))
    if words and scene.chance(f"about{salt}") < 0.5:
        word = words[int(scene.chance(f"word{salt}") * len(words))]
        text = scene.pick(lines["about"], f"text{salt}").format(word=word)
        return text[:1].upper() + text[1:]
    return scene.pick(lines["texts"], f"text{salt}")


def _question(scene: Scene) -> str:
    """The last question of the prompt, without how to answer it."""
    questions: list[str] = _QUESTION.findall(scene.user)
    return questions[-1].strip() if questions else scene.user.rsplit("\n\n", 1)[-1].split("\n")[0]


def _centred(chance: float, taste: float) -> float:
    """A position between 0 and 1, near the person's own and rather in the middle than at an end."""
    return min(1.0, max(0.0, 0.5 * taste + 0.25 + 0.3 * (chance - 0.5)))


def _count_in(scene: Scene, verb: str) -> int:
    match = re.search(rf"{verb} (\d+)", scene.user)
    return int(match[1]) if match else 1
