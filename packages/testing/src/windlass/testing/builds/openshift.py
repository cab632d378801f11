"""Plays OpenShift's build controller, which is in none of the programs that tests can run.

    builds = PlayedBuilds(client, namespace="builds")
    await builds.run(name)
    await builds.end(name, Built(digest="sha256:..."))
    await builds.end(name, Built(reason="DockerBuildFailed", log="error: ..."))

    async def work(build): return Built(digest="sha256:...")
    await builds.play(work)                                # all Builds, until cancelled

It writes the fields of `status` that OpenShift writes, and cancels a Build whose `status.cancelled` is set. There is no
Pod.
"""

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from windlass.api.build import Build
from windlass.api.core import ConfigMap
from windlass.kube.clock import Clock, SystemClock, rfc3339
from windlass.kube.object import Object
from windlass.kube.verbs import Api, PatchType
from windlass.testing.builds.playing import Part, play

_BEGINNING: Final = ("", "New", "Pending")
_GOING: Final = (*_BEGINNING, "Running")


class Built(Struct, frozen=True, kw_only=True):
    """How a Build ended: Complete without a `reason`, else in `phase`."""

    digest: str = ""
    reason: str = ""
    message: str = ""
    log: str = ""
    phase: str = "Failed"


class PlayedBuilds:
    """The Builds in `namespace`."""

    def __init__(self, api: Api, *, namespace: str, clock: Clock | None = None) -> None:
        self._api = api
        self._namespace = namespace
        self._clock = clock or SystemClock()

    async def all(self) -> list[Object[Build]]:
        return (await self._api.list(Build, namespace=self._namespace)).items

    async def wait(self, name: str, *, reason: str = "", message: str = "") -> None:
        """It waits, for its Pod or for what `reason` names."""
        await self._report(name, phase="Pending", reason=reason, message=message)

    async def run(self, name: str) -> None:
        """Its Pod runs."""
        await self._report(name, phase="Running", startTimestamp=rfc3339(self._clock.now()))

    async def end(self, name: str, built: Built) -> None:
        """It has ended."""
        status: dict[str, Any] = {
            "phase": built.phase if built.reason else "Complete",
            "completionTimestamp": rfc3339(self._clock.now()),
            "reason": built.reason,
            "message": built.message,
            "logSnippet": built.log,
        }
        if not built.reason:
            build = (await self._api.get(Build, name, namespace=self._namespace)).decode()
            status["outputDockerImageReference"] = build.spec.output.to.name if build.spec.output.to else ""
            status["output"] = {"to": {"imageDigest": built.digest}}
        await self._report(name, **{field: value for field, value in status.items() if value})

    async def cancel(self, name: str) -> None:
        """What OpenShift does when `status.cancelled` is set."""
        text = "The build was cancelled by the user."
        await self.end(name, Built(phase="Cancelled", reason="CancelledBuild", message=text))

    async def cancel_unwanted(self) -> None:
        """Cancel each Build that is to be cancelled."""
        for each in await self.all():
            if _is_unwanted(each):
                await self.cancel(each.name)

    async def play(self, work: Callable[[Object[Build]], Awaitable[Built]]) -> None:
        """Run each Build until `work` has its end, or it is cancelled. Until cancelled."""
        part: Part[Built] = Part(
            look=self.all,
            is_new=lambda build: build.decode().status.phase in _BEGINNING,
            is_unwanted=_is_unwanted,
            begin=lambda build: self.run(build.name),
            finish=lambda build, built: self.end(build.name, built),
            stop=lambda build: self.cancel(build.name),
        )
        await play(part, work)

    async def context(self, build: Object[Build]) -> dict[str, bytes]:
        """The files of the Build's context by their paths. The inline Dockerfile overwrites any other."""
        source = build.decode().spec.source
        files: dict[str, bytes] = {}
        for each in source.config_maps:
            found = await self._api.get(ConfigMap, each.config_map.name, namespace=self._namespace)
            folder = each.destination_dir.strip("./")
            files |= {f"{folder}/{name}".lstrip("/"): content for name, content in contents(found.decode())}
        if source.dockerfile is not None:
            files["Dockerfile"] = source.dockerfile.encode()
        return files

    async def _report(self, name: str, **status: Any) -> None:
        # A Build has no status subresource.
        await self._api.patch(Build, name, {"status": status}, type=PatchType.MERGE, namespace=self._namespace)


def contents(config_map: ConfigMap) -> Iterable[tuple[str, bytes]]:
    """The keys of a ConfigMap as files."""
    yield from ((name, text.encode()) for name, text in config_map.data.items())
    yield from ((name, base64.b64decode(text)) for name, text in config_map.binary_data.items())


def _is_unwanted(build: Object[Build]) -> bool:
    status = build.decode().status
    return status.cancelled and status.phase in _GOING
