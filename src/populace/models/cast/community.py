"""How the scripted cast behaves in an online community: it opens threads, replies, moderates and votes."""

import functools
import re
from collections.abc import Sequence
from typing import Any

from populace.models.cast.scene import Scene, content_words, data, first_name, holds_word

_PURPOSE = re.compile(r"What it is for: (?P<goal>.*)")
_THREAD = re.compile(
    r"\n\nThe thread so far:\n(?P<thread>.*)\n\nYou answer (?P<to>.+?)\. What do you write\?", re.DOTALL
)
_POST = re.compile(
    r"\n\n(?P<writer>[^\n]+) wrote:\n(?P<post>.*?)\n\n(?:What do you do about|Which rule does|Do you vote)", re.DOTALL
)
_RULE = re.compile(r"\((?P<number>\d+)\) (?P<text>[^;]*)")
_FORBIDDEN = re.compile(r"Posts here are NOT like this: (?P<rules>.*)")


def is_community(scene: Scene) -> bool:
    """Whether a prompt is one of an online community."""
    return "an online community" in scene.user


def post(scene: Scene) -> str:
    """An opening with a title, or a reply to a post."""
    thread = _THREAD.search(scene.user)
    return _reply(scene, thread["thread"], thread["to"]) if thread else _opening(scene)


def judgement(scene: Scene) -> dict[str, float] | None:
    """The probabilities of what a moderator does or how a reader votes; None for another question."""
    match = _POST.search(scene.user)
    options = scene.request.options
    if match is None:
        return None
    kind = _kind_of_post(match["post"])
    if "up" in options and "down" in options:
        weights = {"troll": (0.03, 0.85), "advert": (0.05, 0.7)}.get(kind, (0.62, 0.06))
        return _spread(options, {"up": weights[0], "down": weights[1]})
    if "remove" in options and "warn" in options:
        if kind == "troll":
            return _spread(options, {"remove": 0.45, "warn": 0.4, "ban": 0.07, "lock": 0.03})
        if kind == "advert":
            return _spread(options, {"remove": 0.6, "warn": 0.3})
        return _spread(options, {"nothing": 0.985})
    if "Which rule does" in scene.user:
        return _spread(options, {_broken_rule(scene, match["post"], kind): 0.97})
    return None


def role(description: str) -> str:
    """What a description says about how somebody writes: troll, seller, mistaken, novice, expert or member."""
    for name, pattern in data("posts")["roles"].items():
        if re.search(pattern, description, re.IGNORECASE):
            return str(name)
    return "member"


def personas(scene: Scene, count: int) -> list[str]:
    """Descriptions of other people who have something in common with the member of the prompt."""
    match = re.search(r"One of its members: (?P<seed>.*)", scene.user)
    lists = data("posts")["personas"]
    own = lists[role(match["seed"] if match else "")]
    fresh = [line for line in [*own, *lists["member"], *lists["novice"]] if line not in scene.text]
    start = int(scene.chance("personas") * len(fresh))
    near = [line for line in own if line in fresh]
    ordered = [*near[start % len(near) :], *near[: start % len(near)]] if near else []
    return list(dict.fromkeys([*ordered, *fresh[start:], *fresh[:start]]))[:count]


def _persona(scene: Scene) -> str:
    return re.sub(r"^You are [^.]*\.?", "", scene.system, count=1)


@functools.lru_cache(maxsize=64)
def _topic(goal: str) -> dict[str, Any] | None:
    topics = data("topics")["topic"]
    matches = [topic for topic in topics if holds_word(goal, tuple(topic["cues"]))]
    return matches[0] if matches else None


def _community_topic(scene: Scene) -> dict[str, Any] | None:
    match = _PURPOSE.search(scene.user)
    return _topic(match["goal"]) if match else None


def _word(scene: Scene) -> str:
    """A word of the purpose of the community, for a community whose topic the cast does not know."""
    match = _PURPOSE.search(scene.user)
    words = content_words(match["goal"]) if match else ()
    return words[int(scene.taste("word") * len(words))] if words else "this"


def _opening(scene: Scene) -> str:
    topic, own = _community_topic(scene), role(_persona(scene))
    lines = data("posts")
    hello = scene.pick(lines["hellos"], "hello") if own != "troll" else ""
    if own == "troll":
        title = scene.pick(list(lines["troll_openings"]), "title")
        text = lines["troll_openings"][title]
    elif topic is None:
        title = scene.pick(lines["any"]["titles"], "title").format(word=_word(scene))
        text = scene.pick(lines["any"]["openings"], "opening")
    else:
        subject = _chosen_subject(scene, topic)
        title, text = subject["title"], scene.pick(subject["openings"], "opening")
    if own == "seller":
        text = f"{text} {scene.pick((topic or lines['any'])['plugs'], 'plug')}"
    return f"{title}\n{' '.join(filter(None, (hello, text)))}"


