"""The community of a forum run: its threads, its page, its judges, and a test against real threads."""

from populace.community.community import Community, Thread

__all__ = ["Community", "Thread"]
