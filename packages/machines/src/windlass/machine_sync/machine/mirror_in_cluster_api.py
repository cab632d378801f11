"""The Machine API is authoritative: make the Cluster API Machine and its infra machine the mirror, paused.

In order, each step only if the one before succeeded:

| step | when it fails |
|---|---|
| if the Cluster API Machine exists, the objects that it refers to can be read | FailedToGetCAPIInfraResources |
| owner references have a counterpart | FailedToConvertMAPIMachineToCAPI |
| the machine fits the infra cluster, and converts | FailedToConvertMAPIMachineToCAPI |
| our finalizer is on all; the Cluster API Machine has the converted spec and metadata | FailedTo...CAPIMachine |
| the same for its infra machine, which is recreated if immutable fields differ | FailedTo...CAPIInfraMachine |
| the mirror's status, then condition and generation | FailedToUpdateCAPIMachine |

On an existing mirror only the fields that conversion sets are ours, except those that a MachineSet of Cluster API
writes too: `propagation`.

A mirror is created paused, so that its controllers do not act on the instance. A Machine is created unpaused only if
Cluster API is authoritative and has no Machine (yet): `create_unpaused`.
"""

import base64
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from windlass.api import capi, config, mapi
from windlass.api.meta import OwnerReference, tree
from windlass.kube.conditions import find
from windlass.kube.control.plan import Create, Merge, Plan, Target, WaitFor, target
from windlass.kube.control.seen import Absent, Present, metadata_of
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API_FINALIZER,
    SET_NAME_LABEL,
    SYNC_FINALIZER,
)
from windlass.machine_sync.conversion.template_name import fnv1a
from windlass.machine_sync.machine import infra_machine, infra_owner, infra_resources, owners
from windlass.machine_sync.machine.propagation import claimed_metadata, owned_spec
from windlass.machine_sync.machine.reasons import FROM_MACHINE_API, Reason, failed, stopped
from windlass.machine_sync.machine.snapshot import MachineSnapshot, infra_machine_name, set_owner
from windlass.machine_sync.mirroring import conditions, metadata, taints
from windlass.machine_sync.mirroring.collector import is_going
from windlass.machine_sync.mirroring.extent import extent
from windlass.machine_sync.mirroring.finalizers import hold
from windlass.machine_sync.mirroring.synchronized import (
    SYNCHRONIZED,
    Fault,
    change,
    status_write,
    verdict_write,
    with_warnings,
)

_GRACE: Final = 30.0
"""Seconds that a new machine waits for the mirror of its MachineSet before the condition reports a failure."""

_OWNERS = "failed to convert Machine API machine owner references to Cluster API"
_MACHINE = "failed to convert Machine API machine to Cluster API machine"
_REMEDY = change("Machine", of="the Machine API", copied_to="Cluster API")


def create_or_update(seen: MachineSnapshot, source: Present[mapi.Machine], *, now: datetime) -> Plan:
    """The plan that makes the mirror equal to the converted Machine, or that reports why it cannot be made."""
    if isinstance(seen.cluster_api, Present) and (fault := infra_resources.missing(seen, seen.cluster_api.object)):
        return failed(seen, fault, now=now)
    if seen.infra_of_another is not None and (fault := infra_resources.unreadable(seen)):
        return failed(seen, fault, now=now)
    made = _made(seen, source, adoptable=False, now=now)
    if not isinstance(made, _Made):
        return stopped(seen, made, now=now)
    if infra_owner.made_beforehand(seen) and (fault := _made_otherwise(seen, made, source)):
        return failed(seen, fault, now=now)
    finalizers = hold(
        (mapi.Machine, seen.machine_api),
        (capi.Machine, seen.cluster_api),
        (seen.platform.infra_machine, seen.infra_machine),
    )
    if not isinstance(seen.cluster_api, Present):
        body = _body(seen, made, marks=metadata.MARKS)
        create = Create(target=_aim(seen), body=body, why="mirror of the Machine API Machine")
        return with_warnings(source, made.warnings, *finalizers, create)
    content = _update(seen, seen.cluster_api, made)
    infra = infra_machine.ensure(seen, made.infra_machine, labels=made.labels, owners=made.owners, source=source)
    if infra.recreating is not None:
        verdict = verdict_write(source, infra.recreating, now=now)
        return with_warnings(source, made.warnings, *finalizers, content, *infra.actions, verdict)
    if any(action.needed for action in (content, *infra.actions)):
        # The status names the generation that the mirror then has, so it waits for the answer.
        return with_warnings(source, made.warnings, *finalizers, content, *infra.actions)
    generation = source.metadata.generation
    return with_warnings(
        source,
        made.warnings,
        *finalizers,
        _status(seen.cluster_api, made.machine, now=now),
        infra_machine.status(seen, made.infra_machine, now=now),
        status_write(source, None, verdict=FROM_MACHINE_API, generation=generation, now=now),
    )


