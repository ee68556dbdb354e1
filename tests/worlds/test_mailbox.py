from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from populace.base.errors import UnknownNameError, WorldError
from populace.worlds.mailbox import Mailbox, Message
from support.society import run_in_step


def exchange(mailbox: Mailbox, receive: Any) -> str:
    async def body(scenario: Any) -> str:
        return await mailbox.until_quiet(scenario, receive)

    return run_in_step(body, lambda request: "yes")[0]


def test_a_message_wakes_its_receiver_and_all_is_quiet_in_the_end() -> None:
    mailbox, woken = Mailbox([0, 1, 2]), []

    async def receive(who: int, messages: Sequence[Message]) -> None:
        woken.append((who, [message.text for message in messages]))
        if who < 2:
            mailbox.send(who, [who + 1], f"from {who}")

    mailbox.send(None, [0], "begin")
    assert exchange(mailbox, receive) == "quiet"
    assert woken == [(0, ["begin"]), (1, ["from 0"]), (2, ["from 1"])]


def test_what_is_sent_in_a_wave_arrives_with_the_next() -> None:
    mailbox, woken = Mailbox([0, 1], waves=3), []

    async def receive(who: int, messages: Sequence[Message]) -> None:
        woken.append((who, [message.wave for message in messages]))
        mailbox.send(who, [0, 1], "again")

    mailbox.send(None, [0, 1], "begin")
    assert exchange(mailbox, receive) == "waves"
    assert woken == [(0, [0]), (1, [0]), (0, [1]), (1, [1]), (0, [2]), (1, [2])]


def test_too_many_messages_end_it() -> None:
    mailbox = Mailbox([0, 1], messages=4)

    async def receive(who: int, messages: Sequence[Message]) -> None:
        mailbox.send(who, [0, 1], "again")

    mailbox.send(None, [0, 1], "begin")
    assert exchange(mailbox, receive) == "messages"


def test_nobody_is_woken_by_their_own_words() -> None:
    mailbox = Mailbox([0, 1])
    mailbox.send(0, [0, 1], "hello")
    assert mailbox.waiting == [1]


def test_a_receiver_who_does_not_exist_is_an_error() -> None:
    with pytest.raises(UnknownNameError):
        Mailbox(["ann"]).send(None, ["anne"], "hello")
    with pytest.raises(WorldError):
        Mailbox(["ann"], waves=0)
