"""Measures what ten pools of one base image cost beside one: Jobs without and with a claim for base images, and here.

Each row begins with empty stores. The kubelet is played: it runs all Pods at once, by buildah on this machine.
"""

import asyncio
import io
import os
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from bench.machine import NoiseMeter
from bench.os_build_place import Place, until
from bench.tables import Cell, Table, against
from windlass.kube import config
from windlass.kube.client import Client
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.demo.scene import processes
from windlass.testing.builder import base_layer
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.pods import PlayedPods

LAYERS: Final = 5
LAYER_BYTES: Final = 50_000_000
WANTED: Final = 2.5
_LARGE: Final = 1_000_000
_FILES: Final = 200


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: how many pools there are beside the one. All of it is done once."""
    return await asyncio.to_thread(_measure, directory, objects)


def _measure(directory: Path, count: int) -> list[Table]:
    directory.mkdir(parents=True, exist_ok=True)
    rows = []
    with Place.open(directory, layers=[base_layer(), *(_layer(number) for number in range(LAYERS))]) as place:
        for what, builder, flags in (
            ("Jobs", "Job", ()),
            ("Jobs with a claim", "Job", ("--builder-cache-claim=bases",)),
            ("on this machine, vfs", "local", ("--local-storage-driver=vfs",)),
            ("on this machine, overlay", "local", ("--local-storage-driver=overlay",)),
        ):
            place.configure(builder=builder)
            rows.append(_row(place, what, flags, count, cluster=builder == "Job"))
    size = f"{LAYERS} layers of {LAYER_BYTES / 1e6:.0f} MB, half of it text"
    notes = (f"the base image: {size}", "layers pulled: how often one of them was asked of the registry, for all pools")
    return [Table(f"OS builds: {count} pools of one base image", [*rows[0]], rows, notes)]


def _row(place: Place, what: str, flags: Sequence[str], count: int, *, cluster: bool) -> dict[str, Cell]:
    """One pool, then `count` others, each time from nothing."""
    noise, slug = NoiseMeter(), what.lower().replace(" ", "-").replace(",", "")
    alone, _ = _from_nothing(place, f"{slug}-1", flags, 1, cluster=cluster)
    all_of_them, pulled = _from_nothing(place, f"{slug}-{count}", flags, count, cluster=cluster)
    factor = all_of_them / alone
    return {
        "builds": what,
        "one, s": alone,
        f"{count}, s": all_of_them,
        "factor": f"{factor:.2f}",
        "layers pulled": pulled,
        "wanted": against(round(factor, 2), WANTED, unit="x"),
        "others, cores": noise.read().others,
    }


def _from_nothing(place: Place, name: str, flags: Sequence[str], count: int, *, cluster: bool) -> tuple[float, int]:
    """Seconds from the first opt-in until all are built, and how many layers were pulled."""
    pools = [f"{name}-{number}" for number in range(count)]
    place.add(*pools)
    with place.at_work(name, "--max-builds=0", *flags), _kubelet(place, name) if cluster else nullcontext():
        place.registry.forget_requests()
        began = time.monotonic()
        place.opt_in(*pools)
        until(lambda: place.built(*pools))
        seconds = time.monotonic() - began
        pulled = _pulled(place)
        until(lambda: not processes(place.builds(name).parent))
    for folder in (place.builds(name).parent, place.folder / f"kubelet-{name}"):
        shutil.rmtree(folder, ignore_errors=True)
    return seconds, pulled


def _pulled(place: Place) -> int:
    asked = [each.path.rpartition("/")[2] for each in place.registry.requests(method="GET", path="/os/large/blobs/")]
    return sum(len(place.registry.images.blob(digest)) > _LARGE for digest in asked)


@contextmanager
def _kubelet(place: Place, name: str) -> Iterator[None]:
    """Runs the Pods of Jobs, all at once, and removes what is left of each."""
    folder, loop = place.folder / f"kubelet-{name}", asyncio.new_event_loop()

    async def play() -> None:
        async with Client(config.load(kubeconfig=place.plane.kubeconfig())) as client:
            buildah = Buildah(client, folder, insecure=[place.registry.host])
            await PlayedPods(client, namespace=NAMESPACE).play(buildah.run_pod)

    task = loop.create_task(play())
    thread = threading.Thread(target=_run, args=(loop, task), daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    with suppress(asyncio.CancelledError):
        loop.run_until_complete(task)


def _layer(number: int) -> bytes:
    """A tar archive of one large file that cannot be compressed, and of text."""
    half = LAYER_BYTES // 2
    line = f"this is what layer {number} says\n".encode()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as tar:
        add: Callable[[str, bytes], None] = lambda path, content: _add(tar, path, content)  # noqa: E731
        add(f"usr/lib/{number}/random", os.urandom(half))
        for file in range(_FILES):
            add(f"usr/share/{number}/{file}", line * (half // _FILES // len(line)))
    return written.getvalue()


def _add(tar: tarfile.TarFile, path: str, content: bytes) -> None:
    member = tarfile.TarInfo(path)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))
