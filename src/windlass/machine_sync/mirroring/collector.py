"""The garbage collector: what somebody told it to do, and which deletions it must have made itself.

How a deletion is to propagate stands in the finalizers of the object that is being deleted, and only for a while:

| finalizer | propagation | the collector takes it off when |
|---|---|---|
| `orphan` | Orphan | nothing names the object as its owner any more |
| `foregroundDeletion` | Foreground | all that it owns is gone |
| neither | Background, or the collector has done its part | |

The collector deletes an object for one of two reasons: no owner of it is left, or an owner is being deleted in the
foreground. Such a deletion says nothing about the object itself. On a mirror it must never reach the authority.
"""

from typing import Any, Final

from windlass.api.meta import ObjectMeta, OwnerReference
from windlass.kube.control.plan import Propagation
from windlass.kube.control.seen import Absent, Seen, metadata_of

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
FINALIZERS: Final = (ORPHAN, FOREGROUND)


def propagation(meta: ObjectMeta) -> Propagation:
    """What the collector still has to do about what the object owns; empty if nothing before the object is gone."""
    if ORPHAN in meta.finalizers:
        return "Orphan"
    return "Foreground" if FOREGROUND in meta.finalizers else ""


def is_gone(owner: OwnerReference, found: Seen[Any]) -> bool:
    """No object with the owner's uid is there: `found`, the object of its name, is another one or surely absent."""
    meta = metadata_of(found)
    return isinstance(found, Absent) and found.confirmed if meta is None else meta.uid != owner.uid


def is_going(found: Seen[Any]) -> bool:
    """It is there and being deleted."""
    meta = metadata_of(found)
    return meta is not None and meta.deletion_timestamp is not None
