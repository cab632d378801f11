"""The builds on this machine: a queue, as many at a time as there are slots, and their ends.

    async with Builds(folder, slots=2, changed=mailbox.post) as builds:
        builds.start(request)               # answers at once
        builds.states("worker")             # memory only

What is over stays, also for the next process, until it is removed. A build that this process does not bring to its end
(`interrupt`, the end of the block, SIGKILL) leaves nothing: whoever still wants it starts it again.

| a signal that ends | the build |
|---|---|
| buildah: SIGKILL, mostly by the kernel where memory ends | Interrupted; for the third time Failed, OutOfMemory |
| buildah: SIGTERM, SIGINT, SIGHUP, outside of a step | Interrupted |
| a step: SIGKILL, by the kernel or by a buildah that got SIGTERM | Failed, OutOfMemory |
| the same, and this process is stopped within 10 s: systemd asks all processes of a service to end | nothing is left |
"""

import asyncio
import contextlib
import errno
import shutil
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import msgspec
from msgspec import Struct, field, structs

from windlass.kube import decoding
from windlass.kube.logger import Logger, about
from windlass.os_build import failure
from windlass.os_build import log as logs
from windlass.os_build.backends.local.buildah import PACKAGES, Buildah, environment, images_of
from windlass.os_build.backends.local.process import Keeper, Place
from windlass.os_build.backends.local.records import Folder, Kills, empty, locked, swept
from windlass.os_build.backends.local.requests import RenewCredentials, StartBuild
from windlass.os_build.backends.local.storage import VFS, chosen
from windlass.os_build.builder import BuildState, Cause, Failed, Phase
from windlass.os_build.pullspec import DIGEST
from windlass.os_build.request import BackendName

# The stores of images: one slot for each build at a time, and what stays in its store afterwards.
#
# A base image of an OS is gigabytes, so a store outlives builds and keeps the bases of the last one. Everything else is
# removed after each build: what was built, older bases, and working containers of builds that were killed. While other
# builds wait, the images of `_LEFT` builds that succeeded may stay for a moment: removing each by itself, with a keeper
# of its own, costs a tenth of a small build.

_LEFT: Final = 3
_SECONDS: Final = 120.0
"""For a command of its own: removing gigabytes may take a while."""


class _Image(Struct):
    id: str
    names: list[str] | None = None


class Slot:
    """A store, the keeper of its commands, and the commands that prune the store. Not for several builds at a time.

    `lock`: see `Keeper`. `left`: how many builds have ended since the store was tidied; `used`: the Containerfile of
    the last one.
    """

    def __init__(self, folder: Path, buildah: Buildah, *, lock: int) -> None:
        self.folder = folder
        self.keeper = Keeper(folder, lock=lock)
        self.left = 0
        self.used = ""
        self._buildah = buildah
        self._log = Logger(__name__)

    async def sweep(self) -> None:
        """Remove what an earlier process left. A store that cannot be used is removed whole."""
        if self.folder.exists():
            await self._command(self._buildah.remove_containers(self.folder))
        await self.keeper.close()

    async def tidy(self, *, whole: bool) -> None:
        """Leave only the base images of the last build. `whole`: that succeeded, and left no container."""
        try:
            if whole or await self._command(self._buildah.remove_containers(self.folder)):
                await self._remove_images(images_of(self.used), whole=whole)
        finally:
            self.left = 0
            await self.keeper.close()

    async def _remove_images(self, kept: frozenset[str], *, whole: bool) -> None:
        try:
            listed = decoding.decode(self._buildah.images(self.folder).read_bytes(), list[_Image])
        except (OSError, msgspec.MsgspecError) as error:
            if whole:  # else nothing may have been pulled yet
                self._remove(str(error))
            return
        if gone := [image.id for image in listed if not kept.intersection(image.names or ())]:
            await self._command(self._buildah.remove_images(self.folder, gone))

    async def _command(self, argv: list[str]) -> bool:
        """False if it failed: then the store was removed, since nothing in it is worth a failing build."""
        temporary = self.folder / "tmp"
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        ended = await self.keeper.run(argv, place=Place(temporary, environment(temporary=temporary)), seconds=_SECONDS)
        if failed := ended.code != 0 or ended.overdue:
            self._remove(ended.output[-500:])
        return not failed

    def _remove(self, output: str) -> None:
        self._log.warning("a store of images was removed because buildah cannot use it", output=output)
        shutil.rmtree(self.folder, ignore_errors=True)


