"""What is written before an OpenStackMachine has its OpenStackServer: finalizer and mark, then the OpenStackServer."""

from windlass.api.capi import Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.plan import Create, Emit, Merge, Plan, WaitFor
from windlass.kube.control.seen import Present
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.server_of import adopting_spec, create, server_spec
from windlass.openstack.machine.snapshot import Snapshot, is_control_plane
from windlass.openstack.objects import event, intend, mark_of


def make(seen: Snapshot, found: Present[OpenStackMachine]) -> Plan | Problem:
    """A new OpenStackServer, which makes a new server."""
    infra, owner = _infra(seen), _owner(seen)
    control_plane = is_control_plane(seen, found)
    spec = server_spec(found.object, owner=owner, infra=infra, control_plane=control_plane)
    if isinstance(spec, Problem):
        return spec
    mark = mark_of(found) or seen.fresh_mark
    creation = create(found, spec, cluster=seen.cluster_name, annotations={MARK_ANNOTATION: mark})
    return _plan(intend(found, mark), creation)


def adopt(seen: Snapshot, found: Present[OpenStackMachine], server: str) -> Plan | Problem:
    """A new OpenStackServer, which stands for the existing `server` and never makes one."""
    spec = adopting_spec(found.object, owner=_owner(seen), infra=_infra(seen))
    if isinstance(spec, Problem):
        return spec
    mark = mark_of(found) or seen.fresh_mark
    annotations = {MARK_ANNOTATION: mark, ADOPT_ANNOTATION: server}
    creation = create(found, spec, cluster=seen.cluster_name, annotations=annotations)
    note = f"Server {server} is adopted: it has its OpenStackServer, and no other server is created"
    return _plan(intend(found, mark), creation, event(found, "AdoptingServer", note, occasion=mark))


def _plan(intent: Merge, creation: Create, told: Emit | None = None) -> Plan:
    return Plan.of(intent, told, creation).then(WaitFor("the OpenStackServer to have its server"))


def _infra(seen: Snapshot) -> OpenStackCluster | None:
    return seen.infra.object if isinstance(seen.infra, Present) else None


def _owner(seen: Snapshot) -> Machine | None:
    return seen.owner.object if isinstance(seen.owner, Present) else None


def foreign(found: Present[OpenStackServer]) -> str:
    """Whose it is, for people."""
    owners = [f"{each.kind} {each.name}" for each in found.metadata.owner_references]
    return " and ".join(owners) or "no OpenStackMachine"
