"""The folder that built programs are kept in: one sub-folder per part and pin, written whole or not at all.

It looks like this:

    ${XDG_CACHE_HOME:-~/.cache}/windlass/control-plane/
        etcd-v3.7.3-linux-amd64-1f0c.../etcd
        cluster-api-v1.14.2-linux-amd64-9a2b.../cluster-api-core, crds/*.yaml
        .lock                held by the one process that fills the cache
        .incoming-*          a part that is being written; left only by a process that was killed
"""

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from windlass.kube.folders import cache_folder
from windlass.testing.binaries.parts import Part, Platform
from windlass.testing.binaries.progress import Clock, Report

_INCOMING = ".incoming-"


class Folders:
    """Folders under `root` by key. They appear whole, so existing means complete."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, key: str) -> Path | None:
        """The folder of that key, None if it is not there."""
        folder = self.root / key
        return folder if folder.is_dir() else None

    @contextmanager
    def filling(self, report: Report) -> Iterator[None]:
        """Hold the right to write; wait for another process that has it, saying so now and then.

        A holder that dies gives the lock back: the kernel drops it with the process.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with open(self.root / ".lock", "a", encoding="utf-8") as lock:
            self._acquire(lock.fileno(), report)
            for leftover in self.root.glob(f"{_INCOMING}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            yield

    def _acquire(self, lock: int, report: Report) -> None:
        clock = Clock()
        next_report = 0.0
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if clock.seconds >= next_report:
                    report(f"another process is filling {self.root}; waiting for it ({clock})")
                    next_report += 30
                time.sleep(0.2)
            else:
                return

    @contextmanager
    def incoming_for(self, key: str) -> Iterator[Path]:
        """A folder to fill; it becomes findable by `key` when the block ends without an exception."""
        staging = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=self.root))
        try:
            yield staging
            staging.chmod(0o755)
            staging.rename(self.root / key)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


class Cache(Folders):
    """Parts on disk."""

    def __init__(self, root: Path | None = None) -> None:
        super().__init__(root or cache_folder("control-plane"))

    def find(self, part: Part, target: Platform) -> Path | None:
        """The folder of `part`, None if it is not there."""
        return self.get(part.key(target))

    def incoming(self, part: Part, target: Platform) -> AbstractContextManager[Path]:
        """A folder to fill with `part`; it becomes findable when the block ends without an exception."""
        return self.incoming_for(part.key(target))
