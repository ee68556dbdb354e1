"""Whole numbers in the addresses of the API, small enough for every library that gets them."""

from typing import Annotated

from fastapi import Path, Query

_MOST = 10**12

StepNumber = Annotated[int | None, Query(ge=0, le=_MOST, description="A step; the last one by default.")]
PageNumber = Annotated[int, Query(ge=1, le=10**9, description="Which page, from 1.")]
PageSize = Annotated[int, Query(ge=1, le=500, description="How many rows a page has.")]
Count = Annotated[int, Query(ge=0, le=_MOST)]
PostNumber = Annotated[int, Path(ge=0, le=_MOST)]
