"""Tells what machine-sync may write from what belongs to others: by more than a name or an annotation.

Names, labels and annotations can be given to any object, also by users who may not change the machine. So they are
believed only together with our finalizer, or with an owner:

| object | it is ours if |
|---|---|
| a mirror in Cluster API | it has the mark *and* our finalizer |
| an object whose deletion takes its counterpart along | both have our finalizer: they were mirrored |
| an object of the same name in the other API | it is paused, marked, or was mirrored; or both name one instance |

Mirrors of OpenShift's own operator have our finalizer and no mark.
"""

from typing import Any

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta
from windlass.kube.control.seen import Present, Seen, Unreadable, metadata_of
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API,
    MACHINE_API,
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.mirroring.synchronized import MachineApiObject, authority


def was_mirrored(meta: ObjectMeta) -> bool:
    """It is or was a mirror, or has or had one."""
    return SYNC_FINALIZER in meta.finalizers


def was_ever_mirrored(found: Present[Any] | Unreadable) -> bool:
    """The same of an object of the Machine API, also after somebody has removed our finalizer."""
    return was_mirrored(found.metadata) or (isinstance(found, Present) and _was_synchronized(found.object))


def is_mirror(meta: ObjectMeta) -> bool:
    """This object of Cluster API is the mirror of one of the Machine API."""
    return AUTHORITY_ANNOTATION in meta.annotations and was_mirrored(meta)


def is_paused_mirror(meta: ObjectMeta) -> bool:
    """The same, and Cluster API leaves it alone: so its finalizer is ours to remove."""
    return is_mirror(meta) and PAUSED_ANNOTATION in meta.annotations


def may_be_left_over(meta: ObjectMeta) -> bool:
    """It may be a mirror whose counterpart is gone, so it must not be unpaused: it is marked, and paused or ours."""
    return AUTHORITY_ANNOTATION in meta.annotations and (PAUSED_ANNOTATION in meta.annotations or was_mirrored(meta))


def name_conflict(found: Present[Any], cluster_api: Seen[Any]) -> str:
    """Why `found`, of the Machine API, and the object of its name in Cluster API are two things; "" if they are one.

    Each of them may run instances. If one became the mirror of the other, its instances would be forgotten, and a
    MachineSet would delete machines of the other. Only a first synchronization can do that.
    """
    meta = metadata_of(cluster_api)
    if meta is None or _was_synchronized(found.object) or is_mirror(meta):
        return ""
    if _same_instance(found, cluster_api):
        return ""
    kind, other = type(found.object).RESOURCE.kind, f"{meta.namespace}/{meta.name}"
    undecided = not found.object.status.authoritative_api
    said = authority(found.object)
    if said == MACHINE_API and PAUSED_ANNOTATION not in meta.annotations and (undecided or not was_mirrored(meta)):
        choice = "set spec.authoritativeAPI of this one to ClusterAPI to make it the mirror, or " if undecided else ""
        return (
            f"Cluster API runs a {kind} of this name, {other}, which is no mirror, so nothing is written to it: "
            f"{choice}delete one of the two"
        )
    if said == CLUSTER_API and undecided and _has_instances(found.object) and not _was_made_by_us(found.metadata):
        return (
            f"this {kind} has run in the Machine API, and Cluster API's {kind} {other} has other instances, so neither "
            "becomes the mirror of the other: delete one of the two, this one with spec.authoritativeAPI: MachineAPI"
        )
    return ""


def are_two_sets(machine_api: Seen[Any], cluster_api: Seen[Any]) -> bool:
    """These MachineSets of one name are not each other's mirror, so neither may get a machine of the other."""
    ours, theirs = metadata_of(machine_api), metadata_of(cluster_api)
    if ours is None or theirs is None or ours.name != theirs.name:
        return False
    if isinstance(machine_api, Present):
        return bool(name_conflict(machine_api, cluster_api))
    return not (was_mirrored(ours) or is_mirror(theirs))


def _was_made_by_us(meta: ObjectMeta) -> bool:
    """A mirror in the Machine API of which somebody writes the status before we do; or one that is applied again."""
    return any(key in meta.annotations for key in (MIRRORED_LABELS_ANNOTATION, MIRRORED_ANNOTATIONS_ANNOTATION))


def _was_synchronized(found: MachineApiObject) -> bool:
    return bool(found.status.synchronized_generation or found.status.synchronized_api)


def _same_instance(found: Present[Any], cluster_api: Seen[Any]) -> bool:
    if not isinstance(found.object, mapi.Machine) or not isinstance(cluster_api, Present):
        return False
    other: capi.Machine = cluster_api.object
    return bool(other.spec.provider_id) and found.object.spec.provider_id == other.spec.provider_id


def _has_instances(found: MachineApiObject) -> bool:
    if isinstance(found, mapi.Machine):
        return bool(found.spec.provider_id or found.status.phase)
    return found.status.replicas > 0
