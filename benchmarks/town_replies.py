"""A scripted model for the benchmarks of the town: it answers every question of the residents validly."""

from __future__ import annotations

import hashlib
import json
import re

from populace.models import Request

_TIMES = re.compile(r"from now, (\d\d):(\d\d), until you go to bed at (\d\d):(\d\d)")
_PLACES = re.compile(r"Places that you know: (.*)\.\n")
_SHARES = {"yes": 0.5, "no": 0.5, "answer": 0.9, "end it": 0.1, "1": 0.3, "2": 0.3, "3": 0.2, "5": 0.2}
_REACTS = {"no": 0.98, "yes": 0.02}
OPENINGS = (
    "Good to see you, I hoped that we would meet.",
    "My hands are still cold from the ferry this morning.",
    "Did you hear the geese last night?",
    "What a queue at the post office again.",
    "Your coat suits you, is it new?",
    "I nearly forgot my keys twice today.",
    "They are mending the bridge at last.",
    "Somebody left a red bicycle by the well.",
)
CLOSINGS = (
    "Now tell me how your sister is doing.",
    "I have to find some string before noon.",
    "The baker thinks that it will snow on Monday.",
    "Bring a scarf if you go down to the water.",
    "Let us sit down for a moment, shall we?",
    "Nobody has fed the cat behind the mill.",
    "Old Marten would have laughed about that.",
    "It smells of smoke and apples here.",
)
_DOINGS = ("sort the post", "repair a chair", "read a book", "bake bread", "write letters", "water the plants")


def reply(request: Request) -> dict[str, float] | str:
    """The answer of a resident; it depends on the request alone."""
    asked = request.messages[-1][1]
    if request.top:
        return _REACTS if "Does it change what you do" in asked else _SHARES
    draw = hashlib.blake2b(f"{request.messages}{request.seed}".encode(), digest_size=8).digest()
    if times := _TIMES.search(asked):
        return json.dumps({"plan": _plan(asked, times, draw)})
    if "Write only the next line" in asked:
        return f"{OPENINGS[draw[0] % 8]} {CLOSINGS[draw[1] % 8]}"
    if '"questions"' in asked or '"insights"' in asked:
        return json.dumps({"questions": ["What now?"], "insights": [{"insight": "It is well.", "because": [1]}]})
    return f"I want to say this: {CLOSINGS[draw[0] % 8]}"


def _plan(asked: str, times: re.Match[str], draw: bytes) -> list[dict[str, str]]:
    """A day between home, work and the other places that one knows, from now to bedtime."""
    now, bedtime = (60 * int(times[place]) + int(times[place + 1]) for place in (1, 3))
    bedtime += 24 * 60 if bedtime <= now else 0
    places = places[1].split("; ") if (places := _PLACES.search(asked)) else ["home"]
    work = "work" if "work" in places else "home"
    hours = enumerate((work, places[draw[0] % len(places)], work, places[draw[1] % len(places)], work, "home"))
    later = [(8 * 60 + 150 * number + draw[2 + number] % 60, where) for number, where in hours]
    rows = [(now, "home"), *((at, where) for at, where in later if now < at < bedtime)]
    return [
        {"at": f"{at // 60 % 24:02d}:{at % 60:02d}", "where": where, "doing": _DOINGS[(draw[7] + number) % 6]}
        for number, (at, where) in enumerate(rows)
    ]
