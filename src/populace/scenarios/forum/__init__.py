"""A community before it opens: threads that grow from a design."""

from populace.scenarios.forum.design import Design, Rule, Trigger, shipped_designs
from populace.scenarios.forum.forum import Forum
from populace.scenarios.forum.turning import WhatIf

__all__ = ["Design", "Forum", "Rule", "Trigger", "WhatIf", "shipped_designs"]
