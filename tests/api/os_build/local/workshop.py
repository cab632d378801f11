"""Builds on this machine, as tests ask for them, and what is left of them."""

import itertools
import json
import os
from pathlib import Path
from typing import Any, Final

from tests.left import command_lines, files_of_builds, mounts_below
from tests.waiting import until
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import StartBuild
from windlass.os_build.builder import BuildState, Deadlines, Phase
from windlass.os_build.credentials import Auths
from windlass.os_build.inputs.context import Context
from windlass.testing.registry import Registry

POOL: Final = "worker"
_CONFIG: Final = "rendered-worker-1"
_numbers = itertools.count(1)


class Workshop:
    """A folder of builds beside a registry with a base image. `sleep` is a command that no other test runs."""

    def __init__(self, folder: Path, registry: Registry, base: str) -> None:
        self.folder = folder
        self.registry = registry
        self.base = base
        self.sleep = f"sleep {os.getpid()}{next(_numbers)}"
        self.changes: list[str] = []

    def open(self, *, slots: int = 1, **options: Any) -> Builds:
        """Its builds. Of the options of `Buildah`, those that differ from plain HTTP and impatience."""
        usual: dict[str, Any] = {"driver": "auto", "tls_verify": False, "retries": 1, "delay": 0.1}
        buildah = Buildah(**usual | options)
        return Builds(self.folder, slots=slots, buildah=buildah, changed=self.changes.append)

    def request(
        self,
        steps: str = "RUN echo built > /etc/motd",
        *,
        name: str = "",
        base: str = "",
        pull: str = "puller",
        push: str = "pusher",
        deadlines: Deadlines = Deadlines(),  # noqa: B008 - frozen
    ) -> StartBuild:
        name = name or f"build-worker-{next(_numbers)}-{os.getpid()}"
        containerfile = f"FROM {base or self.base} AS configs\n{steps}\n"
        return StartBuild(
            name=name,
            pool=POOL,
            inputs="inputs",
            config=_CONFIG,
            attempt=1,
            image=f"{self.registry.host}/os/{POOL}:{name}",
            context=Context({"Containerfile": containerfile.encode(), "file.txt": b"text\n"}),
            pull_secret="pull",
            push_secret="push",
            secrets="versions",
            pull=self.auths(pull),
            push=self.auths(push),
            deadlines=deadlines,
        )

    def auths(self, user: str) -> Auths:
        """The credentials of this user; `nobody` has wrong ones."""
        document = {"auths": {self.registry.host: {"auth": "bm9ib2R5Ondyb25n"}}}
        return Auths({}, json.dumps(document if user == "nobody" else self.registry.auths(user)).encode())

    async def build(self, builds: Builds, request: StartBuild) -> BuildState:
        """The state at the end."""
        await builds.start(request)
        return await self.over(builds, request.name)

    async def over(self, builds: Builds, name: str) -> BuildState:
        await until(lambda: (state := builds.state(name)) is not None and state.is_over)
        state = builds.state(name)
        assert state is not None
        return state

    async def running(self, builds: Builds, request: StartBuild) -> None:
        """Start it, and wait until its step runs."""
        before = len(self.sleeping())
        await builds.start(request)
        await until(lambda: len(self.sleeping()) > before)
        state = builds.state(request.name)
        assert state is not None
        assert state.phase is Phase.RUNNING

    def processes(self) -> list[str]:
        """The command lines of its processes."""
        return [line for line in command_lines().values() if str(self.folder) in line or line == self.sleep]

    def sleeping(self) -> list[str]:
        """Those of builds whose step runs."""
        return [line for line in command_lines().values() if line == self.sleep]

    def buildah(self) -> int:
        """The process id of the oldest buildah."""
        begin = f"buildah --root {self.folder}"
        return min(pid for pid, line in command_lines().items() if line.startswith(begin))

    def left(self) -> list[str]:
        """What is left of builds: processes, mounts, files."""
        return [*self.processes(), *mounts_below(self.folder), *files_of_builds(self.folder)]

    def images(self) -> list[list[str]]:
        """The names of the images of each slot."""
        return [
            sorted(name for image in json.loads(file.read_text()) for name in image.get("names") or ["none"])
            for file in sorted(self.folder.glob("slots/*/root/*-images/images.json"))
        ]

    def containers(self) -> list[str]:
        """The working containers of all slots."""
        files = self.folder.glob("slots/*/root/*-containers/containers.json")
        return [container["id"] for file in files for container in json.loads(file.read_text())]
