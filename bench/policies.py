"""Measures the cost of admission policies for a user who updates one Machine: none, ours, and OpenShift's design.

The third design is OpenShift's: its policies are given all objects of the other API, and the API server runs a policy
once for each object that it is given. It is rebuilt here from our own rules, so that the two differ in nothing else.

Half of the machines have each API as their authority, so that on both sides there is a mirror to update.
"""

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench import machines
from bench.arena import EXEMPT, SEED, Arena, with_hands
from bench.machine import NoiseMeter
from bench.machines import Place
from bench.tables import Cell, Table, against
from windlass.api import capa, capi, mapi
from windlass.api.meta import KubernetesObject, tree
from windlass.capability.manifests.policy import PREFIX, Policy, Rule, Twins
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.client.transport import JSON
from windlass.kube.config import Impersonation
from windlass.kube.errors import Invalid
from windlass.kube.verbs import PatchType
from windlass.machine_sync import policies
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    SYNC_FINALIZER,
    Namespaces,
)
from windlass.machine_sync.conversion import to_machine_api
from windlass.testing import crds
from windlass.testing.binaries import to_stderr

TARGET_MS = 10.0
TARGET_GROWTH = 1.5
FEW = 10

_SECONDS, _LEAST, _MOST = 3.0, 15, 150
"""How long one figure is measured, and the fewest and most requests of it."""
_MAPI_MIRROR, _CAPI_MIRROR = 0, 1
_DRY = {"dryRun": "All"}

Tree = dict[str, Any]
Try = Callable[[], Awaitable[Any]]
Figures = dict[str, list[float]]

UPDATES = ("MAPI update", "CAPI update")
BY_EXEMPT = "CAPI update, exempt user"
CREATE = "CAPI create"
WHAT = (*UPDATES, BY_EXEMPT, CREATE)

NONE, OURS, GIVEN = "none", "ours", "given the twins"


@dataclass
class Fleet:
    """Machines in two namespaces, and milliseconds by what was asked under each design."""

    count: int
    namespaces: Namespaces
    figures: dict[str, Figures] = field(default_factory=lambda: {one: {} for one in (NONE, OURS, GIVEN)})
    noise: list[float] = field(default_factory=list)


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """With 10 and with `objects` machines on each side; designs in turn, `rounds` times over."""
    async with Arena(directory) as arena, AsyncExitStack() as stack:
        await arena.plane.apply_crds(*crds.documents(*crds.MACHINES))
        exempt = await stack.enter_async_context(_acting(arena, EXEMPT))
        fleets = [await _fleet(arena, count) for count in (FEW, objects)]
        for number, fleet in itertools.product(range(rounds), fleets):
            meter = NoiseMeter()
            for design, chosen in _designs(fleet.namespaces).items():
                async with in_force(arena, chosen, fleet.namespaces):
                    await _ask(arena.seed, exempt, fleet, design)
            noise = meter.read()
            fleet.noise.append(noise.others + noise.stolen)
            to_stderr(f"policies: round {number} with {fleet.count} machines; others used {fleet.noise[-1]:.2f} cores")
    return [_table(fleets, rounds=rounds)]


@asynccontextmanager
async def _acting(arena: Arena, user: str) -> AsyncIterator[Client]:
    acting = Impersonation(user=user, groups=("system:masters",))
    async with Client(config.load(kubeconfig=str(arena.kubeconfig(SEED)), impersonate=acting)) as client:
        yield client


# the designs


def _designs(namespaces: Namespaces) -> dict[str, tuple[Policy, ...]]:
    ours = policies.policies(namespaces=namespaces)
    return {NONE: (), OURS: ours, GIVEN: tuple(_given_twins(policy, namespaces) for policy in ours)}


