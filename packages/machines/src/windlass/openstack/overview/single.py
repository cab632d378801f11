"""Objects that belong to no OpenStackCluster, beside what they have in the cloud: a tree for each. Pure.

    OpenStackFloatingIPPool ─ floating IP
    Machine                              of the Machine API
    └─ server, volume, port ─ trunk, floating IP

A Machine records its server alone, in `spec.providerID`; all else is what hangs on that server, or has its mark.
"""

from collections.abc import Iterator
from itertools import chain

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.mapi import Machine
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import mark_of as mark_in_cloud
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.resources import FloatingIp, Port, Server, Trunk, Volume
from windlass.openstack.machine_api.constants import MACHINE_API
from windlass.openstack.machine_api.snapshot import recorded
from windlass.openstack.overview.tree import FOREIGN, GONE, NAMES, UNKNOWN, Node, Of, blind, instance, of_object
from windlass.openstack.ownership import Claim, claim_of


def tree_of_pool(pool: Present[OpenStackFloatingIPPool], sight: Of) -> Node:
    """The floating IPs that the pool names, has given, or has made."""
    return of_object(pool, tuple(_floating_ips(pool, sight)), blind(sight))


def _floating_ips(pool: Present[OpenStackFloatingIPPool], sight: Of) -> Iterator[Node]:
    claim, users = claim_of(pool), pool.object.spec.pre_allocated_floating_ips
    claims = {each.address: f"claim {each.name}" for each in pool.object.status.claims}
    there = (
        {each.floating_ip_address: each for each in sight.all(FloatingIp)}
        if isinstance(sight, ProjectInventory)
        else {}
    )
    made = (address for address, each in there.items() if claim.is_of(mark_in_cloud(each)))
    for address in dict.fromkeys(chain(users, claims, made)):
        detail, found, notes = claims.get(address, "free"), there.get(address), list[str]()
        if found is None:
            gone = isinstance(sight, ProjectInventory)
            state, which = ("-" if gone else UNKNOWN), ""
            notes += [GONE] if gone else []
        else:
            state, which = found.status or "-", found.id
            other = mark_in_cloud(found)
            notes += [FOREIGN] if other and not claim.is_of(other) else []
            if found.port_id and address not in claims:
                notes.append(f"no claim has it, and it leads to port {found.port_id}")
        yield Node(kind=NAMES[FloatingIp], name=address, id=which, state=state, detail=detail, notes=tuple(notes))


def tree_of_machine(machine: Present[Machine], sight: Of) -> Node:
    """The server of the Machine with all that it has. Under another authority it is the OpenStackMachine's."""
    status, named = machine.object.status, recorded(machine).server
    authority = status.authoritative_api or machine.object.spec.authoritative_api or MACHINE_API
    if authority != MACHINE_API:
        return of_object(machine, (), (f"the authority is {authority}",), state=status.phase or "")
    volumes, ports, trunks = _belongings(named, claim_of(machine), sight)
    below = instance(named, volumes, ports, trunks, claim=claim_of(machine), sight=sight)
    return of_object(machine, tuple(below), blind(sight), state=status.phase or "")


def _belongings(server: str, claim: Claim, sight: Of) -> tuple[list[str], list[str], list[str]]:
    """The IDs of volumes, ports and trunks that hang on the server, or have the mark."""
    if isinstance(sight, str):
        return [], [], []
    found = sight.get(Server, server)
    attached = {each.id for each in found.volumes} if found is not None else set[str]()
    volumes = [each.id for each in sight.all(Volume) if each.id in attached or claim.is_of(mark_in_cloud(each))]
    ports = [
        each.id for each in sight.all(Port) if (server and each.device_id == server) or claim.is_of(mark_in_cloud(each))
    ]
    trunks = [each.id for each in sight.all(Trunk) if each.port_id in ports or claim.is_of(mark_in_cloud(each))]
    return volumes, ports, trunks
