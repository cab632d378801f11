"""A browser for the module, and for each test a tab that forgets everything."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from tests.browser import CHROMIUM, FLAGS
from tests.patience import PATIENCE

OpenTab = Callable[..., Awaitable[Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


class Watched:
    """What a tab did that a page of ours must not do."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.complaints: list[str] = []

    def watch(self, tab: Any) -> None:
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        tab.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: Any, watched: Watched) -> AsyncIterator[OpenTab]:
    """Opens a tab with the given options of a browser context; it is closed after the test."""
    async with AsyncExitStack() as stack:

        async def open_tab(url: str = "", **options: Any) -> Any:
            context = await browser.new_context(**{"timezone_id": "UTC", "locale": "en", **options})
            stack.push_async_callback(context.close)
            context.set_default_timeout(PATIENCE * 1000)
            made = await context.new_page()
            watched.watch(made)
            if url:
                await made.goto(url)
            return made

        yield open_tab
