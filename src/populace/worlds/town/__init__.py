"""A town that people share: places, walking, who is where, what they notice, and things with a state."""

from populace.worlds.town.drawing import draw, labels, rectangles, street_lines
from populace.worlds.town.generate_people import generated_relations, generated_residents
from populace.worlds.town.objects import Objects
from populace.worlds.town.perception import Pairs
from populace.worlds.town.presence import Noticed, Presence, Whereabouts
from populace.worlds.town.residents import relations, residents, routines
from populace.worlds.town.town import Town

__all__ = [
    "Noticed",
    "Objects",
    "Pairs",
    "Presence",
    "Town",
    "Whereabouts",
    "draw",
    "generated_relations",
    "generated_residents",
    "labels",
    "rectangles",
    "relations",
    "residents",
    "routines",
    "street_lines",
]
