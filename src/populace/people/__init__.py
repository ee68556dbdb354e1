"""The people of a run: the population table, one person, names, traits, networks."""

from populace.people.expansion import Expansion, PersonaPool
from populace.people.names import draw_names
from populace.people.network import Network
from populace.people.person import Person
from populace.people.selection import filter_expression
from populace.people.table import HEARD, Id, People
from populace.people.traits import draw_column

__all__ = [
    "HEARD",
    "Expansion",
    "Id",
    "Network",
    "People",
    "Person",
    "PersonaPool",
    "draw_column",
    "draw_names",
    "filter_expression",
]
