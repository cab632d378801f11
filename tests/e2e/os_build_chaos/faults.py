"""What goes wrong around builds, one thing after the other, as a seed draws it.

| fault | what happens |
|---|---|
| `down` | nobody listens where the registry was, and open connections are reset |
| `slow` | each request waits for seconds |
| `cut` | uploads break off |
| a number | a share of requests is answered so, as registries and the proxies before them do |
| `disk` | the disk of the builds is full |
| `evicted` | all Pods of builders are taken from their Node |
"""

import asyncio
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Final

from windlass.api.core import Pod
from windlass.kube.object import Object
from windlass.testing.builds.buildah import Buildah
from windlass.testing.builds.pods import Ended
from windlass.testing.registry import Registry

STATUSES: Final = (500, 502, 503, 504, 507, 520, 524)
PATHS: Final = ("", "/blobs/uploads/", "/manifests/build-", "/os/base/")
"""Parts of a registry that may fail alone; the first is all of it."""
LASTS: Final = (0.5, 4.0)
CALM: Final = (0.5, 4.0)
"""Seconds, at least and at most."""
DISK: Final = "96m"


class Disk:
    """A small disk, mounted at `path`; only root may mount one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> "Disk":
        self.path.mkdir()
        if os.geteuid() == 0:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", self.path], check=True)
        return self

    def __exit__(self, *_: object) -> None:
        if os.geteuid() == 0:
            subprocess.run(["umount", "--lazy", self.path], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Inside, there is no space left."""
        filler = self.path / "filler"
        try:
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(bytes(1 << 12)):
                    continue
            yield
        finally:
            filler.unlink(missing_ok=True)


class Kubelet:
    """Builds what Pods ask for, on the disk, until they are evicted. `evictions`: when that was."""

    def __init__(self, make: Callable[[Path], Buildah], disk: Disk) -> None:
        self.evictions: list[float] = []
        self._make = make
        self._disk = disk
        self._evicting = asyncio.Event()

    async def work(self, pod: Object[Pod]) -> Ended:
        """For `PlayedPods.play`."""
        folder = self._disk.path / pod.uid
        building = asyncio.ensure_future(self._make(folder).run_pod(pod))
        evicted = asyncio.ensure_future(self._evicting.wait())
        try:
            await asyncio.wait([building, evicted], return_when=asyncio.FIRST_COMPLETED)
            if building.done():
                with suppress(OSError):  # the disk of the kubelet itself is full
                    return building.result()
                return Ended(exit_code=1, message="played: the volumes could not be made", disrupted=True)
            return Ended(exit_code=137, disrupted=True)
        finally:
            for task in (building, evicted):
                task.cancel()
            await asyncio.wait([building, evicted])
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    @contextmanager
    def evicting(self) -> Iterator[None]:
        """All Pods are evicted; new ones inside, too."""
        self.evictions.append(time.monotonic())
        self._evicting.set()
        try:
            yield
        finally:
            self._evicting.clear()
            self.evictions.append(time.monotonic())


class Weather:
    """Draws faults. `seen` counts them by kind."""

    def __init__(self, registry: Registry, disk: Disk, kubelet: Kubelet | None, *, seed: int) -> None:
        self.seen = Counter[str]()
        self._draw = Random(seed)
        self._registry = registry
        self._faults: dict[str, Callable[[], AbstractContextManager[object]]] = {
            "down": registry.down,
            "slow": lambda: self._failing(slow=self._draw.uniform(0.5, 3.0)),
            "cut": lambda: self._failing(method="PATCH", cut=True),
            **{str(status): lambda status=status: self._status(status) for status in STATUSES},  # type: ignore[misc]
            **({"disk": disk.full} if os.geteuid() == 0 else {}),
            **({"evicted": kubelet.evicting} if kubelet is not None else {}),
        }

    async def blow(self) -> None:
        """One fault after the other, until cancelled."""
        names = [*self._faults]
        while True:
            # Each once before any comes again: a short run has all of them, too.
            self._draw.shuffle(names)
            for name in names:
                self.seen[name] += 1
                with self._faults[name]():
                    await asyncio.sleep(self._draw.uniform(*LASTS))
                await asyncio.sleep(self._draw.uniform(*CALM))

    def _status(self, status: int) -> AbstractContextManager[object]:
        return self._failing(status=status, path=self._draw.choice(PATHS), skip=self._draw.randrange(4))

    @contextmanager
    def _failing(self, **rule: object) -> Iterator[None]:
        self._registry.fault(**rule)
        try:
            yield
        finally:
            self._registry.clear_faults()
