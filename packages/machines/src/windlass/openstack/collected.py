"""Tells whether the garbage collector deleted an object after a restore: its owner lives here under another uid.

`kubectl apply` of exported YAML gives each object a new uid, and leaves the old ones in ownerReferences. The collector
deletes what names only owners that are gone. No person asked for that, so what the object has in the cloud stays.

| object | owner that lives under another uid | what is done | why |
|---|---|---|---|
| OpenStackServer | the OpenStackMachine that had its server | it goes alone | The machine makes it again |
| the same | the same, and a person deletes that machine | the server goes too | They want it gone |
| the same | none, and nobody has visited the object | it goes alone | Nothing was made for it: it was restored alone |
| the same | an OpenStackMachine that had not | the server goes too | Somebody made a new machine |
| OpenStackMachine | the Machine that refers to it | it goes alone | Applied again, it has its OpenStackServer again |
| the same | for its Machine: a MachineSet that was there before | it goes alone | The same |
| OpenStackCluster | the Cluster that refers to it | it goes alone | Applied again, it has all that it had |
| the same | the same, and a person deletes that Cluster | all goes | They want it gone |
| Machine of the Machine API | a MachineSet that was there before | it goes alone | Applied again, it has its server |
| the same | a MachineSet that was made after | the server goes too | A set was deleted, and another one made |
| OpenStackServer of a bastion | the OpenStackCluster | the server goes too | Another one is made, with its address |
| IPAddressClaim | the OpenStackServer | it goes | Another one is made; its pool says what addresses do |

Scaling down and deleting a Cluster are not affected: ownerReferences name the uids of living owners there.
"""

from typing import Any

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.question import Asking, Cached, Live
from windlass.kube.control.seen import Present, Seen, metadata_of
from windlass.openstack.objects import owner_name


def named_owner(seen: Asking, found: Present[Any], kind: type[KubernetesObject]) -> Seen[Any] | None:
    """What has the kind and the name of an owner of the object, by the API server's word: a cache may still have the
    owner of before the restore. None if no owner of this kind is named."""
    name, place = owner_name(found.metadata, kind), found.metadata.namespace
    if not name:
        return None
    cached: Seen[Any] = seen.need(Cached(kind, name, place))
    if isinstance(cached, Present) and cached.deleting and cached.metadata.uid in _uids(found, kind):
        return cached  # it is deleted with its owner, as usual
    live: Seen[Any] = seen.need(Live(kind, name, place))
    return live


def other_owner(found: Present[Any], kind: type[KubernetesObject], owner: Seen[Any] | None) -> ObjectMeta | None:
    """The metadata of `owner`, if the object names it under another uid; else None."""
    living, uids = metadata_of(owner) if owner is not None else None, _uids(found, kind)
    return living if living is not None and uids and living.uid not in uids else None


def is_machine_collected(found: Present[OpenStackMachine], owner: Seen[Machine] | None) -> bool:
    """The Machine that refers to it lives, and may be on its way out by the collector too."""
    return refers_to(owner, found) and other_owner(found, Machine, owner) is not None


def refers_to(machine: Seen[Machine] | None, found: Present[OpenStackMachine]) -> bool:
    return isinstance(machine, Present) and machine.object.spec.infrastructure_ref.name == found.metadata.name


def is_cluster_collected(found: Present[OpenStackCluster], owner: Present[Cluster]) -> bool:
    """The Cluster that refers to it stays. What owns no Cluster is deleted by people alone."""
    refers = owner.object.spec.infrastructure_ref.name == found.metadata.name
    return refers and not owner.deleting and other_owner(found, Cluster, owner) is not None


def is_of_set_collected(found: Present[Any], kind: type[KubernetesObject], owner: Seen[Any] | None) -> bool:
    """The MachineSet of this kind stays, and was there when the Machine was made with the uid of an earlier one. Times
    are whole seconds."""
    living = other_owner(found, kind, owner)
    if living is None or living.deletion_timestamp is not None:
        return False
    return (living.creation_timestamp or "") <= (found.metadata.creation_timestamp or "")


def why_left(
    found: Present[Any], kind: type[KubernetesObject], owner: ObjectMeta, what: str, *, deleted: str = "this object"
) -> str:
    """`what` stays and what to do, as a sentence. `deleted`: what named the earlier owner."""
    whose = f"{kind.RESOURCE.kind} {found.metadata.namespace}/{owner.name}"
    return (
        f"Left in the cloud: the garbage collector deleted {deleted} after a restore, "
        f"because {whose} has another uid than its ownerReferences say: {what}"
    )


def _uids(found: Present[Any], kind: type[KubernetesObject]) -> set[str]:
    resource = kind.RESOURCE
    return {
        each.uid
        for each in found.metadata.owner_references
        if (each.api_version.split("/")[0], each.kind) == (resource.group, resource.kind)
    }
