"""Checks whether the object can be converted for the new authority, and mirrored back afterwards.

The current objects are converted in both directions. A field that the new authority would lose is a warning. A field
that only the mirror would lose is not reported, since nobody writes there.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from windlass.api import mapi
from windlass.machine_sync.constants import CLUSTER_API
from windlass.machine_sync.conversion import (
    machine_set_to_cluster_api,
    machine_set_to_machine_api,
    to_cluster_api,
    to_machine_api,
)
from windlass.machine_sync.mirroring import taints
from windlass.machine_sync.preflight.report import SIDE, Answer, Answers, Candidate, hidden, there


def convertible(candidate: Candidate, found: Any) -> Answers:
    to_cluster, to_machine = list(_towards_cluster_api(candidate, found)), list(_towards_machine_api(candidate))
    forth, back = (to_cluster, to_machine) if candidate.target == CLUSTER_API else (to_machine, to_cluster)
    yield from forth
    if candidate.target == CLUSTER_API:
        yield from _taints(candidate, found)
    for answer, text in back:
        if answer is Answer.NO:
            yield answer, f"{SIDE[candidate.source]} could not mirror it afterwards: {text}"


def _taints(candidate: Candidate, found: Any) -> Answers:
    """Conversion knows taints, but it does not know whether Cluster API takes them: the mirror shows it."""
    mirror = there(candidate.cluster_api)
    if mirror is None:
        # `infrastructure` says why.
        return
    ours, theirs = (
        one.spec.template.spec.taints if candidate.kind is mapi.MachineSet else one.spec.taints
        for one in (found, mirror)
    )
    if lost := taints.lost(ours, theirs):
        yield Answer.NO, lost
    if added := taints.added(ours, theirs):
        yield Answer.WARNING, added


def _towards_cluster_api(candidate: Candidate, found: Any) -> Answers:
    if why := hidden(candidate.infrastructure):
        yield Answer.UNKNOWN, f"Infrastructure cluster cannot be read: {why}"
        return
    infrastructure = there(candidate.infrastructure)
    if candidate.kind is mapi.MachineSet:
        in_set = machine_set_to_cluster_api(found, infrastructure)
        yield from _answers(in_set.errors, in_set.remarks)
        return
    cluster = UNSET if hidden(candidate.infra_cluster) else there(candidate.infra_cluster)
    converted = to_cluster_api(found, infrastructure, infra_cluster=cluster)
    yield from _answers(converted.errors, converted.remarks)


def _towards_machine_api(candidate: Candidate) -> Answers:
    source = there(candidate.cluster_api)
    if source is None:
        # `infrastructure` says why.
        return
    for look, what in ((candidate.infra, "what it refers to"), (candidate.infra_cluster, "the infrastructure cluster")):
        if why := hidden(look):
            yield Answer.UNKNOWN, f"{what} cannot be read: {why}"
            return
    infra, infra_cluster = there(candidate.infra), there(candidate.infra_cluster)
    infrastructure = there(candidate.infrastructure)
    if candidate.kind is mapi.MachineSet:
        in_set = machine_set_to_machine_api(source, infra, infra_cluster, infrastructure=infrastructure)
        yield from _answers(in_set.errors, in_set.remarks)
        return
    converted = to_machine_api(source, infra, infra_cluster, infrastructure=infrastructure)
    yield from _answers(converted.errors, converted.remarks)


def _answers(errors: Iterable[str], warnings: Iterable[str]) -> Answers:
    for text in dict.fromkeys(errors):
        yield Answer.NO, text
    for text in dict.fromkeys(warnings):
        yield Answer.WARNING, text