def _chosen_subject(scene: Scene, topic: dict[str, Any]) -> dict[str, Any]:
    """The subject of a thread: one that the writer's description names, or else by the writer's own taste."""
    subjects: list[dict[str, Any]] = topic["subject"]
    named = [subject for subject in subjects if holds_word(_persona(scene), tuple(subject["words"]))]
    fresh = [subject for subject in subjects if subject["title"] not in scene.text]
    own = [subject for subject in named if subject in fresh] if scene.chance("own") < 0.6 else []
    among = own or fresh or subjects
    return among[int(scene.chance("subject") * len(among))]


def _reply(scene: Scene, thread: str, to: str) -> str:
    lines, topic = data("posts"), _community_topic(scene)
    opening = "\n".join(thread.split("\n", 2)[:2])
    opener = opening.partition(": ")[0]
    subject = _subject_of(topic, opening) or lines["any"]
    answered = _last_words(thread, to)
    other, own = _kind_of_post(answered), role(_persona(scene))
    name = first_name(to)
    if own == "troll":
        text = scene.pick(
            lines["replies"]["troll_again"] if f"{scene.name}: " in thread else _troll_lines(topic), "troll"
        )
    elif other == "troll":
        text = scene.pick(lines["replies"]["to_troll"], "rebuttal")
    elif scene.name == opener:
        is_question = answered.rstrip().endswith("?")
        text = scene.pick(subject["answers"] if is_question else lines["replies"]["thanks"], "answer")
    elif _kind_of_post(opening) == "troll":
        text = scene.pick(lines["replies"]["among_trolls"], "among trolls")
    else:
        text = _advice(scene, lines, subject, own, topic, is_first=to == opener)
    is_advice = text in subject["advice"]
    tail = scene.pick(lines["replies"]["tails"], "tail") if is_advice else ""
    return " ".join(filter(None, (text.format(name=name), tail)))


def _advice(
    scene: Scene,
    lines: dict[str, Any],
    subject: dict[str, Any],
    own: str,
    topic: dict[str, Any] | None,
    *,
    is_first: bool,
) -> str:
    if own == "mistaken" and subject["wrong"] not in scene.text:
        return str(subject["wrong"])
    if own == "seller":
        return f"{scene.pick(subject['advice'], 'advice')} {scene.pick((topic or lines['any'])['plugs'], 'plug')}"
    if own == "novice":
        return scene.pick([*lines["replies"]["novice"], *subject["questions"]], "novice")
    draw = scene.chance("what") * (0.75 if is_first else 1.0)
    if own == "expert" or draw < 0.5:
        fresh = [line for line in subject["advice"] if line not in scene.text]
        return scene.pick(fresh or lines["replies"]["agree"], "advice")
    kind = "questions" if draw < 0.75 else "agree" if draw < 0.9 else "doubt"
    return scene.pick(subject["questions"] if kind == "questions" else lines["replies"][kind], kind)


def _subject_of(topic: dict[str, Any] | None, opening: str) -> dict[str, Any] | None:
    for subject in topic["subject"] if topic else ():
        if holds_word(opening, tuple(subject["words"])):
            match: dict[str, Any] = subject
            return match
    return None


def _last_words(thread: str, name: str) -> str:
    """The latest post of a person in a thread."""
    posts = re.split(rf"(?:^|\n){re.escape(name)}: ", thread)
    return posts[-1].split("\n")[0] if len(posts) > 1 else ""


def _kind_of_post(text: str) -> str:
    for kind, pattern in data("posts")["signs"].items():
        if re.search(pattern, text, re.IGNORECASE):
            return str(kind)
    return "post"


def _troll_lines(topic: dict[str, Any] | None) -> Sequence[str]:
    lines: list[str] = (topic or data("posts")["any"])["troll"]
    return lines


def _broken_rule(scene: Scene, text: str, kind: str) -> str:
    """The number of the forbidding rule that shares most words with the post or with what it is."""
    match = _FORBIDDEN.search(scene.user)
    rules = {rule["number"]: rule["text"] for rule in _RULE.finditer(match["rules"])} if match else {}
    if not rules:
        return scene.request.options[0]
    words = {"troll": "mock insult provoke rude scorn buy new", "advert": "advertising selling shop service"}.get(
        kind, ""
    )
    wanted = {word[:5] for word in re.findall(r"\w+", f"{words} {text}".casefold())}
    return max(rules, key=lambda number: len({w[:5] for w in re.findall(r"\w{3,}", rules[number].casefold())} & wanted))


def _spread(options: Sequence[str], weights: dict[str, float]) -> dict[str, float]:
    """Probabilities for all options: the weights as given, and the rest shared equally."""
    named = {option: weight for option, weight in weights.items() if option in options}
    others = [option for option in options if option not in named]
    rest = max(0.0, 1 - sum(named.values()))
    total = sum(named.values()) + (rest if others else 0.0)
    return {option: (named[option] if option in named else rest / len(others)) / total for option in options}
