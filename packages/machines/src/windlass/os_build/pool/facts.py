"""Finds out what a pool asks for: from its snapshot, and from answers where caches do not know. Pure.

What the API server refused to create, and why a build was unfit, comes from the notes of earlier attempts.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from windlass.api.core import ConfigMap, Secret
from windlass.api.machineconfiguration import ControllerConfig, MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSConfig
from windlass.kube.control.plan import Create, Outcome, target
from windlass.kube.control.plan import Target as ObjectTarget
from windlass.kube.control.question import Confirmed, Indexed, Live
from windlass.kube.control.refused import LONGEST, remedy
from windlass.kube.control.seen import Absent, ForbiddenKind, Present, Unreadable, metadata_of
from windlass.kube.shorten import shortened
from windlass.os_build import log
from windlass.os_build.architectures import chosen
from windlass.os_build.builder import Backend
from windlass.os_build.constants import ARCHITECTURE, BUILDER_CONFIG, IMAGE, IMAGE_INPUTS
from windlass.os_build.environment import Egress, egress_of
from windlass.os_build.identity import Inputs, inputs_of
from windlass.os_build.machine_os.claim import Claim, image_of_claim, image_to_take
from windlass.os_build.machine_os.name import build_name
from windlass.os_build.machine_os.rebuild import build_of_current_image, needs_rebuild
from windlass.os_build.machine_os.request import requested as requested_by_config
from windlass.os_build.pool.observe import BY_NAME
from windlass.os_build.pool.questions import (
    Authorities,
    Claimant,
    Cluster,
    Losses,
    Manifest,
    ManifestAnswer,
    Meaning,
    Platforms,
    Refused,
    Unfit,
    Untold,
    Wanted,
    platforms,
    push_credentials,
)
from windlass.os_build.pool.snapshot import PoolFacts, PoolSnapshot, Refusal, Settings, Signer, lacking
from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Denied, Found, Gone, NotAsked, Shown
from windlass.os_build.request import BackendName, Given, Problem, Request, opted_in, placement_in, requested
from windlass.os_build.streams import images_of


def facts_of(seen: PoolSnapshot, *, backends: Mapping[BackendName, Backend], settings: Settings) -> PoolFacts:
    """What is known of the pool. The caches alone must not say that it is gone: its builders would be removed."""
    pool = seen.pool
    if isinstance(pool, Absent) and not pool.confirmed:
        pool = seen.need(Confirmed(MachineConfigPool, seen.name))
    facts = PoolFacts(
        answers=seen.answers,
        name=seen.name,
        pool=pool,
        builds=seen.builds,
        os_builds=seen.os_builds,
        config_gone=_config_gone(seen) if settings.machine_os_configs else None,
        deadlines=settings.deadlines,
    )
    if not isinstance(pool, Present) or pool.deleting:
        return facts
    match seen.config:
        case None if opted_in(pool.object):
            request = request_of(seen, pool.object, settings) or Problem("NotRead", "the pool asks for nothing")
            if isinstance(request, Problem):
                return replace(facts, request=request)
            inputs = inputs_of(request, applied_by=settings.apply_by)
            facts = _with_request(facts, seen, request, inputs, str(inputs), backends=backends, settings=settings)
            return replace(facts, shown=_shown(facts, _recorded(pool.object, inputs), request))
        case None:
            return facts
        case Present() as config if settings.machine_os_configs:
            facts = replace(facts, claimed=config.metadata.name)
            asked = request_of(seen, pool.object, settings) or Problem("NotRead", "the pool asks for nothing")
            if isinstance(asked, Problem):
                return replace(facts, request=asked, claim=Claim(config=config, name=asked))
            claim = _claim(seen, config, pool, asked)
            facts = _with_request(
                facts, seen, asked, claim.inputs, str(claim.name), backends=backends, settings=settings
            )
            claim = replace(claim, lacks=lacking(asked.architectures, _shown(facts, image_of_claim(claim), asked)))
            registry = _registry_has(facts, claim, asked)
            silent = _silent_since(facts, claim) if isinstance(registry, Denied | NotAsked) else None
            return replace(facts, claim=replace(claim, registry=registry, silent=silent))
        case found:
            # It is for another process; or, as the API server validates it, of a version that is not known here.
            return replace(facts, claimed=found.metadata.name)


def _with_stream(seen: PoolSnapshot, pool: MachineConfigPool, request: Request | Problem) -> Request | Problem:
    """The request with the images of the stream that the pool follows."""
    if isinstance(request, Problem):
        return request
    found = seen.streams
    streams = found.object if isinstance(found, Present) else None
    why = "" if found is None or isinstance(found, Present) else found.why
    return replace(request, images=images_of(pool, streams, request.images, unreadable=why))


def _requested_by_config(seen: PoolSnapshot, config: MachineOSConfig, pool: MachineConfigPool) -> Request | Problem:
    """The request, with the user's part for each architecture."""
    first = _for_machines(seen, pool, requested_by_config(config, pool, architecture=None))
    if isinstance(first, Problem):
        return first
    parts: list[tuple[str, str]] = []
    for architecture in first.architectures or (ARCHITECTURE,):
        each = requested_by_config(config, pool, architecture=architecture)
        if isinstance(each, Problem):
            return each
        parts.append((architecture, each.containerfile))
    return replace(first, containerfile=parts[0][1], containerfiles=tuple(parts) if first.architectures else ())


