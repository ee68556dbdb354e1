"""A town as JSON: its map, the film of a window of steps, what is said, where people are, who knows the news."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl
from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from populace.studio.pages.town.data import TownRun, town_map, town_of
from populace.studio.pages.town.frames import frames
from populace.studio.pages.town.heat import heat, heat_data
from populace.studio.pages.town.talk import follows_news, news, speech
from populace.studio.studio import Studio

From = Annotated[int | None, Query(alias="from", ge=0, description="The first step; the first of all by default.")]
To = Annotated[int | None, Query(alias="to", ge=0, description="The last step, included.")]


def router(studio: Studio) -> APIRouter:
    """`/api/runs/NAME/town` and what is below it."""
    made = APIRouter(prefix="/runs/{name}/town")

    def opened(name: str) -> TownRun:
        return town_of(studio.library.run(name))

    @made.get("")
    def the_map(name: str) -> dict[str, Any]:
        """The map, the people and the timeline."""
        return town_map(opened(name))

    @made.get("/frames")
    def the_frames(name: str, first: From = None, last: To = None) -> JSONResponse:
        """Where everybody is at some steps, and the ways between them."""
        town = opened(name)
        return JSONResponse(frames(town, *town.bounds(first, last)))

    @made.get("/speech")
    def the_speech(
        name: str, first: From = None, last: To = None, limit: Annotated[int, Query(ge=1, le=100_000)] = 2000
    ) -> Response:
        """What was said at some steps; each utterance up to a number of characters."""
        town = opened(name)
        said = speech(town, *town.bounds(first, last))
        cut = said.with_columns(pl.col("text").str.slice(0, limit), cut=pl.col("text").str.len_chars() > limit)
        return Response(cut.write_json(), media_type="application/json")

    @made.get("/news")
    def the_news(name: str) -> dict[str, Any]:
        """Who knows the news, since when and from whom, branch by branch."""
        town = opened(name)
        followed = follows_news(town)
        return {"followed": followed, "people": len(town.ids), "news": news(town).to_dicts() if followed else []}

    @made.get("/heat")
    def the_heat(name: str, first: From = None, last: To = None) -> dict[str, Any]:
        """Person-hours by building and along the streets."""
        town = opened(name)
        steps = town.steps
        begin = steps[0] if first is None else min(max(first, steps[0]), steps[-1])
        end = steps[-1] if last is None else min(max(last, begin), steps[-1])
        return heat_data(heat(town, begin, end))

    return made
