"""Objects of one name that were never mirrored, under the Machine API's authority: one that is deleted goes alone."""

from typing import Any, Final

from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Plan, WaitFor
from windlass.kube.control.seen import Present, Seen, Unreadable, metadata_of
from windlass.machine_sync.mirroring.belongs import is_paused_mirror, was_ever_mirrored, was_mirrored
from windlass.machine_sync.mirroring.collector import is_newer
from windlass.machine_sync.mirroring.finalizers import let_go

NEVER_MIRRORED: Final = "it was never mirrored"


def deleted_alone(
    found: Present[Any] | Unreadable,
    cluster_api: Seen[Any],
    *,
    kind: type[KubernetesObject],
    other_kind: type[KubernetesObject],
) -> Plan | None:
    """What is done if `found`, of the Machine API, or its namesake in Cluster API is deleted. None: neither is, or
    Cluster API's is the mirror. `kind` and `other_kind` are theirs."""
    other = metadata_of(cluster_api)
    if other is None:
        return None
    if found.metadata.deletion_timestamp is not None:
        return None if was_mirrored(other) else Plan.of(let_go(kind, found, why=NEVER_MIRRORED))
    if other.deletion_timestamp is None or (was_mirrored(other) and was_ever_mirrored(found)):
        return None
    if is_paused_mirror(other) and is_newer(found.metadata, other):
        return None  # the mirror of an earlier object of this name
    # A forger may have given it our finalizer.
    return Plan.of(let_go(other_kind, cluster_api, why=NEVER_MIRRORED)).then(
        WaitFor(f"{other_kind.RESOURCE.kind} {other.name} of Cluster API, which was never a mirror, to be gone")
    )
