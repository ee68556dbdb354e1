"""How scripted residents of a town behave: they plan a day, greet each other, talk, and pass news on."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from populace.models.cast.scene import Scene, data, first_name

_MEMORY = re.compile(r"^- (?:(?:Today|Yesterday) at \d\d:\d\d: |\d+ days ago: )?(.+)$", re.MULTILINE)
_IN_MIND = re.compile(r"What comes to your mind:\n(?P<memories>(?:- .*\n)*)")
_HEARING = re.compile(r'^(?P<teller>.+?) told you: "(?P<words>.*)"$', re.DOTALL)
_INTENTION = re.compile(r"^You want (?P<what>to .+)$", re.DOTALL)
_ANNOUNCEMENT = re.compile(r"^It was announced: (?P<words>.+)$", re.DOTALL)
_WANT = re.compile(r"\bI want to\b")
_EVENT = re.compile(
    r"\bon (?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+)(?:,? (?:from|at) (?P<hour>\d{1,2}):(?P<minute>\d\d))?"
)
_NOW = re.compile(r"It is (?P<hour>\d\d):(?P<minute>\d\d)(?: on (?P<date>\d{1,2} [A-Z][a-z]+))?")
_SPEAKING = "Write only the next line that you say yourself"
_SO_FAR = re.compile(r"The conversation so far:\n(?P<lines>.*?)(?:\n\n|\n?Write only the next line|$)", re.DOTALL)
_PARTNER = re.compile(r"talking with (?P<partner>[^.\n]+)\.")
_REST_OF_DAY = re.compile(r"from now, (?P<now>\d\d:\d\d), until you go to bed at (?P<bed>\d\d:\d\d)")
_KNOWN_PLACES = re.compile(r"Places that you know: (?P<places>.*)\.\n")
_LIKE = 0.75
"""A line that is so much like a memory or another line is not said; conversations refuse an echo."""
_DAY = 24 * 60


def is_conversation(scene: Scene) -> bool:
    """Whether somebody is asked for the next line of a conversation."""
    return _SPEAKING in scene.user and "talking with " in scene.user


def conversation_line(scene: Scene) -> str:
    """What a resident says next: the news that they know, once, or something that was not said before."""
    lines = data("town")
    match = _PARTNER.search(scene.user)
    name = first_name(match["partner"]) if match else "you"
    said = _lines(scene)
    turn, own_news = len(said), news_in_mind(scene)
    heard = _news_in("\n".join(line for _, line in said))
    if said and said[-1][0] != scene.name and _news_in(said[-1][1]):
        kinds = ["known" if own_news else "received", "received", "chat"]
    elif own_news and not heard and scene.chance("tell") < 0.6:
        openings, invitations = lines["news"], lines["invitations"] if _is_event(own_news) else [""]
        texts = [f"{opening.format(news=own_news, name=name)} {each}" for opening in openings for each in invitations]
        return _choice(scene, texts, "news") or _choice(scene, [t.format(name=name) for t in lines["chat"]], "chat")
    elif turn == 0:
        kinds = ["strangers" if "You do not know" in scene.user else "openings", "chat"]
    else:
        kinds = ["replies", "chat"] if turn == 1 else ["chat", "replies"] if turn < 4 else ["byes", "chat"]
    texts = []
    for kind in kinds:
        texts = [text.format(name=name) for text in lines[kind]]
        if text := _choice(scene, texts, kind):
            return text
    return f"{scene.pick(texts, 'again')} That makes {int(100 * scene.chance('count'))} times this year, {name}."


def ends_conversation(scene: Scene) -> dict[str, float]:
    """The probabilities that a resident answers once more, or that everything is said."""
    turn = len(_lines(scene))
    likely = 0.25 if turn < 3 else 0.6 if turn < 5 else 0.9
    return {"answer": 1 - likely, "end it": likely}


def starts_conversation(scene: Scene) -> dict[str, float]:
    """The probability that a resident speaks to somebody who is there."""
    likely = 0.85 if news_in_mind(scene) else 0.6 if " know each other" in scene.user else 0.35
    return {"yes": likely, "no": 1 - likely}


def changes_plans(scene: Scene) -> dict[str, float]:
    """The probability that a resident plans the day anew after something new: likely if it is an event of today."""
    plan_text, _, happened = scene.user.partition("Just now this happened:")
    now, event = _NOW.search(scene.user), _EVENT.search(happened)
    is_today = bool(now and event and now["date"] == f"{event['day']} {event['month']}")
    if is_today and "going to what was announced" not in plan_text.rpartition("You planned for")[2]:
        return {"yes": 0.9, "no": 0.1}
    return {"yes": 0.02, "no": 0.98}


def importance(scene: Scene) -> dict[str, float]:
    """How much something matters, on a scale: what has a date matters, everything else is everyday."""
    peak = "8" if _is_event(scene.user) else "2"
    options = scene.request.options
    return {option: 0.9 if option == peak else 0.1 / (len(options) - 1) for option in options}


def relationship(scene: Scene) -> str:
    """What a resident knows of another, in a sentence."""
    return scene.pick(data("town")["relationships"], "relationship")


def news_in_mind(scene: Scene) -> str:
    """The news that somebody remembers or was told, as they would pass it on; nothing where there is none."""
    for memory in _memories(scene):
        hearing, intention = _HEARING.match(memory), _INTENTION.match(memory)
        announcement = _ANNOUNCEMENT.match(memory)
        if hearing:
            core = _WANT.sub(f"{hearing['teller']} wants to", _news_in(hearing["words"]))
        elif intention:
            core = f"I want {intention['what']}"
        else:
            core = announcement["words"] if announcement else ""
        if core and not _is_over(scene, core):
            return core
    return ""


def plan(scene: Scene, schema: dict[str, Any]) -> list[dict[str, str]]:
    """The rest of a day from now to bedtime: work, a meal, people, and an event that one has heard of."""
    lines = data("town")["plan"]
    stroke = schema["$defs"]["Stroke"]["properties"]
    all_places: list[str] = stroke["where"].get("enum") or [stroke["where"].get("const", "home")]
    match = _KNOWN_PLACES.search(scene.user)
    known = f", {match['places']}," if match else ""
    places = [place for place in all_places if f", {place}," in known] or all_places
    minutes, bed = _rest_of_day(scene)
    public = [place for place in places if place not in ("home", "work")] or ["home"]
    near = [public[int(scene.chance(f"place {turn}") * len(public))] for turn in range(2)]
    rows = [
        (7 * 60 + 30, "home", "morning"),
        (9 * 60, "work", "work"),
        (12 * 60, near[0], "lunch"),
        (13 * 60 + 30, "work", "work"),
        (17 * 60, near[1], "errand" if scene.taste("evening") < 0.5 else "evening"),
        (19 * 60 + 30, "home", "night"),
        (22 * 60, "home", "night"),
    ]
    day = [(at, where if where in places else "home", scene.pick(lines[kind], kind)) for at, where, kind in rows]
    now = _NOW.search(scene.user)
    event = _planned_event(scene, places, now["date"] if now else None)
    if event is not None:
        start, where, what = event
        after = [row for row in day if row[0] > start + 120] or [(start + 120, *day[-1][1:])]
        day = [row for row in day if row[0] <= start - 30] + [(start - 10, where, what), *after]
    before = [row for row in day if row[0] <= minutes]
    first = (minutes, *before[-1][1:]) if before else (minutes, "home", scene.pick(lines["morning"], "morning"))
    day = [first, *(row for row in day if minutes < row[0] < bed and row[1:] != first[1:])]
    day = day[: schema["properties"]["plan"].get("maxItems", len(day))]
    return [{"at": f"{at // 60 % 24:02d}:{at % 60:02d}", "where": where, "doing": what} for at, where, what in day]


def _rest_of_day(scene: Scene) -> tuple[int, int]:
    """Now and bedtime in minutes of the day; a bedtime after midnight belongs to this day."""
    match = _REST_OF_DAY.search(scene.user)
    now, bed = (int(text[:2]) * 60 + int(text[3:]) for text in (match["now"], match["bed"])) if match else (360, 1320)
    return now, bed if bed > now else bed + _DAY


def _planned_event(scene: Scene, places: list[str], date: str | None) -> tuple[int, str, str] | None:
    """When, where and what an event of today is, if one is known of and its place can be planned."""
    for memory in [*_memories(scene), *re.findall(r"Just now this happened: (.+)", scene.user)]:
        match = _EVENT.search(memory)
        if match and match["hour"] and f"{match['day']} {match['month']}" == date:
            place = next((place for place in places if place in memory and place not in ("home", "work")), None)
            is_own = _INTENTION.match(memory) is not None
            if memory.startswith("You ") and not is_own:
                continue
            if place is not None and (is_own or scene.taste("goes out") < 0.7):
                what = "receive the guests" if is_own else "go to what was announced"
                return int(match["hour"]) * 60 + int(match["minute"]), place, what
    return None


def _lines(scene: Scene) -> list[tuple[str, str]]:
    """The lines of the conversation so far: speaker and words."""
    match = _SO_FAR.search(scene.user)
    lines = (line.partition(": ") for line in match["lines"].split("\n")) if match else ()
    return [(speaker, words) for speaker, _, words in lines if words]


def _choice(scene: Scene, texts: Sequence[str], salt: str) -> str:
    """One of the texts that repeats nothing that was said or is remembered; empty where all do."""
    known = [words for _, words in _lines(scene)]
    known += [match["words"] if (match := _HEARING.match(each)) else each for each in _memories(scene)]
    known += [quoted for each in _memories(scene) for quoted in re.findall(r'"([^"]+)"', each)]
    new = [text.strip() for text in texts if not _repeats(text, known)]
    return scene.pick(new, salt) if new else ""


def _repeats(text: str, known: Iterable[str]) -> bool:
    own = " ".join(re.findall(r"\w+", text.casefold()))
    others = (" ".join(re.findall(r"\w+", each.casefold())) for each in known)
    return any(SequenceMatcher(None, own, other, autojunk=False).ratio() >= _LIKE for other in others)


def _memories(scene: Scene) -> list[str]:
    match = _IN_MIND.search(scene.user)
    return _MEMORY.findall(match["memories"]) if match else []


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


def _is_event(text: str) -> bool:
    return _EVENT.search(text) is not None


def _news_in(words: str) -> str:
    """The news in something that was said; nothing where it holds none."""
    event = re.search(r"[^.!?\n:]*\bon \d{1,2} [A-Z][a-z]+[^.!?\n]*[.!?]", words)
    if event:
        return event.group().strip()
    for line in data("town")["news"]:
        lead = line.partition("{")[0].strip()
        if lead in words:
            rest = words.partition(lead)[2].strip()
            return rest.partition(". ")[2] if "{name}" in line else rest
    return ""
