"""What the controllers read from their objects, and write to them, in the same way: mark, finalizer, pause, owner."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.capi import Cluster
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Secret
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.mapi import Machine as MachineApiMachine
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.plan import Emit, Merge, Plan, RemoveFinalizers, target
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen, Unreadable
from windlass.kube.object import NamespacedName, Object
from windlass.openstack import constants
from windlass.openstack.cloud.marks import root_of
from windlass.openstack.ownership import annotation_of, claim_of, holder_uid, place_of
from windlass.openstack.questions import NewMark

FINALIZERS: Final[dict[type[Any], str]] = {
    OpenStackServer: constants.SERVER_FINALIZER,
    OpenStackMachine: constants.MACHINE_FINALIZER,
    OpenStackCluster: constants.CLUSTER_FINALIZER,
    OpenStackFloatingIPPool: constants.POOL_FINALIZER,
    IPAddress: constants.ADDRESS_FINALIZER,
    IPAddressClaim: constants.CLAIM_FINALIZER,
    Secret: constants.SECRET_FINALIZER,
    MachineApiMachine: constants.MACHINE_API_FINALIZER,
}
BY_CLUSTER: Final = "cluster"
"""Index of what belongs to a Cluster: by its `namespace/name`."""
BY_MARK: Final = "mark"
"""Index of objects with a mark: by its root."""


def unseen(found: Absent | Unreadable | NotServedKind, kind: type[KubernetesObject]) -> Plan:
    """Nothing is done about an object that does not exist, or cannot be read."""
    name = kind.RESOURCE.kind
    return Plan.nothing(f"no {name}" if isinstance(found, Absent) else f"the {name} cannot be read: {found.why}")


def mark_of(found: Present[Any]) -> str:
    """The mark that is persisted, and is the object's own; empty if there is none."""
    claim = claim_of(found)
    return claim.mark if claim.holds else ""


def fresh_mark(seen: Asking, found: Present[Any], *, unborn: bool) -> str:
    """A new mark for the object, the same until it is stored; empty if it has one of its own. `unborn`: nothing of the
    object can exist in a cloud."""
    return "" if mark_of(found) else seen.need(NewMark(holder_uid(found), place_of(found), unborn))


def is_held(found: Present[Any]) -> bool:
    """Whether the object stays until we release it."""
    return FINALIZERS[type(found.object)] in found.metadata.finalizers


def intend(found: Present[Any], mark: str, *, carried: bool = False) -> Merge:
    """Finalizer and mark in one write; it changes nothing if both are there. Without a `mark` the annotation stays.
    `carried`: the mark is that of another object, and follows it."""
    annotations, finalizers = dict(found.metadata.annotations), list(found.metadata.finalizers)
    finalizer = FINALIZERS[type(found.object)]
    held = finalizers if finalizer in finalizers else [*finalizers, finalizer]
    own = mark if carried else mark_of(found) or mark
    marked = {**annotations, annotation_of(type(found.object)): own} if mark else annotations
    return Merge(
        target=target(found),
        observed={"metadata": {"annotations": annotations, "finalizers": finalizers}},
        desired={"metadata": {"annotations": marked, "finalizers": held}},
        why="what is created can be found, and the object stays until it is gone",
    )


def dropped(found: Present[Any], fresh: str, rival: str) -> Plan:
    """The object gets a mark of its own in place of that of `rival`, with which it was copied."""
    note = f"It was made from a copy of {rival}: it has nothing of what that one has in the cloud"
    return Plan.of(intend(found, fresh), event(found, "MarkDropped", note, warning=True, occasion=fresh))


def release(found: Present[Any], why: str) -> RemoveFinalizers:
    held, ours = tuple(found.metadata.finalizers), FINALIZERS[type(found.object)]
    return RemoveFinalizers(target=target(found), observed=held, finalizers=(ours,), why=why)


