"""The parts of Machine sync in the process `windlass run machine-sync`.

    activation ── starts and stops the controllers of Machines and MachineSets by feature gate and platform
        └── candidacy: competes for the Lease while there is work

The controllers are imported when they are started first: the process asks the API server before it imports the types
and conversions of all platforms, which a process that idles never needs.

OpenShift's own migration operator does the same job. Both compete for one Lease (`candidacy`), because they would undo
each other's work.
"""

import asyncio
import importlib
from typing import Any

from msgspec.structs import replace

from windlass.capability.service import Frame, ProcessSettings
from windlass.kube.client import Client
from windlass.kube.process.lease import LeaseTimes
from windlass.kube.process.manager import Manager
from windlass.machine_sync.activation import Activation, Idle
from windlass.machine_sync.candidacy import Candidacy
from windlass.machine_sync.constants import MACHINE_API_FINALIZER, Namespaces
from windlass.machine_sync.metrics import AuthorityFigures, IdleFigures


def frame(namespaces: Namespaces, *, takes_taints: bool = False) -> Frame:
    """For machines in `namespaces`; `takes_taints`: see `Platform`.

    Without an election it does not look for OpenShift's operator either.
    """

    def elect(client: Client, times: LeaseTimes) -> Candidacy:
        return Candidacy(client, namespace=namespaces.cluster_api, times=times)

    def work(manager: Manager, candidacy: Candidacy | None, settings: ProcessSettings) -> Activation:
        activation = _activation(manager, candidacy, settings, namespaces, takes_taints=takes_taints)

        def idle() -> Idle | None:
            if isinstance(activation.latest, Idle):
                return activation.latest
            return candidacy.idle if candidacy else None

        if manager.metrics:
            manager.metrics.registry.register(AuthorityFigures(manager.pool.ledger.cached))
            manager.metrics.registry.register(IdleFigures(idle))
        return activation

    # `workers` for Machines and a quarter of that for sets; each writes up to three objects at a time. The name of the
    # Machine API's finalizer is older than Kubernetes' warning about finalizers without a "/".
    return Frame(elect=elect, work=work, is_noise=lambda text: MACHINE_API_FINALIZER in text)


def _activation(
    manager: Manager,
    candidacy: Candidacy | None,
    settings: ProcessSettings,
    namespaces: Namespaces,
    *,
    takes_taints: bool,
) -> Activation:
    async def start(platform: str) -> None:
        # In a thread, for probes have to be answered meanwhile.
        await asyncio.to_thread(importlib.import_module, "windlass.machine_sync.controllers")
        from windlass.machine_sync.controllers import makers
        from windlass.machine_sync.platforms import PLATFORMS

        how: dict[str, Any] = {"workers": settings.workers, "resync": settings.resync}
        served = replace(PLATFORMS[platform], takes_taints=takes_taints)
        for make in makers(platform=served, namespaces=namespaces, **how):
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

    return Activation(manager.pool, start=start, stop=stop, namespace=namespaces.cluster_api)
