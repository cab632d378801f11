"""Our finalizer: on every mirror and every mirrored object, added before the first mirror, removed after the last."""

from typing import Any

from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import AddFinalizer, RemoveFinalizers, target_of
from windlass.kube.control.seen import Seen, metadata_of
from windlass.machine_sync.constants import SYNC_FINALIZER


def hold(*there: tuple[type[KubernetesObject], Seen[Any]]) -> list[AddFinalizer]:
    """Our finalizer on each of these that is there and is not being deleted."""
    found = ((kind, metadata_of(seen)) for kind, seen in there)
    return [
        AddFinalizer(
            target=target_of(kind, meta),
            observed=tuple(meta.finalizers),
            finalizer=SYNC_FINALIZER,
            why="its mirror must be cleaned up before it goes",
        )
        for kind, meta in found
        if meta is not None and meta.deletion_timestamp is None
    ]


def let_go(kind: type[KubernetesObject], seen: Seen[Any], *finalizers: str, why: str) -> RemoveFinalizers | None:
    """Remove our finalizer from the object, and these of others with it; None if the object does not exist."""
    meta = metadata_of(seen)
    if meta is None:
        return None
    return RemoveFinalizers(
        target=target_of(kind, meta),
        observed=tuple(meta.finalizers),
        finalizers=(*finalizers, SYNC_FINALIZER),
        why=why,
    )