def _for_machines(seen: PoolSnapshot, pool: MachineConfigPool, request: Request | Problem) -> Request | Problem:
    """The request for the architectures of the pool's Nodes."""
    if isinstance(request, Problem):
        return request
    if isinstance(seen.machines, ForbiddenKind):
        # Without them, a Node could get an image that it cannot boot.
        text = f"Nodes may not be listed: {seen.machines.why}: apply the present manifests of this process"
        return Problem("EnvironmentInvalid", text)
    found = chosen(pool, seen.machines)
    return found if isinstance(found, Problem) else replace(request, architectures=found)


def _recorded(pool: MachineConfigPool, inputs: Inputs) -> str:
    """The recorded image, if it is of these inputs."""
    annotations = pool.metadata.annotations
    return annotations.get(IMAGE, "") if inputs.satisfied_by(annotations.get(IMAGE_INPUTS, "")) else ""


def _shown(facts: PoolFacts, image: str, request: Request) -> Shown | Gone | Denied | NotAsked | None:
    """For which architectures the image is; None: there is none, or builders run anywhere."""
    repository, _, digest = image.partition("@")
    if not image or not request.architectures:
        return None
    credentials = push_credentials(request, facts.versions)
    return platforms(facts, Platforms(Target.parse(repository), digest, credentials, request.egress))


def request_of(seen: PoolSnapshot, pool: MachineConfigPool, settings: Settings) -> Request | Problem | None:
    """What is asked for; None: no image of this process."""
    match seen.config:
        case None if opted_in(pool):
            request = _in_environment(seen, requested(pool, _given(seen, settings)), settings)
            return _with_stream(seen, pool, _for_machines(seen, pool, request))
        case Present() as config if settings.machine_os_configs:
            asked = _requested_by_config(seen, config.object, pool)
            placement = placement_in(_given(seen, settings))
            if isinstance(asked, Request):
                asked = placement if isinstance(placement, Problem) else replace(asked, placement=placement)
            return _with_stream(seen, pool, _in_environment(seen, asked, settings))
    return None


def _config_gone(seen: PoolSnapshot) -> ObjectTarget | None:
    """The MachineOSConfig that named the pool before. One that cannot be read is there."""
    note, known = Claimant(seen.name), seen.known(Claimant(seen.name))
    before = known.value if known else None
    if isinstance(seen.config, Present) and (before is None or before.uid != seen.config.metadata.uid):
        seen.need(Claimant(seen.name, target(seen.config)), this_round=True)
    elif known:
        seen.need(note)
    return before if seen.config is None else None


