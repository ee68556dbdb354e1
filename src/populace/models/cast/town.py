"""How scripted residents of a town behave: they plan a day, greet each other, talk, and pass news on."""

import re
from collections.abc import Callable
from typing import Any

from populace.models.cast.scene import Scene, data, first_name

_MEMORY = re.compile(r"^- (.+)$", re.MULTILINE)
_IN_MIND = re.compile(r"What comes to your mind:\n(?P<memories>(?:- .*\n)*)")
_TOLD = re.compile(r'^(?P<teller>.+?) told me: "(?P<words>.*)"$', re.DOTALL)
_EVERYDAY = re.compile(r"^(?:I saw |I talked with |My plan for |It seems to me )")
_GIVING = re.compile(r"\bI (?:am (?=giving|having|holding|planning|organising)|want (?=to give|to stand))")
_OWN = re.compile(r"^You (?=am|are|want)")
_EVENT = re.compile(
    r"\bon (?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+)(?:,? (?:from|at) (?P<hour>\d{1,2}):(?P<minute>\d\d))?"
)
_NOW = re.compile(r"It is (?P<hour>\d\d):(?P<minute>\d\d)(?: on (?P<date>\d{1,2} [A-Z][a-z]+))?")
_SAID = re.compile(r"What was said so far:\n(?P<said>.*?)\n\nWhat do you say to", re.DOTALL)
_ROUTINE = re.compile(r"On an ordinary day you do this: (?P<routine>.*)")


def is_conversation(scene: Scene) -> bool:
    """Whether somebody is asked what they say to a person to whom they talk."""
    return "You talk with " in scene.user and '"say"' in scene.user


def conversation_line(scene: Scene) -> dict[str, str]:
    """What a resident says, and whether it ends the conversation."""
    lines = data("town")
    match = re.search(r"You talk with (?P<partner>.+)\.", scene.user)
    name = first_name(match["partner"]) if match else "you"
    said_match = _SAID.search(scene.user)
    utterances = [] if said_match is None or said_match["said"].startswith("(") else said_match["said"].split("\n")
    turn = len(utterances)
    own_news = news_in_mind(scene)
    heard = _news_in("\n".join(utterances))
    if utterances and not utterances[-1].startswith("I: ") and _news_in(utterances[-1]):
        text = scene.pick(lines["known"] if own_news else lines["received"], "received")
    elif own_news and not heard and _is_untold(scene, name):
        opening = "" if _GIVING.search(own_news) else scene.pick(lines["news"], "news")
        news = opening.format(news=own_news, name=name) if opening else own_news
        text = f"{news} {scene.pick(lines['invitations'], 'invitation')}" if _is_event(own_news) else news
    elif turn == 0:
        stranger = "You do not know" in scene.user
        text = scene.pick(lines["strangers"] if stranger else lines["openings"], "opening")
    elif turn == 1:
        text = scene.pick(lines["replies"], "reply")
    else:
        text = scene.pick(lines["chat"] if turn < 4 and scene.chance("on") < 0.6 else lines["byes"], "chat")
    ends = turn >= 3 or (turn >= 1 and scene.chance("end") < 0.3)
    return {"say": text.format(name=name), "end": "yes" if ends else "no"}


def starts_conversation(scene: Scene) -> dict[str, float]:
    """The probability that a resident speaks to somebody who is there."""
    likely = 0.85 if news_in_mind(scene) else 0.6 if " know each other" in scene.user else 0.35
    return {"yes": likely, "no": 1 - likely}


def changes_plans(scene: Scene) -> dict[str, float]:
    """The probability that a resident plans the day anew after something heard: likely if it is about today."""
    plan_text, _, heard = scene.user.partition("You just heard this.")
    now, event = _NOW.search(scene.user), _EVENT.search(heard)
    if "go to the party" in plan_text or "my party" in plan_text:
        return {"yes": 0.02, "no": 0.98}
    is_today = bool(now and event and now["date"] == f"{event['day']} {event['month']}")
    return {"yes": 0.9, "no": 0.1} if is_today else {"yes": 0.05, "no": 0.95}


