"""The floating IP that a Machine asks for: an address that the project has, led to the first port of its server.

It is never created and never deleted: the address is the user's. When the port goes, Neutron takes the address off it.
"""

from typing import TypeAlias

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.network_requests import AssociateFloatingIp
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import FloatingIp, Server
from windlass.openstack.instance.spec import Problem
from windlass.openstack.instance.state import ACTIVE
from windlass.openstack.machine_api.provider_spec import provider_spec
from windlass.openstack.machine_api.snapshot import MachineVisit
from windlass.openstack.objects import mark_of

FloatingStep: TypeAlias = AssociateFloatingIp | Problem | CloudFailure | None


def floating_query(visit: MachineVisit, server: Server) -> Query | None:
    """The question for the address; None if the Machine wants none, or its server has it."""
    given = provider_spec(visit.found.object)
    address = "" if isinstance(given, Problem) else given.floating_ip
    has = {each.addr for some in server.addresses.values() for each in some if each.type == "floating"}
    if not address or address in has or server.status != ACTIVE:
        return None
    return Query("floating ip", filters=(("floating_ip_address", address),))


def next_floating(visit: MachineVisit, server: Server) -> FloatingStep:
    """The next request, or what is in the way; None if the address leads to the server."""
    query = floating_query(visit, server)
    ports = [each.id for each in visit.inventory.ports if each.device_id == server.id]
    if query is None or not ports:
        return None
    address, answer = dict(query.filters)["floating_ip_address"], visit.cloud.answers.get(query, ())
    if isinstance(answer, CloudFailure):
        return answer
    found = next((each for each in answer if isinstance(each, FloatingIp)), None)
    if found is None:
        text = f"the project has no floating IP {address}: allocate it, or correct `floatingIP`"
        return Problem("Dependency", "floatingIP", text)
    if found.port_id in ports:
        return None
    if found.port_id:
        text = f"floating IP {address} leads to port {found.port_id} of somebody else: take it off, or choose another"
        return Problem("Dependency", "floatingIP", text)
    return AssociateFloatingIp(
        project=visit.cloud.project, mark=mark_of(visit.found), subject=address, id=found.id, port=ports[0]
    )
