"""The machines of a cluster's control plane, as the caches have them, and which of their changes wake the cluster."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.capi import Address, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.seen import IndexedReader, Present, Unreadable
from windlass.kube.control.source import identity_differs
from windlass.kube.object import Object
from windlass.openstack.cluster.snapshot import ControlMachine
from windlass.openstack.constants import CONTROL_PLANE_LABEL, INGRESS_ANNOTATION
from windlass.openstack.objects import BY_CLUSTER, owner_name

BY_CONTROL_PLANE: Final = "control plane"
"""Index of the Machines that a label makes members of a control plane: by `namespace/name`."""


class _Status(Struct, gc=False):
    addresses: list[Address] = field(default_factory=list)


class _Facts(Struct, gc=False):
    status: _Status = field(default_factory=_Status)


def labelled_control_plane(machine: Object[Any]) -> Iterable[str]:
    return (f"{machine.namespace}/{machine.name}",) if CONTROL_PLANE_LABEL in machine.metadata.labels else ()


def is_control_plane(reader: IndexedReader, machine: Object[OpenStackMachine]) -> bool:
    """The OpenStackMachine has the label, or its Machine has."""
    if CONTROL_PLANE_LABEL in machine.metadata.labels:
        return True
    owner = owner_name(machine.metadata, Machine)
    return bool(owner and reader.known(Machine, BY_CONTROL_PLANE, f"{machine.namespace}/{owner}"))


def reached_otherwise(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    """It came or goes, its addresses changed, or somebody changed our annotation."""
    return identity_differs(old, new) or _facts(old) != _facts(new)


async def control_plane(
    reader: IndexedReader, infra: OpenStackCluster, *, namespace: str, cluster: str
) -> tuple[ControlMachine, ...]:
    """In the order of their names."""
    found = []
    for each in reader.indexed(OpenStackMachine, BY_CLUSTER, f"{namespace}/{cluster}"):
        if not is_control_plane(reader, each):
            continue
        machine = await reader.see(OpenStackMachine, each.name, namespace=namespace)
        if isinstance(machine, Present | Unreadable):
            server = await reader.see(OpenStackServer, each.name, namespace=namespace)
            network = infra.status.network.id if infra.status.network is not None else ""
            ports = _ports(server.object, network) if isinstance(server, Present) else ()
            found.append(ControlMachine(found=machine, ports=ports))
    return tuple(sorted(found, key=lambda each: each.name))


def _ports(server: OpenStackServer, network: str) -> tuple[str, ...]:
    """The IDs of its ports, those on this network first."""
    resources, resolved = server.status.resources, server.status.resolved
    if resources is None or resolved is None:
        return ()
    pairs = [(port.id, choice.network_id) for port, choice in zip(resources.ports, resolved.ports, strict=False)]
    return tuple(which for which, _ in sorted(pairs, key=lambda pair: pair[1] != network) if which)


def _facts(machine: Object[Any] | None) -> tuple[Any, ...]:
    if machine is None:
        return ()
    seen = machine.glimpse(_Facts)
    return (machine.metadata.annotations.get(INGRESS_ANNOTATION), seen.status.addresses if seen is not None else None)
