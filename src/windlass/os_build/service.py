"""The parts of the process `windlass run os-build`.

    RegistryCarrier ── asks registries who may push; closed when the last request has ended
    pool controller ── over the builders of the cluster

It has a Lease of its own, for which only its replicas compete. Builds of the cluster go on without a leader.
"""

from typing import Any, Final

from windlass.capability.service import Frame, Make, ProcessSettings, Steady
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.manager import Manager
from windlass.os_build.backends.job import JobBackend
from windlass.os_build.backends.openshift import OpenShiftBackend
from windlass.os_build.builder import Backend
from windlass.os_build.metrics import BuildFigures
from windlass.os_build.pool.controller import pool_controller
from windlass.os_build.pool.observe import Registries
from windlass.os_build.registry import SYSTEM as REGISTRY
from windlass.os_build.registry import Registry, RegistryCarrier
from windlass.os_build.request import BackendName
from windlass.os_build.settings import OsBuildSettings

OWN_LEASE: Final = "windlass-os-build"


def maker(settings: OsBuildSettings, registries: Registries) -> Make:
    """Makes the controller, over the builders of the cluster."""

    def make(reader: Any) -> Controller[Any, Any]:
        namespace = settings.builds.namespace
        backends: dict[BackendName, Backend] = {
            BackendName.OPENSHIFT: OpenShiftBackend(reader, namespace=namespace),
            BackendName.JOB: JobBackend(reader, namespace=namespace, settings=settings.job),
        }
        return pool_controller(reader, backends, registries, settings=settings.builds)

    return make


def frame(settings: OsBuildSettings, *, home: str) -> Frame:
    """The Lease is in `home`."""
    registries = RegistryCarrier(Registry(authorities=settings.authorities, insecure=settings.insecure))
    make = maker(settings, registries)

    def elect(client: Client, times: LeaseTimes) -> Election:
        identity = f"windlass_{own_identity()}"
        return Election(client, OWN_LEASE, namespace=home, identity=identity, times=times)

    def work(manager: Manager, _: Any, process: ProcessSettings) -> Steady:
        if manager.metrics:
            manager.metrics.registry.register(BuildFigures(manager.pool.ledger.cached))
        return Steady(manager, (make,), process)

    return Frame(elect=elect, work=work, systems={REGISTRY: registries}, holding=registries)
