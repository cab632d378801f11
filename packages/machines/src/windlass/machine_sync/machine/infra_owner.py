"""Tells whose an infra machine is: nothing is written to one that belongs to another Machine, or that others made.

An infra machine is found by a name, an annotation, or `spec.infrastructureRef` of a Machine. Users who may not write
infra machines can write all three, so they do not tell whose it is:

| Machine that is its controller | Machines of Cluster API that name it | it belongs to |
|---|---|---|
| one | any | its controller |
| none | this one, or none | this one |
| none | several | the one that is called like it, else the first by name |
| none | others only | the first of them |

An infra machine that belongs to nobody and that we did not create has been made beforehand. An existing infra machine
is used only if it equals the one that we would create.
"""

from collections.abc import Collection
from typing import Any

from msgspec.structs import replace

from windlass.api import capi
from windlass.api.meta import ObjectMeta, tree
from windlass.kube.control.seen import Absent, Present, metadata_of
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring.belongs import was_mirrored
from windlass.machine_sync.mirroring.infra_machine_spec import differing


def other_owner(name: str, infra: ObjectMeta, users: Collection[str]) -> str:
    """The Machine of Cluster API to which the infra machine belongs, if that is not `name`; else "".

    `users` are the Machines of Cluster API that name it.
    """
    controller = _controller(infra)
    if controller or name in users or not users:
        owner = controller or (infra.name if infra.name in users else min(users, default=name))
    else:
        owner = min(users)
    return "" if owner == name else owner


def without_others(seen: MachineSnapshot) -> MachineSnapshot:
    """The snapshot for decisions: an infra machine of another Machine is absent, and `infra_of_another` names it.

    While the Machine of the Machine API is being deleted, one that we have never held is absent too.
    """
    infra = metadata_of(seen.infra_machine)
    if infra is None:
        return seen
    if owner := other_owner(seen.name, infra, seen.infra_users):
        return replace(seen, infra_machine=Absent(confirmed=True), infra_of_another=(infra.name, owner))
    machine = metadata_of(seen.machine_api)
    if machine is not None and machine.deletion_timestamp is not None and not _is_known(seen, infra):
        return replace(seen, infra_machine=Absent(confirmed=True))
    return seen


def unlike(seen: MachineSnapshot, converted: Any, *, provider_id: str) -> list[str]:
    """The fields of an existing infra machine that are not what a new one would have; none if there is none.

    `converted` is the new one; `provider_id` is of the Machine from which it is converted. An instance that only the
    infra machine names is somebody else's.
    """
    found = seen.infra_machine
    if not isinstance(found, Present):
        return []
    spec = found.tree.get("spec") or {}
    fields = {*differing(seen.platform, spec, tree(converted.spec))}
    instance = provider_id.rpartition("/")[2]
    for key in ("providerID", "instanceID"):
        if str(spec.get(key) or instance).rpartition("/")[2] != instance:
            fields.add(key)
    return sorted(f"spec.{field}" for field in fields)


def made_beforehand(seen: MachineSnapshot) -> bool:
    """Somebody else made the infra machine, and no Machine owns it."""
    infra = metadata_of(seen.infra_machine)
    return infra is not None and not _is_known(seen, infra)


def _is_known(seen: MachineSnapshot, infra: ObjectMeta) -> bool:
    return was_mirrored(infra) or _controller(infra) == seen.name


def _controller(infra: ObjectMeta) -> str:
    group, kind = capi.Machine.RESOURCE.group, capi.Machine.RESOURCE.kind
    for owner in infra.owner_references:
        if owner.controller and owner.kind == kind and owner.api_version.partition("/")[0] == group:
            return owner.name
    return ""