def _given_twins(policy: Policy, namespaces: Namespaces) -> Policy:
    """The same rule with its facts looked up in the twin, where OpenShift's looks them up."""
    replace = msgspec.structs.replace
    to_cluster_api = Twins(capi.Machine, namespaces.cluster_api)
    to_machine_api = Twins(mapi.Machine, namespaces.machine_api)
    if policy.name.startswith("openshift-mapi-authoritative-api-transition"):
        when = {name: cel for name, cel in policy.when.items() if name != "is-mirrored"}
        provisioned = "params.?status.?initialization.?infrastructureProvisioned.orValue(false) == true"
        rules = (
            Rule(provisioned, policy.rules[0].message),
            Rule("!has(params.metadata.deletionTimestamp)", policy.rules[1].message),
        )
        return replace(policy, twins=to_cluster_api, when=when, rules=rules)
    labels = {
        **policy.variables,
        "mirrored": "params.metadata.?labels.orValue({}).map(k, [k, params.metadata.labels[k]])",
    }
    if policy.name == "machine-api-machine-vap":
        return replace(policy, twins=to_cluster_api, variables=labels)
    if policy.name == "cluster-api-machine-vap":
        when = {"is-a-mirror": "params.?status.?authoritativeAPI.orValue('') == 'MachineAPI'"}
        return replace(policy, twins=to_machine_api, variables=labels, when=when)
    return policy


@asynccontextmanager
async def in_force(arena: Arena, chosen: tuple[Policy, ...], namespaces: Namespaces) -> AsyncIterator[None]:
    """While the block lasts the API server asks exactly these."""
    documents = [document for policy in chosen for document in policy.documents()]
    await arena.plane.apply(*documents)
    await _until(arena.seed, namespaces, refused=bool(chosen))
    try:
        yield
    finally:
        for document in documents:
            plural = "validatingadmissionpolic" + ("ies" if document["kind"].endswith("Policy") else "ybindings")
            name = document["metadata"]["name"]
            await arena.seed.request("DELETE", f"/apis/{document['apiVersion']}/{plural}/{name}")


@asynccontextmanager
async def ours_in_force(arena: Arena, place: Place, *, exempt: Sequence[str] = ()) -> AsyncIterator[None]:
    """While the block lasts all of Windlass's admission policies are in force for `place`."""
    namespaces = Namespaces(place.machine_api, place.cluster_api)
    async with in_force(arena, policies.policies(namespaces=namespaces, exempt=exempt), namespaces):
        yield


async def _until(seed: Client, namespaces: Namespaces, *, refused: bool) -> None:
    """Until what one of the last policies forbids is refused, or admitted again."""
    # Unsupported fields are refused on what machine-sync holds.
    held = {"name": "probe", "finalizers": [SYNC_FINALIZER]}
    body = {"metadata": held, "spec": {"instanceType": "m6i.large", "imageLookupFormat": "x"}}
    whole = {"apiVersion": capa.AWSMachine.RESOURCE.api_version, "kind": "AWSMachine", **body}
    path = capa.AWSMachine.RESOURCE.path(namespace=namespaces.cluster_api)
    deadline = time.monotonic() + 60
    while True:
        try:
            await seed.request("POST", path, query=_DRY, body=whole)
            found = False
        except Invalid as answer:
            found = PREFIX in str(answer)
        if found == refused:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"after 60 s the policies are {'not ' if refused else 'still '}in force")
        await asyncio.sleep(0.1)


# the machines


async def _fleet(arena: Arena, count: int) -> Fleet:
    namespaces = Namespaces(f"policies-{count}-mapi", f"policies-{count}-capi")
    await arena.namespaces(*namespaces)
    place = await machines.make_place(
        arena.seed, machine_api=namespaces.machine_api, cluster_api=namespaces.cluster_api
    )
    await machines.provisioned(arena.seed, place, count=count)
    await with_hands(range(count), lambda number: _mirror(arena.seed, namespaces, number))
    to_stderr(f"policies: {count} machines on each side")
    return Fleet(count, namespaces)


async def _mirror(seed: Client, namespaces: Namespaces, number: int) -> None:
    """The Machine of the Machine API, which is the mirror of every other machine and the authority of the rest."""
    named, there = machines.name(number), namespaces.cluster_api
    source = await seed.get(capi.Machine, named, namespace=there)
    infra = await seed.get(capa.AWSMachine, named, namespace=there)
    converted = to_machine_api(source.decode(), infra.decode(), capa.AWSCluster()).machine
    assert converted is not None
    authority = "ClusterAPI" if number % 2 == _MAPI_MIRROR else "MachineAPI"
    body = tree(converted)
    body["metadata"] = {"name": named, "labels": body["metadata"]["labels"]}
    body["spec"]["authoritativeAPI"] = authority
    here = namespaces.machine_api
    await seed.create(mapi.Machine, {key: body[key] for key in ("metadata", "spec")}, namespace=here)
    status = {"status": {**body["status"], "authoritativeAPI": authority}}
    await seed.patch(mapi.Machine, named, status, type=PatchType.MERGE, subresource="status", namespace=here)
    if authority == "MachineAPI":
        mark = {"metadata": {"annotations": {AUTHORITY_ANNOTATION: authority}, "finalizers": [SYNC_FINALIZER]}}
        await seed.patch(capi.Machine, named, mark, type=PatchType.MERGE, namespace=there)


