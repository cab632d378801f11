"""The parts of the process `windlass run openstack`.

    Beside ── starts and stops the controllers by the Leases of other OpenStack providers
    Clouds ── carries their requests, polls for them; closed when the last request has ended

The process has its own Lease, for which only its replicas compete.
"""

import time
from collections.abc import Sequence
from typing import Any, Final

from msgspec import structs

from windlass.capability.service import Frame, ProcessSettings, configured
from windlass.kube.addresses import refusal
from windlass.kube.client import Client
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.manager import Manager
from windlass.openstack.beside import Beside, cluster_api_provider, machine_api_provider
from windlass.openstack.cloud.clouds import Clouds, PollTimes
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.cloud.waiting import WORKERS, Waiting
from windlass.openstack.controllers import makers
from windlass.openstack.metrics import OpenStackFigures
from windlass.openstack.objects import FINALIZERS

OWN_LEASE: Final = "windlass-openstack"


def frame(
    *,
    home: str,
    namespaces: Sequence[str],
    provider_namespace: str,
    polls: PollTimes,
    machine_api: str = "",
    allow_loopback: bool = False,
) -> Frame:
    """For objects in `namespaces` (none: in all), and Machines in the namespace `machine_api` (empty: none); the Lease
    is in `home`. `allow_loopback`: clouds of Secrets may have addresses of this machine and of metadata services."""
    clouds = Clouds(polls=polls, waiting=Waiting(time.monotonic), refusal=None if allow_loopback else refusal)

    def elect(client: Client, times: LeaseTimes) -> Election:
        identity = f"windlass_{own_identity()}"
        return Election(client, OWN_LEASE, namespace=home, identity=identity, times=times)

    def work(manager: Manager, _: Any, settings: ProcessSettings) -> Beside:
        names: list[str] = []
        # Those that wait for clouds which do not answer are none of the workers that the user has asked for.
        settings = structs.replace(settings, workers=settings.workers + WORKERS)

        async def start() -> None:
            for make in makers(clouds, namespaces, machine_api=machine_api):
                name = await manager.start(configured(make, settings))
                names.append(name)

        async def stop() -> None:
            while names:
                await manager.stop(names.pop())

        of_machines = (machine_api_provider(machine_api),) if machine_api else ()
        others = (cluster_api_provider(provider_namespace), *of_machines)
        beside = Beside(manager.pool.ledger, start=start, stop=stop, others=others)
        if manager.metrics:
            manager.metrics.registry.register(clouds.figures)
            manager.metrics.registry.register(OpenStackFigures(manager.pool.ledger.cached, lambda: beside.idle))
        return beside

    # The names of the provider's finalizers are older than Kubernetes' warning about finalizers without a "/".
    return Frame(
        elect=elect,
        work=work,
        is_noise=lambda text: any(
            f'"{finalizer}"' in text for finalizer in FINALIZERS.values() if "/" not in finalizer
        ),
        systems={OPENSTACK: clouds},
        holding=clouds,
    )
