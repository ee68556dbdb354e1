"""Checks for parts of a mind of one's own: a memory, a planner or a reflection that keeps to its protocol."""

from populace.testing.memory_checks import check_memory
from populace.testing.planning_checks import check_planning
from populace.testing.reflection_checks import check_reflection

__all__ = ["check_memory", "check_planning", "check_reflection"]
