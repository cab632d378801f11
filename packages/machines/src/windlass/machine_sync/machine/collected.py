"""Tells whether a user deleted a mirror, or something else did: its owner is gone, or its kind or namespace goes.

| mirror | its owner | the deletion was made by |
|---|---|---|
| in either API, whose CRD or namespace is being deleted | any | the API server (`mirroring.removal`) |
| in either API, deleted before its authority was created | any | a user who meant an earlier machine of the name |
| in either API | none | a user |
| in either API | one that no mirror has | perhaps the collector |
| in either API | is gone, or was recreated under its name | the collector |
| in either API | stays | a user |
| in the Machine API | a MachineSet, and the machine belongs to none | the set's controller, which has adopted it |
| in the Machine API | a MachineSet that is being deleted | the collector, or it makes no difference |
| in Cluster API | a MachineSet, itself a mirror, that is being deleted in the foreground | the collector |
| in Cluster API | any other MachineSet that is being deleted | a user, or Cluster API if it is the set's authority |
| in Cluster API | the Cluster, which is being deleted | the collector, or Cluster API because of the Cluster |

The collector deletes objects whose owner is gone, and objects whose owner is being deleted in the foreground. A
MachineSet adopts each Machine that its selector matches and that has no controller, and deletes Machines that exceed
its replicas. A user's deletion of such a mirror looks the same.
"""

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.control.seen import metadata_of
from windlass.machine_sync.constants import AUTHORITY_ANNOTATION
from windlass.machine_sync.machine.owners import cluster_owner
from windlass.machine_sync.machine.snapshot import MachineSnapshot, set_owner
from windlass.machine_sync.mirroring.collector import FOREGROUND, has_other_owner, is_going, is_gone, is_newer


def in_machine_api(seen: MachineSnapshot, mirror: ObjectMeta) -> bool:
    """The collector deleted the Machine API mirror, or a set that has adopted it did; or it goes with its namespace."""
    if seen.removal.spares or is_earlier(metadata_of(seen.cluster_api), mirror):
        return True
    if has_other_owner(mirror, mapi.MachineSet):
        return True
    owner = set_owner(mirror, mapi.MachineSet.RESOURCE.api_version)
    return owner is not None and (
        adopted(seen, mirror) or is_gone(owner, seen.machine_api_set) or is_going(seen.machine_api_set)
    )


def is_earlier(source: ObjectMeta | None, mirror: ObjectMeta) -> bool:
    """The mirror was deleted before its authority was created."""
    return source is not None and is_newer(source, mirror)


def adopted(seen: MachineSnapshot, mirror: ObjectMeta) -> bool:
    """The Machine API mirror belongs to a MachineSet, and the machine in Cluster API to none."""
    source = metadata_of(seen.cluster_api)
    return (
        source is not None
        and set_owner(mirror, mapi.MachineSet.RESOURCE.api_version) is not None
        and set_owner(source, capi.MachineSet.RESOURCE.api_version) is None
    )


def in_cluster_api(seen: MachineSnapshot, mirror: ObjectMeta) -> bool:
    """The collector deleted the Cluster API mirror, or it goes with its CRD or namespace."""
    if seen.removal.spares or is_earlier(metadata_of(seen.machine_api), mirror):
        return True
    if has_other_owner(mirror, capi.MachineSet, capi.Cluster):
        return True
    owner = set_owner(mirror, capi.MachineSet.RESOURCE.api_version)
    if owner is None:
        cluster = cluster_owner(mirror)
        return cluster is not None and (is_gone(cluster, seen.cluster) or is_going(seen.cluster))
    owning = metadata_of(seen.cluster_api_set)
    if is_gone(owner, seen.cluster_api_set) or owning is None or owning.deletion_timestamp is None:
        return is_gone(owner, seen.cluster_api_set)
    return AUTHORITY_ANNOTATION in owning.annotations and FOREGROUND in owning.finalizers
