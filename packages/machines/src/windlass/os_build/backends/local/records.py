"""The folder of each build: its files while it runs, and its state when it is over.

    DIR/lock                            held by the one process that uses DIR
    DIR/builds/NAME/context/            the files of the build
                    pull.json, push.json    credentials, readable by this user only
                    containers/, trust/, home/, lent/   its environment (`environment`), as far as it has one
                    tmp/                buildah's temporary files
                    outcome.json        the `BuildState` of a build that is over: written last, and at once
                    log                 the end of the log of one that failed
    DIR/slots/N/                        a store of images (`slots`)
    DIR/kills.json                      how often SIGKILL ended the builder of which build
    DIR/trash/                          what is being deleted

When a build is over, only `outcome.json` and `log` are left. A folder without `outcome.json` is of a build that did not
come to its end: it is removed when DIR is opened.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import structs

from windlass.kube import decoding
from windlass.os_build import log as logs
from windlass.os_build.backends.local.buildah import NOTHING, Given
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import BuildState
from windlass.os_build.credentials import Auths
from windlass.os_build.environment import variables
from windlass.os_build.inputs.containers import LOOKASIDE, POLICY, REGISTRIES, REGISTRIES_FOLDER

_OUTCOME: Final = "outcome.json"
_OF_USER: Final = (REGISTRIES_FOLDER, LOOKASIDE)
"""What buildah takes no option for, and looks for below its home folder."""
_PATIENCE: Final = 3.5
"""Seconds that keepers of a process that was killed may still hold the lock."""


_KILLS: Final = 100
"""Names of builds."""


class InUse(Exception):
    """Another process uses the folder."""


class Folder:
    """The files of one build. `trash`: the folder for what takes long to delete."""

    def __init__(self, path: Path, *, trash: Path) -> None:
        self.path = path
        self.context = path / "context"
        self.pull = path / "pull.json"
        self.push = path / "push.json"
        self.temporary = path / "tmp"
        self.digest = path / "digest"
        self.given = NOTHING
        self._trash = trash

    def prepare(self, request: StartBuild) -> None:
        """Write what the build reads. Raises OSError."""
        self.remove()
        self.path.mkdir(mode=0o700)
        self.context.mkdir()
        self.temporary.mkdir()
        for name, data in request.context.files.items():
            file = self.context / name
            file.write_bytes(data)
            # The mode becomes part of the image, so it may not depend on the umask.
            file.chmod(0o644)
        self.given = self._given(request)
        for secret, auths in ((self.pull, request.pull), (self.push, request.push)):
            if auths is not None:
                _write_secret(secret, auths)

    def renew(self, request: StartBuild) -> None:
        """Replace the credentials, if the build has begun. Raises OSError."""
        for secret, auths in ((self.pull, request.pull), (self.push, request.push)):
            if secret.exists() and auths is not None:
                # Renamed into place: buildah may be reading it.
                _write_secret(_new(secret), auths)
                _new(secret).rename(secret)

    def _given(self, request: StartBuild) -> Given:
        """Write the environment of the build."""
        wanted = request.environment
        files = {f"containers/{name}": data for name, data in wanted.containers.items()}
        home = self.path / "home"
        of_user = {
            **wanted.certificates,
            **{path: data for path, data in wanted.containers.items() if path.partition("/")[0] in _OF_USER},
        }
        files |= {f"home/.config/containers/{path}": data for path, data in of_user.items()}
        if trusted := wanted.egress.trusted:
            files["trust/trusted.crt"] = trusted.encode()
        lent = {at: self.path / "lent" / str(number) for number, at in enumerate(sorted(request.lent))}
        files |= {
            f"lent/{folder.name}/{name}": data
            for at, folder in lent.items()
            for name, data in request.lent[at].content.items()
        }
        for name, data in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            # A step may run as any user.
            file.chmod(0o644)
            file.parent.chmod(0o755)
        if of_user and not request.pull:  # then credentials are this user's, and buildah finds them by the home folder
            (home / ".docker").symlink_to(Path.home() / ".docker")

        def given(name: str) -> Path | None:
            return (
                self.path / "containers" / name if any(f"{name}/" in f"{each}/" for each in wanted.containers) else None
            )

        return Given(
            registries=given(REGISTRIES),
            policy=given(POLICY),
            lent=lent,
            proxy=variables(wanted.egress.proxy),
            trust=self.path / "trust" if trusted else None,
            home=home if of_user else None,
        )

    def finish(self, state: BuildState, *, log: str) -> None:
        """Leave the state, and the log if there is one, and remove everything else. Raises OSError."""
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
            if log:
                (self.path / "log").write_text(logs.clean(log), encoding="utf-8")
            # Renamed into place: a crash leaves all of it or nothing.
            unfinished = self.path / f"{_OUTCOME}.new"
            unfinished.write_bytes(msgspec.json.encode(structs.replace(state, handle=None)))
            unfinished.rename(self.path / _OUTCOME)
        finally:
            self._strip()

    def read(self) -> BuildState | None:
        """The state of a build that is over; None if it did not come to its end."""
        try:
            state = decoding.decode((self.path / _OUTCOME).read_bytes(), BuildState)
        except (OSError, msgspec.MsgspecError):
            return None
        self._strip()
        return state

    def remove(self) -> None:
        """Remove all of it."""
        self._strip()
        shutil.rmtree(self.path, ignore_errors=True)

    def _strip(self) -> None:
        for file in (self.pull, self.push, _new(self.pull), _new(self.push), self.digest):
            file.unlink(missing_ok=True)
        for folder in ("context", "containers", "trust", "home", "lent"):
            shutil.rmtree(self.path / folder, ignore_errors=True)
        # These may be gigabytes: they are moved away at once, and deleted later.
        with contextlib.suppress(FileNotFoundError):
            self.temporary.rename(self._trash / f"{self.path.name}-{time.monotonic_ns()}")


class Kills:
    """How often SIGKILL ended the builder of a build, by the name of the build; the next process goes on counting.

    A count that cannot be stored is known to this process alone. Only the last names are kept: a build that is not
    wanted any more has no end that would remove its count.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._counts: dict[str, int] = {}
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            self._counts = decoding.decode(file.read_bytes(), dict[str, int])

    def count(self, name: str) -> int:
        """One more; returns how many there are."""
        number = self._counts.pop(name, 0) + 1
        self._counts[name] = number
        self._store()
        return number

    def forget(self, name: str) -> None:
        if self._counts.pop(name, None) is not None:
            self._store()

    def _store(self) -> None:
        self._counts = dict([*self._counts.items()][-_KILLS:])
        with contextlib.suppress(OSError):
            _new(self._file).write_bytes(msgspec.json.encode(self._counts))
            _new(self._file).rename(self._file)


def _new(file: Path) -> Path:
    return file.with_suffix(".new")


def _write_secret(file: Path, auths: Auths) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as opened:
        opened.write(auths.document)


def empty(trash: Path) -> None:
    """Delete what was moved to the trash. It may take long."""
    for each in trash.iterdir():
        shutil.rmtree(each, ignore_errors=True)


def swept(builds: Path, *, trash: Path) -> list[BuildState]:
    """The states of the builds that are over, oldest first; the folders of others are removed."""
    found: list[BuildState] = []
    for path in builds.iterdir():
        folder = Folder(path, trash=trash)
        if (state := folder.read()) is not None:
            found.append(state)
        else:
            folder.remove()
    return sorted(found, key=lambda state: (str(state.ended), state.name))


@contextlib.asynccontextmanager
async def locked(folder: Path) -> AsyncIterator[int]:
    """Hold the lock of `folder`, which exists, as a descriptor. Raises InUse, OSError."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not _try(descriptor):
            if time.monotonic() > deadline:
                raise InUse(
                    f"the folder {folder} is in use by another process (its id is in {folder / 'lock'}): end that one, "
                    "or choose another folder"
                )
            await asyncio.sleep(0.05)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
