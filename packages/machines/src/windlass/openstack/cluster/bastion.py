"""The bastion of a cluster: an OpenStackServer, which is replaced when its spec changes, with a floating IP that stays.

| its OpenStackServer | bastion | what is done |
|---|---|---|
| belongs to something else | wanted | InvalidConfiguration |
| is being deleted | any | wait until it is gone |
| exists | not wanted, or the cluster is being deleted | delete it |
| exists, other than the spec wants it | wanted | delete it; what differs is told, and planned before |
| exists | wanted | what it says is told; its floating IP (`bastion_address`) may lead to its port before it is ready |
| none | wanted | create it, once the cluster has its network and security groups |
| none | not wanted | delete the floating IP, if it is ours |

The cluster is provisioned without it: its trouble is the condition `BastionReady`. Its credentials are those of the
cluster; when they change, they are handed down without a replacement. A server that somebody deleted in the cloud is
told about, and not created again until its OpenStackServer is deleted.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capo import SecurityGroup
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer, OpenStackServerSpec
from windlass.api.meta import Condition, tree
from windlass.kube.conditions import FALSE, TRUE, condition, find
from windlass.kube.control.merge import changes
from windlass.kube.control.plan import Action, Create, Delete, Outcome, Plan, WaitFor, target
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cluster import bastion_address
from windlass.openstack.cluster.bastion_address import ADDRESS
from windlass.openstack.cluster.part import Obstacle, Ours, Part
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.conditions import mirrored
from windlass.openstack.machine.server_of import create, foreign, mapped, with_identity
from windlass.openstack.objects import event
from windlass.openstack.status import AUTHENTICATED, BASTION_READY, DELETING, INSTANCE_READY, PROGRESSING, Reason

_UNORDERED: Final = frozenset(
    {
        "allowedAddressPairs",
        "notTags",
        "notTagsAny",
        "schedulerHintAdditionalProperties",
        "securityGroups",
        "serverMetadata",
        "tags",
        "tagsAny",
        "valueSpecs",
    }
)
"""Lists whose order means nothing."""
_NONE: Final = condition(BASTION_READY, True, Reason.READY, "No bastion is wanted")
_LOST: Final = (Reason.INSTANCE_DELETED, Reason.INSTANCE_NOT_FOUND)
_REMEDY: Final = "Delete the OpenStackServer, and another one is created"


class Step(Struct, frozen=True, kw_only=True):
    """What comes next for the bastion.

    `ready` is its condition, unless `part`, which is about the cloud, has obstacles. `actions` are about its
    OpenStackServer, and `awaits` is what that one does next: nobody has to ask the cloud for it. `progress`: what the
    OpenStackServer says about that.
    """

    ready: Condition
    progress: Condition | None = None
    part: Part = ADDRESS
    actions: tuple[Action, ...] = ()
    awaits: str = ""

    @property
    def is_there(self) -> bool:
        return not self.awaits and self.part.is_there and self.ready.status == TRUE


def name_of(cluster: str) -> str:
    """The name of the OpenStackServer, and of the server."""
    return f"{cluster}-bastion"


def is_wanted(infra: OpenStackCluster) -> bool:
    return infra.spec.bastion is not None and infra.spec.bastion.enabled is not False


def own_server(
    found: Present[OpenStackCluster], server: Seen[OpenStackServer] | None
) -> Present[OpenStackServer] | None:
    """Its OpenStackServer; None if there is none, or if it belongs to something else.

    Its owner is known by name: a moved object has another uid.
    """
    if not isinstance(server, Present):
        return None
    owner = OpenStackCluster.RESOURCE.kind, found.metadata.name
    return server if any((each.kind, each.name) == owner for each in server.metadata.owner_references) else None


def bastion(
    found: Present[OpenStackCluster],
    server: Seen[OpenStackServer] | None,
    ours: Ours,
    inventory: NetworkInventory,
    *,
    cluster: str,
    last: Outcome,
) -> Step:
    """`cluster` is the name of the Cluster; `server` the OpenStackServer of the name that the bastion has."""
    own = own_server(found, server)
    if own is None and not isinstance(server, Absent | None):
        if not is_wanted(found.object):
            return _retired(found, ours, inventory)
        return _in_the_way(_obscure(server))
    wanted = _wanted(found.object) if is_wanted(found.object) else None
    if own is not None and ((why := _why_not(own, wanted)) or own.deleting):
        return _delete(found, own, why)
    match wanted:
        case None:
            return _retired(found, ours, inventory)
        case Problem(message=message):
            return _in_the_way(f"spec.bastion: {message}")
        case str():
            return _awaited(found, own, wanted)
    if own is None:
        return _create(found, wanted, cluster=cluster, last=last)
    step, credentials = _reported(found, own, ours, inventory), with_identity(own, wanted.identity_ref)
    return replace(step, actions=(credentials,)) if credentials is not None else step


def unfit(found: Present[OpenStackCluster], server: Seen[OpenStackServer] | None) -> tuple[Action, ...]:
    """Deletes an OpenStackServer that cannot stay, which needs no look at the cloud. The look that follows is made
    while Nova deletes the server."""
    own = own_server(found, server)
    if own is None or own.deleting:
        return ()
    why = _why_not(own, _wanted(found.object) if is_wanted(found.object) else None)
    return _delete(found, own, why).actions if why else ()


def removal(found: Present[OpenStackCluster], server: Seen[OpenStackServer] | None) -> tuple[Plan, str] | None:
    """Deletes the OpenStackServer, whatever the spec says, and says how far that is; None if there is none. What it
    has in the cloud goes with it; its floating IP goes with the others of the cluster."""
    own = own_server(found, server)
    if own is None:
        if isinstance(server, Present | Absent | None):
            return None
        return Plan.nothing().then(WaitFor(_obscure(server))), _obscure(server)
    step = _delete(found, own, "its cluster is being deleted")
    return Plan(step.actions, WaitFor(step.awaits)), step.ready.message


def _wanted(infra: OpenStackCluster) -> OpenStackServerSpec | Problem | str:
    """The spec of the OpenStackServer, what is wrong with that of the bastion, or what is awaited."""
    given, status = infra.spec.bastion, infra.status
    if given is None or given.spec is None or infra.spec.identity_ref is None:
        return Problem("Invalid", "bastion", "spec is missing: set it, or set enabled to false")
    if status.network is None or not status.network.subnets:  # a port that is made now would have no address
        return "the subnets of the cluster"
    groups = []
    if infra.spec.managed_security_groups is not None:
        group = status.bastion_security_group
        if group is None or not group.id:
            return "the security group of the bastion"
        groups = [SecurityGroup(id=group.id)]
    zone = given.availability_zone or None
    if given.spec.floating_ip_pool_ref is not None:
        text = "spec.floatingIPPoolRef cannot be used for a bastion, which has a floating IP of its own: remove it"
        return Problem("Invalid", "floatingIPPoolRef", text)
    return mapped(given.spec, infra.spec.identity_ref, infra=infra, groups=groups, zone=zone)


def _why_not(own: Present[OpenStackServer], wanted: OpenStackServerSpec | Problem | str | None) -> str:
    """Why it cannot stay; empty if it stays, or while that is not known."""
    if wanted is None:
        return "there shall be no bastion"
    if not isinstance(wanted, OpenStackServerSpec):
        return ""
    differs = changes(_comparable(own.object.spec), _comparable(wanted))
    what = ", ".join(f"{each.path} {_word(each.before)} -> {_word(each.after)}" for each in differs)
    return f"{what}: the bastion is replaced" if what else ""


def _comparable(spec: OpenStackServerSpec) -> Any:
    """The spec without what does not make another server: credentials, defaults, and the order of sets."""
    plain = tree(replace(spec, trunk=spec.trunk or None, config_drive=spec.config_drive or None))
    return _sorted({name: value for name, value in plain.items() if name != "identityRef"})


def _sorted(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        default = {"from": "Name"} if name == "availabilityZone" else {}  # as the API server stores a volume's
        return {**default, **{key: _sorted(each, key) for key, each in value.items()}}
    if isinstance(value, list):
        items = [_sorted(each) for each in value]
        return sorted(items, key=_word) if name in _UNORDERED else items
    return value


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _create(found: Present[OpenStackCluster], wanted: OpenStackServerSpec, *, cluster: str, last: Outcome) -> Step:
    name = name_of(cluster)
    failed = last.failed
    if failed is not None and isinstance(failed.action, Create):
        return _in_the_way(f"Failed to create OpenStackServer {name}: {failed.error}", Reason.INSTANCE_CREATE_FAILED)
    action = create(found, wanted, name=name, cluster=cluster)
    step = _waiting(f"Waiting for OpenStackServer {name}", found, name=name, actions=(action,))
    said = find(found.object.status.conditions, BASTION_READY)
    if said is not None and said.reason == Reason.INSTANCE_CREATE_FAILED:  # it is told until one is created
        return replace(step, ready=condition(BASTION_READY, False, said.reason, said.message))
    return step


def _delete(found: Present[OpenStackCluster], own: Present[OpenStackServer], why: str) -> Step:
    """`why`: empty if somebody else deletes it."""
    name = own.metadata.name
    message = f"Deleting OpenStackServer {name}" + (f": {why}" if why else "")
    said = find(own.object.status.conditions, DELETING)
    how = f". {said.message}" if said is not None and said.status == TRUE and said.message else ""
    deletion = Delete(target=target(own), pin=True, deleting=own.deleting, why=why)
    news = () if own.deleting else (event(found, "DeletingBastion", message, occasion=own.metadata.uid),)
    return _waiting(f"{message}{how}", found, name=name, actions=(deletion, *news))


def _awaited(found: Present[OpenStackCluster], own: Present[OpenStackServer] | None, what: str) -> Step:
    """A bastion that is there stays as it is until the rest is known, as after a move of the cluster."""
    name = own.metadata.name if own is not None else ""
    return _waiting(f"Waiting for {what}", found, name=name)


def _waiting(message: str, found: Present[OpenStackCluster], *, name: str, actions: tuple[Action, ...] = ()) -> Step:
    ready = condition(BASTION_READY, False, Reason.PROGRESSING, message)
    part = replace(ADDRESS, fields=_fields(found, name=name))
    return Step(ready=ready, part=part, actions=actions, awaits=message)


def _in_the_way(text: str, reason: Reason = Reason.INVALID_CONFIGURATION) -> Step:
    ready = condition(BASTION_READY, False, reason, text)
    return Step(ready=ready, part=replace(ADDRESS, obstacles=(Obstacle(BASTION_READY, reason, text),)))


def _obscure(server: Any) -> str:
    if isinstance(server, Present):
        name = server.metadata.name
        return f"OpenStackServer {name} belongs to {foreign(server)}: delete it, or set spec.bastion.enabled to false"
    return f"The OpenStackServer of the bastion cannot be read: {server.why}"


def _retired(found: Present[OpenStackCluster], ours: Ours, inventory: NetworkInventory) -> Step:
    """Its server is gone, or there never was one."""
    part = bastion_address.released(ours, inventory, keep=bastion_address.pinned(found.object))
    return Step(ready=_NONE, part=replace(part, fields={"bastion": None}) if part.is_there else part)


def _reported(
    found: Present[OpenStackCluster], own: Present[OpenStackServer], ours: Ours, inventory: NetworkInventory
) -> Step:
    """The bastion is as the spec wants it: its status, and its floating IP."""
    status, name = own.object.status, own.metadata.name
    said = {each.type: each for each in mirrored(own, addresses=bool(status.addresses))}
    worst = said.get(AUTHENTICATED)
    worst = worst if worst is not None and worst.status == FALSE else said[INSTANCE_READY]
    ready = replace(worst, type=BASTION_READY)
    known = {"id": status.instance_id, "state": status.instance_state, "sshKeyName": own.object.spec.ssh_key_name}
    port = bastion_address.port_of(found.object, own.object, inventory)
    ports = bastion_address.ports_of(own.object)
    part, address = bastion_address.next_step(found.object, port, ours, inventory, ports=ports)
    if ready.status != TRUE:
        remedy = f". {_REMEDY}" if ready.reason in _LOST else ""
        message, progress = f"OpenStackServer {name}: {ready.message}{remedy}", said[PROGRESSING]
        building = bool(status.instance_id) and port is not None and progress.status == TRUE
        if building and address:
            known["floatingIP"] = address
        # Nova takes seconds, and so does Neutron. What is in the way of the address is told when the server is ready.
        early = part.requests if building else ()
        part = replace(ADDRESS, requests=early, why=part.why, fields=_fields(found, name=name, **known))
        return Step(ready=replace(ready, message=message), progress=progress, part=part, awaits=message)
    ip = next((each.ip_address for each in port.fixed_ips), "") if port is not None else ""
    fields = _fields(found, name=name, **known, ip=ip, floatingIP=address)
    if not part.is_there:
        what = part.waits or ", ".join(f"{each.verb} {each.subject}" for each in part.requests)
        ready = condition(BASTION_READY, False, Reason.PROGRESSING, f"Bastion: waiting for {what}")
    return Step(ready=ready, part=replace(part, fields=fields))


def _fields(found: Present[OpenStackCluster], **known: str | None) -> dict[str, Any]:
    """`status.bastion`; the floating IP is kept while the server is replaced."""
    had = found.object.status.bastion
    whole = {"floatingIP": had.floating_ip if had is not None else "", **known}
    told = {name: value for name, value in whole.items() if value}
    return {"bastion": told} if told else {}
