"""Measures the web page of a live cluster with 500 nodes: a first visit, a change, and many open pages at rest.

The UpdateStatus and the UpdateRecord are written as their controller would write them; Chromium is the system's, driven
by Playwright. A visit is the first one of its profile, in a browser that runs: nothing is cached, and the tab gets a
process of its own. It is left alone until the page listens for changes, because a question of Playwright takes time on
the page's own thread.
"""

import asyncio
import shutil
import statistics
import sys
import time
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout, CookieJar, TCPConnector

from bench.arena import Arena
from bench.contestant import Contestant
from bench.machine import NoiseMeter
from bench.tables import Cell, Table, against
from bench.updates import MODEL, OPERATORS, TARGET, _played
from windlass.api.config import ClusterOperator, ClusterVersion
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.meta import KubernetesObject, tree
from windlass.api.update import UPDATE_STATUS, UpdateStatus, UpdateStatusStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.api.update_record import UpdateRecord
from windlass.kube.verbs import Api, PatchType
from windlass.model import MemoryApi
from windlass.testing.binaries import to_stderr
from windlass.update_status.assessment import assess
from windlass.update_status.document import write
from windlass.update_status.history import followed
from windlass.update_status.installation import installation
from windlass.update_status.reading.building import releases_of
from windlass.update_status.record import tree_of
from windlass.update_status.sources import Sources
from windlass.update_status.times import HOUR, of_datetime, rfc3339

NODES = 500
CHANGES = 20
SECONDS = 30
VISITS = 15
SETTLE = 1.0
"""Seconds."""
DRAINING = 5
FLAGS = ("--no-sandbox", "--disable-background-networking")