def _in_environment(seen: PoolSnapshot, request: Request | Problem, settings: Settings) -> Request | Problem:
    """The request with the way to the outside that the ControllerConfig and the settings describe."""
    if isinstance(request, Problem):
        return request
    options, config = settings.egress, seen.controller_config
    if settings.registry_ca is not None:
        certificates = seen.need(Authorities(settings.registry_ca))
        if isinstance(certificates, Problem):
            return certificates
        options = replace(options, authorities=certificates)
    if isinstance(config, ForbiddenKind):
        # Without it, a build would lack the trust bundle, and be another one.
        text = f"ControllerConfigs may not be listed: {config.why}: apply the present manifests of this process"
        return Problem("EnvironmentInvalid", text)
    if isinstance(config, Unreadable):
        return Problem("EnvironmentInvalid", f"ControllerConfig {config.metadata.name} cannot be read: {config.why}")
    egress = _egress(config.object if config else None, options)
    if isinstance(egress, Problem):
        return egress
    cluster = "" if settings.keep_images is None else seen.need(Cluster())
    return cluster if isinstance(cluster, Problem) else replace(request, egress=egress, cluster=cluster)


def _egress(config: ControllerConfig | None, options: Egress) -> Egress | Problem:
    try:
        return egress_of(config, options=options)
    except ValueError as error:
        return Problem("EnvironmentInvalid", str(error))


def _given(seen: PoolSnapshot, settings: Settings) -> Given:
    """The older ConfigMap counts only if the other is really missing, and a cache may lag."""
    given = seen.given
    if given.config is not None or given.config_alias is None:
        return given
    found = seen.need(Live(ConfigMap, BUILDER_CONFIG, settings.namespace))
    return replace(given, config=found.object.data if isinstance(found, Present) else None)


def _with_request(
    facts: PoolFacts,
    seen: PoolSnapshot,
    request: Request,
    inputs: Inputs,
    wanted: str,
    *,
    backends: Mapping[BackendName, Backend],
    settings: Settings,
) -> PoolFacts:
    backend, versions = _backend(seen, request, backends), versions_of(seen, request)
    note = Wanted(wanted)
    seen.need(note)
    since, unfit, losses = seen.known(note), seen.known(Unfit((request, backend))), seen.known(Losses(str(inputs)))
    return replace(
        facts,
        request=request,
        inputs=inputs,
        wanted=since.at if since else None,
        backend=backend,
        versions=versions,
        signer=_signer(seen, settings),
        lists_contents=settings.sbom,
        refused=_refusal(seen, (inputs, backend, versions), settings),
        unfit=unfit.value if unfit else None,
        losses=(losses.value or ()) if losses else (),
    )


def versions_of(seen: PoolSnapshot, request: Request) -> str:
    """Which state the Secrets are in, from the cache of their metadata."""
    return _versions(seen, request.pull_secret, request.push_secret)


def _signer(seen: PoolSnapshot, settings: Settings) -> Signer | None:
    name = settings.signing_key
    return Signer(name, _versions(seen, name)) if name else None


def _versions(seen: PoolSnapshot, *secrets: str) -> str:
    names = dict.fromkeys(secrets)
    found = seen.need(*(Indexed(Secret, BY_NAME, name) for name in names))
    every = found if len(names) > 1 else (found,)
    known = (meta for some in every for each in some if (meta := metadata_of(each)) is not None)
    return ",".join(f"{each.uid}/{each.resource_version}" for each in known)


