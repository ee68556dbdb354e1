"""The world of a forum: its posts and threads, and who speaks next in each."""

from populace.worlds.forum.board import POSTS, Board, gini
from populace.worlds.forum.speaker_draw import SpeakerDraw
from populace.worlds.forum.threads import Threads, chances

__all__ = ["POSTS", "Board", "SpeakerDraw", "Threads", "chances", "gini"]
