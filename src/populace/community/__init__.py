"""Reading a simulated community: its threads, as a page, through judges, and beside the real thing."""

from populace.community.community import Charter, Community, Rule, Thread

__all__ = ["Charter", "Community", "Rule", "Thread"]
