"""The update of a recorded cluster on the page, as if it were live, and what tests wait for there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from tests.shared import fixtures
from tests.unit.web.serving import a_view, serving
from windlass.update_status.assessment import assess
from windlass.update_status.reading import Reading
from windlass.update_status.reading.mock import read_mock
from windlass.update_status.times import of_datetime
from windlass.update_status.view.parts import parts
from windlass.web.board import Board
from windlass.web.view import View

LARGE: Final = "4.16.0-ec2-control-plane-updated-pdb-prohibits-draining"


@cache
def reading(name: str) -> Reading:
    path = fixtures("update_status") / f"{name}-cv.yaml"
    return read_mock(str(path), wall=of_datetime(datetime.now(UTC)))


@cache
def document_of(name: str) -> dict[str, Any]:
    """The document of a recorded cluster, as if it were live."""
    read = reading(name)
    return parts(assess(read.sources, now=read.now, wall=read.wall), [], now=read.now)


class Live:
    """A view of the update whose board the test has."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.board: asyncio.Future[Board] = asyncio.get_running_loop().create_future()
        self.view: View = a_view("update-status", document=document, publish=self._keep)

    async def _keep(self, board: Board) -> None:
        self.board.set_result(board)

    async def show(self, **changed: Any) -> None:
        self.document = {**self.document, **changed}
        (await self.board).show(self.document)


@asynccontextmanager
async def live(name: str = "4.15.0-ec2-unavailable-mco-20m") -> AsyncIterator[tuple[Live, str]]:
    shown = Live({**document_of(name), "troubles": []})
    async with serving(shown.view) as link:
        yield shown, link


async def until_state(page: Any, text: str) -> None:
    await page.locator("#state", has_text=text).wait_for()
    # The rest of an update follows the first frame.
    await page.locator("main [aria-busy]").wait_for(state="detached")


async def open_all(page: Any) -> None:
    await page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
