"""Builds on this machine do what every backend does. Buildah is played, so that each step comes when it is told to."""

import asyncio
import os
import signal
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.unit.os_build.backends.conformance import BackendConformance, OtherSide, order
from tests.waiting import until
from windlass.kube.control.plan import Action, Call
from windlass.kube.control.source import Mailbox
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.carrier import LocalCarrier
from windlass.os_build.backends.local.requests import BuilderRequest, StartBuild
from windlass.os_build.builder import BuildState, Phase

PLAYED = """#!/bin/sh
# Building and pushing do what comes out of a pipe that is named after the image.
set -eu
for word in "$@"; do
  case $word in build|push|rm|images|rmi) command=$word ;; esac
  case ${before:-} in --tag) image=$word ;; --digestfile) digest=$word ;; esac
  before=$word
done
case $command in
  images) echo '[]'; exit ;;
  rm|rmi) exit ;;
  push) image=$before ;;
esac
place=$(dirname "$0")/${image##*:}
echo $$ > "$place.pid"
mkfifo "$place.$command"
. "$place.$command"
"""


class LocalSide(OtherSide):
    """Carries requests to `builds`, and says what the played buildah does."""

    def __init__(self, builds: Builds, folder: Path, programs: Path) -> None:
        self._builds = builds
        self._folder = folder
        self._programs = programs
        self._pools: set[str] = set()

    @property
    def backend(self) -> LocalBackend:
        return LocalBackend(self._builds, Mailbox())

    async def apply(self, *actions: Action) -> None:
        for action in actions:
            assert isinstance(action, Call)
            assert isinstance(action.request, BuilderRequest)
            if isinstance(action.request, StartBuild):
                self._pools.add(action.request.pool)
            await LocalCarrier(self._builds).send(action.request)

    async def run(self, name: str) -> None:
        await until(lambda: self._state(name).phase is Phase.RUNNING and self._pipe(name, "build").exists())

    async def succeed(self, name: str, *, digest: str) -> None:
        await self._do(name, "build", "exit 0")
        await self._do(name, "push", f'printf {digest} > "$digest"')
        await until(lambda: self._state(name).is_over)

    async def fail(self, name: str, *, log: str, pushing: bool = False) -> None:
        if pushing:
            await self._do(name, "build", "exit 0")
        await self._do(name, "push" if pushing else "build", f"cat <<'END'\n{log}\nEND\nexit 125\n")
        await until(lambda: self._state(name).is_over)

    async def lose(self, name: str) -> None:
        os.kill(int((self._programs / f"{name}.pid").read_text()), signal.SIGKILL)
        await until(lambda: self._state(name).is_over)
        self.forget(name)

    def forget(self, name: str) -> None:
        """Remove what the played buildah left when it was killed."""
        self._pipe(name, "build").unlink()

    async def settle(self) -> None:
        """Requests are answered when they have been carried out."""

    def left(self) -> Sequence[str]:
        known = {state.name for pool in self._pools for state in self._builds.states(pool)}
        return sorted(known | {path.name for path in (self._folder / "builds").iterdir()})

    async def _do(self, name: str, command: str, script: str) -> None:
        pipe = self._pipe(name, command)
        await until(pipe.exists)
        await asyncio.to_thread(pipe.write_text, f"{script}\n")
        pipe.unlink()

    def _pipe(self, name: str, command: str) -> Path:
        return self._programs / f"{name}.{command}"

    def _state(self, name: str) -> BuildState:
        state = self._builds.state(name)
        assert state is not None
        return state


class TestLocalBuilds(BackendConformance):
    """Builds on this machine pass the suite of all backends."""

    usual, in_cluster, limits = False, False, ("", "")

    @pytest.fixture
    async def other_side(self, tmp_path: Path) -> AsyncIterator[LocalSide]:
        (programs := tmp_path / "programs").mkdir()
        (played := programs / "buildah").write_text(PLAYED)
        played.chmod(played.stat().st_mode | stat.S_IXUSR)
        async with Builds(tmp_path / "builds", slots=4, buildah=Buildah(program=str(played))) as builds:
            yield LocalSide(builds, tmp_path / "builds", programs)

    async def test_the_builds_of_a_term_of_leadership_end_with_it(self, other_side: LocalSide) -> None:
        wanted, backend = order(), other_side.backend
        (source,) = backend.sources
        detach = source.attach(lambda key, **_: None)
        await other_side.apply(*backend.start(wanted))
        await other_side.run(wanted.name)
        detach()
        assert [state.ending for state in backend.look("worker")] == [True]
        await until(lambda: other_side.left() == [])
        other_side.forget(wanted.name)
        await other_side.apply(*backend.start(wanted))
        await other_side.run(wanted.name)
