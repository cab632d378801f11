"""Simulates the Machine API's MachineSet controller: keeps `spec.replicas` Machines of the template.

While the Machine API is not authoritative it stands still (see `authority`). While it is:

| MachineSet | what the simulator does |
|---|---|
| owns fewer Machines than it should | makes the rest: labels, annotations and spec of the template, named at random |
| owns more | deletes those marked for it, then those that do not run, then the youngest; spec.deletePolicy is ignored |
| being deleted | nothing: its Machines go by garbage collection |
| always | status: replicas, those ready, available and fully labeled, observedGeneration |

A Machine that is being deleted does not count, so it is replaced. Machines that nobody owns are not adopted, and
available is the same as ready: spec.minReadySeconds is ignored.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, Protocol

from msgspec import Struct

from windlass.api import mapi
from windlass.api.meta import K, owner_reference, tree
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import blocks_deletion_of, writes
from windlass.kube.control.plan import Action, Create, Delete, Outcome, Plan, Target, target
from windlass.kube.control.seen import Present, Reader, Seen, seen
from windlass.kube.object import Object
from windlass.testing.machines.simulators.authority import NAMESPACE, in_charge, standing_still, status

DELETE_FIRST: Final = "machine.openshift.io/delete-machine"

_BY_SET: Final = "machines by the uid of their MachineSet"
# Kubernetes' own choice: no vowels and no look-alikes.
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


class SetReader(Reader, Protocol):
    """A reader that also finds the Machines of a set."""

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]: ...


class MachineApiSetSnapshot(Struct, frozen=True, kw_only=True):
    """A MachineSet of the Machine API, its Machines, and a random text to make names from."""

    machine_set: Seen[mapi.MachineSet]
    machines: tuple[Present[mapi.Machine], ...] = ()
    salt: str = ""
    fills_authority: bool = True


def machine_api_set_simulator(
    reader: SetReader, *, namespace: str = NAMESPACE, fills_authority: bool = True
) -> Controller[str, MachineApiSetSnapshot]:
    """The controller; keys are names of MachineSets."""

    async def observe(name: str, _: Outcome) -> MachineApiSetSnapshot:
        found = await reader.see(mapi.MachineSet, name, namespace=namespace)
        if not isinstance(found, Present):
            return MachineApiSetSnapshot(machine_set=found)
        machines = (seen(one) for one in reader.indexed(mapi.Machine, _BY_SET, found.metadata.uid))
        return MachineApiSetSnapshot(
            machine_set=found,
            machines=tuple(one for one in machines if isinstance(one, Present)),
            salt=secrets.token_hex(8),
            fills_authority=fills_authority,
        )

    return Controller(
        name="machine-api-set-simulator",
        watches=(
            Watch(mapi.MachineSet, lambda found: [found.name], namespace=namespace),
            Watch(mapi.Machine, _set_name, namespace=namespace, indexes={_BY_SET: _set_uid}),
        ),
        permissions=(
            writes(mapi.MachineSet, "patch", subresource="status", namespace=namespace),
            writes(mapi.Machine, "create", "delete", namespace=namespace),
            blocks_deletion_of(mapi.MachineSet, namespace=namespace),
        ),
        observe=observe,
        decide=decide_set,
    )


def decide_set(seen: MachineApiSetSnapshot, *, now: datetime) -> Plan:
    """What the Machine API operator would do about one MachineSet."""
    found = seen.machine_set
    if not isinstance(found, Present):
        return Plan.nothing("no MachineSet to look after")
    if not in_charge(found):
        return standing_still(found, fills_authority=seen.fills_authority, now=now)
    active = [machine for machine in seen.machines if not machine.deleting]
    report = status(found, _counts(found, active), now=now)
    if found.deleting:
        return Plan.of(report)
    wanted = 1 if found.object.spec.replicas is None else found.object.spec.replicas
    if len(active) < wanted:
        return Plan.of(report, *(_new(found, seen.salt, number) for number in range(wanted - len(active))))
    excess = sorted(active, key=_worth)[: len(active) - wanted]
    return Plan.of(report, *(_delete(machine) for machine in excess))


def _counts(found: Present[mapi.MachineSet], active: list[Present[mapi.Machine]]) -> dict[str, int]:
    labels = found.object.spec.template.metadata.labels.items()
    ready = sum(map(_is_ready, active))
    return {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(labels <= machine.metadata.labels.items() for machine in active),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "observedGeneration": found.metadata.generation,
    }


def _is_ready(machine: Present[mapi.Machine]) -> bool:
    status = machine.object.status
    return status.phase == "Running" and status.node_ref is not None


def _worth(machine: Present[mapi.Machine]) -> tuple[bool, bool, int, str]:
    """The sort key of deletion: Machines that are deleted first sort first."""
    born = datetime.fromisoformat(machine.metadata.creation_timestamp or "1970-01-01T00:00:00Z")
    marked = DELETE_FIRST in machine.metadata.annotations
    return (not marked, _is_ready(machine), -int(born.timestamp()), machine.metadata.name)


def _new(found: Present[mapi.MachineSet], salt: str, number: int) -> Action:
    template: dict[str, Any] = dict(found.tree["spec"].get("template") or {})
    metadata = template.get("metadata") or {}
    owner = owner_reference(mapi.MachineSet, found.metadata, controller=True, block_owner_deletion=True)
    body = {
        "metadata": {
            **{key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)},
            "ownerReferences": [tree(owner)],
        },
        "spec": template.get("spec") or {},
    }
    name = f"{found.metadata.name}-{_suffix(f'{salt}/{number}')}"
    return Create(target=Target(mapi.Machine, name, found.metadata.namespace), body=body, why="a replica is missing")


def _suffix(salt: str) -> str:
    """Five letters, as the API server puts them after `generateName`."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in hashlib.sha256(salt.encode()).digest()[:5])


def _delete(machine: Present[mapi.Machine]) -> Delete:
    return Delete(target=target(machine), why="there are more replicas than there should be")


def _set_name(machine: Object[mapi.Machine]) -> Iterable[str]:
    return (owner.name for owner in machine.metadata.owner_references if _owns(owner.kind, owner.controller))


def _set_uid(machine: Object[mapi.Machine]) -> Iterable[str]:
    return (owner.uid for owner in machine.metadata.owner_references if _owns(owner.kind, owner.controller))


def _owns(kind: str, controller: bool | None) -> bool:
    return kind == mapi.MachineSet.RESOURCE.kind and bool(controller)
