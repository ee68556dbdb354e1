"""Real and generated conversations for the discrimination test."""

from __future__ import annotations

from pathlib import Path

from populace import simulate
from populace.community.conversations import Conversation, ConversationPost, write_threads
from populace.community.study import Material
from populace.engine.workspace import Workspace
from support.board import GARDEN, Board, writer


def studied(folder: Path, words: str = "human {n}") -> tuple[Workspace, Material]:
    """A workspace with a run of five threads and a file of five real ones, and what a study is made of."""
    run = simulate(Board(threads=5), model=writer(0.0), seed=1, workspace=folder)
    real = [
        Conversation(
            GARDEN["name"],
            f"Title {n}",
            (ConversationPost("Zoë", words.replace("{n}", str(n))), ConversationPost("Al", "aye", 0)),
        )
        for n in range(5)
    ]
    file = write_threads(real, folder / "real.jsonl")
    return Workspace(folder), Material((run.name,), str(file))
