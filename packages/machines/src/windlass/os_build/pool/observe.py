"""Takes the snapshot of a pool from caches, and has the indexes that this needs."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from msgspec import Struct, field

from windlass.api.core import ConfigMap, Node
from windlass.api.machineconfiguration import ControllerConfig, MachineConfigPool, OSImageStream
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.api.meta import K
from windlass.kube.control.memo import Memo
from windlass.kube.control.plan import Outcome
from windlass.kube.control.population import Population
from windlass.kube.control.rounds import Observe
from windlass.kube.control.seen import ForbiddenKind, IndexedReader, NotServedKind, Present, Unreadable, read
from windlass.kube.errors import NotServed
from windlass.kube.object import Object
from windlass.os_build.architectures import Machines, machines
from windlass.os_build.builder import Backend, BuildState
from windlass.os_build.constants import BUILDER_CONFIG, BUILDER_CONFIG_ALIAS, CONTAINERFILES, OS_IMAGES
from windlass.os_build.environment import CONTROLLER_CONFIG
from windlass.os_build.machine_os.request import precedence
from windlass.os_build.pool.snapshot import PoolSnapshot, Settings
from windlass.os_build.request import BackendName, Given
from windlass.os_build.streams import SINGLETON

BY_NAME: Final = "name"
"""Index of Secrets and ConfigMaps."""
BY_POOL: Final = "pool"
"""Index of MachineOSConfigs."""
BY_CONFIG: Final = "machine-os-config"
"""Index of MachineOSBuilds: by the name of their MachineOSConfig."""


_labels: Final = Memo[Mapping[str, str]](lambda found: found.metadata.labels)


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


class PoolReader(IndexedReader, Protocol):
    """Reads objects, and tells whether all of a kind may be listed."""

    async def see_all(
        self, kind: type[K], *, namespace: str | None = None, metadata_only: bool = False
    ) -> Population[K] | NotServedKind | ForbiddenKind: ...


def pool_observer(
    reader: PoolReader, backends: Mapping[BackendName, Backend], *, settings: Settings
) -> Observe[str, PoolSnapshot]:
    """Takes snapshots of pools."""

    async def observe(key: str, last: Outcome) -> PoolSnapshot:
        builds: list[BuildState] = []
        unserved: dict[BackendName, str] = {}
        for name, backend in backends.items():
            try:
                builds += backend.look(key)
            except NotServed as error:
                unserved[name] = str(error)
        configs = configs_on(key)
        config = configs[0] if configs else None
        return PoolSnapshot(
            name=key,
            pool=await reader.see(MachineConfigPool, key),
            config=config,
            ignored=tuple(each.metadata.name for each in configs[1:]),
            os_builds=tuple(builds_for(config)) if settings.machine_os_configs else (),
            given=Given(
                config=data(BUILDER_CONFIG),
                config_alias=data(BUILDER_CONFIG_ALIAS),
                containerfiles=data(CONTAINERFILES),
                os_images=data(OS_IMAGES),
            ),
            builds=tuple(builds),
            unserved=unserved,
            last=last,
            controller_config=await named(ControllerConfig, CONTROLLER_CONFIG),
            streams=await named(OSImageStream, SINGLETON),
            machines=await machines_of(key),
        )

    async def machines_of(pool: str) -> Machines | ForbiddenKind:
        nodes, pools = await reader.see_all(Node, metadata_only=True), await reader.see_all(MachineConfigPool)
        if isinstance(nodes, ForbiddenKind):
            return nodes
        if not isinstance(nodes, Population) or not isinstance(pools, Population):
            return Machines()
        return machines(pool, nodes=nodes.each(_labels), pools=pools.readable)

    async def named(kind: type[K], name: str) -> Present[K] | Unreadable | ForbiddenKind | None:
        """The object; None: there is none, or the cluster does not serve its kind."""
        found = await reader.see_all(kind)
        if not isinstance(found, Population):
            return found if isinstance(found, ForbiddenKind) else None
        return next((each for each in found if each.metadata.name == name), None)

    def configs_on(pool: str) -> list[Present[MachineOSConfig] | Unreadable]:
        with suppress(NotServed):
            found = map(read, reader.indexed(MachineOSConfig, BY_POOL, pool))
            return sorted(found, key=lambda each: precedence(each.metadata, pool=pool))
        return []

    def builds_for(config: Present[MachineOSConfig] | Unreadable | None) -> Iterable[Present[MachineOSBuild]]:
        if isinstance(config, Present):
            for build in map(read, reader.indexed(MachineOSBuild, BY_CONFIG, config.metadata.name)):
                if isinstance(build, Present):
                    yield build

    def data(name: str) -> Mapping[str, str] | None:
        found = next(iter(reader.indexed(ConfigMap, BY_NAME, name)), None)
        return found.decode().data if found is not None else None

    return observe