def while_deleted(seen: MachineSnapshot, source: Present[mapi.Machine], *, now: datetime) -> Plan:
    """Keep the Cluster API Machine up to date while both wait to be deleted. Its infra machine goes as it is."""
    made = _made(seen, source, adoptable=False, now=now)
    mirror = seen.cluster_api
    if not isinstance(made, _Made) or not isinstance(mirror, Present):
        return Plan()
    if AUTHORITY_ANNOTATION not in mirror.metadata.annotations:
        return Plan.nothing("it never became a mirror")
    content = _update(seen, mirror, made)
    if content.needed:
        # The status names the generation that the mirror then has, so it waits for the answer.
        return Plan.of(content)
    generation = source.metadata.generation
    return Plan.of(
        _status(mirror, made.machine, now=now),
        status_write(source, None, verdict=FROM_MACHINE_API, generation=generation, now=now),
    )


def create_unpaused(seen: MachineSnapshot, source: Present[mapi.Machine], *, now: datetime) -> Plan:
    """Cluster API is authoritative and has no Machine: create its first, on which its controllers act at once.

    The infra machine first: once the Machine exists, the Machine API has the mirror, and we would not create it any
    more. Cluster API's own controller sets its owner.
    """
    if fault := infra_resources.unreadable(seen):
        return failed(seen, fault, now=now)
    infra = metadata_of(seen.infra_machine)
    if infra is not None and infra.deletion_timestamp is not None:
        return Plan().then(WaitFor(f"the infrastructure provider to delete {infra.name}, which had this name before"))
    made = _made(seen, source, adoptable=True, now=now)
    if not isinstance(made, _Made):
        return stopped(seen, made, now=now)
    if withheld := taints.withheld(seen.platform, source.object.spec.taints):
        # The mirror in the Machine API follows from it, so they would be lost in both.
        fault = Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_MACHINE}: {withheld[0]}")
        return failed(seen, fault, now=now)
    if fault := _made_otherwise(seen, made, source):
        return failed(seen, fault, now=now)
    why = "Cluster API is authoritative and has no Machine yet"
    return with_warnings(
        source,
        made.warnings,
        *hold((mapi.Machine, seen.machine_api), (seen.platform.infra_machine, seen.infra_machine)),
        infra_machine.create(seen, made.infra_machine, None, labels=made.labels, source=source, why=why)
        if isinstance(seen.infra_machine, Absent)
        else infra_machine.unpause(seen, why=why),
        Create(target=_aim(seen), body=_body(seen, made, marks={}), why=why),
    )


class _Made(Struct, frozen=True):
    """The desired mirror: the converted objects, the labels of both, and the owners of the Machine."""

    machine: capi.Machine
    infra_machine: Any
    labels: dict[str, str]
    owners: list[OwnerReference]
    warnings: tuple[str, ...]


def _made(
    seen: MachineSnapshot, source: Present[mapi.Machine], *, adoptable: bool, now: datetime
) -> _Made | Fault | WaitFor:
    """The converted objects and the owners; or why there is nothing to write."""
    if not isinstance(seen.infrastructure, Present):
        missing = owners.not_found(config.Infrastructure, "cluster")
        why = missing if isinstance(seen.infrastructure, Absent) else seen.infrastructure.why
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_MACHINE}: failed to get the Infrastructure: {why}")
    if seen.two_sets:
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, owners.of_two_sets(seen.two_sets))
    described = seen.infrastructure.object
    cluster_name = described.status.infrastructure_name
    references = owners.to_cluster_api(
        source.metadata.owner_references,
        seen.cluster_api_set,
        seen.cluster,
        cluster_name=cluster_name,
        adoptable=adoptable,
        machine_api_set=seen.machine_api_set,
        mirror=metadata_of(seen.cluster_api),
    )
    if isinstance(references, owners.UnsupportedOwner):
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, references.detail, retry=False, remedy=references.remedy)
    if isinstance(references, owners.OwnerNotFound):
        if soon := _comes_or_goes(seen, source, now=now):
            return soon
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_OWNERS}: {references.text}")
    cluster = seen.infra_cluster.object if isinstance(seen.infra_cluster, Present) else None
    converted = seen.platform.to_cluster_api(source.object, described, infra_cluster=cluster)
    if converted.machine is None:
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_MACHINE}: {converted.error}", remedy=_REMEDY)
    labels = dict(converted.machine.metadata.labels)
    owner = set_owner(source.metadata, mapi.MachineSet.RESOURCE.api_version)
    if owner is not None:
        labels[SET_NAME_LABEL] = set_name_label(owner.name)
    remarks = (*converted.remarks, *taints.withheld(seen.platform, source.object.spec.taints))
    return _Made(converted.machine, converted.infra_machine, labels, references, remarks)