# In ms since the link was opened: when a frame with the summary and what needs attention was on the screen, as the
# browser tells it; and when the page's thread had painted the rest, which may be below the screen.
MARK = """new MutationObserver((_, observer) => {
  if (!document.querySelector("#timeline")) return;
  observer.disconnect();
  requestAnimationFrame(() => setTimeout(() => performance.mark("rest")));
}).observe(document, { childList: true, subtree: true });"""
PAINTS = """async () => {
  const first = (type, which) => new Promise((found) => new PerformanceObserver((list) => {
    const entry = list.getEntries().find(which);
    if (entry) found(entry.renderTime ?? entry.startTime);
  }).observe({ type, buffered: true }));
  const [frame] = performance.getEntriesByName("first-contentful-paint");
  const report = await first("largest-contentful-paint", (one) => one.element?.closest("main, #troubles"));
  return [frame.startTime, report, await first("mark", (one) => one.name === "rest")];
}"""


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: open pages."""
    meter = NoiseMeter()
    async with Arena(directory) as arena:
        await arena.plane.apply_crds(*(owned.manifest() for owned in installation().owned))
        status, record = await _kept()
        await arena.seed.create(UpdateStatus, {"metadata": {"name": UPDATE_STATUS}, "spec": {}})
        made = await arena.seed.create(UpdateRecord, record)
        told = {"status": record["status"]}
        await arena.seed.patch(UpdateRecord, made.name, told, type=PatchType.MERGE, subresource="status")
        await _keep(arena.seed, status)
        # Somebody keeps it, as far as the page can tell.
        beat = {"metadata": {"name": UPDATE_STATUS}, "lastBeat": rfc3339(time.time_ns() + HOUR), "periodSeconds": 10}
        await arena.seed.create(UpdateStatusHeartbeat, beat)
        log = directory / "web.log"
        argv = [str(Path(sys.executable).with_name("windlass")), "web", "--view=update-status"]
        with Contestant([*argv, f"--kubeconfig={arena.kubeconfig('windlass')}"], log=log) as process:
            link = await _link(log, process)
            rows = await _visits(link, arena.seed, status)
            rows += await _at_rest(link, process, objects)
    noise = meter.read()
    note = f"Others used {noise.others + noise.stolen:.2f} cores meanwhile."
    return [Table(f"windlass web, {NODES} nodes", list(rows[0]), rows, [note])]


def _row(what: str, figure: Cell, verdict: str = "") -> dict[str, Cell]:
    return {"what": what, "figure": figure, "verdict": verdict}


async def _kept() -> tuple[UpdateStatusStatus, dict[str, Any]]:
    """What a controller keeps of a played cluster in the middle of an update: the status and the record."""
    api = MemoryApi(*MODEL)
    cluster = await _played(api, NODES - 3)
    for operator in OPERATORS[1:21]:
        await cluster.update(operator)
    for operator in OPERATORS[21:24]:
        await cluster.cvo.progress(operator)
    await cluster.cvo.degrade(OPERATORS[23], reason="NotReady", message="1 of 3 replicas is not ready")
    for node in [f"worker-{number}" for number in range(DRAINING)]:
        await cluster.mco.node(node).prepare(cluster.layout.pool("worker").rendered(TARGET))

    def all_of(kind: type[KubernetesObject]) -> tuple[Any, ...]:
        return tuple(found.decode() for found in api.listing(kind))

    sources = Sources(
        cluster_version=all_of(ClusterVersion)[0],
        operators=all_of(ClusterOperator),
        pools=all_of(MachineConfigPool),
        nodes=all_of(Node),
        versions=releases_of(all_of(MachineConfig)),
        progress={one.metadata.name: one for one in all_of(MachineConfigNode)},
    )
    now = of_datetime(datetime.now(UTC))
    report = assess(sources, now=now)
    (record,) = followed([], report, {}, now=now)
    return write(report, now=now), tree_of(record)


async def _keep(api: Api, status: UpdateStatusStatus, *, alerts: str = "") -> None:
    """`alerts` is a text that the page shows."""
    body = {"status": {**tree(status), "alertsMissing": alerts}}
    await api.patch(UpdateStatus, UPDATE_STATUS, body, type=PatchType.MERGE, subresource="status")


async def _link(log: Path, process: Contestant) -> str:
    async with asyncio.timeout(30):
        while not (found := _printed(log)):
            if process.ended:
                raise RuntimeError(process.last_words())
            await asyncio.sleep(0.1)
    return found


def _printed(log: Path) -> str:
    """The link, as soon as it is there."""
    lines = log.read_text(encoding="utf-8").splitlines()
    return next((line.split()[1] for line in lines if line.startswith("Open ")), "")


async def _visits(link: str, api: Api, status: UpdateStatusStatus) -> list[dict[str, Cell]]:
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        chromium = shutil.which("chromium") or "/usr/bin/chromium"
        browser = await driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        weights, paints = [], []
        for _ in range(VISITS):
            context = await browser.new_context()
            page = await context.new_page()
            await page.add_init_script(MARK)
            # A window of its own opens for it, which would compete with the visit.
            await asyncio.sleep(SETTLE)
            wire = await context.new_cdp_session(page)
            received: list[float] = []
            wire.on("Network.loadingFinished", lambda event, to=received: to.append(event["encodedDataLength"]))
            await wire.send("Network.enable")
            async with page.expect_request(lambda request: "/changes" in request.url):
                await page.goto(link, wait_until="commit")
            await page.locator("#state", has_text="Live").wait_for()
            weights.append(sum(received) / 1000)
            async with asyncio.timeout(30):
                paints.append(await page.evaluate(PAINTS))
            await context.close()
        page = await browser.new_page()
        await page.goto(link)
        await page.locator("#state", has_text="Live").wait_for()
        lags = []
        for number in range(CHANGES):
            await _keep(api, status, alerts=f"change {number}.")
            began = time.perf_counter()
            await page.get_by_text(f"change {number}.").wait_for()
            lags.append(time.perf_counter() - began)
        await browser.close()
    to_stderr("web: visited")
    anything, report, rest = (list(times) for times in zip(*paints, strict=True))
    middle = statistics.median(report)
    return [
        _row("first visit over the wire, KB", max(weights), against(max(weights), 150, unit="KB")),
        _row(f"first paint of the frame: median of {VISITS}, ms", statistics.median(anything)),
        _row(
            "first paint of the report: its summary and what needs attention, ms",
            middle,
            against(middle, 300, unit="ms"),
        ),
        _row("the slowest, ms", max(report)),
        _row("paint of the rest, ms", statistics.median(rest)),
        _row(f"from the object to the screen: median of {CHANGES}, s", statistics.median(lags)),
        _row("the slowest, s", max(lags), against(max(lags), 1, unit="s")),
    ]


async def _at_rest(link: str, process: Contestant, pages: int) -> list[dict[str, Cell]]:
    """Open streams, as many pages have them, while nothing changes."""
    base = link.partition("/?")[0]
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            ClientSession(
                base,
                connector=TCPConnector(limit=0),
                cookie_jar=CookieJar(unsafe=True),
                timeout=ClientTimeout(total=None),
            )
        )
        await session.get(link)
        async with session.get("/api/views/update-status/document") as answer:
            stamp = (await answer.json())["stamp"]
        streams = [
            await stack.enter_async_context(session.get("/api/views/update-status/changes", params={"since": stamp}))
            for _ in range(pages)
        ]
        reading = [asyncio.create_task(stream.read()) for stream in streams]
        await asyncio.sleep(5)
        before = process.usage.cpu
        await asyncio.sleep(SECONDS)
        share, peak = 100 * (process.usage.cpu - before) / SECONDS, process.usage.peak
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
    to_stderr(f"web: {pages} open pages")
    return [
        _row(f"{pages} open pages at rest: CPU, % of a core", share, against(share, 5, unit="%")),
        _row("peak memory, MB", peak, against(peak, 150, unit="MB")),
    ]
