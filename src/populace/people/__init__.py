"""Who they are: the population table, one person, names, traits and ties."""

from populace.people.expansion import Expanded, Gathering
from populace.people.names import draw_names
from populace.people.network import Network
from populace.people.person import Person
from populace.people.selection import condition
from populace.people.table import Id, People
from populace.people.traits import draw_column

__all__ = ["Expanded", "Gathering", "Id", "Network", "People", "Person", "condition", "draw_column", "draw_names"]
