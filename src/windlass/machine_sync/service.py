"""What Machine sync brings to the process `windlass run machine-sync`.

    activation ── starts and stops the controllers of Machines and MachineSets by feature gate and platform
        └── candidacy: stands for the Lease while there is work

OpenShift's own migration operator does the same job. Both compete for one Lease (`candidacy`): two of them would undo
each other's work.
"""

from windlass.capability.service import Frame, ProcessSettings
from windlass.kube.client import Client
from windlass.kube.process.lease import LeaseTimes
from windlass.kube.process.manager import Manager
from windlass.machine_sync.activation import Activation, Idle
from windlass.machine_sync.candidacy import Candidacy
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, Namespaces
from windlass.machine_sync.controllers import makers
from windlass.machine_sync.metrics import AuthorityFigures, IdleFigures
from windlass.machine_sync.platforms import Platform


def frame(namespaces: Namespaces) -> Frame:
    """For machines in `namespaces`. Without an election it does not look for OpenShift's operator either."""

    def elect(client: Client, times: LeaseTimes) -> Candidacy:
        return Candidacy(client, namespace=namespaces.cluster_api, times=times)

    def work(manager: Manager, candidacy: Candidacy | None, settings: ProcessSettings) -> Activation:
        activation = _activation(manager, candidacy, settings, namespaces)

        def idle() -> Idle | None:
            if isinstance(activation.latest, Idle):
                return activation.latest
            return candidacy.idle if candidacy else None

        if manager.metrics:
            manager.metrics.registry.register(AuthorityFigures(manager.pool.ledger.cached))
            manager.metrics.registry.register(IdleFigures(idle))
        return activation

    # `workers` for Machines and a quarter of that for sets, each with three objects to write to at a time. The Machine
    # API chose the name of its finalizer before Kubernetes wished for a "/" in it.
    return Frame(elect=elect, work=work, requests=4, is_noise=lambda text: MACHINE_API_FINALIZER in text)


def _activation(
    manager: Manager, candidacy: Candidacy | None, settings: ProcessSettings, namespaces: Namespaces
) -> Activation:
    async def start(platform: Platform) -> None:
        for make in makers(platform=platform, namespaces=namespaces, workers=settings.workers, resync=settings.resync):
            name = await manager.start(make)
            running.append(name)
        if candidacy:
            candidacy.stand()

    async def stop() -> None:
        while running:
            await manager.stop(running.pop())
        if candidacy:
            candidacy.withdraw()

    running: list[str] = []

    return Activation(manager.pool, start=start, stop=stop)
