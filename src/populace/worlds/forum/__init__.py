"""A place where people write in threads: who speaks next, what is shown, what is removed."""

from populace.worlds.forum.board import POSTS, Board, gini
from populace.worlds.forum.chances import chances
from populace.worlds.forum.speaker_draw import SpeakerDraw
from populace.worlds.forum.threads import Threads

__all__ = ["POSTS", "Board", "SpeakerDraw", "Threads", "chances", "gini"]
