"""Runs a simulation to its end, or to a clean stop when it is interrupted."""

from __future__ import annotations

import asyncio
import signal
import threading

from populace.engine.simulation import Simulation
from populace.journal import Stop


async def run_until_stopped(simulation: Simulation, until: int | None = None) -> None:
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
        reason = "interrupted twice; calls under way were dropped"
        simulation.record.set_status(state="stopped", reason=reason, stop=Stop(kind="interrupted"))
        raise KeyboardInterrupt from None
    finally:
        if main:
            loop.remove_signal_handler(signal.SIGINT)