def news_in_mind(scene: Scene) -> str:
    """The news that somebody remembers or was told, as they would pass it on; nothing where there is none."""
    announced = scene.user.partition("What comes to your mind:")[0]
    candidates = [memory for memory in _memories(scene) if not _EVERYDAY.match(memory)]
    for memory in candidates:
        match = _TOLD.match(memory)
        core = _news_in(match["words"]) if match else _OWN.sub("I ", memory).replace("I are ", "I am ")
        if core and not _is_over(scene, core):
            return _GIVING.sub(_in_third_person(match["teller"]), core) if match else core
    heard = [line for line in announced.split("\n") if line and not re.match(r"It is \d|You (?:are|talk) ", line)]
    return heard[-1] if heard else ""


def _in_third_person(teller: str) -> Callable[[re.Match[str]], str]:
    return lambda match: f"{teller} {'wants ' if 'want' in match[0] else 'is '}"


def plan(scene: Scene, schema: dict[str, Any]) -> list[dict[str, str]]:
    """The rest of a day: work, a meal, people, and an event that one has heard of."""
    lines = data("town")["plan"]
    stroke = schema["$defs"]["Stroke"]["properties"]
    places: list[str] = stroke["where"].get("enum") or [stroke["where"].get("const", "home")]
    limits = schema["properties"]["plan"]
    now = _NOW.search(scene.user)
    minutes = int(now["hour"]) * 60 + int(now["minute"]) if now else 360
    public = [place for place in places if place not in ("home", "work")] or ["home"]
    near = [public[int(scene.chance(f"place {turn}") * len(public))] for turn in range(2)]
    rows = [
        (7 * 60 + 30, "home", "morning"),
        (9 * 60, "work", "work"),
        (12 * 60, near[0], "lunch"),
        (13 * 60 + 30, "work", "work"),
        (17 * 60, near[1], "errand" if scene.taste("evening") < 0.5 else "evening"),
        (19 * 60 + 30, "home", "night"),
    ]
    day = [(at, where if where in places else places[0], scene.pick(lines[kind], kind)) for at, where, kind in rows]
    event = _planned_event(scene, places, now["date"] if now else None)
    if event is not None:
        start, where, what = event
        day = [row for row in day if row[0] <= start - 30] + [(start - 10, where, what), (start + 120, *day[-1][1:])]
    day = [row for row in day if row[0] > minutes]
    evening = [line for line in lines["night"] if line not in {what for _, _, what in day}]
    while len(day) < limits.get("minItems", 1):
        at = max([minutes, *(row[0] for row in day)]) + 40
        day.append(
            (min(at, 23 * 60 + 50 + len(day)), day[-1][1] if day else places[0], evening[len(day) % len(evening)])
        )
    day = day[: limits.get("maxItems", len(day))]
    return [{"at": f"{at // 60 % 24:02d}:{at % 60:02d}", "where": where, "doing": what} for at, where, what in day]


def _planned_event(scene: Scene, places: list[str], date: str | None) -> tuple[int, str, str] | None:
    """When, where and what an event of today is, if one is known of and its place can be planned."""
    for memory in _memories(scene):
        match = _EVENT.search(memory)
        if match and match["hour"] and f"{match['day']} {match['month']}" == date and not memory.startswith("My plan"):
            place = next((place for place in places if place in memory and place not in ("home", "work")), None)
            is_going = " told me: " not in memory or scene.taste("goes out") < 0.7
            if place is not None and is_going:
                is_own = memory.startswith("You want to give") and " told me: " not in memory
                what = "receive the guests of my party" if is_own else "go to the party"
                return int(match["hour"]) * 60 + int(match["minute"]), place, what if "party" in memory else "be there"
    return None


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


def _is_untold(scene: Scene, name: str) -> bool:
    """Whether nothing in mind says that this person was told already; once in a while it is said twice."""
    before = re.search(rf'I talked with {re.escape(name)}\b.* I said: "(?P<words>.*)"', scene.user)
    return not (before and _news_in(before["words"])) and scene.chance("tell") < 0.6
