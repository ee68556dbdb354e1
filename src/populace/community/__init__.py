"""Reading a simulated community: its threads, as a page, through judges, and beside the real thing."""

from populace.community.community import Community, Thread

__all__ = ["Community", "Thread"]
