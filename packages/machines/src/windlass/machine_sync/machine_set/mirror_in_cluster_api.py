"""The Machine API is authoritative: make the Cluster API MachineSet and its infra template the mirror, paused.

In order, each step only if the one before succeeded:

| step | when it fails |
|---|---|
| the MachineSet has no owner | FailedToConvertMAPIMachineSetToCAPI |
| it converts, and the core Cluster, the mirror's owner, exists | FailedToConvertMAPIMachineSetToCAPI |
| an existing mirror can be read | FailedToGetCAPIMachineSet |
| our finalizer is on both sets; the template exists, with the converted spec | FailedTo...CAPIInfraMachineTemplate |
| the mirror has the converted spec and metadata, which names the template | FailedTo...CAPIMachineSet |
| the mirror's status; earlier templates are deleted | FailedToUpdate... |
| condition and generation | FailedToUpdateMAPIMachineSet |

A mirror is created paused, so that its controllers do not act on the machines. A MachineSet is created unpaused only if
Cluster API is authoritative and has no MachineSet (yet): `create_unpaused`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.api.meta import OwnerReference, tree
from windlass.kube.control.plan import AddFinalizer, Create, Merge, Plan, Target, WaitFor, target
from windlass.kube.control.seen import NotServedKind, Present, Unreadable
from windlass.machine_sync.constants import (
    SET_NAME_LABEL,
    SYNC_FINALIZER,
)
from windlass.machine_sync.conversion.field_errors import invalid_json
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.machine.owners import OwnerNotFound, not_found, of_cluster
from windlass.machine_sync.machine_set import infra_templates, selectors
from windlass.machine_sync.machine_set.reasons import FROM_MACHINE_API, Reason, failed, stopped
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import conditions, metadata, taints
from windlass.machine_sync.mirroring.extent import extent, generation_after
from windlass.machine_sync.mirroring.finalizers import hold
from windlass.machine_sync.mirroring.synchronized import Fault, change, status_write, with_warnings

OWNED: Final[Mapping[str, Any]] = {
    "clusterName": None,
    "replicas": 1,
    "deletion.order": "Random",
    "template.metadata.labels": None,
    "template.metadata.annotations": None,
    "template.spec.clusterName": None,
    "template.spec.bootstrap.dataSecretName": None,
    "template.spec.infrastructureRef": None,
    "template.spec.providerID": None,
    "template.spec.failureDomain": None,
    "template.spec.minReadySeconds": 0,
    "template.spec.deletion.nodeDeletionTimeoutSeconds": None,
    "template.spec.taints": None,
}
"""The spec fields of an existing mirror that follow the authority, each with the meaning of its absence.

