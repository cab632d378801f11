"""The parts of the process `windlass run os-build`.

    RegistryCarrier ── asks registries who may push
    Builds ─────────── on this machine, if the process was started with a folder for them
    pool controller ── over the builders of the cluster, and those
    images controller ── removes images from registries, if so many are to be kept

The process has its own Lease, for which only its replicas compete. If it serves MachineOSConfigs, it competes for the
Lease of the Machine Config Operator's builder instead: never do both build. Builds of the cluster go on without a
leader; those on this machine end with the term of leadership.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct, structs

from windlass.capability.service import Frame, Make, ProcessSettings, configured
from windlass.kube.client import Client
from windlass.kube.control.controller import Controller
from windlass.kube.control.effects import Carrier
from windlass.kube.control.plan import Target, target
from windlass.kube.control.refused import ByEvent, reporting
from windlass.kube.control.seen import Present
from windlass.kube.control.source import Mailbox
from windlass.kube.process.lease import Election, LeaseTimes, own_identity
from windlass.kube.process.manager import Manager
from windlass.kube.process.run import Steady
from windlass.os_build.backends.every import backends_of
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.buildah import Buildah
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.carrier import LocalCarrier
from windlass.os_build.backends.local.requests import BUILDAH
from windlass.os_build.constants import EVENT_SOURCE, OWN_LEASE, THEIR_LEASE
from windlass.os_build.counters import BuildCounters
from windlass.os_build.metrics import BuildFigures
from windlass.os_build.pool.controller import pool_controller
from windlass.os_build.pool.questions import Registries
from windlass.os_build.pool.snapshot import PoolSnapshot
from windlass.os_build.registry import SYSTEM as REGISTRY
from windlass.os_build.registry import Registry, RegistryCarrier
from windlass.os_build.retention.contents import SYSTEM as IMAGES
from windlass.os_build.retention.contents import ImagesCarrier
from windlass.os_build.retention.controller import images_controller
from windlass.os_build.sbom.carrier import SYSTEM as CONTENTS
from windlass.os_build.sbom.carrier import ContentsCarrier
from windlass.os_build.settings import OsBuildSettings
from windlass.os_build.signing.carrier import SYSTEM as SIGNATURES
from windlass.os_build.signing.carrier import SignaturesCarrier


class Local(Struct, frozen=True):
    """Builds on this machine, and the mailbox that they post to."""

    builds: Builds
    mailbox: Mailbox[str]

    @classmethod
    def of(cls, settings: OsBuildSettings) -> "Local | None":
        """Those of the settings, not opened yet; None if they allow none."""
        if (local := settings.local) is None:
            return None
        mailbox: Mailbox[str] = Mailbox()
        buildah = Buildah(driver=local.driver, insecure=settings.insecure)
        return cls(Builds(local.folder, slots=local.slots, buildah=buildah, changed=mailbox.post), mailbox)


def maker(
    settings: OsBuildSettings,
    registries: Registries,
    *,
    local: Local | None = None,
    counters: BuildCounters | None = None,
    signatures: SignaturesCarrier | None = None,
    contents: ContentsCarrier | None = None,
) -> Make:
    """Makes the controller, over the builders of the cluster and, with `local`, those of this machine."""

    def make(reader: Any) -> Controller[Any, Any]:
        namespace = settings.pools.namespace
        own = None if local is None else LocalBackend(local.builds, local.mailbox)
        backends = backends_of(reader, namespace=namespace, placement=settings.placement, local=own)
        made = pool_controller(
            reader, backends, registries, settings=settings.pools, signatures=signatures, contents=contents
        )
        if counters is not None:
            made = structs.replace(made, observe=counters.observing(made.observe))
        return reporting(made, ByEvent(EVENT_SOURCE, _pool))

    return make


def images_maker(settings: OsBuildSettings, carrier: ImagesCarrier, *, local: Local | None = None) -> Make:
    """Makes the controller that removes images."""

    def make(reader: Any) -> Controller[Any, Any]:
        own = None if local is None else LocalBackend(local.builds, local.mailbox)
        backends = backends_of(reader, namespace=settings.pools.namespace, placement=settings.placement, local=own)
        return images_controller(reader, backends, carrier, settings=settings.pools)

    return make


def _pool(seen: PoolSnapshot) -> Target | None:
    """What Events are about, of a refused write that no condition tells: conditions of pools say how a build is."""
    return target(seen.pool) if isinstance(seen.pool, Present) else None


def lease(settings: OsBuildSettings, *, home: str) -> tuple[str, str]:
    """Name and namespace of the Lease."""
    return (THEIR_LEASE, settings.pools.namespace) if settings.pools.machine_os_configs else (OWN_LEASE, home)


def frame(settings: OsBuildSettings, *, home: str) -> Frame:
    """Its own Lease is in `home`."""
    registry = Registry(insecure=settings.insecure)
    registries, images, signatures = RegistryCarrier(registry), ImagesCarrier(registry), SignaturesCarrier(registry)
    local = Local.of(settings)
    systems: dict[str, Carrier[Any]] = {REGISTRY: registries}
    if settings.pools.keep_images is not None:
        systems[IMAGES] = images
    contents = ContentsCarrier(registry)
    if settings.pools.sbom:
        systems[CONTENTS] = contents
    if settings.pools.signing_key:
        systems[SIGNATURES] = signatures
    if local is not None:
        systems[BUILDAH] = LocalCarrier(local.builds)

    def elect(client: Client, times: LeaseTimes) -> Election:
        name, namespace = lease(settings, home=home)
        return Election(client, name, namespace=namespace, identity=f"windlass_{own_identity()}", times=times)

    def work(manager: Manager, _: Any, process: ProcessSettings) -> Steady:
        counters = None
        if manager.metrics:
            counters = BuildCounters(term=lambda: manager.term, leads=lambda: manager.leading)
            manager.metrics.registry.register(BuildFigures(manager.pool.ledger.cached))
            manager.metrics.registry.register(counters)
        makers = [
            configured(
                maker(settings, registries, local=local, counters=counters, signatures=signatures, contents=contents),
                process,
            )
        ]
        if settings.pools.keep_images is not None:
            makers.append(images_maker(settings, images, local=local))
        return Steady(manager, makers)

    @asynccontextmanager
    async def holding() -> AsyncIterator[None]:
        async with registries:
            if local is None:
                yield
                return
            async with local.builds:
                yield

    return Frame(elect=elect, work=work, systems=systems, holding=holding())
