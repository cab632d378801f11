"""All builder backends: a new one is another line here."""

from collections.abc import Mapping

from windlass.kube.control.seen import IndexedReader
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.builder import Backend
from windlass.os_build.placement import Placement
from windlass.os_build.request import BackendName


def backends_of(
    reader: IndexedReader, *, namespace: str, placement: Placement | None = None, local: LocalBackend | None = None
) -> Mapping[BackendName, Backend]:
    """All backends; a pool that names no builder gets the first that the cluster serves. `local` None: without it."""
    every: tuple[Backend, ...] = (
        OpenShiftBackend(reader, namespace=namespace, placement=placement),
        JobBackend(reader, namespace=namespace, placement=placement),
        *([local] if local is not None else ()),
    )
    return {each.name: each for each in every}
