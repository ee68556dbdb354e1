"""Studio for tests: with NiceGUI's simulated user, as a process, and in a real browser."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nicegui import Client, app, ui
from nicegui.testing import User, user_simulation

from populace.studio.app import install
from populace.studio.studio import Studio

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass
class Visit:
    """A simulated user in a Studio."""

    studio: Studio
    user: User

    async def open(self, path: str) -> Client:
        """Open a page."""
        return await self.user.open(path)

    async def sees(self, text: str, seconds: float = 60.0) -> None:
        """Wait until a text is on the page."""
        await self.user.should_see(text, retries=max(1, round(seconds * 10)))

    async def sees_marked(self, marker: str, seconds: float = 60.0) -> None:
        """Wait until an element that `tested` named is on the page."""
        await self.user.should_see(marker=marker, retries=max(1, round(seconds * 10)))

    def press(self, marker: str) -> None:
        """Press what `tested` named."""
        self.user.find(marker=marker).click()

    def one(self, marker: str) -> Any:
        """The element that `tested` named."""
        (element,) = self.user.find(marker=marker).elements
        return element

    def enter(self, marker: str, value: object) -> None:
        """Put a value into a field that `tested` named."""
        self.one(marker).set_value(value)

    def texts(self) -> str:
        """All text on the page: of labels, links, buttons, fields and tables."""
        found: list[str] = []
        with self.user:
            for element in self.user._client.elements.values():
                for name in ("text", "content", "value", "label"):
                    value = getattr(element, name, None)
                    if isinstance(value, str):
                        found.append(value)
                label = element._props.get("label")
                if isinstance(label, str):
                    found.append(label)
                if isinstance(element, ui.table):
                    found += [str(cell) for row in element.rows for cell in row.values()]
        return "\n".join(found)

    async def until(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until something holds. What looks for an element that is not drawn yet does not hold yet."""
        end = time.monotonic() + seconds
        while True:
            missing = ""
            try:
                if condition():
                    return
            except AssertionError as error:
                missing = f"{error}\n"
            assert time.monotonic() < end, f"it never came: {missing}{self.texts()[:3000]}"
            await asyncio.sleep(0.05)


def visiting(workspace: Path, story: Callable[[Visit], Awaitable[None]]) -> None:
    """Have a simulated user go through a Studio over a workspace.

    The story gets the visit; its coroutine is run to its end, and what a page raises fails the test.
    """

    async def go() -> None:
        async with visit(workspace) as made:
            await story(made)

    asyncio.run(go())


@asynccontextmanager
async def visit(workspace: Path) -> AsyncIterator[Visit]:
    """A simulated user in a Studio over a workspace; further users come with `Visit(visit.studio, another(user))`."""
    raised: list[BaseException] = []
    # NiceGUI collects garbage before and after every visit. What is there already would be walked each time, in a full
    # process for a quarter of a second.
    gc.freeze()
    # Every router that is included adds to the life of NiceGUI's one application, which outlives the visit.
    life = app.router.lifespan_context
    async with user_simulation() as user:
        app.on_exception(raised.append)
        studio = Studio(workspace)
        install(studio, app)
        try:
            yield Visit(studio, user)
        finally:
            # NiceGUI would forget the modules of all pages, and with them the classes that other tests hold.
            Client.page_routes.clear()
            app.router.lifespan_context = life
            for client in Client.instances.values():
                # Before Python 3.12 a loop that is woken while it is cancelled would go on for good.
                client.outbox.stop()
            for job in studio.jobs.started:
                job.kill()
    if raised:
        raise raised[0]


def another(visitor: Visit) -> Visit:
    """A second simulated user in the same Studio."""
    return Visit(visitor.studio, User(visitor.user.http_client))


@contextmanager
def served(workspace: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A Studio of its own process over a workspace: its address and the process."""
    command = [sys.executable, "-m", "populace", "studio", "--no-open", "--port", "0", *options]
    variables = os.environ | {"POPULACE_WORKSPACE": str(workspace), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables, cwd=workspace) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r" at (http\S+)", line)
        try:
            assert found, f"Studio did not start: {line}"
            yield found.group(1), process
        finally:
            process.kill()


SETTLED = """() => new Promise(settled => {
  const quiet = 120, latest = performance.now() + 3000;
  const end = () => { watcher.disconnect(); settled(); };
  let timer = setTimeout(end, quiet);
  const watcher = new MutationObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(end, performance.now() < latest ? quiet : 0);
  });
  watcher.observe(document.body, {subtree: true, childList: true, characterData: true});
})"""
"""Ends when nothing on the page has changed for a moment; a page that never rests is waited for some seconds."""


def open_page(page: Any, address: str) -> None:
    """Open a page of Studio and wait until all of it is drawn."""
    page.goto(address)
    page.wait_for_selector("main .page-title")
    page.wait_for_function("window.socket?.connected")
    page.evaluate(SETTLED)


@contextmanager
def chromium() -> Iterator[Any]:
    """A real Chromium; the test is skipped, and says so, where there is none."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine; on Debian: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def new_page(browser: Any, **context: Any) -> Iterator[Any]:
    """A page of a browser that shares nothing with its other pages."""
    own = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    try:
        yield own.new_page()
    finally:
        own.close()


@contextmanager
def browsing(**context: Any) -> Iterator[Any]:
    """A page of a real Chromium of its own."""
    with chromium() as browser, new_page(browser, **context) as page:
        yield page
