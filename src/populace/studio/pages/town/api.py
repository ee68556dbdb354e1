"""A town as JSON: its map, the film of a window of steps, what is said, where people are, who knows the news."""

from typing import Annotated, Any

import polars as pl
from fastapi import Query, Response
from fastapi.responses import JSONResponse

from populace.studio.pages.town.data import town_map, town_of
from populace.studio.pages.town.frames import frames
from populace.studio.pages.town.heat import heat, heat_data
from populace.studio.pages.town.talk import follows_news, news, news_events, speech
from populace.studio.studio import Studio

From = Annotated[int | None, Query(alias="from", ge=0, le=10**12, description="The first step.")]
To = Annotated[int | None, Query(alias="to", ge=0, le=10**12, description="The last step, included.")]


def get_town(studio: Studio, name: str) -> dict[str, Any]:
    """The map, the people and the timeline."""
    return town_map(town_of(studio.library.run(name)))


def get_frames(studio: Studio, name: str, first: From = None, last: To = None) -> JSONResponse:
    """Where everybody is at some steps, and the ways between them."""
    town = town_of(studio.library.run(name))
    return JSONResponse(frames(town, *town.bounds(first, last)))


def get_speech(
    studio: Studio,
    name: str,
    first: From = None,
    last: To = None,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 2000,
) -> Response:
    """What was said at some steps; each utterance up to a number of characters."""
    town = town_of(studio.library.run(name))
    lines = speech(town, *town.bounds(first, last))
    cut = lines.with_columns(pl.col("text").str.slice(0, limit), cut=pl.col("text").str.len_chars() > limit)
    return Response(cut.write_json(), media_type="application/json")


def get_news(studio: Studio, name: str, event: str | None = None) -> dict[str, Any]:
    """Who knows the news of an event, by default the first, since when and from whom, branch by branch."""
    town = town_of(studio.library.run(name))
    has_news = follows_news(town)
    found = news(town, event).to_dicts() if has_news else []
    return {"followed": has_news, "people": len(town.ids), "events": news_events(town), "news": found}


def get_heat(studio: Studio, name: str, first: From = None, last: To = None) -> dict[str, Any]:
    """Person-hours by building and along the streets."""
    town = town_of(studio.library.run(name))
    steps = town.steps
    begin = steps[0] if first is None else min(max(first, steps[0]), steps[-1])
    end = steps[-1] if last is None else min(max(last, begin), steps[-1])
    return heat_data(heat(town, begin, end))


ROUTES = {
    "/runs/{name}/town": get_town,
    "/runs/{name}/town/frames": get_frames,
    "/runs/{name}/town/speech": get_speech,
    "/runs/{name}/town/news": get_news,
    "/runs/{name}/town/heat": get_heat,
}
