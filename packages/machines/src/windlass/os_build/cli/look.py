"""Reads the pools of a cluster and their builds: with the controller's own rules, but no registry is asked."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.core import Event, Secret
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.capability.conventions import complaints
from windlass.capability.planning import ClusterListing
from windlass.capability.planning.decider import about_first_watch, add_indexes
from windlass.kube.control.controller import Controller
from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.control.seen import ForbiddenKind, Present, read, seen
from windlass.kube.control.source import Mailbox
from windlass.kube.errors import Forbidden, KubeError, NotFound, NotServed
from windlass.kube.object import Object
from windlass.kube.together import together
from windlass.kube.verbs import ReadApi
from windlass.os_build.architectures import Machines, chosen
from windlass.os_build.backends.every import backends_of
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.builder import Backend, BuildState, builds_of
from windlass.os_build.cli.claim import ClaimInspection, look_at_claim
from windlass.os_build.constants import IMAGE_INPUTS, NAMESPACE
from windlass.os_build.identity import inputs_of
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.overview import Claims, PoolRow
from windlass.os_build.planning import Unasked
from windlass.os_build.pool.controller import pool_controller
from windlass.os_build.pool.facts import facts_of
from windlass.os_build.pool.situation import situation
from windlass.os_build.pool.situations import Situation
from windlass.os_build.pool.snapshot import PoolFacts, PoolSnapshot, Settings
from windlass.os_build.request import BackendName, Problem, Request

EVENTS: Final = 10
"""How many Events are shown at most."""


class PoolInspection(Struct):
    """A pool, and the `architectures` that its builders are chosen for, None if Nodes may not be listed. `facts` and
    `situation` are None, and `builds` empty, as far as `troubles` says that it cannot be read. `claim` None:
    no MachineOSConfig names it, or that cannot be read."""

    row: PoolRow
    pool: MachineConfigPool
    claim: ClaimInspection | None = None
    builds: Sequence[BuildState] = ()
    architectures: Sequence[str] | None = ()
    facts: PoolFacts | None = None
    situation: Situation | None = None
    events: Sequence[Event] = ()
    troubles: tuple[tuple[str, KubeError], ...] = ()


class Builders:
    """The builder objects of a cluster, and the controller's view of a pool."""

    def __init__(self, cluster_listing: ClusterListing) -> None:
        self._survey = cluster_listing
        # Local builds of a controller are on its machine, and not seen from here: there are none.
        local = LocalBackend(Builds(Path()), Mailbox())
        self.backends: Mapping[BackendName, Backend] = backends_of(cluster_listing, namespace=NAMESPACE, local=local)

    @classmethod
    async def read(cls, api: Any) -> "Builders":
        """Lists what the controller watches. Raises Forbidden, but not for Secrets: without them it is only unknown
        whether they have changed since a build."""
        read = cls(ClusterListing(api))
        controller = read.controller(ApplyBy.IGNITION)
        watches = tuple(replace(each, optional=each.optional or each.kind is Secret) for each in controller.watches)
        decider = about_first_watch(replace(controller, watches=watches))
        await read._survey.take([decider])
        add_indexes([decider], read._survey)
        return read

    def controller(self, apply_by: ApplyBy) -> Controller[str, PoolSnapshot]:
        return pool_controller(self._survey, self.backends, Unasked(), settings=Settings(apply_by=apply_by))

    def of(self, pool: str) -> Sequence[BuildState]:
        """The builds of the pool in the cluster, oldest first within a backend."""
        return builds_of(self.backends, pool)

    async def architectures(self, pool: MachineConfigPool) -> Sequence[str] | None:
        """The architectures that builders of the pool are chosen for; None: Nodes may not be listed."""
        seen = await self.controller(ApplyBy.IGNITION).observe(pool.metadata.name, Outcome())
        if isinstance(seen.machines, ForbiddenKind):
            return None
        found = chosen(pool, seen.machines)
        return () if isinstance(found, Problem) else found

    async def facts(self, pool: str) -> tuple[PoolFacts, Situation]:
        """What the controller would know of a pool. How configurations are applied is an option of the running
        controller: it shows in what that has built."""
        facts, found = await self._facts(pool, ApplyBy.IGNITION)
        if isinstance(facts.request, Request) and isinstance(facts.pool, Present):
            as_tree = inputs_of(facts.request, applied_by=ApplyBy.TREE)
            recorded = facts.pool.metadata.annotations.get(IMAGE_INPUTS, "")
            if as_tree.satisfied_by(recorded) or any(each.inputs == str(as_tree) for each in facts.builds):
                return await self._facts(pool, ApplyBy.TREE)
        return facts, found

    async def _facts(self, pool: str, apply_by: ApplyBy) -> tuple[PoolFacts, Situation]:
        controller, settings = self.controller(apply_by), Settings(apply_by=apply_by)
        found: list[tuple[PoolFacts, Situation]] = []

        def decide(seen: PoolSnapshot) -> Plan:
            facts = facts_of(seen, backends=self.backends, settings=settings)
            found.append((facts, situation(facts, now=datetime.now(UTC), timing=settings.timing)))
            return Plan()

        inquiry = controller.asker(now=lambda: datetime.now(UTC)).inquiry(pool)
        seen = await controller.observe(pool, Outcome())
        if isinstance(seen.machines, ForbiddenKind):
            # Whoever may see pools need not see them.
            seen = replace(seen, machines=Machines())
        if isinstance(seen.controller_config, ForbiddenKind):
            # Whoever may see pools need not see it: it has a pull secret.
            await inquiry.decide(replace(seen, controller_config=None), decide)
            if _looks_like_another(found[-1][0]):
                complaints.warn(
                    "ControllerConfigs may not be listed with these rights: if the cluster has a trust bundle, the "
                    f"build of pool {pool} only seems to be of other inputs than are asked for"
                )
            return found[-1]
        await inquiry.decide(seen, decide)
        return found[-1]


