"""The garbage collector: the propagation of a deletion, and which deletions the collector made itself.

The finalizers of an object that is being deleted show the propagation, until the collector removes them:

| finalizer | propagation | the collector removes it when |
|---|---|---|
| `orphan` | Orphan | no object names it as its owner any more |
| `foregroundDeletion` | Foreground | all objects that it owns are gone |
| neither | Background, or the collector has done its part | |

The collector deletes an object if it has no owner left, or if an owner is being deleted in the foreground. No user
asked to delete the object itself. So such a deletion of a mirror must never reach the authority.
"""

from datetime import datetime
from typing import Any, Final

from windlass.api.meta import KubernetesObject, ObjectMeta, OwnerReference
from windlass.kube.control.plan import Propagation
from windlass.kube.control.seen import Absent, Seen, metadata_of

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
FINALIZERS: Final = (ORPHAN, FOREGROUND)


def propagation(meta: ObjectMeta) -> Propagation:
    """The propagation that the collector still has to carry out; empty if it has done its part, or for Background."""
    if ORPHAN in meta.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in meta.finalizers else ""


def is_gone(owner: OwnerReference, found: Seen[Any]) -> bool:
    """No object with the owner's uid exists: `found`, the object of its name, has another uid or is confirmed
    absent."""
    meta = metadata_of(found)
    return is_confirmed_absent(found) if meta is None else meta.uid != owner.uid


def has_other_owner(mirror: ObjectMeta, *kinds: type[KubernetesObject]) -> bool:
    """It has an owner that is of none of these `kinds`, the owners of a mirror. Nobody looks whether that one is gone,
    so the collector may have deleted the mirror, and users who may not delete it may have written the reference."""
    known = {(kind.RESOURCE.group, kind.RESOURCE.kind) for kind in kinds}
    owners = ((owner.api_version.partition("/")[0], owner.kind) for owner in mirror.owner_references)
    return any(owner not in known for owner in owners)


def is_newer(meta: ObjectMeta, mirror: ObjectMeta) -> bool:
    """It was created after the mirror of its name was deleted, so the user who did that meant an earlier object.

    Times of objects are whole seconds; an object of the same second is taken for the earlier one, which may have been
    mirrored and deleted at once.
    """
    return bool(meta.creation_timestamp and mirror.deletion_timestamp) and (
        datetime.fromisoformat(str(meta.creation_timestamp)) > datetime.fromisoformat(str(mirror.deletion_timestamp))
    )


def is_going(found: Seen[Any]) -> bool:
    """It exists and is being deleted."""
    meta = metadata_of(found)
    return meta is not None and meta.deletion_timestamp is not None


def is_confirmed_absent(found: Seen[Any]) -> bool:
    """The API server itself said that it does not exist."""
    return isinstance(found, Absent) and found.confirmed
