"""Takes the pictures of docs/web: `python -m tests.api.web.pictures [NAME]...`, without a name all of them.

The views are those of the program, in the same browser as in tests; their documents are the examples of the tests, so
each run shows the same except for ages.
"""

import asyncio
import base64
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from playwright.async_api import async_playwright

from tests.api.web.live import LARGE, document_of, reading
from tests.api.web.shown import UPDATE, documents, views
from tests.browser import CHROMIUM, FLAGS
from tests.unit.web.serving import serving
from windlass.update_status.times import rfc3339

INTO: Final = Path(__file__).parents[3] / "docs" / "web"
QUALITY: Final = 88
"""Of WebP, in percent: texts are sharp, and a picture has about 50 kB."""


class Picture(Struct, frozen=True, kw_only=True):
    """A picture of a view. `update`: the recorded cluster whose update is shown. `open`: what is clicked first."""

    view: str
    scheme: str = "light"
    width: int = 1280
    height: int = 900
    update: str = UPDATE
    opens: str = ""


PICTURES: Final = {
    "overview": Picture(view="overview", height=700),
    "stalled": Picture(view="update-status"),
    "drains": Picture(view="update-status", scheme="dark", update=LARGE),
    "telephone": Picture(view="update-status", width=390, height=844),
    "machines": Picture(view="machine-sync", scheme="dark", height=760),
    "openstack": Picture(view="openstack"),
    "os-build": Picture(view="os-build", scheme="dark", opens="details.log > summary"),
    "os-build-telephone": Picture(view="os-build", width=390, height=844),
}


async def take(browser: Any, name: str, picture: Picture) -> Path:
    """Returns the file."""
    shown = documents()
    if picture.view == "update-status":
        # Its ages are those of the recording.
        clock = {"clock": {"now": rfc3339(reading(picture.update).now)}}
        shown["update-status"] = {**document_of(picture.update), "troubles": [], **clock}
    async with serving(*views(shown)) as link:
        context = await browser.new_context(
            color_scheme=picture.scheme,
            viewport={"width": picture.width, "height": picture.height},
            device_scale_factor=2 if picture.width < 500 else 1,
            reduced_motion="reduce",
            timezone_id="UTC",
        )
        page = await context.new_page()
        base, _, key = link.partition("/?")
        await page.goto(link)
        await page.goto(f"{base}/{picture.view}?{key}")
        await page.locator("#state", has_text="Recorded" if picture.view == "update-status" else "Live").wait_for()
        await page.locator("main h1").wait_for()
        await page.locator("main [aria-busy]").wait_for(state="detached")
        if picture.opens:
            await page.locator(picture.opens).first.click()
        session = await context.new_cdp_session(page)
        shot = await session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        await context.close()
    file = INTO / f"{name}.webp"
    file.write_bytes(base64.b64decode(shot["data"]))
    return file


async def main(names: Sequence[str]) -> None:
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in names or PICTURES:
            file = await take(browser, name, PICTURES[name])
            print(f"{file.relative_to(INTO.parents[1])}  {file.stat().st_size / 1024:.0f} KiB")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
