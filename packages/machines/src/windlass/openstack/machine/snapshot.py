"""The input of a decision about an OpenStackMachine, and facts that follow from the objects alone."""

from typing import Final

from windlass.api.capi import Cluster, Machine, MachineSet
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_server import OpenStackServer
from windlass.kube.conditions import find
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present, Seen
from windlass.openstack.constants import CLUSTER_LABEL, CONTROL_PLANE_LABEL
from windlass.openstack.status import INSTANCE_PARTS

INGRESS_READY: Final = "APIServerIngressReady"
"""The condition of machines of the control plane: the API endpoint of the cluster leads to them."""
HANDED_DOWN: Final = "OpenStackMachine"
"""The value of the annotation on an OpenStackServer that was paused by its machine."""


class OpenStackMachineSnapshot(Asking, frozen=True, kw_only=True):
    """`owner` None: no Machine owns it. `cluster` None: no Cluster is known, and so no `infra`.

    `server` is the OpenStackServer of its name.

    What the decision asks for: `machine_set`, that of the Machine, if both it and this object are being deleted;
    `fresh_mark`, a new mark, in case it has none.
    """

    machine: Seen[OpenStackMachine]
    owner: Seen[Machine] | None = None
    machine_set: Seen[MachineSet] | None = None
    cluster: Seen[Cluster] | None = None
    cluster_name: str = ""
    infra: Seen[OpenStackCluster] | None = None
    server: Seen[OpenStackServer]
    fresh_mark: str = ""
    last: Outcome = Outcome()

    @property
    def known_infra(self) -> OpenStackCluster | None:
        return self.infra.object if isinstance(self.infra, Present) else None


def cluster_name_of(found: Present[OpenStackMachine], machine: Seen[Machine] | None) -> str:
    """The name of its Cluster, by its Machine or by its label; empty if there is none."""
    named = machine.object.spec.cluster_name if isinstance(machine, Present) else ""
    return named or found.metadata.labels.get(CLUSTER_LABEL, "")


def is_control_plane(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> bool:
    owner = seen.owner
    labels = owner.metadata.labels if isinstance(owner, Present) else {}
    return CONTROL_PLANE_LABEL in found.metadata.labels or CONTROL_PLANE_LABEL in labels


def parts_of(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> tuple[str, ...]:
    """What `Ready` is made from."""
    of_control_plane = is_control_plane(seen, found) or find(found.object.status.conditions, INGRESS_READY) is not None
    return (*INSTANCE_PARTS, INGRESS_READY) if of_control_plane else INSTANCE_PARTS
