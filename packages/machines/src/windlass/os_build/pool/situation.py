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
from typing import Final

from msgspec.structs import replace

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.conditions import find, is_true
from windlass.kube.control.seen import Present
from windlass.os_build.builder import BuildState, Cause, Phase
from windlass.os_build.builder import Failed as Failure
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG, IMAGE_INPUTS
from windlass.os_build.identity import Inputs, build_name, list_tag
from windlass.os_build.machine_os.claim import Again, Building, Claim, Failed, Missing, Silent, standing
from windlass.os_build.pool.builds import of_build, of_failed_build, refused, wanted_build, wanted_builds
from windlass.os_build.pool.questions import Platforms, Pushed, platforms, push_credentials
from windlass.os_build.pool.situations import (
    Broken,
    Built,
    ByConfig,
    Claimed,
    Doomed,
    Finished,
    Gone,
    HeldBack,
    Joining,
    Lost,
    OptedOut,
    Ready,
    Refused,
    Resting,
    Retrying,
    Situation,
    Unclear,
    Unconfirmed,
    Underway,
    Unjoined,
)
from windlass.os_build.pool.snapshot import PoolFacts, Timing, lacking
from windlass.os_build.registry.answers import Found, Shown, Unlisted
from windlass.os_build.registry.carrier import ImageList
from windlass.os_build.request import BackendName, Problem, Request, opted_in

BLOCKING: Final = ("RenderDegraded", "NodeDegraded", "PinnedImageSetsDegraded", "PoolSynchronizerDegraded")
"""Conditions of a pool with which no build starts. `Degraded` is no such one: a failed build may be its cause."""


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
    found = of_failed_build(seen, builder, now=now, timing=timing) if builder and builder.failed else None
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
        found = of_build(seen, build, now=now, timing=timing)
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
        architecture: of_build(seen, builds[architecture], now=now, timing=timing) if architecture in builds else None
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


def _recorded(pool: MachineConfigPool, inputs: Inputs) -> Built | None:
    annotations = pool.metadata.annotations
    image = annotations.get(IMAGE, "")
    if image and inputs.satisfied_by(annotations.get(IMAGE_INPUTS, "")):
        return Built(image, annotations.get(IMAGE_CONFIG, ""))
    return None


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
    return refused(seen, now=now) or Ready(seen.backend, attempt, build_name(seen.name, inputs, attempt))
