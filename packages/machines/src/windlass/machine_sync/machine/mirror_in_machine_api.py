"""Cluster API is authoritative: make the Machine API Machine its mirror. Finalizers, owners, spec, then status.

In order, each step only if the one before succeeded:

| step | when it fails |
|---|---|
| infra machine and infra cluster are named and can be read | FailedToGetCAPIInfraResources |
| owner references have a counterpart | FailedToConvertCAPIMachineToMAPI |
| the infra machine exists | FailedToGetCAPIInfraResources |
| machine, infra machine and infra cluster convert | FailedToConvertCAPIMachineToMAPI |
| our finalizer is on all of them, the mirror has the converted spec and metadata | FailedToCreate/UpdateMAPIMachine |
| status, condition and generation | FailedToUpdateMAPIMachine |
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from windlass.api import capi, mapi
from windlass.api.meta import OwnerReference, tree
from windlass.kube.control.plan import Create, Merge, Plan, Target, target
from windlass.kube.control.seen import Present, metadata_of
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API_FINALIZER, SYNC_FINALIZER
from windlass.machine_sync.conversion.selector import selected_keys
from windlass.machine_sync.machine import infra_resources, owners
from windlass.machine_sync.machine.reasons import FROM_CLUSTER_API, Reason, failed
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.mirroring import conditions, metadata, taints
from windlass.machine_sync.mirroring.finalizers import hold
from windlass.machine_sync.mirroring.synchronized import Fault, change, status_write, with_warnings

_REMEDY = change("Machine or infrastructure machine", of="Cluster API", copied_to="the Machine API")


def create_or_update(seen: MachineSnapshot, source: Present[capi.Machine], *, now: datetime) -> Plan:
    """The plan that makes the mirror equal to the converted Machine, or that reports why it cannot be made."""
    if fault := infra_resources.missing(seen, source.object):
        return failed(seen, fault, now=now)
    if seen.two_sets:
        return failed(seen, Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, owners.of_two_sets(seen.two_sets)), now=now)
    references = owners.to_machine_api(
        source.object.metadata.owner_references, seen.machine_api_set, mirror=metadata_of(seen.machine_api)
    )
    if isinstance(references, owners.UnsupportedOwner):
        return failed(
            seen,
            Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, references.detail, retry=False, remedy=references.remedy),
            now=now,
        )
    if isinstance(references, owners.OwnerNotFound):
        text = f"failed to convert Cluster API machine owner references to Machine API: {references.text}"
        return failed(seen, Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, text), now=now)
    infra = seen.infra_machine.object if isinstance(seen.infra_machine, Present) else None
    if infra is None:
        return failed(seen, infra_resources.absent(seen, source.object), now=now)
    cluster = seen.infra_cluster.object if isinstance(seen.infra_cluster, Present) else None
    infrastructure = seen.infrastructure.object if isinstance(seen.infrastructure, Present) else None
    converted = seen.platform.to_machine_api(source.object, infra, cluster, infrastructure=infrastructure)
    if converted.machine is None:
        return failed(seen, _not_converted(converted.error), now=now)
    finalizers = hold(
        (mapi.Machine, seen.machine_api),
        (capi.Machine, seen.cluster_api),
        (seen.platform.infra_machine, seen.infra_machine),
    )
    if isinstance(seen.machine_api, Present):
        actions = _update(seen, seen.machine_api, source.object, converted.machine, references=references, now=now)
        return with_warnings(seen.machine_api, converted.remarks, *finalizers, *actions)
    return Plan.of(*finalizers, _create(seen, source.object, converted.machine, references))


def _not_converted(text: str) -> Fault:
    what = f"failed to convert Cluster API machine to Machine API machine: {text}"
    return Fault(Reason.FAILED_TO_CONVERT_TO_MAPI, what, remedy=_REMEDY)


def _create(
    seen: MachineSnapshot, source: capi.Machine, converted: mapi.Machine, references: list[OwnerReference]
) -> Create:
    body = tree(converted)
    body.pop("status", None)
    body["metadata"] = {
        **_metadata(seen, {}, source, converted, references),
        "finalizers": [MACHINE_API_FINALIZER, SYNC_FINALIZER],
    }
    body["spec"]["authoritativeAPI"] = CLUSTER_API
    aim = Target(mapi.Machine, seen.name, seen.namespaces.machine_api)
    return Create(target=aim, body=body, why="mirror of the Cluster API Machine, whose MachineSet is mirrored too")


def _update(
    seen: MachineSnapshot,
    mirror: Present[mapi.Machine],
    source: capi.Machine,
    converted: mapi.Machine,
    *,
    references: list[OwnerReference],
    now: datetime,
) -> tuple[Merge, Merge]:
    desired = tree(converted)
    observed_spec: dict[str, Any] = dict(mirror.tree.get("spec") or {})
    desired_spec = desired["spec"]
    if "authoritativeAPI" in observed_spec:
        desired_spec["authoritativeAPI"] = observed_spec["authoritativeAPI"]
    desired_spec["providerSpec"] = seen.platform.mirrored_provider_spec(
        observed_spec.get("providerSpec"), desired_spec.get("providerSpec")
    )
    taints.put(desired_spec, taints.of_machine_api(converted.spec.taints, mirror.object.spec.taints))
    observed_metadata = mirror.tree["metadata"]
    content = Merge(
        target=target(mirror),
        observed={"metadata": metadata.compared(observed_metadata), "spec": observed_spec},
        desired={"metadata": _metadata(seen, observed_metadata, source, converted, references), "spec": desired_spec},
        why="the Cluster API Machine changed",
    )
    status = _status(mirror, converted, desired.get("status") or {}, now=now)
    generation = source.metadata.generation
    return content, status_write(mirror, status, verdict=FROM_CLUSTER_API, generation=generation, now=now)


def _metadata(
    seen: MachineSnapshot,
    observed: Mapping[str, Any],
    source: capi.Machine,
    converted: mapi.Machine,
    references: list[OwnerReference],
) -> dict[str, Any]:
    meta, labels = converted.metadata, source.metadata.labels
    of_set = seen.machine_api_set
    named = selected_keys(of_set.object.spec.selector) if references and isinstance(of_set, Present) else set()
    # Without these labels, the Machine API's set would not find its machine, and would create another once
    # authoritative.
    selected = {key: labels[key] for key in sorted(named) if key in labels}
    return metadata.mirrored(
        observed, labels={**selected, **meta.labels}, annotations=meta.annotations, owners=references
    )


def _status(
    mirror: Present[mapi.Machine], converted: mapi.Machine, desired: dict[str, Any], *, now: datetime
) -> dict[str, Any]:
    observed = (mirror.tree.get("status") or {}).get("providerStatus")
    if converted.status.provider_status is None:
        return {**desired, "providerStatus": observed} if observed is not None else desired
    provider_status = dict(desired["providerStatus"])
    before = observed.get("conditions") if isinstance(observed, Mapping) else None
    after = provider_status.get("conditions") or []
    provider_status["conditions"] = conditions.merged_provider(before, after, now=now)
    return {**desired, "providerStatus": provider_status}
