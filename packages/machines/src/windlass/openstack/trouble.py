"""Turns failures of a cloud into conditions, and says when the failed request is sent again: one table for all.

| failure | condition and reason | Progressing | sent again after |
|---|---|---|---|
| `Throttled`, `Unavailable`, no answer | the caller's | True, `TransientError` | 1 s to 5 min |
| `InConflict` | the caller's | True, `TransientError` | 5 s to 5 min |
| `OverQuota` | the caller's, `QuotaExceeded` | True, `TransientError` | 1 to 10 min |
| `Missing`, an unknown key pair | the caller's, `DependencyFailed` | True, `TransientError` | 1 to 10 min |
| `Unauthenticated` | `OpenStackAuthenticationSucceeded` | False | 5 min, or when the Secret changes |
| `Denied` | the caller's | False | 5 min |
| `Rejected` | the caller's, `InvalidConfiguration` | False | 10 min |
| `NotSent` | as the failure that closed the gate | the same | when the gate opens |

A delay is as long as the trouble has lasted, within those limits: attempts come 1, 2, 4, 8, ... seconds after the first
failure. The condition says since when it has lasted (its lastTransitionTime), so a new process continues the same
delays. A `Retry-After` is kept, up to five minutes.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.meta import Condition
from windlass.kube.clock import rfc3339
from windlass.kube.conditions import FALSE, TRUE, Conditional, Status, condition, find
from windlass.kube.errors import Failure
from windlass.kube.retry_after import bounded
from windlass.openstack.cloud.classify import METADATA
from windlass.openstack.cloud.failures import (
    CloudFailure,
    Denied,
    InConflict,
    Missing,
    NotSent,
    OverQuota,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from windlass.openstack.cloud.inventory import Quota
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.instance.spec import Problem
from windlass.openstack.status import AUTHENTICATED, INSTANCE_READY, PROGRESSING, Reason

_FIELDS: Final = {"groups": "securityGroups", "addresses": "fixedIPs", "server_group": "serverGroup"}
"""Fields of `InstanceSpec` that the objects call otherwise."""


class DelayRange(Struct, frozen=True):
    """The shortest and the longest delay, in seconds."""

    first: float
    most: float


class Delays(Struct, frozen=True, kw_only=True):
    """The limits for each kind of trouble."""

    unavailable: DelayRange = DelayRange(1.0, 300.0)
    conflict: DelayRange = DelayRange(5.0, 300.0)
    quota: DelayRange = DelayRange(60.0, 600.0)
    dependency: DelayRange = DelayRange(60.0, 600.0)
    credentials: DelayRange = DelayRange(300.0, 300.0)
    invalid: DelayRange = DelayRange(600.0, 600.0)


DELAYS: Final = Delays()


class Trouble(Struct, frozen=True, kw_only=True):
    """A trouble for people. `by_itself`: it may pass although nobody changes the object, the credentials or roles."""

    type: str
    reason: str
    message: str
    by_itself: bool
    limits: DelayRange
    pause: float = 0.0

    @property
    def condition(self) -> Condition:
        return condition(self.type, False, self.reason, self.message)

    def progress(self, until: datetime) -> Condition:
        """`Progressing`: it is tried again at `until`, or a person has to act first."""
        if self.by_itself:
            text = f"{self.message}\nNext attempt at {rfc3339(until)}"
            return condition(PROGRESSING, True, Reason.TRANSIENT_ERROR, text)
        often = f"within {self.limits.most / 60:.0f} minutes"
        text = f"{self.message}\nIt is tried again {often}, and when the object or its credentials change"
        return condition(PROGRESSING, False, Reason.INVALID_CONFIGURATION, text)

    def due(self, failed: datetime, *, since: datetime | None) -> datetime:
        """When the request that failed at `failed` is sent again. `since`: the trouble began; None: just now."""
        age = (failed - since).total_seconds() if since is not None else 0.0
        wait = min(max(age, self.limits.first), self.limits.most)
        return failed + timedelta(seconds=max(wait, self.pause))


def trouble_of(
    failure: Failure,
    *,
    doing: str = "",
    part: str = INSTANCE_READY,
    reason: str = Reason.OPENSTACK_ERROR,
    where: str = "",
    quotas: Iterable[Quota] = (),
    delays: Delays = DELAYS,
) -> Trouble:
    """Tell of a failure. `doing` is what failed (`create port worker-0-0`), `part` and `reason` the caller's condition,
    `where` the place of the credentials, `quotas` those of the project."""
    text = f"Failed to {doing}: {failure}" if doing else str(failure)
    pause = bounded(failure.retry_after or 0.0)
    by_itself, limits = True, delays.unavailable
    match failure:
        case NotSent(why=CloudFailure() as why):
            about = trouble_of(why, doing=doing, part=part, reason=reason, where=where, quotas=quotas, delays=delays)
            limits = about.limits if isinstance(why, Unavailable) else DelayRange(pause, pause)
            return replace(about, limits=limits, pause=pause)
        case Unauthenticated():
            return _unauthenticated(str(failure), where, delays)
        case Denied():
            by_itself, limits, pause = False, delays.credentials, 0.0
            text = f"{text}. Grant the user of the credentials the role that this needs, or name other credentials"
        case OverQuota():
            reason, limits = Reason.QUOTA_EXCEEDED, delays.quota
            text = f"{text}.{_numbers(quotas)} Raise the quota of the project, or delete something in it"
        case Missing() | Rejected(fault=("Invalid key_name provided." | "Invalid key_name provided")):
            reason, limits = Reason.DEPENDENCY_FAILED, delays.dependency
        case Rejected():
            if METADATA in text:
                text = f"{text}. One of them is the mark of Windlass: remove one from serverMetadata"
            return invalid(text, part=part, delays=delays)
        case InConflict():
            limits = delays.conflict
        case Throttled():
            text = f"{text}. The service limits how much it is asked"
    return Trouble(type=part, reason=reason, message=text, by_itself=by_itself, limits=limits, pause=pause)


def trouble_of_identity(trouble: IdentityTrouble, *, delays: Delays = DELAYS) -> Trouble:
    """Tell of an `identityRef` that gives no credentials."""
    return _unauthenticated(trouble.message, "", delays)


def trouble_of_no_access(
    cloud: IdentityTrouble | CloudFailure | None, *, part: str = INSTANCE_READY, delays: Delays = DELAYS
) -> Trouble:
    """Tell why the cloud of an object cannot be asked; None: nobody has tried yet."""
    match cloud:
        case IdentityTrouble():
            return trouble_of_identity(cloud, delays=delays)
        case CloudFailure():
            return trouble_of(cloud, doing="ask the cloud", part=part, delays=delays)
    return trouble_of_identity(IdentityTrouble("the credentials have not been read yet"), delays=delays)


def _of_object(problem: Problem) -> str:
    """The message, with the field named as in the spec of the object."""
    field = re.sub("[a-z_]+", lambda word: _FIELDS.get(word[0], word[0]), problem.field)
    return problem.message.replace(f"`{problem.field}`", f"`spec.{field}`")


def trouble_of_problems(problems: Iterable[Problem | CloudFailure], *, delays: Delays = DELAYS) -> Trouble:
    """Tell of all fields of a server that cannot be resolved.

    The field that only a person can correct gives the reason; a failure of the cloud is told if there is nothing else.
    """
    problems = tuple(problems)
    texts = [_of_object(each) if isinstance(each, Problem) else str(each) for each in problems]
    text = f"Failed to resolve server spec: {'; '.join(dict.fromkeys(texts))}"
    if any(isinstance(each, Problem) and each.kind == "Invalid" for each in problems):
        return invalid(text, delays=delays)
    failures = [each for each in problems if isinstance(each, CloudFailure)]
    if refused := next((each for each in failures if isinstance(each, Unauthenticated)), None):
        return trouble_of(refused, delays=delays)
    if failures:
        worst = max(failures, key=lambda each: (not each.transient, each.retry_after or 0.0))
        about = trouble_of(worst, doing="look up what the spec names", reason=Reason.DEPENDENCY_FAILED, delays=delays)
        return replace(about, type=INSTANCE_READY, message=text)
    return unmet(text, delays=delays)


def unmet(
    message: str, *, part: str = INSTANCE_READY, reason: str = Reason.DEPENDENCY_FAILED, delays: Delays = DELAYS
) -> Trouble:
    """Tell of something that does not exist (yet)."""
    return Trouble(type=part, reason=reason, message=message, by_itself=True, limits=delays.dependency)


def invalid(message: str, *, part: str = INSTANCE_READY, delays: Delays = DELAYS) -> Trouble:
    """Tell of a field that only a person can correct."""
    reason = Reason.INVALID_CONFIGURATION
    return Trouble(type=part, reason=reason, message=message, by_itself=False, limits=delays.invalid)


def trouble_since(
    conditions: Iterable[Conditional], part: str = INSTANCE_READY, status: Status = FALSE
) -> datetime | None:
    """Since when condition `part` has had this status; None if it has not."""
    found = find(conditions, part)
    if found is None or found.status != status or not found.last_transition_time:
        return None
    try:
        return datetime.fromisoformat(found.last_transition_time).astimezone(UTC)
    except ValueError:
        return None


def lasting_since(conditions: Iterable[Conditional], part: str) -> datetime | None:
    """Since when a trouble has lasted: condition `part` is False, or `Progressing` tells of it."""
    progress = find(conditions, PROGRESSING)
    tells = progress is not None and progress.reason == Reason.TRANSIENT_ERROR
    return trouble_since(conditions, part) or (trouble_since(conditions, PROGRESSING, TRUE) if tells else None)


def _unauthenticated(text: str, where: str, delays: Delays) -> Trouble:
    remedy = f". Correct {where}" if where else ""
    return Trouble(
        type=AUTHENTICATED,
        reason=Reason.AUTHENTICATION_FAILED,
        message=f"Failed to create OpenStack client scope: {text}{remedy}",
        by_itself=False,
        limits=delays.credentials,
    )


def _numbers(quotas: Iterable[Quota]) -> str:
    full = [f"{each.used} of {each.limit} {each.resource}" for each in quotas if each.limit >= 0]
    return f" In use: {', '.join(full)}." if full else ""