# the requests


async def _ask(user: Client, exempt: Client, fleet: Fleet, design: str) -> None:
    mapi_update = _updating(user, mapi.Machine, machines.name(_MAPI_MIRROR), fleet.namespaces.machine_api)
    capi_name, capi_home = machines.name(_CAPI_MIRROR), fleet.namespaces.cluster_api
    asked: dict[str, Try] = {
        UPDATES[0]: mapi_update,
        UPDATES[1]: _updating(user, capi.Machine, capi_name, capi_home),
        BY_EXEMPT: _updating(exempt, capi.Machine, capi_name, capi_home),
        CREATE: await _creating(user, capi_name, capi_home),
    }
    for what, request in asked.items():
        fleet.figures[design].setdefault(what, []).extend(await _timed(request))


def _updating(user: Client, kind: type[KubernetesObject], name: str, namespace: str) -> Try:
    """What a user changes of a mirror: an annotation of their own."""
    numbers = itertools.count(time.monotonic_ns())

    async def update() -> None:
        change = {"metadata": {"annotations": {"example.com/note": str(next(numbers))}}}
        await user.patch(kind, name, change, type=PatchType.MERGE, namespace=namespace)

    return update


async def _creating(user: Client, name: str, namespace: str) -> Try:
    """A dry run: admission is the same, and nothing is there afterwards."""
    source = (await user.get(capi.Machine, name, namespace=namespace)).tree()
    body = {"metadata": {"name": "made"}, "spec": source["spec"]}
    whole = {"apiVersion": capi.Machine.RESOURCE.api_version, "kind": "Machine", **body}
    path = capi.Machine.RESOURCE.path(namespace=namespace)
    return lambda: user.request("POST", path, query=_DRY, body=whole, content_type=JSON)


async def _timed(request: Try) -> list[float]:
    """Milliseconds of each; the first, which may find something cold, is not counted."""
    await request()
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) < _LEAST or (len(taken) < _MOST and time.perf_counter() - began < _SECONDS):
        before = time.perf_counter()
        await request()
        taken.append(1000 * (time.perf_counter() - before))
    return taken


# the table


def _table(fleets: list[Fleet], *, rounds: int) -> Table:
    rows: list[dict[str, Cell]] = []
    for fleet in fleets:
        for design, figures in fleet.figures.items():
            medians = {what: statistics.median(figures[what]) for what in WHAT}
            noise = f"{min(fleet.noise):.1f}-{max(fleet.noise):.1f}"
            rows.append({"machines": fleet.count, "policies": design, **medians, "others, cores": noise})
    few, many = fleets
    verdicts = []
    for what in UPDATES:
        ours = [statistics.median(fleet.figures[OURS][what]) for fleet in fleets]
        added = [_added(fleet, OURS, what) for fleet in fleets]
        given = _added(many, GIVEN, what)
        verdicts.append(
            f"{what}: ours {ours[1]:.1f} ms with {many.count} machines ({against(ours[1], TARGET_MS, unit='ms')}), "
            f"{ours[1] / ours[0]:.2f} of what it is with {few.count} "
            f"({against(ours[1] / ours[0], TARGET_GROWTH)}); added to none: {added[0]:.2f} and {added[1]:.2f} ms, "
            f"by policies that are given the twins {given:.1f} ms."
        )
    title = f"Policies: milliseconds of one request, median, {rounds} rounds"
    return Table(title, list(rows[0]), rows, verdicts)


def _added(fleet: Fleet, design: str, what: str) -> float:
    return statistics.median(fleet.figures[design][what]) - statistics.median(fleet.figures[NONE][what])
