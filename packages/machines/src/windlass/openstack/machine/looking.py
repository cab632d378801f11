"""What the decision about an OpenStackMachine asks of other objects."""

from msgspec.structs import replace

from windlass.api.capi import Cluster, Machine, MachineSet
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.question import Cached, Confirmed
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.openstack.collected import named_owner, refers_to
from windlass.openstack.machine.existing import existing_server
from windlass.openstack.machine.snapshot import OpenStackMachineSnapshot, cluster_name_of
from windlass.openstack.objects import fresh_mark, is_held, is_paused


def with_others(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> OpenStackMachineSnapshot:
    """The snapshot, with a new mark, and with what decides whether the finalizer goes, or `Paused` is said: an absence
    in the cache is not enough for that."""
    seen = _with_owners(seen, found) if found.deleting else seen
    # A server that exists has to be looked for, although nothing has the mark.
    mark = fresh_mark(seen, found, unborn=not existing_server(seen, found))
    seen = replace(seen, fresh_mark=mark)
    decides = is_held(found) and (found.deleting or is_paused(found, seen.cluster))
    if not (decides and isinstance(seen.server, Absent)):
        return seen
    server = seen.need(Confirmed(OpenStackServer, found.metadata.name, found.metadata.namespace))
    return replace(seen, server=server)


def _with_owners(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> OpenStackMachineSnapshot:
    place, machine, cluster, infra, above = found.metadata.namespace, _machine(seen, found), None, None, None
    if isinstance(machine, Present) and machine.deleting:
        above = named_owner(seen, machine, MachineSet)
    name = cluster_name_of(found, machine)
    if name:  # it may be paused: nothing is deleted before that is certain
        cluster = seen.need(Confirmed(Cluster, name, place))
    if isinstance(cluster, Present) and (ref := cluster.object.spec.infrastructure_ref).name:
        infra = seen.need(Cached(OpenStackCluster, ref.name, place))
    return replace(seen, owner=machine, machine_set=above, cluster_name=name, cluster=cluster, infra=infra)


def _machine(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> Seen[Machine] | None:
    """Its owner. Core deletes it also with a Machine that refers to it and is not its owner yet."""
    if (machine := named_owner(seen, found, Machine)) is not None:
        return machine
    namesake = seen.need(Cached(Machine, found.metadata.name, found.metadata.namespace))
    return namesake if refers_to(namesake, found) else None
