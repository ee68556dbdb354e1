"""How scripted residents of a town behave: they plan a day, greet each other, talk, pass news on and react.

They know of nothing but what stands in the prompt: news is whatever somebody means to do, or was told of, with a date.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

from populace.models.cast.scene import Scene, data, first_name, holds_word, key_part

_MEMORY = re.compile(r"^- (?:(?:Today|Yesterday) at \d\d:\d\d: |\d+ days ago: )?(?P<text>.+)$", re.MULTILINE)
_IN_MIND = re.compile(r"What comes to your mind:\n(?P<memories>(?:- .*\n)*)")
_TOLD = re.compile(r'^(?P<teller>.+?) told you: "(?P<words>.*)"$', re.DOTALL)
_ANNOUNCED = re.compile(r"^It was announced: (?P<words>.*)$", re.DOTALL)
_OWN = re.compile(r"^You (?=want|are planning)")
_ASIDE = re.compile(r",? and you (?:are|want|mean)\b[^.]*")
_MEANS = re.compile(r"\bI (?:am (?=giving|having|holding|planning|organising)|want (?=to ))")
_WHAT = re.compile(
    r"\b(?:give|giving|hold|holding|have|having|is|planning this:|planning) (?:an? |the )?"
    r"(?P<what>.+?)(?= (?:at|on|in|from) |[.!?]|$)"
)
_EVENT = re.compile(
    r"\bon (?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+)(?:,? (?:from|at) (?P<hour>\d{1,2}):(?P<minute>\d\d))?"
)
_NOW = re.compile(r"It is (?P<hour>\d\d):(?P<minute>\d\d)(?: on (?P<date>\d{1,2} [A-Z][a-z]+))?")
_TRANSCRIPT = re.compile(r"The conversation so far:\n(?P<lines>.*?)\n(?:\n|You think, \"|Write only)", re.DOTALL)
_PARTNER = re.compile(r"talking with (?P<partner>[^.]+)\.")
_BEDTIME = re.compile(r"until you go to bed at (?P<hour>\d\d):(?P<minute>\d\d)")
_KNOWN = re.compile(r"Places that you know: (?P<places>.*)\.$", re.MULTILINE)
_LIKE = 0.7
"""A line that has so much in common with one in the prompt would be taken for a repetition."""


def is_conversation(scene: Scene) -> bool:
    """Whether somebody is asked for the next line of a conversation."""
    return "Write only the next line that you say yourself" in scene.user


def is_aim(scene: Scene) -> bool:
    """Whether somebody is asked what they want of those to whom they are about to speak."""
    return "Before you speak: what do you want " in scene.user


def aim(scene: Scene) -> str:
    """What a resident wants of somebody: that they hear the news, if there is any."""
    news, name = news_in_mind(scene), _partner(scene)
    aims = [f"I want {{name}} to hear this, {news}"] if news else data("town")["aims"]
    return str(scene.pick(aims, "aim")).replace("{name}", name)


def conversation_line(scene: Scene) -> str:
    """What a resident says next."""
    lines = data("town")
    name, said = _partner(scene), _transcript(scene)
    news = news_in_mind(scene)
    if said and _news_in(said[-1]):
        return _fresh(scene, lines["known"] if news else lines["received"], name)
    if news and name not in news and not any(_news_in(line) for line in said) and _is_untold(scene, name):
        ends = lines["invitations"] if _EVENT.search(news) else [""]
        tellings = [f"{start} {end}".strip() for start in lines["news"] for end in ends]
        return _fresh(scene, [text.replace("{news}", news) for text in tellings], name)
    if not said:
        return _fresh(scene, lines["strangers"] if "You do not know" in scene.user else lines["openings"], name)
    if len(said) == 1:
        return _fresh(scene, lines["replies"], name)
    return _fresh(scene, lines["chat"] if len(said) < 4 else lines["byes"], name)


def goes_on(scene: Scene) -> dict[str, float]:
    """The probability that a resident answers once more."""
    likely = 0.35 if len(_transcript(scene)) < 4 else 0.15
    return {"answer": likely, "end it": 1 - likely}


def starts_conversation(scene: Scene) -> dict[str, float]:
    """The probability that a resident speaks to somebody who is there."""
    likely = 0.75 if news_in_mind(scene) else 0.35 if " know each other" in scene.user else 0.2
    return {"yes": likely, "no": 1 - likely}


def reacts(scene: Scene) -> dict[str, float]:
    """The probability that a resident plans the day anew: likely for an event of today, and for what is alarming."""
    before, _, happened = scene.user.partition("Just now this happened:")
    now, event = _NOW.search(scene.user), _EVENT.search(happened)
    what = _what(happened)
    is_planned = bool(what) and what in before.partition("You planned")[2]
    is_today = bool(now and event and now["date"] == f"{event['day']} {event['month']}")
    likely = 0.9 if (is_today and not is_planned) or _is_alarming(happened) else 0.03
    return {"yes": likely, "no": 1 - likely}


def importance(scene: Scene) -> dict[str, float]:
    """How much something matters: much if it is alarming or has a date, little if it is an everyday matter."""
    happened = scene.user.partition("How much does it matter?")[0]
    centre = 9 if _is_alarming(happened) else 7 if _EVENT.search(happened) else 4 if "told you" in happened else 2
    weights = {option: 0.2 ** abs(int(option) - centre) for option in scene.request.options}
    return {option: weight / sum(weights.values()) for option, weight in weights.items()}


def relationship(scene: Scene) -> str:
    """What a resident says of somebody with whom they have talked."""
    match = re.search(r"what do you know of (?P<name>.+), and what is between you", scene.user)
    return scene.pick(data("town")["relationships"], "relationship").format(
        name=first_name(match["name"]) if match else "They"
    )


def news_in_mind(scene: Scene) -> str:
    """The news that somebody means to tell or was told, as they would pass it on; nothing where there is none."""
    for memory in _memories(scene):
        heard = _TOLD.match(memory)
        announced = _ANNOUNCED.match(memory)
        core = ""
        if heard:
            core = _MEANS.sub(_in_third_person(heard["teller"]), _news_in(heard["words"]))
        elif announced:
            core = announced["words"]
        elif _OWN.match(memory):
            core = _ASIDE.sub("", _OWN.sub("I ", memory).replace("I are ", "I am "))
        if core and not _is_over(scene, core) and not (scene.name and scene.name in core):
            return core
    return ""


def plan(scene: Scene) -> list[dict[str, str]]:
    """The rest of a day from now to bedtime: work, a meal, people, and an event that one has heard of."""
    lines = data("town")["plan"]
    places = _known_places(scene)
    now, bedtime = _NOW.search(scene.user), _BEDTIME.search(scene.user)
    begins = int(now["hour"]) * 60 + int(now["minute"]) if now else 360
    ends = int(bedtime["hour"]) * 60 + int(bedtime["minute"]) if bedtime else 23 * 60
    ends += 24 * 60 if ends <= begins else 0
    public = [place for place in places if place not in ("home", "work")] or ["home"]
    near = [public[int(scene.chance(f"place {turn}") * len(public))] for turn in range(2)]
    work = "work" if "work" in places else "home"
    rows = [
        (5 * 60, "home", "morning"),
        (9 * 60, work, "work"),
        (12 * 60, near[0], "lunch"),
        (13 * 60 + 30, work, "work"),
        (17 * 60, near[1], "errand" if scene.taste("evening") < 0.5 else "evening"),
        (19 * 60 + 30, "home", "night"),
        (22 * 60, "home", "night"),
    ]
    # Who is up past midnight lives on into the next day.
    rows += [(26 * 60, "home", "night"), *((at + 24 * 60, where, kind) for at, where, kind in rows)]
    day = [(at, where, scene.pick(lines[kind], f"{kind} {at}")) for at, where, kind in rows]
    event = _planned_event(scene, places, now["date"] if now else None)
    if event is not None:
        start, where, what = event
        later = [row for row in day if row[0] > start + 120] or [(start + 120, *day[-1][1:])]
        day = [row for row in day if row[0] <= start - 30] + [(start - 10, where, what), (start + 120, *later[0][1:])]
        day += [row for row in later if row[0] > start + 120]
    begun = [row for row in day if row[0] <= begins]
    rest = [row for row in day if begins < row[0] < ends]
    day = [(begins, *(begun or day)[-1 if begun else 0][1:]), *rest]
    return [{"at": f"{at // 60 % 24:02d}:{at % 60:02d}", "where": where, "doing": what} for at, where, what in day]


def details(scene: Scene) -> list[dict[str, Any]]:
    """An action in pieces of the length that is asked for."""
    lines = data("town")["plan"]["details"]
    minutes, count = (90, 4) if "half an hour to two hours" in scene.user else (15, 4)
    first = int(scene.chance("details") * len(lines))
    return [{"minutes": minutes, "doing": lines[(first + number) % len(lines)]} for number in range(count)]


def _planned_event(scene: Scene, places: Sequence[str], date: str | None) -> tuple[int, str, str] | None:
    """When, where and what an event of today is, if one is known of and its place can be planned."""
    happened = scene.user.partition("Just now this happened:")[2].partition("\n")[0]
    for text in (*_memories(scene), *([happened] if happened else [])):
        match = _EVENT.search(text)
        if not match or not match["hour"] or f"{match['day']} {match['month']}" != date or text.startswith("You told"):
            continue
        place = next((place for place in places if place in text and place not in ("home", "work")), None)
        is_own = _OWN.match(text) is not None
        if place is not None and (is_own or scene.taste("goes out") < 0.7):
            what = _what(text) or "what is on there"
            doing = f"receive the guests of my {what}" if is_own else f"go to the {what}"
            return int(match["hour"]) * 60 + int(match["minute"]), place, doing[:80]
    return None


def _known_places(scene: Scene) -> list[str]:
    match = _KNOWN.search(scene.user)
    return match["places"].split("; ") if match else ["home"]


def _memories(scene: Scene) -> list[str]:
    match = _IN_MIND.search(scene.user)
    return [memory["text"] for memory in _MEMORY.finditer(match["memories"])] if match else []


def _transcript(scene: Scene) -> list[str]:
    """What was said so far, line by line."""
    match = _TRANSCRIPT.search(scene.user)
    return match["lines"].split("\n") if match else []


def _partner(scene: Scene) -> str:
    match = _PARTNER.search(scene.user)
    return first_name(match["partner"]) if match else "you"


def _fresh(scene: Scene, lines: Sequence[str], name: str) -> str:
    """One of some lines, one that repeats nothing in the prompt if there is any."""
    texts = [line.replace("{name}", name) for line in lines]
    first = int(scene.chance("line") * len(texts))
    ordered = texts[first:] + texts[:first]
    there = [_folded(line) for line in [*_transcript(scene), *_memories(scene)]]
    there += [_folded(words) for memory in _memories(scene) for words in re.findall(r'"([^"]+)"', memory)]
    plain = [text for text in ordered if key_part(text) not in scene.text]
    for text in [*plain, *ordered]:
        if not any(_is_like(_folded(text), line) for line in there):
            return text
    return f"{ordered[0]} {ordered[-1]}"


def _is_like(text: str, line: str) -> bool:
    matcher = SequenceMatcher(None, text, line, autojunk=False)
    return matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE and matcher.ratio() >= _LIKE


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _in_third_person(teller: str) -> Callable[[re.Match[str]], str]:
    return lambda match: f"{teller} {'wants ' if 'want' in match[0] else 'is '}"


def _what(text: str) -> str:
    """What an event is, as the text calls it."""
    match = _WHAT.search(_news_in(text) or text)
    return match["what"] if match else ""


def _is_alarming(text: str) -> bool:
    return holds_word(text, tuple(data("town")["alarming"]))


def _is_over(scene: Scene, text: str) -> bool:
    """Whether an event of today has begun already, or was before."""
    now, event = _NOW.search(scene.user), _EVENT.search(text)
    if not now or not event or not event["hour"] or not now["date"]:
        return False
    today, month = now["date"].split()
    if month != event["month"] or int(event["day"]) > int(today):
        return False
    begins = int(event["hour"]) * 60 + int(event["minute"])
    return int(event["day"]) < int(today) or int(now["hour"]) * 60 + int(now["minute"]) >= begins


def _news_in(words: str) -> str:
    """The news in something that was said; nothing where it holds none."""
    event = re.search(r"[^.!?\n:]*\bon \d{1,2} [A-Z][a-z]+(?:[^.!?\n]*)[.!?]", words)
    if event:
        return event.group().strip()
    for line in data("town")["news"]:
        lead = key_part(line)
        if lead in words:
            return words.partition(lead)[2].strip(" .,!?:").partition("! ")[0]
    return ""


def _is_untold(scene: Scene, name: str) -> bool:
    """Whether nothing in mind says that this person was told already; once in a while it is said twice."""
    before = [memory for memory in _memories(scene) if memory.startswith(f"You told {name}")]
    return not any(_news_in(memory) for memory in before) and scene.chance("tell") < 0.7
