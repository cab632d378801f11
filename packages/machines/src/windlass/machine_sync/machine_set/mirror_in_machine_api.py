"""Cluster API is authoritative: make the Machine API MachineSet its mirror. Finalizers, spec, then status.

In order, each step only if the one before succeeded:

| step | when it fails |
|---|---|
| the Cluster API MachineSet has no owner except the Cluster | FailedToConvertCAPIMachineSetToMAPI |
| its infra template and infra cluster are named and can be read | FailedToGetCAPIInfraResources |
| all three convert | FailedToConvertCAPIMachineSetToMAPI |
| our finalizer is on both sets, the mirror has the converted spec and metadata | FailedToUpdateMAPIMachineSet |
| status, condition and generation | FailedToUpdateMAPIMachineSet |

A mirror is never created here: users who want one create a MachineSet in the Machine API with authority ClusterAPI.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject, tree
from windlass.kube.control.plan import Emit, Merge, Plan, target
from windlass.kube.control.seen import NotServedKind, Present, Seen, Unreadable
from windlass.machine_sync.constants import EVENT_SOURCE
from windlass.machine_sync.conversion.field_errors import FieldError, invalid_json, too_many
from windlass.machine_sync.conversion.machine_set_to_machine_api import machine_api_machine_set
from windlass.machine_sync.conversion.selector import selected_keys
from windlass.machine_sync.machine.owners import not_found
from windlass.machine_sync.machine_set import selectors
from windlass.machine_sync.machine_set.reasons import FROM_CLUSTER_API, Reason, failed
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import metadata, taints
from windlass.machine_sync.mirroring.extent import extent
from windlass.machine_sync.mirroring.finalizers import hold
from windlass.machine_sync.mirroring.synchronized import Fault, change, status_write, with_warnings

OWNED: Final[Mapping[str, Any]] = {
    "replicas": 1,
    "minReadySeconds": 0,
    "deletePolicy": "Random",
    "template": None,
}
"""The spec fields of the mirror that follow the authority, each with the meaning of its absence.

In the template, `authoritativeAPI` stays, and so does a provider spec with the same meaning. The selector cannot be
changed, and the labels of the template keep matching it even if conversion drops them: the Machine API refuses other
sets.
"""

_FETCH = "failed to fetch CAPI infra resources"
_CONVERT = "failed to convert CAPI machine set to MAPI machine set"
_REMEDY = change("MachineSet or infrastructure template", of="Cluster API", copied_to="the Machine API")


def update(
    seen: MachineSetSnapshot,
    source: Present[capi.MachineSet],
    mirror: Present[mapi.MachineSet],
    *,
    now: datetime,
) -> Plan:
    """The plan that makes the mirror equal to the converted MachineSet, or that reports why it cannot be made."""
    if error := _unsupported_owner(source.object):
        return failed(seen, Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, str(error), retry=False), now=now)
    if text := _incomplete(source.object):
        return _unnamed(seen, source, Fault(Reason.FAILED_TO_GET_INFRA, f"{_FETCH}: {text}", retry=False), now=now)
    if fault := _missing(seen, source.object):
        return failed(seen, fault, now=now)
    template = seen.template.object if isinstance(seen.template, Present) else None
    cluster = seen.infra_cluster.object if isinstance(seen.infra_cluster, Present) else None
    infrastructure = seen.infrastructure.object if isinstance(seen.infrastructure, Present) else None
    converted = machine_api_machine_set(
        seen.platform, source.object, template, infra_cluster=cluster, infrastructure=infrastructure
    )
    if converted.machine_set is None:
        fault = Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, f"{_CONVERT}: {converted.error}", remedy=_REMEDY)
        return failed(seen, fault, now=now)
    content = _content(seen, mirror, source.object, converted.machine_set)
    status = _status(source, mirror, converted.machine_set, changing="spec" in content.patch)
    return with_warnings(
        mirror,
        (*converted.remarks, *selectors.difference(mirror.object, source.object)),
        *hold((mapi.MachineSet, seen.machine_api), (capi.MachineSet, seen.cluster_api)),
        content,
        status_write(
            mirror,
            status,
            verdict=FROM_CLUSTER_API,
            generation=source.metadata.generation,
            now=now,
        ),
    )


def _unsupported_owner(source: capi.MachineSet) -> FieldError | None:
    owners = source.metadata.owner_references
    if len(owners) > 1:
        return too_many("metadata.ownerReferences", len(owners), 1)
    cluster = capi.Cluster.RESOURCE
    if owners and (owners[0].kind, owners[0].api_version) != (cluster.kind, cluster.api_version):
        return invalid_json("metadata.ownerReferences", owners, "unsupported owner kind for conversion")
    return None


def _incomplete(source: capi.MachineSet) -> str:
    where = f"machine set {source.metadata.namespace}/{source.metadata.name}"
    if not source.spec.cluster_name:
        return f"{where}: cluster name is empty in Cluster API machine set spec"
    if not source.spec.template.spec.infrastructure_ref.name:
        return f"{where}: infrastructure machine template reference is invalid or incomplete"
    return ""


def _unnamed(seen: MachineSetSnapshot, source: Present[capi.MachineSet], fault: Fault, *, now: datetime) -> Plan:
    """Report it on both sets: the user must fix that of Cluster API, and OpenShift's operator reports it only there."""
    event = Emit(
        target=target(source), type="Warning", reason="SynchronizationError", note=fault.message, source=EVENT_SOURCE
    )
    plan = failed(seen, fault, now=now)
    return Plan((event, *plan.actions), plan.next)


