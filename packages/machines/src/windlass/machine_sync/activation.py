"""Decides whether Machine sync should run on this cluster, and for which platform.

It runs when the feature gate `MachineAPIMigration` is enabled for the cluster's current release, and Machine sync
serves the platform. Otherwise it idles: the process is ready, waits, and reports why.

| observed | verdict |
|---|---|
| FeatureGate `cluster` missing, or its kind not served | idle |
| no entry of status.featureGates for the desired version, and more or fewer than one entry | idle |
| MachineAPIMigration not among the enabled gates of that entry | idle |
| Infrastructure `cluster` missing, or without a platform type | idle |
| platform is not `SERVED` | idle |
| platform needs its cluster kind (`platform_list`), and the API server does not serve that | idle |
| else | run |

Source: github.com/openshift/api config/v1 (the entry is per release, and during an update there are two).

`Activation` follows these objects: it starts and stops the controllers when the verdict changes, without a restart.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

from windlass.api.config import ClusterVersion, FeatureGate, FeatureGateDetails, Infrastructure
from windlass.api.meta import K, KubernetesObject
from windlass.kube.cache import Cache
from windlass.kube.control.controller import Watch
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.control.seen import NotServedKind, Present, Seen, Unreadable, seen
from windlass.kube.logger import Logger
from windlass.kube.process.pool import CachePool
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE
from windlass.machine_sync.platform_list import LISTED, SERVED

FEATURE_GATE = "MachineAPIMigration"


class Run(Struct, frozen=True):
    """Machine sync runs for the platform of this name."""

    platform: str

    def __str__(self) -> str:
        return f"Machine sync runs: platform {self.platform}"


IdleReason = Literal["FeatureGate", "Platform", "LeaseHeld"]
"""Why Machine sync idles, in a word for metrics."""


class Idle(Struct, frozen=True):
    """Machine sync does nothing, because of `why`."""

    why: str
    reason: IdleReason

    def __str__(self) -> str:
        return f"Machine sync idles: {self.why}"


def verdict(
    *,
    infrastructure: Seen[Infrastructure],
    gate: Seen[FeatureGate],
    version: Seen[ClusterVersion],
    infra_cluster: Seen[Any] | None = None,
) -> Run | Idle:
    """The verdict, from the three objects that decide (Infrastructure and FeatureGate `cluster`, ClusterVersion).

    `infra_cluster` is the object that `needed_cluster` names; None if it names none.
    """
    if not isinstance(gate, Present):
        return Idle(_cannot_read("FeatureGate cluster", gate), "FeatureGate")
    entry = _entry(gate.object, version)
    if isinstance(entry, str):
        return Idle(entry, "FeatureGate")
    if not any(enabled.name == FEATURE_GATE for enabled in entry.enabled):
        why = f"feature gate {FEATURE_GATE} is not enabled for version {entry.version or '(none)'}"
        return Idle(why, "FeatureGate")
    if not isinstance(infrastructure, Present):
        return Idle(_cannot_read("Infrastructure cluster", infrastructure), "Platform")
    status = infrastructure.object.status.platform_status
    if status is None or not status.type:
        return Idle(
            "Infrastructure cluster does not say on which platform the cluster runs (status.platformStatus.type)",
            "Platform",
        )
    if status.type not in SERVED:
        return Idle(f"not implemented for platform {status.type}, nothing to do", "Platform")
    if isinstance(infra_cluster, NotServedKind):
        why = f"platform {status.type} needs Cluster API's provider, and its kind of cluster is not there"
        return Idle(f"{why}: {infra_cluster.why}", "Platform")
    return Run(status.type)


def needed_cluster(infrastructure: Seen[Infrastructure]) -> tuple[type[KubernetesObject], str] | None:
    """The kind and the name of the infra cluster, if Machine sync runs only where its kind is served."""
    if not isinstance(infrastructure, Present):
        return None
    status = infrastructure.object.status
    listed = LISTED.get(status.platform_status.type) if status.platform_status is not None else None
    kind = listed.cluster_kind if listed is not None else None
    return (kind(), status.infrastructure_name) if kind is not None else None


def _entry(gate: FeatureGate, version: Seen[ClusterVersion]) -> FeatureGateDetails | str:
    entries = gate.status.feature_gates
    desired = version.object.status.desired.version if isinstance(version, Present) else ""
    matching = next((entry for entry in entries if desired and entry.version == desired), None)
    if matching is not None:
        return matching
    if len(entries) == 1:
        return entries[0]
    listed = ", ".join(entry.version for entry in entries) or "none"
    return f"FeatureGate cluster has no entry for version {desired or '(unknown)'}; it has: {listed}"


def _cannot_read(what: str, found: object) -> str:
    if isinstance(found, NotServedKind | Unreadable):
        return f"{what} cannot be read: {found.why}"
    return f"{what} does not exist"


WATCHED = (FeatureGate, ClusterVersion, Infrastructure)


def activation_permissions() -> tuple[Permission, ...]:
    """The reads that `Activation` needs: caches only."""
    return tuple(permission(kind, "list", "watch") for kind in WATCHED)


class Activation:
    """Follows the objects that decide, and calls `start(platform)` and `stop()` as the verdict changes.

    A change of platform is a stop and a start. `latest` is the last verdict, None before the first. `namespace` is that
    of Cluster API, in which the infra cluster is.
    """

    def __init__(
        self,
        pool: CachePool,
        *,
        start: Callable[[str], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        namespace: str = CLUSTER_API_NAMESPACE,
    ) -> None:
        self._namespace = namespace
        self.latest: Run | Idle | None = None
        self._pool = pool
        self._caches: dict[type[KubernetesObject], Cache[Any]] = {}
        self._start = start
        self._stop = stop
        self._changed = asyncio.Event()
        self._log = Logger(__name__)

    async def run(self) -> None:
        """Follow until cancelled. The caches are the pool's, which its owner closes."""
        await self._settled(*(Watch(kind, lambda found: (found.name,)) for kind in WATCHED))
        while True:
            self._changed.clear()
            if (needed := needed_cluster(self._look(Infrastructure, "cluster"))) and needed[0] not in self._caches:
                await self._settled(Watch(needed[0], lambda found: (found.name,), namespace=self._namespace))
            await self._follow(self._ask())
            await self._changed.wait()

    def report(self) -> dict[str, str]:
        """For readiness: until there is a verdict, it is unknown whether this process works."""
        return {"activation": "" if self.latest else "the feature gate has not been read yet"}

    async def _settled(self, *watches: Watch[Any]) -> None:
        for watch in watches:
            self._caches[watch.kind] = self._pool.acquire(watch)
            self._caches[watch.kind].subscribe(lambda _: self._changed.set(), returned=self._changed.set)
        for watch in watches:
            await self._caches[watch.kind].wait_settled()

    def _ask(self) -> Run | Idle:
        infrastructure = self._look(Infrastructure, "cluster")
        needed = needed_cluster(infrastructure)
        return verdict(
            infrastructure=infrastructure,
            infra_cluster=self._look(*needed) if needed else None,
            gate=self._look(FeatureGate, "cluster"),
            version=self._look(ClusterVersion, "version"),
        )

    def _look(self, kind: type[K], name: str) -> Seen[K]:
        cache: Cache[K] = self._caches[kind]
        if not cache.served:
            return NotServedKind(f"{kind.RESOURCE} is not served: {cache.unserved}")
        return seen(cache.get(name))

    async def _follow(self, now: Run | Idle) -> None:
        before: Any = self.latest
        self.latest = now
        if now == before:
            return
        self._log.info(str(now))
        if isinstance(before, Run):
            await self._stop()
        if isinstance(now, Run):
            await self._start(now.platform)
