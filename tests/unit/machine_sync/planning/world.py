"""Machines on the in-memory API server, and controllers that are simple enough to be read in a test."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from windlass.api import capi, mapi
from windlass.api.core import Event
from windlass.capability.documents import read
from windlass.capability.planning import Decider
from windlass.capability.planning.given import take_in
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import writes
from windlass.kube.control.plan import Merge, Outcome, Plan, target
from windlass.kube.control.seen import Present
from windlass.kube.errors import TransportError
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.overview import MACHINES
from windlass.machine_sync.planning import deciders
from windlass.machine_sync.planning.deciders import decider, kinds, scope
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

Tree = dict[str, Any]
Decide = Callable[[Any], Plan]

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
PLACES = Namespaces()
HERE = PLACES.machine_api
NO_ANSWER = TransportError("no answer")


def machine(name: str, *, kind: type[Any] = mapi.Machine, namespace: str = HERE, **fields: Any) -> Tree:
    identity = {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind}
    return {**identity, "metadata": {"name": name, "namespace": namespace, "generation": 1}, **fields}


def world(*trees: Tree) -> MemoryApi:
    api = MemoryApi(mapi.Machine, capi.Machine, mapi.MachineSet, capi.MachineSet, Event, clock=lambda: NOW)
    api.load(*trees)
    return api


def deciding(decide: Decide, reader: Any, *, of: Any = MACHINES) -> Decider:
    """A controller of Machines in the Machine API that decides by the one Machine alone."""

    async def observe(name: str, last: Outcome) -> Any:
        return await reader.see(mapi.Machine, name, namespace=HERE, confirm=True)

    controller = Controller(
        name=of.name,
        watches=(Watch(mapi.Machine, lambda found: [found.name], namespace=HERE),),
        permissions=(writes(mapi.Machine, "patch", "delete", namespace=HERE),),
        observe=observe,
        decide=lambda seen, *, now: decide(seen),
    )
    return decider(controller, of, PLACES)


def renamed(seen: Present[mapi.Machine], colour: str) -> Merge:
    """A write that makes the label `colour` so."""
    labels = dict(seen.tree["metadata"].get("labels") or {})
    return Merge(
        target=target(seen),
        observed={"metadata": {"labels": labels}},
        desired={"metadata": {"labels": {"colour": colour}}},
    )


def given(*texts: str) -> Any:
    """What several inputs, a text each, come to."""
    documents = (
        structs.replace(document, layer=layer)
        for layer, text in enumerate(texts)
        for document in read("files" if not layer else f"later-{layer}", text.encode())
    )
    return take_in(documents, scope(PLACES))


def towards(colour: str) -> Decide:
    return lambda seen: Plan.of(renamed(seen, colour)) if isinstance(seen, Present) else Plan()


def machine_controllers(reader: Any) -> list[Decider]:
    return deciders(reader, platform=OPENSTACK, namespaces=PLACES)


def model(text: str) -> tuple[MemoryApi, MemoryReader]:
    api = MemoryApi(*kinds(), clock=lambda: NOW)
    api.load(*given(text).trees)
    return api, MemoryReader(api)
