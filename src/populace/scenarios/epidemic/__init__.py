"""An epidemic in which people decide for themselves whether to stay at home."""

from populace.scenarios.epidemic.epidemic import Epidemic

__all__ = ["Epidemic"]