def _made_otherwise(seen: MachineSnapshot, made: _Made, source: Present[mapi.Machine]) -> Fault | None:
    """The infra machine exists, and is not the one that would be created. The provider would act on the fields of the
    existing infra machine."""
    fields = infra_owner.unlike(seen, made.infra_machine, provider_id=source.object.spec.provider_id or "")
    return infra_resources.made_otherwise(seen, fields) if fields else None


def _comes_or_goes(seen: MachineSnapshot, source: Present[mapi.Machine], *, now: datetime) -> WaitFor | None:
    """A new machine often exists before the mirror of its MachineSet, and an old one after it: wait before that is a
    failure."""
    owner = metadata_of(seen.machine_api_set)
    if owner is None:
        return None
    if owner.deletion_timestamp is not None or is_going(seen.cluster_api_set):
        return WaitFor(f"MachineSet {owner.name} to be gone, and the machine with it or without an owner")
    created = source.metadata.creation_timestamp
    age = (now - datetime.fromisoformat(created)).total_seconds() if created else _GRACE
    if not 0 <= age < _GRACE or find(source.object.status.conditions, SYNCHRONIZED) is not None:
        return None
    return WaitFor(f"the Cluster API mirror of MachineSet {owner.name}", safety=_GRACE - age)


def _aim(seen: MachineSnapshot) -> Target:
    return Target(capi.Machine, seen.name, seen.namespaces.cluster_api)


def _body(seen: MachineSnapshot, made: _Made, *, marks: Mapping[str, str]) -> dict[str, Any]:
    meta = _metadata({}, made, marks=marks)
    return {
        "metadata": {**meta, "finalizers": [CLUSTER_API_FINALIZER, SYNC_FINALIZER]},
        "spec": _spec(seen, made.machine),
    }


def _update(seen: MachineSnapshot, mirror: Present[capi.Machine], made: _Made) -> Merge:
    observed, spec = mirror.tree["metadata"], mirror.tree.get("spec") or {}
    owned = owned_spec(seen.cluster_api_set, made.owners)
    claimed = claimed_metadata(seen.cluster_api_set, made.owners)
    return Merge(
        target=target(mirror),
        observed={"metadata": metadata.compared(observed), "spec": extent(spec, owned)},
        desired={
            "metadata": _metadata(observed, made, marks=metadata.MARKS, claimed=claimed),
            "spec": extent(_spec(seen, made.machine), owned),
        },
        why="the Machine API Machine changed",
    )


def _metadata(
    observed: Mapping[str, Any],
    made: _Made,
    *,
    marks: Mapping[str, str],
    claimed: metadata.Claimed = metadata.NOTHING_CLAIMED,
) -> dict[str, Any]:
    return metadata.mirrored(
        observed,
        labels=made.labels,
        annotations=made.machine.metadata.annotations,
        owners=made.owners,
        marks=marks,
        claimed=claimed,
    )


def _spec(seen: MachineSnapshot, converted: capi.Machine) -> dict[str, Any]:
    spec: dict[str, Any] = tree(converted.spec)
    # An existing infra machine keeps its name: another name would be another instance.
    spec["infrastructureRef"]["name"] = infra_machine_name(seen)
    mirror = seen.cluster_api.object.spec.taints if isinstance(seen.cluster_api, Present) else []
    return taints.put(spec, taints.of_cluster_api(seen.platform, converted.spec.taints, mirror))


def _status(mirror: Present[capi.Machine], converted: capi.Machine, *, now: datetime) -> Merge:
    why = "the status of the Machine API Machine changed"
    return conditions.status_write(
        mirror, tree(converted.status), generation=mirror.metadata.generation, now=now, why=why
    )


# The label by which Cluster API finds the Machines of a MachineSet.
#
# Source: `format.MustFormatValue` of `sigs.k8s.io/cluster-api`.

_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_LONGEST = 63


def set_name_label(name: str) -> str:
    """The label's value for the MachineSet `name`: the name, or a hash where it cannot be a label's value.

    >>> set_name_label("worker-a")
    'worker-a'
    >>> len(set_name_label("w" * 64))
    13
    """
    if len(name) <= _LONGEST and _LABEL_VALUE.fullmatch(name):
        return name
    digest = fnv1a(name.encode()).to_bytes(4, "big")
    return f"hash_{base64.urlsafe_b64encode(digest).decode().rstrip('=')}_z"
