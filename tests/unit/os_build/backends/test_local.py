"""Builds on this machine pass the suite too, with a program in place of buildah that ends as it is told."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.os_build.backends.conformance import BackendConformance, OtherSide, order
from tests.waiting import until
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared
from windlass.kube.control.plan import Action, Plan
from windlass.kube.control.source import Mailbox
from windlass.model import MemoryApi
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.carrier import LocalCarrier
from windlass.os_build.backends.local.requests import BUILDAH
from windlass.os_build.builder import Backend, Phase
from windlass.os_build.constants import ARCHITECTURE
from windlass.os_build.inputs.context import Context

PROGRAM = r"""#!/bin/sh
for word in "$@"; do
    case $before in --tag) image=$word ;; --digestfile) digest=$word ;; esac
    case $word in build | push) doing=$word ;; images) echo '[]' ;; esac
    before=$word
done
[ -n "$doing" ] || exit 0
[ "$doing" = push ] && image=$before
told={told}/${{image##*:}}
until [ -e "$told" ]; do sleep 0.02; done
outcome=$(head -n 1 "$told")
[ "$outcome" = lose ] && kill -KILL $$
if [ "$outcome" = "fail $doing" ]; then
    tail -n +2 "$told"
    exit 125
fi
[ "$doing" = push ] && tail -n +2 "$told" >"$digest"
exit 0
"""


class LocalSide(OtherSide):
    """`builds` in a folder, and what their program is told: a file for each build."""

    def __init__(self, folder: Path, builds: Builds) -> None:
        self._told = folder / "told"
        self._folder = folder / "builds"
        self._builds = builds
        self._backend = LocalBackend(builds, Mailbox())

    @property
    def backend(self) -> Backend:
        return self._backend

    async def apply(self, *actions: Action) -> None:
        systems = {BUILDAH: LocalCarrier(self._builds)}
        executor = Executor(MemoryApi(), permits=Declared(self._backend.permissions), systems=systems)
        outcome = await executor.apply(Plan(actions))
        assert outcome.error is None, str(outcome.error)

    async def run(self, name: str) -> None:
        await until(lambda: self._phase(name) is Phase.RUNNING)

    async def succeed(self, name: str, *, digest: str) -> None:
        await self._tell(name, f"succeed\n{digest}")

    async def fail(self, name: str, *, log: str, pushing: bool = False) -> None:
        await self._tell(name, f"fail {'push' if pushing else 'build'}\n{log}")

    async def lose(self, name: str) -> None:
        await self._tell(name, "lose")

    async def settle(self) -> None:
        """What was asked for has happened when the answer came."""

    def left(self) -> Sequence[str]:
        return sorted(path.name for path in (self._folder / "builds").iterdir())

    def _phase(self, name: str) -> Phase | None:
        state = self._builds.state(name)
        return state.phase if state is not None else None

    async def _tell(self, name: str, outcome: str) -> None:
        (self._told / f"{name}.new").write_text(outcome)
        (self._told / f"{name}.new").rename(self._told / name)
        await until(lambda: (state := self._builds.state(name)) is not None and state.is_over)
        (self._told / name).unlink()


class TestLocalBuilds(BackendConformance):
    usual, in_cluster, limits = False, False, ("", "")

    @pytest.fixture
    async def other_side(self, tmp_path: Path) -> AsyncIterator[LocalSide]:
        program = tmp_path / "buildah"
        (tmp_path / "told").mkdir()
        program.write_text(PROGRAM.format(told=tmp_path / "told"))
        program.chmod(0o755)
        async with Builds(tmp_path / "builds", slots=2, buildah=Buildah(program=str(program))) as builds:
            yield LocalSide(tmp_path, builds)


def test_a_machine_builds_no_image_for_another_architecture_and_says_what_does(tmp_path: Path) -> None:
    backend, request = LocalBackend(Builds(tmp_path), Mailbox()), order().request
    assert backend.unfit(Context({}), replace(request, architectures=(ARCHITECTURE,))) is None
    found = backend.unfit(Context({}), replace(request, architectures=(ARCHITECTURE, "s390x", "ppc64le")))
    assert found is not None
    assert found.reason == "ArchitectureUnavailable"
    assert found.text.startswith("pool worker needs an image for ppc64le, s390x, and builds on this machine are for")
    assert found.text.endswith("set imageBuilderType to Job")
