"""The controller that removes images: watches, rights, and the snapshot of a pool."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from windlass.api.core import ConfigMap, Namespace, Node, Secret
from windlass.api.machineconfiguration import ControllerConfig, MachineConfig, MachineConfigPool, OSImageStream
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.asking import ObjectAnswerer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.pace import Pace
from windlass.kube.control.permissions import asks, calls, emits_events, permission, writes
from windlass.kube.control.plan import Outcome
from windlass.kube.control.population import Population
from windlass.kube.control.question import KUBERNETES
from windlass.kube.control.seen import ForbiddenKind, NotServedKind, Present, Unreadable
from windlass.kube.object import Object
from windlass.os_build.builder import Backend
from windlass.os_build.constants import BUILD_LABEL, EPHEMERAL_LABEL
from windlass.os_build.machine_os.claim import state
from windlass.os_build.pool.controller import BY_OWN_NAME, READ_CONFIG_MAPS
from windlass.os_build.pool.observe import BY_CONFIG, BY_NAME, BY_POOL, PoolReader, config_of, pool_observer, pool_of
from windlass.os_build.pool.questions import (
    CLUSTER_NAMESPACE,
    MATERIALS,
    Authorities,
    Cluster,
    Credentials,
    MaterialsAnswerer,
)
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.request import BackendName
from windlass.os_build.retention.contents import SYSTEM, ImagesAnswerer, ImagesCarrier, Looked, RemoveImage, Unwilling
from windlass.os_build.retention.decide import ImagesSnapshot, decide

NAME: Final = "os-build-images"
PERIOD: Final = 6 * 3600.0
"""Seconds after which every pool is looked at again: Nodes are not watched."""


def images_controller(
    reader: PoolReader,
    backends: Mapping[BackendName, Backend],
    carrier: ImagesCarrier,
    *,
    settings: Settings,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Controller[str, ImagesSnapshot]:
    """The controller. Keys are names of pools. `backends` tell whether a pool is being built."""
    namespace, served = settings.namespace, settings.machine_os_configs

    def of_build(build: Object[Any]) -> Iterable[str]:
        return [
            pool
            for name in config_of(build)
            for config in reader.known(MachineOSConfig, BY_OWN_NAME, name)
            for pool in pool_of(config)
        ]

    materials = MaterialsAnswerer(reader, settings)
    return Controller(
        name=NAME,
        watches=(
            Watch(MachineConfigPool, lambda pool: [pool.name]),
            Watch(
                ConfigMap,
                _nobody,
                namespace=namespace,
                label_selector=f"!{BUILD_LABEL},!{EPHEMERAL_LABEL}",
                indexes={BY_NAME: _own_name},
                cache_only=True,
            ),
            Watch(Secret, _nobody, namespace=namespace, indexes={BY_NAME: _own_name}, metadata_only=True),
            Watch(ControllerConfig, _nobody, cache_only=True, optional=True),
            Watch(OSImageStream, _nobody, cache_only=True, optional=True),
            Watch(Node, _nobody, metadata_only=True, cache_only=True, optional=True),
            Watch(
                MachineOSConfig,
                pool_of,
                indexes={BY_POOL: pool_of, BY_OWN_NAME: _own_name},
                optional=True,
            ),
            Watch(MachineOSBuild, of_build, indexes={BY_CONFIG: config_of}, cache_only=not served, optional=True),
            # A pool is looked at when its builder is gone.
            *(watch for backend in backends.values() for watch in backend.watches),
        ),
        permissions=(
            writes(MachineConfigPool, "patch"),
            permission(MachineConfig, "get"),
            permission(Node, "list"),
            permission(Namespace, "get", names=(CLUSTER_NAMESPACE,)),
            calls(RemoveImage),
            asks(Looked, Unwilling, Cluster, Credentials, Authorities),
            emits_events(namespace="default"),
            *((writes(MachineOSBuild, "delete"),) if served else ()),
        ),
        answerers={
            KUBERNETES: ObjectAnswerer(reader),
            MATERIALS: materials,
            SYSTEM: ImagesAnswerer(carrier, materials, namespace=namespace),
        },
        observe=_observer(reader, backends, settings=settings),
        decide=partial(decide, settings=settings),
        workers=1,
        resync=PERIOD,
        timeout=600.0,
        # A pool changes with each of its Nodes, and the registry need not be looked at each time.
        pace=Pace(floor=settings.timing.images),
    )


def _observer(reader: PoolReader, backends: Mapping[BackendName, Backend], *, settings: Settings) -> Any:
    of_pool = pool_observer(reader, backends, settings=settings)

    async def observe(key: str, last: Outcome) -> ImagesSnapshot:
        base = await of_pool(key, last)
        pools, configs, builds = (
            await reader.see_all(MachineConfigPool),
            await reader.see_all(MachineOSConfig),
            await reader.see_all(MachineOSBuild),
        )
        unknown = next(filter(None, map(_unknown, (pools, configs, builds))), "")
        naming = [(f"MachineOSConfig {each.metadata.name}", each.raw) for each in _present(configs)]
        naming += [
            (f"MachineOSBuild {each.metadata.name}", each.raw) for each in _present(builds) if not state(each).is_over
        ]
        naming += [
            (f"ConfigMap {name}", found.raw)
            for name in sorted(READ_CONFIG_MAPS)
            for found in reader.indexed(ConfigMap, BY_NAME, name)
        ]
        return ImagesSnapshot(
            **{name: getattr(base, name) for name in base.__struct_fields__},
            naming=tuple(naming),
            pools=tuple(_present(pools)),
            unknown=unknown,
        )

    return observe


def _present(found: Any) -> Iterable[Present[Any]]:
    return (each for each in found if isinstance(each, Present)) if isinstance(found, Population) else ()


def _unknown(found: Any) -> str:
    """The reason why the images that these objects name are not known; empty: they are known."""
    match found:
        case ForbiddenKind(why):
            return f"what uses images is not known: {why}"
        case NotServedKind():
            return ""
    broken: Unreadable | None = next(iter(found.unreadable), None)
    return f"{broken.metadata.name} cannot be read, and may name an image: {broken.why}" if broken else ""


def _nobody(_: Object[Any]) -> tuple[str, ...]:
    return ()


def _own_name(found: Object[Any]) -> tuple[str, ...]:
    return (found.name,)
