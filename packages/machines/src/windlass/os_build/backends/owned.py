"""Keeps the builder objects of a pool in the cluster: an object that builds, and a ConfigMap with the files it needs.

Both have the name of the build and belong to the pool, so the garbage collector removes them with it. The ConfigMap is
created first and deleted last: a builder object always has its files, and whatever a crash leaves behind is found.

| there is | the state of the build |
|---|---|
| the builder object, with or without its ConfigMap | whatever the builder object says |
| only the ConfigMap | Interrupted: a crash between the two writes, or somebody deleted the builder object |

What a build is stands in annotations. Labels of the same keys are for people who select: a label holds 63 characters,
and names of pools and rendered MachineConfigs may be longer.
"""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Generic

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.core import ConfigMap
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuilder
from windlass.api.meta import K, KubernetesObject, ObjectMeta, owner_reference, tree
from windlass.kube.control.controller import Index, Watch
from windlass.kube.control.permissions import Declaration, blocks_deletion_of, writes
from windlass.kube.control.plan import Action, Create, Delete, Merge, Target, target_of
from windlass.kube.control.seen import IndexedReader, Unreadable, read
from windlass.kube.control.source import Source
from windlass.kube.object import Object
from windlass.os_build.architectures import LABEL as ARCHITECTURE_OF_NODE
from windlass.os_build.builder import BuildState, Cause, Failed, Order, Phase
from windlass.os_build.constants import (
    ARCHITECTURE_ANNOTATION,
    ATTEMPT_ANNOTATION,
    BACKEND_ANNOTATION,
    BUILD_IMAGE_ANNOTATION,
    BUILD_LABEL,
    CONFIG_LABEL,
    INPUTS_ANNOTATION,
    LIST_ANNOTATION,
    POOL_LABEL,
    SECRETS_ANNOTATION,
)
from windlass.os_build.credentials import Secrets
from windlass.os_build.inputs.context import Context, fits_config_map
from windlass.os_build.machine_os.request import LONGEST_LABEL
from windlass.os_build.placement import Placement
from windlass.os_build.request import BackendName, Problem, Request

BY_POOL: Final = "os-build-pool"
"""Index of builder objects: by the name of their pool."""


class Handle(Struct, frozen=True):
    """The objects of a build as they were observed; None: there is none."""

    builder: Target | None = None
    config_map: Target | None = None
    deleting: bool = False
    """The builder object is being deleted already."""


def pool_of(found: Object[Any]) -> tuple[str, ...]:
    """The index `BY_POOL`, and the map of watches."""
    pool = found.metadata.annotations.get(POOL_LABEL)
    return (pool,) if pool else ()


def moment(text: str | None) -> datetime | None:
    """A time of an object's status."""
    return datetime.fromisoformat(text) if text else None


def labels(order: Order) -> dict[str, str]:
    """The labels of all objects of a build, its Pods too."""
    return {BUILD_LABEL: "", POOL_LABEL: _label(order.pool.name), CONFIG_LABEL: _label(order.request.config)}