def claim_name(server: Present[OpenStackServer]) -> str:
    """The name of the IPAddressClaim of a server that asks for a floating IP."""
    return f"{server.metadata.name}{constants.CLAIM_SUFFIX}"


def kept_for(claim: Present[IPAddressClaim]) -> str:
    """The mark of the Machine of the Machine API that the claim is kept for; empty if it is not."""
    return claim.metadata.annotations.get(constants.KEPT_ANNOTATION, "")


def event(found: Present[Any], reason: str, note: str, *, warning: bool = False, occasion: str = "") -> Emit:
    return Emit(
        target=target(found),
        type="Warning" if warning else "Normal",
        reason=reason,
        note=note,
        source=constants.EVENT_SOURCE,
        occasion=occasion,
    )


def is_paused(found: Present[Any], cluster: Seen[Cluster] | None) -> bool:
    """The Cluster, or an annotation of the object, says that nothing may be done."""
    by_cluster = isinstance(cluster, Present) and bool(cluster.object.spec.paused)
    return by_cluster or constants.PAUSED_ANNOTATION in found.metadata.annotations


def leads_to_machines(infra: Present[OpenStackCluster]) -> bool:
    """The controller of this OpenStackCluster says by an annotation which machines its API endpoint leads to."""
    spec, lb = infra.object.spec, infra.object.spec.api_server_load_balancer
    balanced = lb is not None and lb.enabled is not False
    floats = not (spec.disable_external_network or spec.disable_api_server_floating_ip)
    external = constants.MANAGED_BY_ANNOTATION in infra.metadata.annotations
    return not external and (balanced or floats or bool(spec.api_server_floating_ip))


def owner_name(meta: ObjectMeta, kind: type[KubernetesObject]) -> str:
    """The name of the owner of this kind, in any version; empty if there is none."""
    group = kind.RESOURCE.group
    owners = (each for each in meta.owner_references if each.api_version.split("/")[0] == group)
    return next((each.name for each in owners if each.kind == kind.RESOURCE.kind), "")


def machine_of(server: Present[OpenStackServer]) -> str:
    """The name of the OpenStackMachine of a server: its owner, or the one of its name if nobody owns it and it belongs
    to a cluster, as after a restore; empty if it stands alone."""
    meta = server.metadata
    if meta.owner_references or not meta.labels.get(constants.CLUSTER_LABEL):
        return owner_name(meta, OpenStackMachine)
    return meta.name


def labelled(found: Object[Any]) -> tuple[str, ...]:
    """The index `BY_CLUSTER` of objects that a label assigns to their Cluster."""
    label = found.metadata.labels.get(constants.CLUSTER_LABEL)
    return (f"{found.namespace}/{label}",) if label else ()


def marked(found: Object[Any]) -> tuple[str, ...]:
    """The index `BY_MARK`."""
    mark = found.metadata.annotations.get(annotation_of(found.kind))
    return (root_of(mark),) if mark else ()


class _Reference(Struct, gc=False):
    kind: str = ""
    name: str = ""


class _Spec(Struct, rename="camel", gc=False):
    cluster_name: str = ""
    infrastructure_ref: _Reference = field(default_factory=_Reference)
    paused: bool | None = None


class References(Struct, gc=False):
    """What Machines and Clusters refer to, and whether they are paused, even if other fields are malformed."""

    spec: _Spec = field(default_factory=_Spec)


def infrastructure(kind: type[KubernetesObject]) -> Callable[[Object[Any]], tuple[NamespacedName, ...]]:
    """A map for watches: from a Machine or Cluster to its infrastructure object, if that is a `kind`."""

    def named_by(found: Object[Any]) -> tuple[NamespacedName, ...]:
        seen = found.glimpse(References)
        if seen is None or seen.spec.infrastructure_ref.kind != kind.RESOURCE.kind:
            return ()
        return ((found.namespace, seen.spec.infrastructure_ref.name),)

    return named_by