def _looks_like_another(facts: PoolFacts) -> bool:
    """There is an image or a build, and none of what is asked for."""
    recorded = facts.pool.metadata.annotations.get(IMAGE_INPUTS, "") if isinstance(facts.pool, Present) else ""
    there = [each for each in (recorded, *(build.inputs for build in facts.builds)) if each]
    return bool(there) and facts.inputs is not None and not any(facts.inputs.satisfied_by(each) for each in there)


async def pools(api: ReadApi) -> list[Present[MachineConfigPool]]:
    """All pools by name; a warning for each that cannot be read. Raises KubeErrors."""
    found: list[Present[MachineConfigPool]] = []
    for each in map(read, (await api.list(MachineConfigPool)).items):
        if isinstance(each, Present):
            found.append(each)
        else:
            complaints.warn(f"MachineConfigPool {each.metadata.name} cannot be read: {each.why}")
    return sorted(found, key=lambda each: each.metadata.name)


async def claims(api: ReadApi) -> Claims:
    """The claims on pools. Without the kind, or the right to list it, there are none."""
    configs, builds = await together((_listed(api, MachineOSConfig), _listed(api, MachineOSBuild)))
    return Claims.of(configs or (), builds)


async def _listed(api: ReadApi, kind: type[Any]) -> list[Any] | None:
    try:
        listed = await api.list(kind)
    except (NotServed, Forbidden):
        return None
    return [each.object for each in map(seen, listed.items) if isinstance(each, Present)]


async def look(api: Any, name: str) -> PoolInspection | None:
    """Everything about one pool; None if there is none. Raises KubeErrors of the pool itself."""
    try:
        pool = (await api.get(MachineConfigPool, name)).decode()
    except NotFound:
        return None
    row = (await claims(api)).row(pool)
    sight = PoolInspection(row, pool)
    if row.claimed_by:
        try:
            sight.claim = await look_at_claim(api, row.claimed_by)
        except KubeError as error:
            sight.troubles += (("its MachineOSConfig with its MachineOSBuild", error),)
    try:
        builders = await Builders.read(api)
        sight.builds = builders.of(name)
        sight.architectures = await builders.architectures(pool)
        sight.facts, sight.situation = await builders.facts(name)
    except KubeError as error:
        sight.troubles += (("what it asks for", error),)
    try:
        sight.events = await _events(api, _subjects(sight))
    except Forbidden as error:
        sight.troubles += (("its Events", error),)
    return sight


def _subjects(sight: PoolInspection) -> list[tuple[str, str]]:
    """Kind and name of the objects whose Events are about the image of the pool."""
    claim = sight.claim
    objects = (sight.pool, claim.config if claim else None, claim.build if claim else None)
    return [(each.RESOURCE.kind, each.metadata.name) for each in objects if each is not None]


async def _events(api: ReadApi, subjects: Iterable[tuple[str, str]]) -> list[Event]:
    """Their last Events, newest last."""
    found: list[Event] = []
    for kind, name in subjects:
        about = f"involvedObject.kind={kind},involvedObject.name={name}"
        listed: Sequence[Object[Event]] = (await api.list(Event, namespace="default", field_selector=about)).items
        found += [each.object for each in map(seen, listed) if isinstance(each, Present)]
    return sorted(found, key=lambda event: event.last_seen)[-EVENTS:]
