"""Life in a town: people plan, walk, notice, react, talk, remember and reflect."""

from populace.scenarios.townlife.life import BEGINS, DAY, HOUR, TICK, TownLife

__all__ = ["BEGINS", "DAY", "HOUR", "TICK", "TownLife"]
