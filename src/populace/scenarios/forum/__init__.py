"""A simulated online community: threads that grow from a design."""

from populace.scenarios.forum.design import CommunityRule, ForumDesign, Trigger, shipped_designs
from populace.scenarios.forum.forum import Forum
from populace.scenarios.forum.what_if import WhatIf

__all__ = ["CommunityRule", "Forum", "ForumDesign", "Trigger", "WhatIf", "shipped_designs"]
