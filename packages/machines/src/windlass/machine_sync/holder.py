"""Tells which program works on the machines, by the holder of the Lease for which both compete."""

from windlass.api.coordination import Lease
from windlass.machine_sync.constants import HOLDER_PREFIX

OURS = "Machine sync"
THEIRS = "OpenShift's migration operator"


def who_is(holder: str) -> str:
    """Which of the two programs `holder` is."""
    return OURS if holder.startswith(HOLDER_PREFIX) else THEIRS


def held_by(lease: Lease) -> str:
    """`OpenShift's migration operator (Lease x/y is held by z)`, or "" if it has no holder. Times are ignored."""
    holder = lease.spec.holder_identity
    if not holder:
        return ""
    return f"{who_is(holder)} (Lease {lease.metadata.namespace}/{lease.metadata.name} is held by {holder})"