def _missing(seen: MachineSetSnapshot, source: capi.MachineSet) -> Fault | None:
    """Why the objects that the MachineSet refers to cannot be used."""
    references: tuple[tuple[str, type[KubernetesObject], str, Seen[Any]], ...] = (
        ("cluster", seen.platform.infra_cluster, source.spec.cluster_name, seen.infra_cluster),
        (
            "machine template",
            seen.platform.infra_template,
            source.spec.template.spec.infrastructure_ref.name,
            seen.template,
        ),
    )
    for what, kind, name, found in references:
        if not isinstance(found, Present):
            why = found.why if isinstance(found, Unreadable | NotServedKind) else not_found(kind, name)
            text = f"{_FETCH}: failed to get CAPI infrastructure {what}: {why}"
            return Fault(Reason.FAILED_TO_GET_INFRA, text, retry=not isinstance(found, Unreadable))
    return None


def _content(
    seen: MachineSetSnapshot, mirror: Present[mapi.MachineSet], source: capi.MachineSet, converted: mapi.MachineSet
) -> Merge:
    observed: Mapping[str, Any] = mirror.tree["metadata"]
    observed_spec: Mapping[str, Any] = mirror.tree.get("spec") or {}
    meta = converted.metadata
    return Merge(
        target=target(mirror),
        observed={"metadata": metadata.compared(observed), "spec": extent(observed_spec, OWNED)},
        desired={
            "metadata": metadata.mirrored(observed, labels=meta.labels, annotations=meta.annotations, owners=[]),
            "spec": extent(_spec(seen, mirror, source, converted), OWNED),
        },
        why="the Cluster API MachineSet changed",
    )


def _spec(
    seen: MachineSetSnapshot, mirror: Present[mapi.MachineSet], source: capi.MachineSet, converted: mapi.MachineSet
) -> dict[str, Any]:
    spec: dict[str, Any] = tree(converted.spec)
    if labels := _labels(mirror.object.spec, source.spec.template.metadata.labels, spec["template"]["metadata"]):
        spec["template"]["metadata"]["labels"] = labels
    made: dict[str, Any] = spec["template"]["spec"]
    there: Mapping[str, Any] = ((mirror.tree.get("spec") or {}).get("template") or {}).get("spec") or {}
    if "authoritativeAPI" in there:
        made["authoritativeAPI"] = there["authoritativeAPI"]
    if "providerSpec" in there:
        made["providerSpec"] = seen.platform.mirrored_provider_spec(there["providerSpec"], made.get("providerSpec"))
    there_too = mirror.object.spec.template.spec.taints
    taints.put(made, taints.of_machine_api(converted.spec.template.spec.taints, there_too))
    return spec


def _labels(mirror: mapi.MachineSetSpec, source: Mapping[str, str], made: Mapping[str, Any]) -> dict[str, str]:
    """The converted labels of the template, and those that the mirror's selector names."""
    there = {**mirror.template.metadata.labels, **source}
    named = {key: there[key] for key in sorted(selected_keys(mirror.selector)) if key in there}
    return {**named, **(made.get("labels") or {}), **mirror.selector.match_labels}


def _status(
    source: Present[capi.MachineSet], mirror: Present[mapi.MachineSet], converted: mapi.MachineSet, *, changing: bool
) -> dict[str, Any] | None:
    """The desired status; None to keep the mirror's, until Cluster API has observed its new MachineSet.

    observedGeneration is set when the status is about the mirror's spec: Cluster API has observed its own generation,
    and the mirror's spec is not just `changing`.
    """
    said = source.object.status
    if said.replicas is None and not said.observed_generation:
        return None
    observed: Mapping[str, Any] = mirror.tree.get("status") or {}
    generation = observed.get("observedGeneration")
    if said.observed_generation == source.metadata.generation and not changing:
        generation = mirror.metadata.generation
    return {**tree(converted.status), **({"observedGeneration": generation} if generation is not None else {})}
