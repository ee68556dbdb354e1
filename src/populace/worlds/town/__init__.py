"""A town that people share: places, walking, who is where, what they notice, and things with a state."""

from populace.worlds.town.objects import Objects
from populace.worlds.town.people_generator import generate_relations, generate_residents
from populace.worlds.town.perception import SightPairs
from populace.worlds.town.presence import NoticedObjects, Presence, Whereabouts
from populace.worlds.town.residents import read_relations, read_residents, read_routines, settle_newcomers
from populace.worlds.town.toml_table import TomlFile
from populace.worlds.town.town import Town
from populace.worlds.town.town_map import building_labels, building_rectangles, render_map, street_lines

__all__ = [
    "NoticedObjects",
    "Objects",
    "Presence",
    "SightPairs",
    "TomlFile",
    "Town",
    "Whereabouts",
    "building_labels",
    "building_rectangles",
    "generate_relations",
    "generate_residents",
    "read_relations",
    "read_residents",
    "read_routines",
    "render_map",
    "settle_newcomers",
    "street_lines",
]
