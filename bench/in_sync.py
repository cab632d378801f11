"""Creates Machines in sync in bulk: Windlass mirrors one of each MachineSet, and the others are copies of it.

Mirroring thousands takes many minutes of the API server's time, and is measured elsewhere (`mirror`). A copy costs six
writes. The benchmark checks that the copies are in sync: Windlass writes nothing when it starts.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from bench import machines, steady
from bench.arena import Arena, with_hands
from bench.cold import QUIET_SECONDS
from bench.contestant import Contestant
from bench.contestants import machine_sync, who_is_paused
from bench.machines import Place
from bench.requests import RequestLog
from windlass.api import capa, capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.verbs import PatchType
from windlass.testing.binaries import to_stderr
from windlass.testing.plane.ports import free_ports

LONGEST = 120.0

_SET_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "namespace")
_GENERATIONS = re.compile(rb'"(observedGeneration|synchronizedGeneration)":\d+')

Tree = dict[str, Any]


async def make(arena: Arena, name: str, *, authorities: Sequence[str], machines_each: int) -> Place:
    """A MachineSet for each of `authorities`, with so many Machines, in two new namespaces. Returns the first."""
    began = time.monotonic()
    await arena.namespaces(f"{name}-mapi", f"{name}-capi")
    await machines.make_cluster(arena.seed, namespace=f"{name}-capi")
    places = [
        await machines.make_set(
            arena.seed,
            machine_api=f"{name}-mapi",
            cluster_api=f"{name}-capi",
            set_name=f"{machines.SET}-{number:03d}",
            authority=authority,
        )
        for number, authority in enumerate(authorities)
    ]
    count = len(places) * machines_each
    for number, place in enumerate(places):
        await machines.provisioned(arena.seed, place, count=1, first=count + number)
    await _mirror(arena, places)
    models = [await _model(arena, places[0], count + number) for number in range(len(places))]
    await with_hands(range(count), lambda number: _copy(arena, places[0], models[number % len(places)], number))
    # They have a history, which the copies have not: other generations.
    await with_hands(models, lambda model: _remove(arena, places[0], model.particulars[0]))
    to_stderr(f"{name}: {count} machines in sync, made in {time.monotonic() - began:.0f} s")
    return places[0]


async def _mirror(arena: Arena, places: Sequence[Place]) -> None:
    """Let Windlass bring the first Machines and all MachineSets in sync."""
    logs = [arena.requests(user) for user in ("windlass", "paused")]
    port = free_ports(1)[0]
    entry, other = machine_sync(arena, places[0], *steady.metrics_on(port)), who_is_paused(arena, places[0])
    with (
        Contestant(entry.argv, log=arena.log("in-sync")) as contestant,
        Contestant(other.argv, log=arena.log("in-sync-paused")),
    ):
        await steady.until(port, lambda sight: sight.looked_at(machines=len(places)), contestant)
        await rest(logs)
    await _check(arena, places)


async def rest(logs: Sequence[RequestLog]) -> None:
    """Return once nobody has written anything for a second."""
    quiet_since = began = time.monotonic()
    while time.monotonic() - quiet_since < QUIET_SECONDS:
        if time.monotonic() - began > LONGEST:
            raise RuntimeError(f"writes did not come to an end within {LONGEST:.0f} s")
        await asyncio.sleep(0.1)
        news = [request for log in logs for request in log.read()]
        if any(request.is_write and not request.is_of_lease for request in news):
            quiet_since = time.monotonic()


async def _check(arena: Arena, places: Sequence[Place]) -> None:
    for kind in (mapi.Machine, mapi.MachineSet):
        listed = (await arena.seed.list(kind, namespace=places[0].machine_api)).items
        for found in listed:
            if not synchronized(found.tree()):
                raise RuntimeError(f"{found} is not in sync: {(found.tree().get('status') or {}).get('conditions')}")


def synchronized(whole: Tree) -> bool:
    """It has the condition, and Windlass has noted which generation was mirrored."""
    status = whole.get("status") or {}
    found = {one["status"] for one in status.get("conditions") or [] if one["type"] == "Synchronized"}
    return found == {"True"} and bool(status.get("synchronizedGeneration"))


# copies


class _Model(msgspec.Struct, frozen=True):
    """A Machine as all three objects: what there is to create, as JSON, what stands in it, and the Machine's uid."""

    machine: bytes
    infra: bytes
    machine_api: bytes
    particulars: list[str]
    uid: str


async def _model(arena: Arena, place: Place, number: int) -> _Model:
    async def model(kind: type[KubernetesObject], namespace: str) -> tuple[bytes, str]:
        found = await arena.seed.get(kind, machines.name(number), namespace=namespace)
        whole = found.tree()
        whole["metadata"] = {key: value for key, value in whole["metadata"].items() if key not in _SET_BY_SERVER}
        return _GENERATIONS.sub(rb'"\1":1', msgspec.json.encode(whole)), found.uid

    machine, uid = await model(capi.Machine, place.cluster_api)
    infra, _ = await model(capa.AWSMachine, place.cluster_api)
    machine_api, _ = await model(mapi.Machine, place.machine_api)
    return _Model(machine, infra, machine_api, machines.particulars(number), uid)


async def _copy(arena: Arena, place: Place, model: _Model, number: int) -> None:
    replaced = dict(zip(model.particulars, machines.particulars(number), strict=True))

    async def copy(kind: type[KubernetesObject], text: bytes, namespace: str) -> str:
        for before, after in replaced.items():
            text = text.replace(before.encode(), after.encode())
        whole: Tree = msgspec.json.decode(text)
        status = {"status": whole.pop("status", {})}
        made = await arena.seed.create(kind, whole, namespace=namespace)
        await arena.seed.patch(kind, made.name, status, type=PatchType.MERGE, subresource="status", namespace=namespace)
        return made.uid

    replaced[model.uid] = await copy(capi.Machine, model.machine, place.cluster_api)
    await copy(capa.AWSMachine, model.infra, place.cluster_api)
    await copy(mapi.Machine, model.machine_api, place.machine_api)


async def _remove(arena: Arena, place: Place, name: str) -> None:
    """While nobody is there to whom finalizers mean something. The owner last, since what it owns goes with it."""
    kinds = (mapi.Machine, place.machine_api), (capa.AWSMachine, place.cluster_api), (capi.Machine, place.cluster_api)
    for kind, namespace in kinds:
        bare = {"metadata": {"finalizers": None}}
        await arena.seed.patch(kind, name, bare, type=PatchType.MERGE, namespace=namespace)
        await arena.seed.delete(kind, name, namespace=namespace)