def _backend(seen: PoolSnapshot, request: Request, backends: Mapping[BackendName, Backend]) -> BackendName | Problem:
    def usable(name: BackendName) -> BackendName | Problem:
        asks = f"imageBuilderType asks for the backend {name}"
        if name not in backends:
            text = f"{asks}, which this process was started without"
            return Problem("NoBuilder", f"{text}: {name.remedy}" if name.remedy else text)
        if name in seen.unserved:
            return Problem("NoBuilder", f"{asks}, which this cluster lacks: {seen.unserved[name]}")
        return name

    if request.backend is not None:
        return usable(request.backend)
    found = (usable(name) for name, backend in backends.items() if backend.usual)
    without = Problem("NoBuilder", "no builder backend can be used here: this process was started without any")
    return next((name for name in found if isinstance(name, BackendName)), without)


def _refusal(seen: PoolSnapshot, wanted: tuple[object, ...], settings: Settings) -> Refusal | None:
    """What the API server refused now, or a moment ago, unless something else is asked for since."""
    if why := refused_creation(seen.last):
        seen.need(Refused(wanted, why), this_round=True)
    noted = seen.known(Refused(wanted))
    if noted is None or noted.value is None:
        return None
    return Refusal(noted.value, noted.at + timedelta(seconds=settings.timing.ask_again))


def refused_creation(last: Outcome) -> str:
    """The refusal in this outcome, with its remedy; empty if there is none.

    What may be tried again at once, such as a conflict or a server that is busy, never comes here
    (`windlass.kube.control.rounds`).
    """
    failed = next((each for each in last.failures if isinstance(each.action, Create)), None)
    if failed is None or failed.error is None:
        return ""
    what = failed.action.target
    said = shortened(" ".join(log.clean(str(failed.error)).split()), LONGEST)
    return f"The API server refuses to create {what}: {said}. {remedy(failed.error)}"


def _claim(
    seen: PoolSnapshot, config: Present[MachineOSConfig], pool: Present[MachineConfigPool], request: Request
) -> Claim:
    """What the MachineOSConfig asks for now. The registry is not asked yet."""
    builds = seen.os_builds
    rendered = _meaning(seen, request.config)
    if rendered is None:
        text = f"MachineConfig {request.config}, which pool {request.pool} names, does not exist or cannot be read"
        return Claim(config=config, name=Problem("MachineConfigMissing", text), builds=builds)
    name = build_name(config.object, pool.object, rendered)
    serves = _serves(seen, config.object, rendered) if isinstance(name, str) else ""
    return Claim(config=config, name=name, builds=builds, serves=serves)


def _serves(seen: PoolSnapshot, config: MachineOSConfig, wanted: RenderedMachineConfig) -> str:
    """The current image, if it serves what is wanted."""
    current = build_of_current_image(config, [each.object for each in seen.os_builds])
    if current is None:
        return ""
    old = _meaning(seen, current.spec.machine_config.name)
    return "" if old is None or needs_rebuild(old, wanted) else current.status.digested_image_push_spec


def _meaning(seen: PoolSnapshot, name: str) -> RenderedMachineConfig | None:
    """One that could not be read is read again: nothing tells when it is there."""
    known = seen.known(Meaning(name))
    return known.value if known and known.value else seen.need(Meaning(name), this_round=True)


def _registry_has(facts: PoolFacts, claim: Claim, request: Request) -> ManifestAnswer | None:
    """Whether the image that is about to be taken is still there. An image pushed a moment ago counts as there."""
    image = image_to_take(claim)
    if not image:
        return None
    repository, _, digest = image.partition("@")
    if any(build.digest == digest for build in facts.builds):
        return Found(digest)
    return facts.need(
        Manifest(Target.parse(repository), digest, push_credentials(request, facts.versions), request.egress)
    )


def _silent_since(facts: PoolFacts, claim: Claim) -> datetime | None:
    """Since when the registry has not told whether it has the image, as far as this process knows."""
    note = Untold(image_to_take(claim))
    facts.need(note)
    known = facts.known(note)
    return known.at if known else None
