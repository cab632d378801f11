"""The controller of MachineConfigPools: what wakes a pool, and what may be read and written."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from windlass.api.core import ConfigMap, Event, Namespace, Node, Secret
from windlass.api.machineconfiguration import ControllerConfig, MachineConfig, MachineConfigPool, OSImageStream
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.asking import Answerer, ObjectAnswerer
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import (
    Permission,
    asks,
    blocks_deletion_of,
    calls,
    emits_events,
    permission,
    writes,
)
from windlass.kube.control.question import KUBERNETES
from windlass.kube.object import Object
from windlass.os_build.builder import Backend, builds_of
from windlass.os_build.constants import (
    BUILD_LABEL,
    BUILDER_CONFIG,
    BUILDER_CONFIG_ALIAS,
    CONTAINERFILES,
    EPHEMERAL_LABEL,
    OS_IMAGES,
)
from windlass.os_build.pool.decide import decide
from windlass.os_build.pool.observe import BY_CONFIG, BY_NAME, BY_POOL, PoolReader, config_of, pool_observer, pool_of
from windlass.os_build.pool.questions import (
    CLUSTER_NAMESPACE,
    MATERIALS,
    MEMORY,
    QUESTIONS,
    MaterialsAnswerer,
    MemoryAnswerer,
    Registries,
    RegistryAnswerer,
)
from windlass.os_build.pool.snapshot import PoolSnapshot, Settings
from windlass.os_build.registry.access import Unasked
from windlass.os_build.registry.carrier import SYSTEM as REGISTRY
from windlass.os_build.registry.carrier import ProbeUpload, PushList
from windlass.os_build.request import BackendName, opted_in
from windlass.os_build.sbom.carrier import SYSTEM as CONTENTS
from windlass.os_build.sbom.carrier import AttachContents
from windlass.os_build.signing.carrier import SYSTEM as SIGNATURES
from windlass.os_build.signing.carrier import SignImage
from windlass.os_build.turns import SYSTEM as TURNS
from windlass.os_build.turns import Turn, Turns

NAME: Final = "os-build-pool"
BY_OWN_NAME: Final = "own-name"
"""Index of MachineOSConfigs."""
OPTED_IN: Final = "opted-in"
"""Index of pools: those that a change of ConfigMaps or Secrets concerns; all, if MachineOSConfigs are served."""
READ_CONFIG_MAPS: Final = frozenset({BUILDER_CONFIG, BUILDER_CONFIG_ALIAS, CONTAINERFILES, OS_IMAGES})


def pool_controller(
    reader: PoolReader,
    backends: Mapping[BackendName, Backend],
    registries: Registries,
    *,
    settings: Settings,
    signatures: Answerer | None = None,
    contents: Answerer | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Controller[str, PoolSnapshot]:
    """The controller. Keys are names of pools. `signatures` tells which images are signed, `contents` which have a
    list of contents; None: nobody knows."""

    def all_pools(_: Object[Any]) -> Iterable[str]:
        return [pool.name for pool in reader.known(MachineConfigPool, OPTED_IN, "")]

    def of_config_map(found: Object[Any]) -> Iterable[str]:
        return all_pools(found) if found.name in READ_CONFIG_MAPS else ()

    def of_build(build: Object[Any]) -> Iterable[str]:
        return [
            pool
            for name in config_of(build)
            for config in reader.known(MachineOSConfig, BY_OWN_NAME, name)
            for pool in pool_of(config)
        ]

    def building() -> Collection[str]:
        """The pools of which a builder runs in the cluster, or is about to."""
        found = set()
        for pool in reader.known(MachineConfigPool, OPTED_IN, ""):
            for build in builds_of(backends, pool.name):
                kept = build.waits is not None and build.waits.obstacle is not None
                if not build.is_over and not kept and backends[build.backend].in_cluster:
                    found.add(pool.name)
        return found

    namespace, door = settings.namespace, settings.machine_os_configs
    materials = MaterialsAnswerer(reader, settings)
    return Controller(
        name=NAME,
        watches=(
            Watch(MachineConfigPool, lambda pool: [pool.name], indexes={OPTED_IN: _every if door else _opted_in}),
            Watch(
                ConfigMap,
                of_config_map,
                namespace=namespace,
                # Those of builds are a megabyte each.
                label_selector=f"!{BUILD_LABEL},!{EPHEMERAL_LABEL}",
                indexes={BY_NAME: _own_name},
            ),
            Watch(Secret, all_pools, namespace=namespace, indexes={BY_NAME: _own_name}, metadata_only=True),
            Watch(ControllerConfig, all_pools, cache_only=True, optional=True, when=_says_else),
            Watch(OSImageStream, all_pools, cache_only=True, optional=True),
            # For architectures. Nodes change every minute, and their labels hardly ever.
            Watch(Node, all_pools, metadata_only=True, cache_only=True, optional=True, when=_is_labelled_else),
            Watch(
                MachineOSConfig,
                pool_of,
                indexes={BY_POOL: pool_of, BY_OWN_NAME: _own_name},
                cache_only=not door,
                optional=True,
            ),
            *((Watch(MachineOSBuild, of_build, indexes={BY_CONFIG: config_of}, optional=True),) if door else ()),
            *(watch for backend in backends.values() for watch in backend.watches),
        ),
        sources=tuple(source for backend in backends.values() for source in backend.sources),
        permissions=(
            writes(MachineConfigPool, "patch"),
            writes(MachineConfigPool, "patch", subresource="status"),
            permission(MachineConfig, "get"),
            calls(
                ProbeUpload,
                PushList,
                *((SignImage,) if settings.signing_key else ()),
                *((AttachContents,) if settings.sbom else ()),
            ),
            asks(*QUESTIONS, Turn),
            emits_events(namespace="default"),
            # Why a builder does not start.
            permission(Event, "list", namespace=namespace),
            *(_of_machine_os_configs() if door else ()),
            *(() if settings.keep_images is None else (permission(Namespace, "get", names=(CLUSTER_NAMESPACE,)),)),
            *(declared for backend in backends.values() for declared in backend.permissions),
        ),
        answerers={
            KUBERNETES: ObjectAnswerer(reader),
            REGISTRY: RegistryAnswerer(registries, materials, namespace=namespace),
            MATERIALS: materials,
            MEMORY: MemoryAnswerer(),
            SIGNATURES: signatures or Unasked(),
            CONTENTS: contents or Unasked(),
            TURNS: Turns(building, limit=settings.max_builds, now=now),
        },
        observe=pool_observer(reader, backends, settings=settings),
        decide=partial(decide, backends=backends, settings=settings),
        workers=10,
        resync=600.0,
    )


def _of_machine_os_configs() -> tuple[Permission, ...]:
    return (
        writes(MachineOSConfig, "patch"),
        writes(MachineOSConfig, "patch", subresource="status"),
        writes(MachineOSBuild, "create", "delete"),
        writes(MachineOSBuild, "patch", subresource="status"),
        blocks_deletion_of(MachineOSConfig),
    )


def _says_else(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """Its status changes each time that the operator renders."""
    if old is None or new is None:
        return True
    before, after = old.glimpse(ControllerConfig), new.glimpse(ControllerConfig)
    return before is None or after is None or before.spec != after.spec


def _is_labelled_else(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    return old is None or new is None or old.metadata.labels != new.metadata.labels


def _every(_: Object[Any]) -> tuple[str, ...]:
    return ("",)


def _opted_in(pool: Object[Any]) -> tuple[str, ...]:
    shown = pool.glimpse(MachineConfigPool)
    return ("",) if shown is not None and opted_in(shown) else ()


def _own_name(found: Object[Any]) -> tuple[str, ...]:
    return (found.name,)
