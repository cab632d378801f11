"""Reads everything about one name on a cluster: both sides, the infrastructure, the Events, and the plan."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from windlass.api import capi
from windlass.api.core import Event
from windlass.api.meta import K, KubernetesObject
from windlass.capability.planning import ClusterListing, KeyPlan, as_json, plan_of
from windlass.kube.control.seen import Present, Unreadable, read
from windlass.kube.errors import Forbidden, KubeError, NotFound, NotServed
from windlass.kube.object import Object
from windlass.kube.together import both, together
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection.facts import (
    Described,
    Happening,
    InvolvedObject,
    described,
    happenings,
    infrastructure_of,
)
from windlass.machine_sync.overview import KINDS, AnyKind, AnyRow
from windlass.machine_sync.planning import NoPlatform, Standing, deciders, standing_of
from windlass.machine_sync.platforms import platform_of_kind

EVENTS = 10
"""How many Events are shown at most."""


class Ambiguous(Exception):
    """Both a machine and a MachineSet have the name."""


class Trouble(Struct, frozen=True):
    """An object that could not be read, and why."""

    what: str
    error: KubeError


class MachineInspection(Struct):
    """The result. A side that is None does not exist, or is among the `troubles`.

    `plan` None: there is none, and `no_plan` says why. `standing` has the platform, and whether Machine sync would run.
    """

    row: AnyRow
    machine_api: Described | None
    cluster_api: Described | None
    infrastructure: Described | None
    events: list[Happening]
    troubles: list[Trouble]
    plan: KeyPlan | None = None
    no_plan: str = ""
    standing: Standing | None = None


async def look(
    client: Api, places: Namespaces, name: str, *, kind: AnyKind | None = None, now: datetime
) -> MachineInspection | None:
    """The facts; None if no object (of this kind) has that name. Raises Ambiguous, and KubeErrors that concern both
    sides."""
    found = await together(_Sides(client, places, each, name).look() for each in ([kind] if kind else KINDS))
    there = [sides for sides in found if sides.machine_api or sides.cluster_api]
    if len(there) > 1:
        raise Ambiguous
    if not there:
        if all(sides.troubles for sides in found):
            raise found[0].troubles[0].error
        return None
    sides = there[0]
    infra = await sides.infrastructure()
    events = await sides.events(infra)
    sight = MachineInspection(
        sides.row(),
        _described(sides.machine_api),
        _described(sides.cluster_api),
        _described(infra),
        events,
        sides.troubles,
    )
    await _plan(sight, client, places, has_taints=_has_taints(sides.cluster_api), now=now)
    return sight


def as_tree(sight: MachineInspection) -> dict[str, Any]:
    """All facts for programs: `windlass machines describe -o json`, and the web page. docs/cli.md has the keys."""
    row = sight.row
    return {
        "kind": row.kind,
        "name": row.name,
        "authority": row.authority,
        "desiredAuthority": row.desired_authority,
        "synchronized": msgspec.to_builtins(row.synchronized),
        "generation": msgspec.to_builtins(row.generation),
        "machineAPI": msgspec.to_builtins(sight.machine_api),
        "clusterAPI": msgspec.to_builtins(sight.cluster_api),
        "infrastructure": msgspec.to_builtins(sight.infrastructure),
        "events": msgspec.to_builtins(sight.events),
        "plan": as_json.item(sight.plan) if sight.plan and sight.plan.error is None else None,
        "unavailable": [{"what": trouble.what, "message": str(trouble.error)} for trouble in sight.troubles],
    }


class _Sides:
    """One name of one kind in both APIs."""

    def __init__(self, client: Api, places: Namespaces, kind: AnyKind, name: str) -> None:
        self._client = client
        self._places = places
        self._kind = kind
        self._name = name
        self.machine_api: Object[Any] | None = None
        self.cluster_api: Object[Any] | None = None
        self.troubles: list[Trouble] = []

    async def look(self) -> "_Sides":
        self.machine_api, self.cluster_api = await both(
            self._get(self._kind.machine_api, self._name, self._places.machine_api),
            self._get(self._kind.cluster_api, self._name, self._places.cluster_api),
        )
        return self

    def row(self) -> AnyRow:
        return self._kind.row(self._name, _found(self.machine_api), _found(self.cluster_api))

    async def infrastructure(self) -> Object[Any] | None:
        """The infra machine or template that the Cluster API object refers to."""
        reference = infrastructure_of(self.cluster_api) if self.cluster_api else None
        platform = platform_of_kind(reference.kind) if reference else None
        if reference is None or platform is None:
            return None
        kinds = (platform.infra_machine, platform.infra_template)
        kind = next((kind for kind in kinds if kind.RESOURCE.kind == reference.kind), None)
        return await self._get(kind, reference.name, self._places.cluster_api) if kind else None

    async def events(self, infra: Object[Any] | None) -> list[Happening]:
        """The last Events of all its objects. For a side that does not exist (any more), those of its name."""
        subjects = [
            _subject(self._kind.machine_api, self._places.machine_api, self._name, self.machine_api),
            _subject(self._kind.cluster_api, self._places.cluster_api, self._name, self.cluster_api),
        ]
        if infra is not None:
            subjects.append(InvolvedObject(infra.kind, self._places.cluster_api, infra.name, infra.uid))
        asked = sorted({(subject.namespace, subject.name) for subject in subjects})
        listed = await together(self._events(namespace, name) for namespace, name in asked)
        return happenings([event for events in listed for event in events], subjects, at_most=EVENTS)

    async def _events(self, namespace: str, name: str) -> Sequence[Object[Event]]:
        try:
            answer = await self._client.list(Event, namespace=namespace, field_selector=f"involvedObject.name={name}")
        except Forbidden as error:
            self.troubles.append(Trouble(f"events in {namespace}", error))
            return []
        return answer.items

    async def _get(self, kind: type[K], name: str, namespace: str) -> Object[K] | None:
        try:
            return await self._client.get(kind, name, namespace=namespace)
        except (Forbidden, NotServed) as error:
            self.troubles.append(Trouble(kind.RESOURCE.name, error))
        except NotFound:
            pass
        return None


async def _plan(sight: MachineInspection, client: Api, places: Namespaces, *, has_taints: bool, now: datetime) -> None:
    """The plan of the controller of this kind, if there is one for this cluster.

    Whether the process mirrors taints cannot be read. If the mirror `has_taints`, the process mirrors taints.
    """
    cluster_listing = ClusterListing(client)
    try:
        sight.standing = await standing_of(cluster_listing, namespace=places.cluster_api)
        platform = replace(sight.standing.platform, takes_taints=has_taints)
        asked = deciders(cluster_listing, platform=platform, namespaces=places)
        decider = next((one for one in asked if one.kind == sight.row.kind), None)
        if decider is None:
            sight.no_plan = f"no controller looks after {sight.row.kind}s"
            return
        await cluster_listing.take([decider])
        sight.plan = await plan_of(decider, sight.row.name, cluster_listing, now=now)
    except NoPlatform as problem:
        sight.no_plan = str(problem)
    except Forbidden as error:
        sight.no_plan = str(error)
        sight.troubles.append(Trouble("what a plan needs", error))


def _found(item: Object[Any] | None) -> Present[Any] | Unreadable | None:
    return read(item) if item is not None else None


def _has_taints(item: Object[Any] | None) -> bool:
    found = _found(item)
    if not isinstance(found, Present):
        return False
    spec = found.object.spec
    return bool((spec.template.spec if isinstance(found.object, capi.MachineSet) else spec).taints)


def _described(item: Object[Any] | None) -> Described | None:
    return described(item) if item is not None else None


def _subject(kind: type[KubernetesObject], namespace: str, name: str, found: Object[Any] | None) -> InvolvedObject:
    return InvolvedObject(kind, namespace, name, found.uid if found is not None else "")
