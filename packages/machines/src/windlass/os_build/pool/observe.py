"""Reads the snapshot of a pool: caches first, and only for a build that is due its Secrets, the registry and its
MachineConfig."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.core import ConfigMap, Secret
from windlass.api.machineconfiguration import MachineConfig, MachineConfigPool
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.control.plan import Create, Outcome
from windlass.kube.control.refused import LONGEST, remedy
from windlass.kube.control.seen import Absent, IndexedReader, Present, Unreadable, read
from windlass.kube.errors import NotServed
from windlass.kube.object import Object
from windlass.kube.shorten import shortened
from windlass.os_build import constants, log
from windlass.os_build.builder import Backend, BuildState, Deadlines, builds_of
from windlass.os_build.credentials import Auths, Login, Secrets, auths
from windlass.os_build.identity import Inputs, inputs_of
from windlass.os_build.inputs.context import ApplyBy, Context, rendered
from windlass.os_build.machine_os.claim import Claim, image_to_take
from windlass.os_build.machine_os.request import requested as requested_by_config
from windlass.os_build.pool import situation as of
from windlass.os_build.pool.claims import Claims
from windlass.os_build.pool.situation import situation
from windlass.os_build.pool.snapshot import Materials, PoolSnapshot, Refusal, Timing
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Answer, Denied, Found, Gone, Kind, NotAsked
from windlass.os_build.request import (
    PULL_SECRET,
    PUSH_SECRET,
    BackendName,
    Given,
    Problem,
    Request,
    opted_in,
    requested,
)

BY_NAME: Final = "name"
"""Index of Secrets and ConfigMaps."""


class Registries(Protocol):
    """What is asked of registries: `windlass.os_build.registry.carrier.RegistryCarrier`."""

    def answered(self, *, target: str, versions: str) -> Answer | None: ...

    async def manifest(
        self, target: Target, reference: str, login: Login | None, *, origin: str
    ) -> Found | Gone | Denied | NotAsked: ...


class Settings(Struct, frozen=True, kw_only=True):
    """How builds are made.

    namespace           of ConfigMaps and Secrets
    machine_os_configs  serve MachineOSConfigs too, in the place of the Machine Config Operator's builder
    """

    namespace: str = constants.NAMESPACE
    apply_by: ApplyBy = ApplyBy.IGNITION
    machine_os_configs: bool = False
    timing: Timing = Timing()
    deadlines: Deadlines = Deadlines()


class PoolObserver:
    """Takes snapshots of pools. It remembers since when inputs are wanted, what could not be rendered, and what the API
    server refused: nothing that is lost with the process."""

    def __init__(
        self,
        reader: IndexedReader,
        backends: Mapping[BackendName, Backend],
        registries: Registries,
        *,
        settings: Settings,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reader = reader
        self._backends = backends
        self._registries = registries
        self._settings = settings
        self._now = now
        self._claims = Claims(reader)
        self._wanted: dict[str, tuple[str, datetime]] = {}
        self._unfit: dict[str, tuple[tuple[Request, BackendName], Problem]] = {}
        self._refused: dict[str, tuple[Any, Refusal]] = {}

    async def __call__(self, key: str, last: Outcome) -> PoolSnapshot:
        found = await self._reader.see(MachineConfigPool, key, confirm=True)
        seen = PoolSnapshot(
            name=key, pool=found, builds=builds_of(self._backends, key), deadlines=self._settings.deadlines
        )
        if not isinstance(found, Present) or found.deleting:
            self._forget(key)
            return seen
        config = self._claims.on(key)
        seen = replace(seen, claimed=config.name if config is not None else "")
        if config is not None and self._settings.machine_os_configs:
            seen = await self._claimed(key, seen, found, config)
        elif config is None and opted_in(found.object):
            seen = await self._opted_in(key, seen, found)
        else:
            self._forget(key)
        return await self._for_situation(key, self._with_refusal(seen, refused_creation(last)))

    async def _opted_in(self, key: str, seen: PoolSnapshot, pool: Present[MachineConfigPool]) -> PoolSnapshot:
        request = requested(pool.object, await self._given())
        if isinstance(request, Problem):
            return replace(seen, request=request)
        inputs = inputs_of(request, applied_by=self._settings.apply_by)
        return self._with_request(seen, request, inputs, wanted=self._wanted_since(key, str(inputs)))

    async def _claimed(
        self, key: str, seen: PoolSnapshot, pool: Present[MachineConfigPool], found: Object[MachineOSConfig]
    ) -> PoolSnapshot:
        config = read(found)
        if isinstance(config, Unreadable):
            # The API server validates it: this one is of a version that is not known here.
            return seen
        request = requested_by_config(config.object, pool.object, architecture=constants.ARCHITECTURE)
        if isinstance(request, Problem):
            return replace(seen, request=request, claim=Claim(config=config, name=request))
        claim = await self._claims.claim(config, pool, request, versions=self._versions(request))
        seen = self._with_request(seen, request, claim.inputs, wanted=self._wanted_since(key, str(claim.name)))
        return replace(seen, claim=replace(claim, registry=await self._registry_has(claim, seen.builds, request)))

    def _with_request(self, seen: PoolSnapshot, request: Request, inputs: Inputs, *, wanted: datetime) -> PoolSnapshot:
        return replace(
            seen,
            request=request,
            inputs=inputs,
            wanted=wanted,
            backend=self._backend(request),
            versions=self._versions(request),
        )

    def _with_refusal(self, seen: PoolSnapshot, why: str) -> PoolSnapshot:
        """With what the API server refused now, or a moment ago, unless something else is asked for since."""
        wanted = seen.inputs, seen.backend, seen.versions
        if why:
            until = self._now() + timedelta(seconds=self._settings.timing.ask_again)
            self._refused[seen.name] = wanted, Refusal(why, until)
        known, refusal = self._refused.get(seen.name, (None, None))
        return replace(seen, refused=refusal) if known == wanted else seen

    async def _registry_has(
        self, claim: Claim, builds: Sequence[BuildState], request: Request
    ) -> Found | Gone | Denied | NotAsked | None:
        """Whether the image that is about to be taken is still there. An image pushed a moment ago counts as there."""
        image = image_to_take(claim)
        if not image:
            return None
        repository, _, digest = image.partition("@")
        if any(build.digest == digest for build in builds):
            return Found(digest)
        return await self._manifest(Target.parse(repository), digest, request)

    async def _for_situation(self, key: str, seen: PoolSnapshot) -> PoolSnapshot:
        """What only the situation needs that the pool is in."""
        request, inputs = seen.request, seen.inputs
        if not isinstance(request, Request) or inputs is None:
            return seen
        due = situation(seen, now=self._now(), timing=self._settings.timing)
        if isinstance(due, of.Unconfirmed):
            return replace(seen, confirmed=await self._digest(request, due.build))
        if isinstance(due, of.Ready):
            return replace(seen, materials=await self._materials(key, seen, request, due.backend))
        return seen

    async def _given(self) -> Given:
        config, alias = self._data(constants.BUILDER_CONFIG), self._data(constants.BUILDER_CONFIG_ALIAS)
        if config is None and alias is not None:
            # The older one counts only if the other is really missing, and a cache may lag.
            found = await self._reader.see(
                ConfigMap, constants.BUILDER_CONFIG, namespace=self._settings.namespace, live=True
            )
            config = found.object.data if isinstance(found, Present) else None
        return Given(
            config=config,
            config_alias=alias,
            containerfiles=self._data(constants.CONTAINERFILES),
            os_images=self._data(constants.OS_IMAGES),
        )

    def _data(self, name: str) -> Mapping[str, str] | None:
        found = next(iter(self._reader.indexed(ConfigMap, BY_NAME, name)), None)
        return found.decode().data if found is not None else None

    def _wanted_since(self, pool: str, inputs: str) -> datetime:
        known = self._wanted.get(pool)
        if known is None or known[0] != inputs:
            known = self._wanted[pool] = inputs, self._now()
        return known[1]

    def _backend(self, request: Request) -> BackendName | Problem:
        if request.backend is not None:
            return self._usable(request.backend)
        usable = (self._usable(name) for name, backend in self._backends.items() if backend.usual)
        without = Problem("NoBuilder", "no builder backend can be used here: this process was started without any")
        return next((name for name in usable if isinstance(name, BackendName)), without)

    def _usable(self, name: BackendName) -> BackendName | Problem:
        if name not in self._backends:
            text = f"imageBuilderType asks for the backend {name}, which this process was started without"
            return Problem("NoBuilder", f"{text}: {name.remedy}" if name.remedy else text)
        try:
            self._backends[name].look("")
        except NotServed as error:
            return Problem(
                "NoBuilder", f"imageBuilderType asks for the backend {name}, which this cluster lacks: {error}"
            )
        return name

    def _versions(self, request: Request) -> str:
        """Which state the Secrets are in, from the cache of their metadata."""
        return ",".join(
            f"{each.uid}/{each.resource_version}"
            for name in dict.fromkeys((request.pull_secret, request.push_secret))
            for each in self._reader.indexed(Secret, BY_NAME, name)
        )

    async def _materials(self, key: str, seen: PoolSnapshot, request: Request, backend: BackendName) -> Materials:
        secrets = await self._secrets(request, seen.versions)
        if isinstance(secrets, Problem):
            return Materials(secrets)
        answer = self._registries.answered(target=str(request.target), versions=seen.versions)
        if answer is None or answer.kind in (Kind.DENIED, Kind.UNKNOWN):
            return Materials(secrets, answer)
        return Materials(secrets, answer, await self._context(key, request, backend))

    async def _secrets(self, request: Request, versions: str) -> Secrets | Problem:
        pull = await self._auths(request, request.pull_secret, key=PULL_SECRET)
        if isinstance(pull, Problem):
            return pull
        if request.push_secret == request.pull_secret:
            return Secrets(pull, pull, versions)
        push = await self._auths(request, request.push_secret, key=PUSH_SECRET)
        return push if isinstance(push, Problem) else Secrets(pull, push, versions)

    async def _auths(self, request: Request, name: str, *, key: str) -> Auths | Problem:
        found = await self._reader.see(Secret, name, namespace=self._settings.namespace, live=True)
        where = f"{self._settings.namespace}/{name}"
        if isinstance(found, Present):
            return auths(found.object, key=key)
        if isinstance(found, Absent):
            named_in = request.named_in or f"{key} of the builder's ConfigMap"
            text = f"Secret {where} does not exist, which {named_in} names"
            return Problem("SecretMissing", f"{text}: create it, or name another")
        return Problem("SecretInvalid", f"Secret {where} cannot be read: {found.why}")

    async def _context(self, key: str, request: Request, backend: BackendName) -> Context | Problem:
        known, problem = self._unfit.get(key, (None, None))
        if problem is not None and known == (request, backend):
            return problem
        found = await self._reader.see(MachineConfig, request.config, live=True)
        if not isinstance(found, Present):
            why = "does not exist" if isinstance(found, Absent) else f"cannot be read: {found.why}"
            return Problem("MachineConfigMissing", f"MachineConfig {request.config} {why}: pool {key} names it")
        # A megabyte of JSON takes longer than the loop may stand still.
        how = partial(rendered, apply_by=self._settings.apply_by, arch=constants.ARCHITECTURE)
        context = await asyncio.to_thread(how, request, bytes(found.raw))
        problem = context if isinstance(context, Problem) else self._backends[backend].unfit(context, request)
        if problem is None:
            return context
        self._unfit[key] = (request, backend), problem
        return problem

    async def _digest(self, request: Request, build: BuildState) -> str | Problem:
        found = await self._manifest(request.target, build.image.rpartition(":")[2], request)
        return found.digest if isinstance(found, Found) else Problem("DigestUnknown", found.text)

    async def _manifest(self, target: Target, reference: str, request: Request) -> Found | Gone | Denied | NotAsked:
        """What the registry says about an image, asked with the push Secret."""
        push = await self._auths(request, request.push_secret, key=PUSH_SECRET)
        if isinstance(push, Problem):
            return NotAsked(push.text)
        login = push.login(target.host, target.path)
        origin = f"Secret {self._settings.namespace}/{request.push_secret}"
        return await self._registries.manifest(target, reference, login, origin=origin)

    def _forget(self, pool: str) -> None:
        self._wanted.pop(pool, None)
        self._unfit.pop(pool, None)
        self._refused.pop(pool, None)


# Says what the API server refused to create for a build, and what to do about it. Pure.
#
# What the caller may try again at once, such as a conflict or a server that is busy, never comes here
# (`windlass.kube.control.rounds`). Remedies are those of `windlass.kube.control.refused`.


def refused_creation(last: Outcome) -> str:
    """The refusal in this outcome, with its remedy; empty if there is none."""
    failed = next((each for each in last.failures if isinstance(each.action, Create)), None)
    if failed is None or failed.error is None:
        return ""
    what = failed.action.target
    said = shortened(" ".join(log.clean(str(failed.error)).split()), LONGEST)
    return f"The API server refuses to create {what}: {said}. {remedy(failed.error)}"
