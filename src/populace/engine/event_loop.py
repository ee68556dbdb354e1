"""Driving a simulation to its end, or to a clean stop when somebody interrupts it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from populace.engine.simulation import Simulation

T = TypeVar("T")


async def to_the_end(simulation: Simulation, until: int | None = None) -> None:
    """Run, and let the models go afterwards."""
    try:
        await guarded(simulation, until)
    finally:
        await simulation.broker.close()


async def guarded(simulation: Simulation, until: int | None = None) -> None:
    """Run, and turn Ctrl-C into a clean stop; pressed again, it stops at once."""
    loop = asyncio.get_running_loop()
    main = threading.current_thread() is threading.main_thread()
    task = asyncio.current_task()

    def interrupt() -> None:
        if simulation.stopping and task is not None:
            task.cancel()
        simulation.halt()

    if main:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        await simulation.run(until)
    except asyncio.CancelledError:
        simulation.record.set_status(state="stopped", reason="interrupted twice; calls under way were dropped")
        raise KeyboardInterrupt from None
    finally:
        if main:
            loop.remove_signal_handler(signal.SIGINT)


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also from code that runs inside an event loop, such as a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
