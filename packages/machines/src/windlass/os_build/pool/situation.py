"""Tells which situation a pool is in. Pure; the first row that fits wins:

| the pool | its situation |
|---|---|
| is gone, or is being deleted | `Gone` |
| is named by a MachineOSConfig, which another process serves | `Claimed` |
| is named by a MachineOSConfig | `ByConfig`; the rows from `Underway` on while its MachineOSBuild is not over |
| is not opted in | `OptedOut` |
| asks for what cannot be told | `Unclear` |
| has the image that it asks for | `Built` |
| has a build of it that waits or runs | `Underway`; `Doomed` if it is overdue, or is evicted again and again |
| has a build of it that succeeded | `Finished`, or `Unconfirmed` while its digest is not known |
| would begin a build, and the API server refused that a moment ago | `Refused` |
| has one that the infrastructure lost | `Lost`: it is removed, after a pause |
| has one that was refused, and the credentials are others since | `Lost` |
| has one that failed for good | `Broken` |
| has one whose last attempt failed for a cause that passes | `Broken`, and after half an hour `Lost` |
| has one that failed for a cause that passes, a moment ago | `Retrying` |
| is degraded for other reasons | `HeldBack` |
| changed a moment ago | `Resting` |
| lacks a backend that can build | `Unclear` |
| else | `Ready`: a build is due |

An image that the registry shows, and that lacks an architecture of the pool's Nodes, is not what the pool asks for.

An image for several architectures is a list of images, each with a builder of its own. The rows above tell of each
builder; the first row here that fits one of them is the situation of the pool:

| a builder is | the pool's situation |
|---|---|
| overdue, or evicted again and again | its `Doomed` |
| failed | its `Broken`: the others go on, and what they built serves a later attempt |
| refused by the API server | `Refused` |
| lost | its `Lost`: it alone is removed |
| missing, or its next attempt is due | `Ready`, for the builders that are due alone |
| failed a moment ago for a cause that passes | its `Retrying` |
| at its end, and its digest is not known | its `Unconfirmed` |
| waiting or running | `Underway`, with one that waits, if there is one |
| and if all succeeded | `Joining`: their list is due; `Unjoined` if the registry has not taken it |
| the same, and an image is gone | its `Lost` |
| the same, and an image is for another architecture | its `Broken` |
| the same, and the list is pushed | `Finished` |
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.conditions import find, is_true
from windlass.kube.control.seen import Present
from windlass.os_build.builder import ATTEMPTS, HEALED_BY_CREDENTIALS, BuildState, Cause, Phase
from windlass.os_build.builder import Failed as Failure
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG, IMAGE_INPUTS
from windlass.os_build.credentials import same_versions
from windlass.os_build.identity import Inputs, build_name, list_tag
from windlass.os_build.machine_os.claim import (
    Again,
    Building,
    Claim,
    Current,
    Failed,
    Missing,
    Reuse,
    Silent,
    Wait,
    standing,
)
from windlass.os_build.pool.questions import (
    Manifest,
    Platforms,
    Pushed,
    current_secrets,
    platforms,
    push_credentials,
)
from windlass.os_build.pool.snapshot import PoolFacts, Timing, lacking
from windlass.os_build.registry.answers import Denied, Found, NotAsked, Shown, Unlisted
from windlass.os_build.registry.answers import Refused as RefusedList
from windlass.os_build.registry.carrier import ImageList
from windlass.os_build.request import BackendName, Problem, Request, opted_in

BLOCKING: Final = ("RenderDegraded", "NodeDegraded", "PinnedImageSetsDegraded", "PoolSynchronizerDegraded")
"""Conditions of a pool with which no build starts. `Degraded` is no such one: a failed build may be its cause."""


_LOSSES: Final = 10


class Gone(Struct, frozen=True):
    """There is no pool, or soon none."""


class Claimed(Struct, frozen=True):
    by: str


class ByConfig(Struct, frozen=True):
    standing: Wait | Silent | Again | Current | Failed | Reuse | Missing


class OptedOut(Struct, frozen=True):
    pass


class Unclear(Struct, frozen=True):
    problem: Problem


class Built(Struct, frozen=True):
    """`image` is recorded on the pool, for these inputs."""

    image: str
    config: str


class Underway(Struct, frozen=True):
    build: BuildState


class Doomed(Struct, frozen=True):
    """It goes on, and has failed for this `cause`."""

    build: BuildState
    cause: Cause


class Finished(Struct, frozen=True):
    build: BuildState
    digest: str


class Unconfirmed(Struct, frozen=True):
    """`why` the registry does not tell the digest."""

    build: BuildState
    why: str


class Lost(Struct, frozen=True):
    """The builder object is of no use any more; it is removed at `when`, and the build begins again."""

    build: BuildState
    when: datetime
    why: str = "it begins again"


class Broken(Struct, frozen=True):
    """`again`: when attempts begin anew; None: not by themselves."""

    build: BuildState
    again: datetime | None = None


class Retrying(Struct, frozen=True):
    build: BuildState
    when: datetime


class Joining(Struct, frozen=True):
    """All images of the `list` are built; `build` is one of them."""

    build: BuildState
    list: ImageList


class Unjoined(Struct, frozen=True):
    """The registry has not taken the list; `why`."""

    build: BuildState
    list: ImageList
    why: RefusedList | Denied | NotAsked


class HeldBack(Struct, frozen=True):
    condition: str
    message: str


class Resting(Struct, frozen=True):
    when: datetime


class Refused(Struct, frozen=True):
    """The API server refused what a build begins with; `why`, with the remedy. It is asked again at `when`."""

    why: str
    when: datetime


class Ready(Struct, frozen=True):
    """A build is due, with this name; `due`: of a list, the architectures with their attempts that are."""

    backend: BackendName
    attempt: int
    name: str
    due: tuple[tuple[str, int], ...] = ()


Situation: TypeAlias = (
    Gone
    | Claimed
    | ByConfig
    | OptedOut
    | Unclear
    | Built
    | Underway
    | Doomed
    | Finished
    | Unconfirmed
    | Lost
    | Broken
    | Retrying
    | Joining
    | Unjoined
    | HeldBack
    | Resting
    | Refused
    | Ready
)


def situation(seen: PoolFacts, *, now: datetime, timing: Timing) -> Situation:
    """The table of the module. The pool must be readable if it is there."""
    pool = seen.pool
    if not isinstance(pool, Present) or pool.deleting:
        return Gone()
    if seen.claimed and seen.claim is None:
        return Claimed(seen.claimed)
    if not seen.claimed and not opted_in(pool.object):
        return OptedOut()
    if not isinstance(seen.request, Request):
        return Unclear(seen.request or Problem("NotRead", "its ConfigMaps have not been read"))
    assert seen.inputs is not None
    if seen.claim is not None:
        return _claimed(seen, seen.claim, pool.object, seen.inputs, now=now, timing=timing)
    if (recorded := _recorded(pool.object, seen.inputs)) and not seen.lacking:
        return recorded
    return _progress(seen, pool.object, seen.inputs, now=now, timing=timing)


def _claimed(
    seen: PoolFacts, claim: Claim, pool: MachineConfigPool, inputs: Inputs, *, now: datetime, timing: Timing
) -> Situation:
    match standing(claim):
        case Problem() as problem:
            return Unclear(problem)
        case Building():
            return _progress(seen, pool, inputs, now=now, timing=timing)
        case Missing() as missing:
            before = _before_a_build(seen, pool, inputs, 1, now=now, timing=timing)
            return ByConfig(missing) if isinstance(before, Ready) else before
        case Silent(then=then) if claim.silent and now >= claim.silent + timedelta(seconds=timing.silence):
            return ByConfig(then)
        case Failed() as failed:
            return ByConfig(_of_failed_claim(seen, failed, now=now, timing=timing))
        case found:
            return ByConfig(found)


def _of_failed_claim(seen: PoolFacts, failed: Failed, *, now: datetime, timing: Timing) -> Failed | Again:
    """The builder of a failed MachineOSBuild tells why it failed. Without a builder, only other inputs help."""
    builder = next((each for each in wanted_builds(seen) if each.failed), None)
    found = _of_failed_build(seen, builder, now=now, timing=timing) if builder and builder.failed else None
    match found:
        case Lost():
            return Again(failed.build, "what it failed for may have passed")
        case Broken(again=again):
            return Failed(failed.build, again)
    return failed


def _progress(seen: PoolFacts, pool: MachineConfigPool, inputs: Inputs, *, now: datetime, timing: Timing) -> Situation:
    if len(seen.architectures) > 1:
        return _of_list(seen, pool, inputs, now=now, timing=timing)
    attempt = 1
    if build := wanted_build(seen):
        found = _of_build(seen, build, now=now, timing=timing)
        if isinstance(found, Finished):
            return _fitting(seen, found, now=now)
        if found is not None:
            return found
        attempt = build.attempt + 1
    return _before_a_build(seen, pool, inputs, attempt, now=now, timing=timing)


def _of_list(seen: PoolFacts, pool: MachineConfigPool, inputs: Inputs, *, now: datetime, timing: Timing) -> Situation:
    """The second table of the module."""
    builds = {build.architecture: build for build in wanted_builds(seen)}
    each = {
        architecture: _of_build(seen, builds[architecture], now=now, timing=timing) if architecture in builds else None
        for architecture in seen.architectures
    }
    found = [one for one in each.values() if one is not None]
    for kind in (Doomed, Broken, Refused):
        if first := next((one for one in found if isinstance(one, kind)), None):
            return first
    if lost := min((one for one in found if isinstance(one, Lost)), key=lambda one: one.when, default=None):
        return lost
    if due := tuple((name, builds[name].attempt + 1 if name in builds else 1) for name, one in each.items() if not one):
        ready = _before_a_build(seen, pool, inputs, max(attempt for _, attempt in due), now=now, timing=timing)
        return replace(ready, name=build_name(seen.name, inputs), due=due) if isinstance(ready, Ready) else ready
    if retrying := min((one for one in found if isinstance(one, Retrying)), key=lambda one: one.when, default=None):
        return retrying
    if unconfirmed := next((one for one in found if isinstance(one, Unconfirmed)), None):
        return unconfirmed
    running = [one.build for one in found if isinstance(one, Underway)]
    if running:
        return Underway(min(running, key=_says_most))
    return _joined(seen, inputs, [one for one in found if isinstance(one, Finished)], now=now)


def _says_most(build: BuildState) -> tuple[bool, bool, bool, str]:
    """For the build that people are told of: what waits for a reason, what waits, what runs."""
    kept = build.waits is not None and build.waits.obstacle is not None
    return not kept, build.waits is None, build.phase is not Phase.PENDING, build.architecture


def _joined(seen: PoolFacts, inputs: Inputs, ends: Sequence[Finished], *, now: datetime) -> Situation:
    """All images of the list are built."""
    assert isinstance(seen.request, Request)
    first, *_ = builds = [each.build for each in ends]
    wanted = ImageList(
        target=str(seen.request.target),
        tag=_list_tag(seen, inputs),
        images=tuple((each.build.architecture, each.digest) for each in ends),
        occasion=max(str(build.ended or "") for build in builds),
        versions=seen.versions,
    )
    match seen.need(Pushed(wanted)):
        case None:
            return Joining(first, wanted)
        case Found(digest):
            return Finished(first, digest)
        case Unlisted(architecture, text, found):
            build = next(each for each in builds if each.architecture == architecture)
            return Broken(_of_wrong_architecture(build, text)) if found else Lost(build, now, text)
        case why:
            return Unjoined(first, wanted, why)


def _list_tag(seen: PoolFacts, inputs: Inputs) -> str:
    """A MachineOSBuild says what its image is pushed as."""
    if seen.claim is not None and isinstance(seen.claim.name, str):
        return seen.claim.name
    return list_tag(build_name(seen.name, inputs), seen.architectures)


def _fitting(seen: PoolFacts, found: Finished, *, now: datetime) -> Situation:
    """A build for one architecture that was chosen: its image must be for that."""
    if not seen.architectures:
        return found
    assert isinstance(seen.request, Request)
    asked = Platforms(
        seen.request.target, found.digest, push_credentials(seen.request, seen.versions), seen.request.egress
    )
    shown = platforms(seen, asked)
    if not isinstance(shown, Shown) or not lacking(seen.architectures, shown):
        return found
    if not found.build.architecture:
        # Its builder was not chosen: all Nodes were of one architecture when it began.
        return Lost(found.build, now, "its image is for another architecture than that of the pool's Nodes")
    text = f"{seen.request.target.digested(found.digest)} is for {', '.join(shown.architectures)}"
    return Broken(_of_wrong_architecture(found.build, text))


def _of_wrong_architecture(build: BuildState, text: str) -> BuildState:
    return replace(build, phase=Phase.FAILED, failed=Failure(cause=Cause.ARCHITECTURE, tail=text))


def wanted_build(seen: PoolFacts) -> BuildState | None:
    """The latest build of what the pool asks for."""
    return max(wanted_builds(seen), key=lambda build: build.attempt, default=None)


def wanted_builds(seen: PoolFacts) -> list[BuildState]:
    return [build for build in seen.builds if not unwanted(seen, build)]


def unwanted(seen: PoolFacts, build: BuildState) -> bool:
    """It is of other inputs or architectures; or of another backend than is asked for, and has no image."""
    if build.inputs != str(seen.inputs) or _is_misplaced(seen, build):
        return True
    return isinstance(seen.backend, BackendName) and build.backend != seen.backend and build.phase != Phase.SUCCEEDED


def _is_misplaced(seen: PoolFacts, build: BuildState) -> bool:
    """It is for an architecture that is not asked for; or part of a list, where none is asked for, or the reverse."""
    asked = seen.architectures
    if len(asked) > 1:
        later = (each.attempt for each in seen.builds if each.inputs == build.inputs and _is_beside(each, build))
        return not build.part_of or build.architecture not in asked or build.attempt < max(later, default=0)
    return bool(build.part_of or (asked and build.architecture and build.architecture not in asked))


def _is_beside(one: BuildState, other: BuildState) -> bool:
    """Both are attempts of the same image of a list."""
    return bool(one.part_of) and one.architecture == other.architecture and one.backend == other.backend


def _recorded(pool: MachineConfigPool, inputs: Inputs) -> Built | None:
    annotations = pool.metadata.annotations
    image = annotations.get(IMAGE, "")
    if image and inputs.satisfied_by(annotations.get(IMAGE_INPUTS, "")):
        return Built(image, annotations.get(IMAGE_CONFIG, ""))
    return None


def _of_build(seen: PoolFacts, build: BuildState, *, now: datetime, timing: Timing) -> Situation | None:
    """None: it failed, and the next attempt is due."""
    if build.ending:
        return Underway(build)
    match build.phase:
        case Phase.PENDING | Phase.RUNNING:
            if build.doomed is not None:
                return Doomed(build, build.doomed)
            overdue = _is_overdue(seen, build, now=now, timing=timing)
            return Doomed(build, Cause.DEADLINE) if overdue else Underway(build)
        case Phase.SUCCEEDED:
            if build.digest:
                return Finished(build, build.digest)
            return _by_registry(seen, build)
        case Phase.INTERRUPTED:
            # The ConfigMap of a builder that was refused is such a one.
            when = _after(build, min(timing.lost * 2 ** len(earlier_losses(seen, build)), timing.anew), now=now)
            return _refused(seen, now=now) or Lost(build, when)
    return _of_failed_build(seen, build, now=now, timing=timing)


def earlier_losses(seen: PoolFacts, build: BuildState) -> tuple[datetime, ...]:
    """When builds like this one were lost, without its own end. The last of them tell as much as all."""
    return tuple(each for each in seen.losses if each != build.ended)[-_LOSSES:]


def _by_registry(seen: PoolFacts, build: BuildState) -> Situation:
    """Its backend does not tell the digest."""
    assert isinstance(seen.request, Request)
    reference, push = build.image.rpartition(":")[2], push_credentials(seen.request, seen.versions)
    found = seen.need(Manifest(seen.request.target, reference, push, seen.request.egress))
    return Finished(build, found.digest) if isinstance(found, Found) else Unconfirmed(build, found.text)


def _of_failed_build(seen: PoolFacts, build: BuildState, *, now: datetime, timing: Timing) -> Situation | None:
    failed = build.failed
    if failed is not None and _heals(seen, build, failed.cause):
        return Lost(build, now)
    if failed is None or not failed.transient:
        return Broken(build)
    if build.attempt >= ATTEMPTS:
        again = _after(build, timing.anew, now=now)
        return Broken(build, again) if now < again else Lost(build, now)
    pause = timing.retries[min(build.attempt, len(timing.retries)) - 1] if timing.retries else 0.0
    when = _after(build, pause, now=now)
    return Retrying(build, when) if now < when else None


def _after(build: BuildState, pause: float, *, now: datetime) -> datetime:
    return build.ended + timedelta(seconds=pause) if build.ended else now


def _heals(seen: PoolFacts, build: BuildState, cause: Cause) -> bool:
    """The Secrets have other credentials than when the build failed, such as may remove the cause. Whoever touches a
    Secret, or rotates a token of a user to whom an image is unknown, heals nothing."""
    if cause not in HEALED_BY_CREDENTIALS or not seen.versions or same_versions(build.secrets, seen.versions):
        return False
    assert isinstance(seen.request, Request)
    secrets = current_secrets(seen, seen.request, seen.versions)
    if isinstance(secrets, Problem):
        return False
    if cause is Cause.IMAGE_NOT_FOUND:
        return secrets.has_another_user(build.secrets)
    return secrets.has_another_login(build.secrets)


def _is_overdue(seen: PoolFacts, build: BuildState, *, now: datetime, timing: Timing) -> bool:
    longest = seen.deadlines.build + seen.deadlines.push + timing.grace
    return build.runs is not None and (now - build.runs).total_seconds() > longest


def _before_a_build(
    seen: PoolFacts, pool: MachineConfigPool, inputs: Inputs, attempt: int, *, now: datetime, timing: Timing
) -> Situation:
    conditions = pool.status.conditions
    if blocking := next((each for each in BLOCKING if is_true(conditions, each)), None):
        found = find(conditions, blocking)
        return HeldBack(blocking, found.message if found is not None else "")
    rested = (seen.wanted or now) + timedelta(seconds=timing.debounce)
    if timing.debounce and now < rested and attempt == 1:
        return Resting(rested)
    if not isinstance(seen.backend, BackendName):
        return Unclear(seen.backend or Problem("NotRead", "the backends have not been looked at"))
    return _refused(seen, now=now) or Ready(seen.backend, attempt, build_name(seen.name, inputs, attempt))


def _refused(seen: PoolFacts, *, now: datetime) -> Refused | None:
    refused = seen.refused
    return Refused(refused.why, refused.until) if refused is not None and now < refused.until else None
