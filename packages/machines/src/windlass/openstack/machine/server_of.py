"""The OpenStackServer of an OpenStackMachine: what its spec takes from the machine, its Machine and its cluster.

That of a bastion is mapped in the same way (`windlass.openstack.cluster.bastion`).

| field | from |
|---|---|
| `identityRef` | the machine, else its cluster |
| `availabilityZone` | `failureDomain` of the Machine |
| `userDataRef` | `bootstrap.dataSecretName` of the Machine |
| `tags` | the machine, then its cluster, each once |
| `ports` | the machine; without any, one |
| a port's network | the cluster, if the port names none |
| its subnets then | `primarySubnet` of the cluster, else all of its `subnets` |
| a port's security groups | its own, else the managed one of its cluster; then those of the machine |
| the rest | the machine |

Security groups are left out where port security is off: Neutron refuses both together.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from windlass.api import capo
from windlass.api.capi import Machine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer, OpenStackServerSpec, SecretReference
from windlass.api.meta import owner_reference, tree
from windlass.kube.control.plan import Create, Merge, Plan, Target, WaitFor, target
from windlass.kube.control.seen import Present
from windlass.openstack.constants import ADOPT_ANNOTATION, CLUSTER_LABEL, MARK_ANNOTATION, SERVER_FINALIZER
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.snapshot import OpenStackMachineSnapshot, is_control_plane
from windlass.openstack.objects import event, intend, mark_of


def identity_of(machine: capo.OpenStackMachine, infra: OpenStackCluster | None) -> capo.IdentityReference | None:
    """The credentials: those of the machine, else of its cluster."""
    if machine.spec.identity_ref is not None:
        return machine.spec.identity_ref
    return infra.spec.identity_ref if infra is not None else None


def server_spec(
    machine: capo.OpenStackMachine, *, owner: Machine | None, infra: OpenStackCluster | None, control_plane: bool
) -> OpenStackServerSpec | Problem:
    """The spec, or what is wrong with that of the machine."""
    identity = identity_of(machine, infra)
    if identity is None:
        where = f" and in OpenStackCluster {infra.metadata.name}" if infra is not None else ""
        return Problem("Invalid", "identityRef", f"spec.identityRef is missing here{where}: set it")
    groups = _managed(infra, control_plane=control_plane) if infra is not None else []
    return mapped(machine.spec, identity, infra=infra, groups=groups, zone=_zone(owner), user_data=_user_data(owner))


def mapped(
    spec: capo.OpenStackMachineSpec,
    identity: capo.IdentityReference,
    *,
    infra: OpenStackCluster | None,
    groups: list[capo.SecurityGroup],
    zone: str | None = None,
    user_data: str = "",
) -> OpenStackServerSpec | Problem:
    """The spec of a machine or bastion, or what is wrong with it. `groups`: for ports that name none. `user_data` is
    the name of a Secret."""
    ports = _ports(spec, infra, groups)
    if isinstance(ports, Problem):
        return ports
    return _spec(spec, identity, ports, infra=infra, zone=zone, user_data=user_data)


def adopting_spec(
    machine: capo.OpenStackMachine, *, owner: Machine | None, infra: OpenStackCluster | None
) -> OpenStackServerSpec | Problem:
    """The spec for a server that exists: only the credentials matter, the rest is for people."""
    identity = identity_of(machine, infra)
    if identity is None:
        return Problem("Invalid", "identityRef", "spec.identityRef is missing, and so is the OpenStackCluster: set it")
    ports = machine.spec.ports
    return _spec(machine.spec, identity, ports, infra=infra, zone=_zone(owner), user_data=_user_data(owner))


def _spec(
    spec: capo.OpenStackMachineSpec,
    identity: capo.IdentityReference,
    ports: list[capo.Port],
    *,
    infra: OpenStackCluster | None,
    zone: str | None,
    user_data: str,
) -> OpenStackServerSpec:
    return OpenStackServerSpec(
        identity_ref=identity,
        image=spec.image,
        ports=ports,
        ssh_key_name=spec.ssh_key_name,
        flavor=spec.flavor,
        flavor_id=spec.flavor_id,
        additional_block_devices=spec.additional_block_devices,
        root_volume=spec.root_volume,
        availability_zone=zone,
        config_drive=spec.config_drive,
        floating_ip_pool_ref=spec.floating_ip_pool_ref,
        server_group=spec.server_group,
        server_metadata=spec.server_metadata,
        tags=list(dict.fromkeys([*spec.tags, *(infra.spec.tags if infra is not None else ())])),
        trunk=spec.trunk or None,
        user_data_ref=SecretReference(name=user_data) if user_data else None,
        scheduler_hint_additional_properties=spec.scheduler_hint_additional_properties,
    )


def _zone(owner: Machine | None) -> str | None:
    return (owner.spec.failure_domain or None) if owner is not None else None


def _user_data(owner: Machine | None) -> str:
    return (owner.spec.bootstrap.data_secret_name or "") if owner is not None else ""


def make(
    seen: OpenStackMachineSnapshot, found: Present[capo.OpenStackMachine], *, existing: str = ""
) -> Plan | Problem:
    """A new OpenStackServer, which makes a new server, or stands for the `existing` one and never makes one."""
    infra = seen.known_infra
    owner = seen.owner.object if isinstance(seen.owner, Present) else None
    if existing:
        spec = adopting_spec(found.object, owner=owner, infra=infra)
    else:
        spec = server_spec(found.object, owner=owner, infra=infra, control_plane=is_control_plane(seen, found))
    if isinstance(spec, Problem):
        return spec
    mark = mark_of(found) or seen.fresh_mark
    annotations, news = {MARK_ANNOTATION: mark}, None
    if existing:
        annotations[ADOPT_ANNOTATION] = existing
        note = f"Server {existing} is adopted: it has its OpenStackServer, and no other server is created"
        news = event(found, "AdoptingServer", note, occasion=mark)
    creation = create(found, spec, name=found.metadata.name, cluster=seen.cluster_name, annotations=annotations)
    return Plan.of(intend(found, mark), news, creation).then(WaitFor("the OpenStackServer to have its server"))


def foreign(found: Present[OpenStackServer]) -> str:
    """Whose it is, for people."""
    owners = [f"{each.kind} {each.name}" for each in found.metadata.owner_references]
    return " and ".join(owners) or "no OpenStackMachine"


def create(
    owner: Present[Any],
    spec: OpenStackServerSpec,
    *,
    name: str,
    cluster: str,
    annotations: Mapping[str, str] | None = None,
) -> Create:
    """The OpenStackServer, with its finalizer: it is the first thing that stands for what is made in the cloud."""
    kind = type(owner.object)
    body: dict[str, Any] = {
        "metadata": {
            "labels": {CLUSTER_LABEL: cluster},
            "annotations": annotations or {},
            "finalizers": [SERVER_FINALIZER],
            "ownerReferences": [tree(owner_reference(kind, owner.metadata))],
        },
        "spec": tree(spec),
    }
    place = owner.metadata.namespace
    return Create(target=Target(OpenStackServer, name, place), body=body, why="it has no OpenStackServer yet")


def with_identity(server: Present[OpenStackServer], wanted: capo.IdentityReference | None) -> Merge | None:
    """Other credentials for the same region, as users rotate them; None if they are for another region."""
    has = server.object.spec.identity_ref
    if wanted is None or wanted.region != has.region:
        return None
    fields = ("type", "name", "cloudName")
    observed: dict[str, Any] = dict((server.tree.get("spec") or {}).get("identityRef") or {})
    named = {**tree(wanted), "type": wanted.type or "Secret"}
    desired = {**observed, **{name: named[name] for name in fields}}
    return Merge(
        target=target(server),
        observed={"spec": {"identityRef": {**observed, "type": has.type or "Secret"}}},
        desired={"spec": {"identityRef": desired}},
        why="the credentials of its owner are others now",
    )


def with_address_pairs(server: Present[OpenStackServer], machine: capo.OpenStackMachine) -> Merge | None:
    """The allowed address pairs of the machine, which its users may change; None if its ports are not those of the
    server."""
    observed: dict[str, Any] = dict(server.tree.get("spec") or {})
    ports, wanted = list(observed.get("ports") or []), machine.spec.ports
    if len(ports) != len(wanted) or not all(isinstance(each, dict) for each in ports):
        return None
    made = []
    for has, asked in zip(ports, wanted, strict=True):
        pairs = {"allowedAddressPairs": tree(asked.allowed_address_pairs)} if asked.allowed_address_pairs else {}
        made.append({name: value for name, value in has.items() if name != "allowedAddressPairs"} | pairs)
    return Merge(
        target=target(server),
        observed={"spec": {"ports": ports}},
        desired={"spec": {"ports": made}},
        why="the allowed address pairs of its machine are others now",
    )


def _ports(
    spec: capo.OpenStackMachineSpec, infra: OpenStackCluster | None, groups: list[capo.SecurityGroup]
) -> list[capo.Port] | Problem:
    ports, network = spec.ports or [capo.Port()], _network(infra) if infra is not None else None
    if network is None and any(map(_needs_network, ports)):
        text = "no network configured: set spec.network of the OpenStackCluster, or network in each of spec.ports"
        return Problem("Invalid", "ports", text)
    made = []
    for port in ports:
        if port.network is None and network is not None and infra is not None:
            port = replace(port, network=network, fixed_ips=[capo.FixedIP(subnet=each) for each in _subnets(infra)])
        if not port.disable_port_security:
            port = replace(port, security_groups=[*(port.security_groups or groups), *spec.security_groups])
        made.append(port)
    return made


def _subnets(infra: OpenStackCluster) -> list[capo.Subnet]:
    """Where a port of the cluster's network has its addresses; none: Neutron chooses."""
    return [infra.spec.primary_subnet] if infra.spec.primary_subnet is not None else infra.spec.subnets


def _needs_network(port: capo.Port) -> bool:
    """A port without a network is on that of its subnets, if it names any."""
    return port.network is None and not any(each.subnet is not None for each in port.fixed_ips)


def _network(infra: OpenStackCluster) -> capo.Network | None:
    known = infra.status.network
    return capo.Network(id=known.id) if known is not None and known.id else infra.spec.network


def _managed(infra: OpenStackCluster, *, control_plane: bool) -> list[capo.SecurityGroup]:
    status = infra.status
    group = status.control_plane_security_group if control_plane else status.worker_security_group
    wanted = infra.spec.managed_security_groups is not None and group is not None and group.id
    return [capo.SecurityGroup(id=group.id)] if wanted and group is not None else []