SLOTS: Final = 2
_SOON: Final = 0.5
KILLS: Final = 3
"""After so many SIGKILLs a build has failed: most probably the next builder would be killed, too."""
_DOUBT: Final = timedelta(seconds=10)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class NoBuilder(Exception):
    """Buildah is not installed."""


class _Build(Struct):
    """A build of this process that is not over. `cancelled`: it ends as a failed one, and not without a trace."""

    request: StartBuild
    state: BuildState
    folder: Folder
    task: "asyncio.Task[tuple[BuildState, str]] | None" = None
    cancelled: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        # Once: a second cancellation would cut off the clean-up of the first.
        if not self.state.ending and self.task is not None:
            self.state = structs.replace(self.state, ending=True)
            self.task.cancel()

    async def gone(self) -> None:
        """Wait until no process of the build runs."""
        if self.task is not None:
            await asyncio.wait([self.task])


class Builds:
    """See the module. `changed` is called with the name of the pool; `output` with what a build prints."""

    def __init__(
        self,
        folder: Path,
        *,
        slots: int = SLOTS,
        buildah: Buildah | None = None,
        changed: Callable[[str], None] = lambda _: None,
        output: Callable[[bytes], None] = lambda _: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._path = folder.absolute()
        self._count = slots
        self._buildah = buildah or Buildah()
        self._changed = changed
        self._output = output
        self._now = now
        self._builds: dict[str, _Build] = {}
        self._over: dict[str, BuildState] = {}
        self._free: asyncio.Queue[Slot] = asyncio.Queue()
        self._tidying: set[asyncio.Task[None]] = set()
        self._lock = -1
        self._stack = contextlib.AsyncExitStack()
        self._log = Logger(__name__)

    async def __aenter__(self) -> Self:
        """Raises NoBuilder, InUse, OSError."""
        if shutil.which(self._buildah.program) is None:
            raise NoBuilder(
                f"the program {self._buildah.program} is missing, and local OS builds need it: install {PACKAGES}"
            )
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with contextlib.AsyncExitStack() as stack:
            self._lock = await stack.enter_async_context(locked(self._path))
            for inner in ("builds", "slots", "trash"):
                (self._path / inner).mkdir(mode=0o700, exist_ok=True)
            self._kills = Kills(self._path / "kills.json")
            self._over = {state.name: state for state in swept(self._path / "builds", trash=self._path / "trash")}
            self._buildah = await chosen(self._buildah, self._path / "attempt", lock=self._lock)
            await self._open_slots(stack)
            await asyncio.to_thread(empty, self._path / "trash")
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.interrupt()
            await asyncio.gather(*(build.gone() for build in list(self._builds.values())))
            for task in self._tidying:
                task.cancel()
            await asyncio.gather(*self._tidying, return_exceptions=True)
            await asyncio.to_thread(empty, self._path / "trash")
        finally:
            await self._stack.aclose()

    async def _open_slots(self, stack: contextlib.AsyncExitStack) -> None:
        parent = self._path / "slots"
        # A store of another driver is of no use.
        end = "" if self._buildah.driver == VFS else f"-{self._buildah.driver}"
        slots = [Slot(parent / f"{number}{end}", self._buildah, lock=self._lock) for number in range(self._count)]
        for odd in {*parent.iterdir()} - {slot.folder for slot in slots}:
            odd.rename(self._path / "trash" / f"slot-{odd.name}")
        for slot in slots:
            stack.push_async_callback(slot.keeper.close)
        await asyncio.gather(*(slot.sweep() for slot in slots))
        for slot in slots:
            self._free.put_nowait(slot)

    def states(self, pool: str) -> tuple[BuildState, ...]:
        """The builds of a pool: first those that are over, oldest first, then the others in the order of the queue."""
        running = (build.state for build in self._builds.values())
        return tuple(state for state in (*self._over.values(), *running) if state.pool == pool)

    def state(self, name: str) -> BuildState | None:
        """One build."""
        build = self._builds.get(name)
        return build.state if build else self._over.get(name)

    async def start(self, request: StartBuild) -> BuildState:
        """Queue a build, unless there is one of this name. If that one is being stopped, wait for its end first.

        With a free builder the answer comes when it runs.
        """
        while (there := self._builds.get(request.name)) is not None and there.state.ending:
            await there.gone()
        if (state := self.state(request.name)) is not None:
            return state
        full = len(self._builds) >= self._count
        state = BuildState(
            name=request.name,
            backend=BackendName.LOCAL,
            pool=request.pool,
            owner=request.owner,
            inputs=request.inputs,
            phase=Phase.PENDING,
            config=request.config,
            attempt=request.attempt,
            secrets=request.secrets,
            image=request.image,
            note=f"waits for a free builder on this machine, which has {self._count}" if full else "",
        )
        folder = Folder(self._path / "builds" / request.name, trash=self._path / "trash")
        self._builds[request.name] = build = _Build(request, state, folder)
        build.task = asyncio.create_task(self._live(build))
        build.task.add_done_callback(partial(self._end, build))
        self._changed(request.pool)
        if not full:  # so that nobody is told of a build that waits for some milliseconds
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SOON):
                    await build.begun.wait()
        return build.state

    def renew(self, request: RenewCredentials) -> None:
        """Give a build that is not over these credentials: what it asks a registry for next is asked with them.

        Raises OSError.
        """
        if (build := self._builds.get(request.name)) is None:
            return
        build.request = structs.replace(build.request, pull=request.pull, push=request.push, secrets=request.secrets)
        build.folder.renew(build.request)
        build.state = structs.replace(build.state, secrets=request.secrets)
        self._changed(build.request.pool)

    async def cancel(self, name: str) -> None:
        """Stop a build; it stays as a failed one. No process of the build runs afterwards."""
        if (build := self._builds.get(name)) is not None:
            build.cancelled = True
            build.stop()
            await build.gone()

    async def remove(self, name: str) -> None:
        """Forget a build, stopping it first."""
        if (build := self._builds.get(name)) is not None:
            build.stop()
            await build.gone()
        if (state := self._over.get(name)) is not None:
            self._forget(state)
            self._changed(state.pool)

    def _forget(self, state: BuildState) -> None:
        del self._over[state.name]
        Folder(self._path / "builds" / state.name, trash=self._path / "trash").remove()

    def interrupt(self) -> None:
        """Begin to stop all builds, and leave nothing of them, nor of those that were killed a moment ago."""
        for build in self._builds.values():
            build.stop()
        for state in [*self._over.values()]:
            killed = state.failed is not None and state.failed.cause is Cause.MEMORY
            if killed and state.ended is not None and self._now() - state.ended < _DOUBT:
                self._forget(state)

    async def _live(self, build: _Build) -> tuple[BuildState, str]:
        """The state at the end, and the log of a failure."""
        with about(build=build.request.name, pool=build.request.pool):
            slot, whole = await self._free.get(), False
            try:
                state, log = await self._carry_out(build, slot)
            except OSError as error:
                cause = Cause.DISK if error.errno in _FULL else Cause.UNKNOWN
                return self._failed(build, Failed(cause=cause, tail=logs.tail(str(error)))), ""
            else:
                whole = state.phase is Phase.SUCCEEDED
                return state, log
            finally:
                slot.used = build.request.context.containerfile
                self._release(slot, whole=whole)

    def _release(self, slot: Slot, *, whole: bool) -> None:
        """Give the slot to the next build: tidied, unless one waits and the store holds little yet."""
        if whole and slot.left < _LEFT and self._waiting():
            slot.left += 1
            self._free.put_nowait(slot)
            return
        task = asyncio.create_task(self._tidy(slot, whole=whole))
        self._tidying.add(task)
        task.add_done_callback(self._tidying.discard)

    def _waiting(self) -> bool:
        return any(each.state.phase is Phase.PENDING and not each.state.ending for each in self._builds.values())

    def _tidy_free(self) -> None:
        """Tidy the slots that were left for builds which wait no more."""
        for slot in [self._free.get_nowait() for _ in range(self._free.qsize())]:
            if slot.left:
                self._release(slot, whole=True)
            else:
                self._free.put_nowait(slot)

    def _end(self, build: _Build, task: "asyncio.Task[tuple[BuildState, str]]") -> None:
        """Called when the task is done, also if it was cancelled before it began."""
        build.begun.set()
        del self._builds[build.request.name]
        if task.cancelled():
            state, log = self._failed(build, Failed(cause=Cause.CANCELLED)) if build.cancelled else None, ""
        elif (error := task.exception()) is not None:
            self._log.error("a build ended by a defect of Windlass", build=build.request.name, exc_info=error)
            state, log = self._failed(build, Failed(cause=Cause.UNKNOWN, tail=logs.tail(str(error)))), ""
        else:
            state, log = task.result()
        if state is not None and state.phase is not Phase.INTERRUPTED:
            self._kills.forget(state.name)
        try:
            if state is None:
                build.folder.remove()
            else:
                self._over[state.name] = state
                build.folder.finish(state, log=log)
        except OSError as error:
            text = "the end of a build could not be stored: after a restart it is built again"
            self._log.warning(text, build=build.request.name, error=str(error))
        if not self._waiting():
            self._tidy_free()
        self._changed(build.request.pool)

    async def _carry_out(self, build: _Build, slot: Slot) -> tuple[BuildState, str]:
        request, folder = build.request, build.folder
        folder.prepare(request)
        build.state = structs.replace(build.state, phase=Phase.RUNNING, started=self._now(), note="")
        build.begun.set()
        self._changed(request.pool)
        place = Place(folder.path, environment(temporary=folder.temporary, given=folder.given))
        for doing, argv, seconds in self._steps(build, slot):
            ended = await slot.keeper.run(argv, place=place, seconds=seconds, output=self._output)
            if ended.overdue:
                return self._failed(build, failure.overdue(ended.output)), ended.output
            if ended.code > 0:
                failed = failure.explain(ended.output, exit_code=ended.code, doing=doing)
                return self._failed(build, failed), ended.output
            if ended.code < 0:
                return self._killed(build, ended.output, by=-ended.code), ended.output
        digest = folder.digest.read_text().strip()
        if not DIGEST.fullmatch(digest):
            return self._failed(build, Failed(cause=Cause.UNKNOWN, tail="buildah wrote no digest")), ""
        return self._over_now(build, Phase.SUCCEEDED, digest=digest), ""

    def _steps(self, build: _Build, slot: Slot) -> list[tuple[failure.Doing, list[str], float]]:
        request, folder = build.request, build.folder
        made = self._buildah.build(
            slot.folder,
            context=folder.context,
            image=request.image,
            auth=folder.pull if request.pull else None,
            used=images_of(request.context.containerfile),
            given=folder.given,
        )
        auth = folder.push if request.push else None
        pushed = self._buildah.push(
            slot.folder, image=request.image, auth=auth, digest=folder.digest, given=folder.given
        )
        return [("build", made, request.deadlines.build), ("push", pushed, request.deadlines.push)]

    def _killed(self, build: _Build, log: str, *, by: int) -> BuildState:
        if by == signal.SIGKILL and (kills := self._kills.count(build.request.name)) >= KILLS:
            return self._failed(build, failure.killed(log, times=kills))
        return self._over_now(build, Phase.INTERRUPTED, note=f"signal {by} ended buildah")

    def _failed(self, build: _Build, failed: Failed) -> BuildState:
        return self._over_now(build, Phase.FAILED, failed=failed)

    def _over_now(self, build: _Build, phase: Phase, **told: Any) -> BuildState:
        return structs.replace(
            build.state, **{"phase": phase, "ended": self._now(), "note": "", "ending": False, **told}
        )

    async def _tidy(self, slot: Slot, *, whole: bool) -> None:
        try:
            await slot.tidy(whole=whole)
            await asyncio.to_thread(empty, self._path / "trash")
        except OSError as error:
            self._log.warning("a store of images could not be tidied", store=str(slot.folder), error=str(error))
        finally:
            self._free.put_nowait(slot)
