"""Tells which builds are of what a pool asks for, and what the state of one of them means for the pool. Pure.

| the build | what it means |
|---|---|
| waits, runs, or is being removed | `Underway`; `Doomed` if it is overdue, or is evicted again and again |
| succeeded | `Finished`, or `Unconfirmed` while its digest is not known |
| was lost by the infrastructure | `Lost`; each further time it rests twice as long |
| never began, since the API server refused it | `Refused` |
| failed for what credentials heal, and they are others since | `Lost` |
| failed for good | `Broken` |
| failed for a cause that passes | `Retrying`, then the next attempt is due; after the last one `Broken`, then `Lost` |
"""

from datetime import datetime, timedelta
from typing import Final

from windlass.os_build.builder import ATTEMPTS, HEALED_BY_CREDENTIALS, BuildState, Cause, Phase
from windlass.os_build.credentials import same_versions
from windlass.os_build.pool.questions import Manifest, current_secrets, push_credentials
from windlass.os_build.pool.situations import (
    Broken,
    Doomed,
    Finished,
    Lost,
    Refused,
    Retrying,
    Situation,
    Unconfirmed,
    Underway,
)
from windlass.os_build.pool.snapshot import PoolFacts, Timing
from windlass.os_build.registry.answers import Found
from windlass.os_build.request import BackendName, Problem, Request

_LOSSES: Final = 10


def wanted_build(seen: PoolFacts) -> BuildState | None:
    """The latest build of what the pool asks for."""
    return max(wanted_builds(seen), key=lambda build: build.attempt, default=None)


def wanted_builds(seen: PoolFacts) -> list[BuildState]:
    """The builds of what the pool asks for, in no order."""
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


def of_build(seen: PoolFacts, build: BuildState, *, now: datetime, timing: Timing) -> Situation | None:
    """What the build means for its pool. None: it failed, and the next attempt is due."""
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
            return refused(seen, now=now) or Lost(build, when)
    return of_failed_build(seen, build, now=now, timing=timing)


def earlier_losses(seen: PoolFacts, build: BuildState) -> tuple[datetime, ...]:
    """When builds like this one were lost, without its own end. The last of them tell as much as all."""
    return tuple(each for each in seen.losses if each != build.ended)[-_LOSSES:]


def _by_registry(seen: PoolFacts, build: BuildState) -> Situation:
    """Its backend does not tell the digest."""
    assert isinstance(seen.request, Request)
    reference, push = build.image.rpartition(":")[2], push_credentials(seen.request, seen.versions)
    found = seen.need(Manifest(seen.request.target, reference, push, seen.request.egress))
    return Finished(build, found.digest) if isinstance(found, Found) else Unconfirmed(build, found.text)


def of_failed_build(seen: PoolFacts, build: BuildState, *, now: datetime, timing: Timing) -> Situation | None:
    """The same, of a build that failed."""
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


def refused(seen: PoolFacts, *, now: datetime) -> Refused | None:
    """The API server refused what a build begins with, a moment ago."""
    found = seen.refused
    return Refused(found.why, found.until) if found is not None and now < found.until else None