class ClusterBackend(Generic[K]):
    """What backends in a cluster share: their builder objects are of `kind`.

    `reader` has the indexes of `watches`. `says` adds to a state what the builder object itself says; before, the state
    is pending, and the attempt is the one that the object was created for.
    """

    sources: tuple[Source[str], ...] = ()
    usual = True
    mounts_secrets = True
    in_cluster = True

    def __init__(
        self,
        reader: IndexedReader,
        kind: type[K],
        *,
        name: BackendName,
        namespace: str,
        says: Callable[[K, BuildState], BuildState],
    ) -> None:
        self.name = name
        self._reader = reader
        self._kind = kind
        self._namespace = namespace
        self._says = says

    @property
    def watches(self) -> tuple[Watch[str], ...]:
        return (
            self._watch(self._kind, cache_only=False),
            # A ConfigMap may have a megabyte, and nobody reads it here.
            self._watch(ConfigMap, metadata_only=True),
        )

    @property
    def permissions(self) -> tuple[Declaration, ...]:
        return (
            writes(self._kind, "create", "patch", "delete", namespace=self._namespace),
            writes(ConfigMap, "create", "delete", namespace=self._namespace),
            blocks_deletion_of(MachineConfigPool),
        )

    def unfit(self, context: Context, request: Request) -> Problem | None:
        """A ConfigMap has to hold the files, and those of the environment."""
        egress = request.egress
        return fits_config_map(context, beside=len(egress.trusted) + sum(len(pem) for _, pem in egress.registries))

    def look(self, pool: str) -> Sequence[BuildState]:
        """All builds of the pool, oldest first. Raises NotServed while the kind is not served."""
        found = {each.name: each for each in self._of(self._kind, pool)}
        files = {each.name: each for each in self._of(ConfigMap, pool)}
        states = [self._state(found.get(name), files.get(name)) for name in {**found, **files}]
        return [state for _, state in sorted(states, key=lambda each: each[0])]

    def named(self, name: str) -> MachineOSBuilder | None:
        """The builder object as a MachineOSBuild names it; that API knows Jobs alone."""
        return None

    def renew(self, state: BuildState, secrets: Secrets) -> tuple[Action, ...]:
        """Nothing to do: builders in a cluster read Secrets when they need credentials."""
        return ()

    def clean(self, state: BuildState, *, why: str) -> tuple[Action, ...]:
        """Delete what there is. A builder object takes its Pods with it; to cancel it first adds nothing."""
        handle: Handle = state.handle
        actions: list[Action] = []
        if handle.builder is not None:
            actions.append(Delete(target=handle.builder, propagation="Background", deleting=handle.deleting, why=why))
        if handle.config_map is not None:
            actions.append(Delete(target=handle.config_map, why=why))
        return tuple(actions)

    def _watch(
        self,
        kind: type[KubernetesObject],
        *,
        indexes: Mapping[str, Index] | None = None,
        metadata_only: bool = False,
        cache_only: bool = True,
    ) -> Watch[str]:
        """The objects of this kind that have the labels of builds; `indexes` None: by their pools."""
        return Watch(
            kind,
            pool_of,
            namespace=self._namespace,
            label_selector=BUILD_LABEL,
            indexes={BY_POOL: pool_of} if indexes is None else indexes,
            metadata_only=metadata_only,
            cache_only=cache_only,
        )

    def _create(self, order: Order, *, spec: Mapping[str, Any], files: Mapping[str, bytes]) -> tuple[Action, ...]:
        """Create both; nothing if the builder object exists already."""
        pool = order.pool.name
        if any(each.name == order.name for each in self._of(self._kind, pool)):
            return ()
        metadata = self._metadata(order)
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        # A ConfigMap that is left over may have been deleted meanwhile, even earlier in this plan, or have the files
        # of another version of us. A deletion of what is gone does no harm.
        stale = (each for each in self._of(ConfigMap, pool) if each.name == order.name)
        cleared = [Delete(target=target_of(ConfigMap, each.metadata), why="it is left over") for each in stale]
        config_map = Create(
            target=Target(ConfigMap, order.name, self._namespace),
            body={"metadata": metadata, "immutable": True, "binaryData": data},
            why=f"the files of the build of pool {pool}",
        )
        build = Create(
            target=Target(self._kind, order.name, self._namespace),
            body={"metadata": metadata, "spec": spec},
            why=f"builds {order.request.config} for pool {pool}",
        )
        return (*cleared, config_map, build)

    def _end(self, state: BuildState, desired: Mapping[str, Any], *, why: str) -> tuple[Action, ...]:
        """Make the builder object the `desired` one, which ends its build; nothing if that is over, or ends already."""
        handle: Handle = state.handle
        if state.is_over or state.ending or handle.builder is None:
            return ()
        observed: dict[str, Any] = {key: {} for key in desired}
        return (Merge(target=handle.builder, observed=observed, desired=desired, why=why),)

    def _of(self, kind: type[Any], pool: str) -> Iterable[Object[Any]]:
        found = self._reader.indexed(kind, BY_POOL, pool)
        return (each for each in found if each.metadata.annotations.get(BACKEND_ANNOTATION) == self.name)

    def _state(self, builder: Object[K] | None, files: Object[ConfigMap] | None) -> tuple[Any, BuildState]:
        """The state, and what it is sorted by."""
        found = builder if builder is not None else files
        assert found is not None
        meta = found.metadata
        known = meta.annotations
        state = BuildState(
            name=meta.name,
            backend=self.name,
            pool=known.get(POOL_LABEL, ""),
            inputs=known.get(INPUTS_ANNOTATION, ""),
            config=known.get(CONFIG_LABEL, ""),
            attempt=_number(known.get(ATTEMPT_ANNOTATION, "")),
            secrets=known.get(SECRETS_ANNOTATION, ""),
            image=known.get(BUILD_IMAGE_ANNOTATION, ""),
            architecture=known.get(ARCHITECTURE_ANNOTATION, ""),
            part_of=known.get(LIST_ANNOTATION, ""),
            builder=self.named(meta.name),
            phase=Phase.PENDING,
            handle=Handle(
                builder=None if builder is None else target_of(self._kind, builder.metadata),
                config_map=None if files is None else target_of(ConfigMap, files.metadata),
                deleting=builder is not None and builder.deleting,
            ),
        )
        if builder is not None:
            state = self._current(builder, state)
        else:
            note = f"{self._kind.RESOURCE.kind} {meta.name} does not exist, only its ConfigMap"
            state = replace(state, phase=Phase.INTERRUPTED, note=note, ending=found.deleting)
        state = replace(state, ended=_ended(state, meta))
        return (meta.creation_timestamp or "", state.attempt, state.name), state

    def _current(self, builder: Object[K], known: BuildState) -> BuildState:
        seen = read(builder)
        if isinstance(seen, Unreadable):
            return replace(known, phase=Phase.FAILED, failed=Failed(cause=Cause.UNKNOWN, tail=seen.why))
        state = self._says(seen.object, known)
        if not builder.deleting or state.phase in (Phase.SUCCEEDED, Phase.FAILED):
            return state
        note = f"{self._kind.RESOURCE.kind} {builder.name} is being deleted"
        return replace(
            known, phase=Phase.INTERRUPTED, attempt=state.attempt, started=state.started, note=note, ending=True
        )

    def _metadata(self, order: Order) -> dict[str, Any]:
        pool = ObjectMeta(name=order.pool.name, uid=order.pool.uid)
        owner = owner_reference(MachineConfigPool, pool, controller=True, block_owner_deletion=True)
        return {
            "labels": labels(order),
            "annotations": {
                POOL_LABEL: pool.name,
                CONFIG_LABEL: order.request.config,
                BACKEND_ANNOTATION: str(self.name),
                INPUTS_ANNOTATION: order.inputs,
                ATTEMPT_ANNOTATION: str(order.attempt),
                SECRETS_ANNOTATION: order.secrets.state,
                BUILD_IMAGE_ANNOTATION: order.image,
                **{key: value for key, value in _chosen(order).items() if value},
            },
            "ownerReferences": [tree(owner)],
        }


def node_selector(order: Order, placement: Placement) -> dict[str, dict[str, str]]:
    """The field `nodeSelector` of a Pod; nothing if it may run anywhere."""
    chosen = {ARCHITECTURE_OF_NODE: order.request.architecture} if order.request.architecture else {}
    selector = {**dict(placement.node_selector), **chosen}
    return {"nodeSelector": selector} if selector else {}


def _chosen(order: Order) -> dict[str, str]:
    return {ARCHITECTURE_ANNOTATION: order.request.architecture, LIST_ANNOTATION: order.part_of}


def _ended(state: BuildState, meta: ObjectMeta) -> datetime | None:
    """When the build ended; not later than that if nothing says when."""
    if not state.is_over:
        return None
    return state.ended or moment(meta.deletion_timestamp) or state.started or moment(meta.creation_timestamp)


def _label(text: str) -> str:
    """`text` as the value of a label, cut where it is too long."""
    return text[:LONGEST_LABEL].rstrip("-._")


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 1
