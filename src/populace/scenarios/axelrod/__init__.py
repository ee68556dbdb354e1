"""The prisoner's dilemma, iterated: a tournament after Axelrod, and a lattice after Nowak and May."""

from populace.scenarios.axelrod.lattice import AxelrodLattice
from populace.scenarios.axelrod.tournament import Axelrod

__all__ = ["Axelrod", "AxelrodLattice"]
