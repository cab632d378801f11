"""Reads the claims of MachineOSConfigs on pools: their builds, and what their configurations mean for an image."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.machineconfiguration import MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.seen import IndexedReader, Present, Unreadable, read
from windlass.kube.errors import NotServed
from windlass.kube.object import Object
from windlass.os_build.machine_os.claim import Claim
from windlass.os_build.machine_os.name import build_name
from windlass.os_build.machine_os.rebuild import build_of_current_image, needs_rebuild
from windlass.os_build.request import Problem, Request

BY_POOL: Final = "pool"
"""Index of MachineOSConfigs."""
BY_CONFIG: Final = "machine-os-config"
"""Index of MachineOSBuilds: by the name of their MachineOSConfig."""
_KEPT: Final = 200


class _Reference(Struct, gc=False):
    name: str = ""


class _Spec(Struct, gc=False):
    pool: _Reference = field(default_factory=_Reference, name="machineConfigPool")
    config: _Reference = field(default_factory=_Reference, name="machineOSConfig")


class _Referring(Struct, gc=False):
    """The fields that an index needs, even if others are malformed."""

    spec: _Spec = field(default_factory=_Spec)


def pool_of(found: Object[Any]) -> tuple[str, ...]:
    """The pool that a MachineOSConfig names."""
    shown = found.glimpse(_Referring)
    return (shown.spec.pool.name,) if shown is not None and shown.spec.pool.name else ()


def config_of(found: Object[Any]) -> tuple[str, ...]:
    """The MachineOSConfig of a MachineOSBuild."""
    shown = found.glimpse(_Referring)
    return (shown.spec.config.name,) if shown is not None and shown.spec.config.name else ()


class Claims:
    """The claims, from caches. What a rendered MachineConfig means for an image is kept by its name, which is a hash of
    its content."""

    def __init__(self, reader: IndexedReader) -> None:
        self._reader = reader
        self._rendered: dict[str, RenderedMachineConfig] = {}

    def on(self, pool: str) -> Object[MachineOSConfig] | None:
        """The MachineOSConfig that names the pool; None if there is none, or no such kind."""
        with suppress(NotServed):
            return next(iter(self._reader.indexed(MachineOSConfig, BY_POOL, pool)), None)
        return None

    async def claim(
        self, config: Present[MachineOSConfig], pool: Present[MachineConfigPool], request: Request, *, versions: str
    ) -> Claim:
        """What the MachineOSConfig asks for now. The registry is not asked yet."""
        builds = tuple(self._builds(config.metadata.name))
        rendered = await self._meaning(request.config)
        if rendered is None:
            text = f"MachineConfig {request.config}, which pool {request.pool} names, does not exist or cannot be read"
            return Claim(config=config, name=Problem("MachineConfigMissing", text), builds=builds, versions=versions)
        name = build_name(config.object, pool.object, rendered)
        serves = await self._serves(config.object, builds, rendered) if isinstance(name, str) else ""
        return Claim(config=config, name=name, builds=builds, serves=serves, versions=versions)

    def _builds(self, config: str) -> Iterable[Present[MachineOSBuild]]:
        for found in self._reader.indexed(MachineOSBuild, BY_CONFIG, config):
            build = read(found)
            if not isinstance(build, Unreadable):
                yield build

    async def _serves(
        self, config: MachineOSConfig, builds: tuple[Present[MachineOSBuild], ...], wanted: RenderedMachineConfig
    ) -> str:
        """The current image, if it serves what is wanted."""
        current = build_of_current_image(config, [each.object for each in builds])
        if current is None:
            return ""
        old = await self._meaning(current.spec.machine_config.name)
        return "" if old is None or needs_rebuild(old, wanted) else current.status.digested_image_push_spec

    async def _meaning(self, name: str) -> RenderedMachineConfig | None:
        if name not in self._rendered:
            found = await self._reader.see(RenderedMachineConfig, name, live=True)
            if not isinstance(found, Present):
                return None
            if len(self._rendered) >= _KEPT:
                self._rendered.pop(next(iter(self._rendered)))
            self._rendered[name] = found.object
        return self._rendered[name]
