"""Life in a town: people plan, walk, notice, react, talk, remember and reflect."""

from populace.scenarios.townlife.life import BEGINS, DAY, HOUR, TICK, TownLife
from populace.scenarios.townlife.words import WHO

__all__ = ["BEGINS", "DAY", "HOUR", "TICK", "WHO", "TownLife"]