All other fields (machineNaming, version, ...) have no counterpart in the Machine API and stay as they are; the
selector cannot be changed.
"""

_CONVERT = "failed to convert MAPI machine set to CAPI machine set"
_REMEDY = change("MachineSet", of="the Machine API", copied_to="Cluster API")


class _Made(Struct, frozen=True):
    """The objects to write. `template` creates or updates the infra template."""

    machine_set: capi.MachineSet
    warnings: tuple[str, ...]
    owners: list[OwnerReference]
    template: Create | Merge


def create_or_update(seen: MachineSetSnapshot, source: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    """The plan that makes the mirror equal to the converted MachineSet, or that reports why it cannot be made."""
    made = _made(seen, source, paused=True)
    if not isinstance(made, _Made):
        return stopped(seen, made, now=now)
    mirror = seen.cluster_api
    if not isinstance(mirror, Present):
        return _create(seen, source, made, marks=metadata.MARKS, why="mirror of the Machine API MachineSet")
    content = _content(seen, mirror, made)
    return with_warnings(
        source,
        (*made.warnings, *selectors.difference(source.object, mirror.object)),
        *_hold(seen),
        made.template,
        content,
        _status(mirror, made.machine_set, generation=generation_after(mirror, content), now=now),
        *infra_templates.removable(seen, keep=made.template.target.name),
        status_write(
            source,
            None,
            verdict=FROM_MACHINE_API,
            generation=source.metadata.generation,
            now=now,
        ),
    )


def create_unpaused(seen: MachineSetSnapshot, source: Present[mapi.MachineSet], *, now: datetime) -> Plan:
    """Cluster API is authoritative and has no MachineSet: create its first, on which its controllers act at once."""
    made = _made(seen, source, paused=False)
    if not isinstance(made, _Made):
        return stopped(seen, made, now=now)
    if withheld := taints.withheld(seen.platform, source.object.spec.template.spec.taints):
        # The mirror in the Machine API follows from it, so they would be lost in both.
        return failed(seen, Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_CONVERT}: {withheld[0]}"), now=now)
    return _create(seen, source, made, marks={}, why="Cluster API is authoritative and has no MachineSet yet")


def _made(seen: MachineSetSnapshot, source: Present[mapi.MachineSet], *, paused: bool) -> _Made | Fault | WaitFor:
    """The converted objects and the owners of both; or why there is nothing to write."""
    if owners := source.metadata.owner_references:
        detail = "could not convert Machine API machine set owner references to Cluster API"
        error = invalid_json("metadata.ownerReferences", owners, detail)
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, str(error), retry=False)
    if isinstance(seen.cluster_api, Unreadable):
        text = f"failed to get CAPI machine set: {seen.cluster_api.why}"
        return Fault(Reason.FAILED_TO_GET_CAPI, text, retry=False)
    if not isinstance(seen.infrastructure, Present):
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_CONVERT}: {_no_infrastructure(seen)}")
    infrastructure = seen.infrastructure.object
    infra_cluster = seen.infra_cluster.object if isinstance(seen.infra_cluster, Present) else None
    converted = cluster_api_machine_set(seen.platform, source.object, infrastructure, infra_cluster=infra_cluster)
    if converted.machine_set is None:
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"{_CONVERT}: {converted.error}", remedy=_REMEDY)
    name = infrastructure.status.infrastructure_name
    references = of_cluster(seen.cluster, cluster_name=name)
    if isinstance(references, OwnerNotFound):
        text = f"failed to get CAPI cluster: {references.text}"
        return Fault(Reason.FAILED_TO_CONVERT_TO_CAPI, f"failed to get Cluster API cluster owner reference: {text}")
    standing = infra_templates.standing(seen, converted.infra_template, source=source) if paused else None
    if standing is not None:
        keep = infra_templates.keep(seen, standing, references, source=source)
        return _Made(_made_from(converted.machine_set, standing.metadata.name), converted.remarks, references, keep)
    template = infra_templates.ensure(seen, converted.infra_template, references, source=source, paused=paused)
    if not isinstance(template, Create | Merge):
        return template
    remarks = (*converted.remarks, *taints.withheld(seen.platform, source.object.spec.template.spec.taints))
    return _Made(converted.machine_set, remarks, references, template)


def _made_from(converted: capi.MachineSet, template: str) -> capi.MachineSet:
    """The converted set, with machines that are made from this template."""
    spec = converted.spec
    machine = spec.template.spec
    machine = replace(machine, infrastructure_ref=replace(machine.infrastructure_ref, name=template))
    return replace(converted, spec=replace(spec, template=replace(spec.template, spec=machine)))


def _no_infrastructure(seen: MachineSetSnapshot) -> str:
    found = seen.infrastructure
    why = found.why if isinstance(found, Unreadable | NotServedKind) else not_found(config.Infrastructure, "cluster")
    return f"failed to get {config.Infrastructure.RESOURCE.kind}: {why}"


def _hold(seen: MachineSetSnapshot) -> list[AddFinalizer]:
    return hold((mapi.MachineSet, seen.machine_api), (capi.MachineSet, seen.cluster_api))


def _create(
    seen: MachineSetSnapshot,
    source: Present[mapi.MachineSet],
    made: _Made,
    *,
    marks: Mapping[str, str],
    why: str,
) -> Plan:
    body = {
        "metadata": {**_metadata({}, made, marks=marks), "finalizers": [SYNC_FINALIZER]},
        "spec": _spec(seen, made),
    }
    aim = Target(capi.MachineSet, seen.name, seen.namespaces.cluster_api)
    create = Create(target=aim, body=body, why=why)
    return with_warnings(source, made.warnings, *_hold(seen), made.template, create)


def _spec(seen: MachineSetSnapshot, made: _Made) -> dict[str, Any]:
    spec: dict[str, Any] = tree(made.machine_set.spec)
    mirror = seen.cluster_api.object.spec.template.spec.taints if isinstance(seen.cluster_api, Present) else []
    converted = made.machine_set.spec.template.spec.taints
    taints.put(spec["template"]["spec"], taints.of_cluster_api(seen.platform, converted, mirror))
    return spec


def _content(seen: MachineSetSnapshot, mirror: Present[capi.MachineSet], made: _Made) -> Merge:
    observed, observed_spec = mirror.tree["metadata"], mirror.tree.get("spec") or {}
    spec = _spec(seen, made)
    labels = ((observed_spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if SET_NAME_LABEL in labels:
        # Cluster API's own default for a set without a selector.
        spec["template"]["metadata"]["labels"].setdefault(SET_NAME_LABEL, labels[SET_NAME_LABEL])
    return Merge(
        target=target(mirror),
        observed={"metadata": metadata.compared(observed), "spec": extent(observed_spec, OWNED)},
        desired={"metadata": _metadata(observed, made, marks=metadata.MARKS), "spec": extent(spec, OWNED)},
        why="the Machine API MachineSet changed",
    )


def _metadata(observed: Mapping[str, Any], made: _Made, *, marks: Mapping[str, str]) -> dict[str, Any]:
    meta = made.machine_set.metadata
    return metadata.mirrored(
        observed, labels=meta.labels, annotations=meta.annotations, owners=made.owners, marks=marks
    )


def _status(mirror: Present[capi.MachineSet], converted: capi.MachineSet, *, generation: int, now: datetime) -> Merge:
    why = "the status of the Machine API MachineSet changed"
    return conditions.status_write(mirror, tree(converted.status), generation=generation, now=now, why=why)
