"""Scenarios for the crash harness: a machine, and a process that keeps it in sync."""

from collections.abc import Callable

from windlass.model import MemoryApi
from windlass.testing.crash import Actor, Scenario

from ..scenarios import copied, settling
from .world import empty, holds_for_nobody, leaked, platform_of, reconciled

MAPI_AT_END = "Machine.machine.openshift.io/v1beta1 openshift-machine-api/w-0"
CAPI_AT_END = "Machine.cluster.x-k8s.io/v1beta2 openshift-cluster-api/w-0"
INFRA_AT_END = "OpenStackMachine.infrastructure.cluster.x-k8s.io/v1beta1 openshift-cluster-api/w-0-infra"

settle = settling(reconciled)


def scenario(start: MemoryApi, *actors: Actor, stays_mirrored: bool = True) -> Callable[[], Scenario]:
    """Scenarios that begin as `start` is now."""
    held = leaked if stays_mirrored else holds_for_nobody
    return lambda: Scenario(copied(start, into=empty(platform_of(start))), settle, actors, leaked=held)
