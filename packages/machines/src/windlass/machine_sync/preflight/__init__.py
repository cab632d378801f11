"""Checks whether authority over one Machine or MachineSet can move to the other API, and if not, why not.

A migration that cannot succeed does not fail. It waits, for example for a mirror to be in sync, or for a field that the
other API cannot express to be removed. So everything is checked before a migration is requested:

    report = preflight(candidate)
    report.verdict                       # ready, under way, there, or refused
    report.reasons(Answer.NO)            # all reasons why it is refused

The authority in status and spec decides which checks are made (`to` is the target):

| status | spec | | verdict unless a check says no |
|---|---|---|---|
| to | to | | there; under way until it is synchronized from there |
| to | other | a request that has not begun is withdrawn | ready |
| other | other | all checks | ready |
| other | to | all checks: the migration was requested before | under way |
| Migrating | to | | under way |
| Migrating | other | goes back, if status.synchronizedAPI says where it came from | ready |
| empty | any | no controller has set status yet: it will be set from spec, without a migration | refused |

Checks, in the order of a report:

| check | no, if |
|---|---|
| authority | see above |
| deletion | either side is being deleted |
| phase | the Machine is Provisioning |
| owner | its owner has no counterpart: a ControlPlaneMachineSet, several owners, owners of a MachineSet |
| convertible | the new authority could not get it, or could not be mirrored back |
| synchronized | the mirror does not have the latest generation of the authority |
| infrastructure | Cluster API does not have it, or says that its infrastructure is not provisioned |
| paused | never; reports which side acts now |
| policies | the API server refuses a dry run of the change |

Pure: nothing here reads a cluster or a clock. `report` has the types, `checks` the checks.
"""

from typing import Any

from windlass.api import mapi
from windlass.kube.control.seen import Absent, NotServedKind, Present, Unreadable
from windlass.machine_sync.constants import MIGRATING
from windlass.machine_sync.preflight.checks import CHECKS, waits_for_resync, who_is_paused
from windlass.machine_sync.preflight.report import (
    Answer,
    Candidate,
    Check,
    CheckFinding,
    Hidden,
    Look,
    PreflightReport,
    PreflightVerdict,
    Trial,
    Tried,
)

__all__ = [
    "Answer",
    "Candidate",
    "Check",
    "CheckFinding",
    "Hidden",
    "Look",
    "PreflightReport",
    "PreflightVerdict",
    "Trial",
    "Tried",
    "preflight",
]


def preflight(candidate: Candidate) -> PreflightReport:
    """The result of all checks of the candidate, and the verdict."""
    match candidate.machine_api:
        case Present(object=found):
            return _report(candidate, found)
        case Absent():
            text = f"the Machine API has no {candidate.kind.RESOURCE.kind} of this name"
            if isinstance(candidate.cluster_api, Present | Unreadable):
                text += ", only Cluster API has: without a mirror there is nothing to migrate"
        case Unreadable(why=why):
            text = f"it cannot be read: {why}; fix it with kubectl edit"
        case NotServedKind(why=why):
            text = why
        case Hidden(why=why):
            text = f"it may not be read: {why}"
    finding = CheckFinding(Check.AUTHORITY, Answer.NO, text)
    return PreflightReport(candidate.kind, candidate.name, candidate.target, PreflightVerdict.REFUSED, (finding,))


def _report(candidate: Candidate, found: Any) -> PreflightReport:
    verdict, checks = _situation(candidate, found)
    findings: list[CheckFinding] = []
    for check in Check:
        if check not in checks:
            continue
        said = [CheckFinding(check, answer, text) for answer, text in CHECKS[check](candidate, found)]
        findings += said or [CheckFinding(check, Answer.YES)]
    if any(finding.answer is Answer.NO for finding in findings):
        verdict = PreflightVerdict.REFUSED
    owner = next(iter(found.metadata.owner_references), None)
    return PreflightReport(
        kind=candidate.kind,
        name=candidate.name,
        target=candidate.target,
        verdict=verdict,
        findings=tuple(findings),
        authority=found.status.authoritative_api,
        desired=found.spec.authoritative_api,
        phase=found.status.phase or "" if isinstance(found, mapi.Machine) else "",
        paused=who_is_paused(candidate, found),
        owner=f"{owner.kind.lower()}/{owner.name}" if owner else "",
    )


_OF_ALL = (Check.AUTHORITY, Check.DELETION)
_OF_A_CHANGE = (*_OF_ALL, Check.POLICIES)
_OF_A_SET = (*_OF_A_CHANGE, Check.OWNER, Check.CONVERTIBLE, Check.SYNCHRONIZED, Check.PAUSED, Check.INFRASTRUCTURE)
_OF_A_MACHINE = (*_OF_A_SET, Check.PHASE)


def _situation(candidate: Candidate, found: Any) -> tuple[PreflightVerdict, tuple[Check, ...]]:
    """The verdict unless a check says no, and the checks to make."""
    status, spec, target = found.status.authoritative_api, found.spec.authoritative_api, candidate.target
    asked = spec == target
    if status == target:
        if not asked:
            return PreflightVerdict.READY, _OF_A_CHANGE
        return PreflightVerdict.UNDER_WAY if waits_for_resync(found) else PreflightVerdict.THERE, (Check.AUTHORITY,)
    if status == MIGRATING:
        return (PreflightVerdict.UNDER_WAY, _OF_ALL) if asked else (PreflightVerdict.READY, _OF_A_CHANGE)
    every = _OF_A_MACHINE if candidate.kind is mapi.Machine else _OF_A_SET
    return PreflightVerdict.UNDER_WAY if asked else PreflightVerdict.READY, every
