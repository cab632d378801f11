"""Make the Machine API Machine a mirror of the Cluster API Machine: finalizers, owners, spec, then status.

In order, each step only if the one before held:

| step | when it fails |
|---|---|
| infra machine and infra cluster are named and can be read | FailedToGetCAPIInfraResources |
| owner references have a counterpart | FailedToConvertCAPIMachineToMAPI |
| machine, infra machine and infra cluster convert | FailedToConvertCAPIMachineToMAPI |
| our finalizer is on all of them, the mirror has the converted spec and metadata | FailedToCreate/UpdateMAPIMachine |
| status, condition and generation | FailedToUpdateMAPIMachine |
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from windlass.api import capi, mapi
from windlass.api.meta import OwnerReference, tree
from windlass.kube.clock import rfc3339
from windlass.kube.merge import same
from windlass.kube.plan import AddFinalizer, Create, Emit, Merge, Plan, Target, target
from windlass.kube.seen import Absent, NotServedKind, Present, Unreadable
from windlass.machine_sync.constants import CLUSTER_API, EVENT_SOURCE, MACHINE_API_FINALIZER, SYNC_FINALIZER
from windlass.machine_sync.machine import owners
from windlass.machine_sync.machine.snapshot import MachineSnapshot, metadata_of, target_of
from windlass.machine_sync.machine.synchronized import Fault, Reason, failed, status_write, success

IGNORED_ANNOTATION = "cluster.x-k8s.io/conversion-data"
"""Written by Kubernetes API conversion for its own use; never compared."""

COMPARED_METADATA = ("labels", "annotations", "ownerReferences")


def create_or_update(seen: MachineSnapshot, source: Present[capi.Machine], *, now: datetime) -> Plan:
    """The plan that makes the mirror what conversion says, or that says why it cannot be made."""
    if fault := _missing_infrastructure(seen, source.object):
        return failed(seen, fault, now=now)
    references = owners.to_machine_api(source.object.metadata.owner_references, seen.mirror_set)
    if isinstance(references, owners.UnsupportedOwner):
        return failed(seen, Fault(Reason.FAILED_TO_CONVERT, references.detail, retry=False), now=now)
    if isinstance(references, owners.OwnerNotFound):
        text = f"failed to convert Cluster API machine owner references to Machine API: {references.text}"
        return failed(seen, Fault(Reason.FAILED_TO_CONVERT, text), now=now)
    infra = seen.infra.object if isinstance(seen.infra, Present) else None
    if infra is None:
        text = f"unexpected InfraMachine type, expected {seen.platform.infra_machine.RESOURCE.kind}, got <nil>"
        return failed(seen, _not_converted(text), now=now)
    cluster = seen.infra_cluster.object if isinstance(seen.infra_cluster, Present) else None
    converted = seen.platform.to_machine_api(source.object, infra, cluster)
    if converted.machine is None:
        return failed(seen, _not_converted(converted.error), now=now)
    if isinstance(seen.mirror, Present):
        actions = _update(seen, seen.mirror, source.object, converted.machine, references=references, now=now)
        return Plan.of(*_warn(seen.mirror, converted.warnings), *_finalizers(seen), *actions)
    return Plan.of(*_finalizers(seen), _create(seen, converted.machine, references))


def _missing_infrastructure(seen: MachineSnapshot, source: capi.Machine) -> Fault | None:
    where = f"machine {source.metadata.namespace}/{source.metadata.name}"
    if not source.spec.cluster_name:
        return _not_fetched(f"{where}: cluster name is empty in Cluster API machine spec", retry=False)
    if not source.spec.infrastructure_ref.name:
        return _not_fetched(f"{where}: infrastructure machine reference is invalid or incomplete", retry=False)
    match seen.infra_cluster:
        case Absent():
            missing = owners.not_found(seen.platform.infra_cluster, source.spec.cluster_name)
            return _not_fetched(f"failed to get Cluster API infrastructure cluster: {missing}")
        case Unreadable(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure cluster: {why}", retry=False)
        case NotServedKind(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure cluster: {why}")
    match seen.infra:
        case Unreadable(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure machine: {why}", retry=False)
        case NotServedKind(why=why):
            return _not_fetched(f"failed to get Cluster API infrastructure machine: {why}")
    return None


def _not_fetched(text: str, *, retry: bool = True) -> Fault:
    return Fault(Reason.FAILED_TO_GET_INFRA, f"failed to fetch Cluster API infra resources: {text}", retry=retry)


def _not_converted(text: str) -> Fault:
    return Fault(Reason.FAILED_TO_CONVERT, f"failed to convert Cluster API machine to Machine API machine: {text}")


def _warn(mirror: Present[mapi.Machine], warnings: tuple[str, ...]) -> list[Emit]:
    return [
        Emit(target=target(mirror), type="Warning", reason="ConversionWarning", note=warning, source=EVENT_SOURCE)
        for warning in warnings
    ]


def _finalizers(seen: MachineSnapshot) -> list[AddFinalizer]:
    """Our finalizer on everything that is there and stays."""
    there = (
        (mapi.Machine, metadata_of(seen.mirror)),
        (capi.Machine, metadata_of(seen.source)),
        (seen.platform.infra_machine, metadata_of(seen.infra)),
    )
    return [
        AddFinalizer(
            target=target_of(kind, meta),
            observed=tuple(meta.finalizers),
            finalizer=SYNC_FINALIZER,
            why="its mirror must be cleaned up before it goes",
        )
        for kind, meta in there
        if meta is not None and meta.deletion_timestamp is None
    ]


def _create(seen: MachineSnapshot, converted: mapi.Machine, references: list[OwnerReference]) -> Create:
    body = tree(converted)
    body.pop("status", None)
    body["metadata"]["finalizers"] = [MACHINE_API_FINALIZER, SYNC_FINALIZER]
    if references:
        body["metadata"]["ownerReferences"] = tree(references)
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
    observed_metadata = _compared(mirror.tree["metadata"])
    desired_metadata = _compared({**desired["metadata"], "ownerReferences": tree(references)})
    observed_spec: dict[str, Any] = dict(mirror.tree.get("spec") or {})
    desired_spec = desired["spec"]
    if "authoritativeAPI" in observed_spec:
        desired_spec["authoritativeAPI"] = observed_spec["authoritativeAPI"]
    desired_spec["providerSpec"] = _provider_spec(seen, observed_spec.get("providerSpec"), desired_spec)
    content = Merge(
        target=target(mirror),
        observed={"metadata": observed_metadata, "spec": observed_spec},
        desired={"metadata": desired_metadata, "spec": desired_spec},
        why="the Cluster API Machine changed",
    )
    status = _status(mirror, converted, desired.get("status") or {}, now=now)
    generation = source.metadata.generation
    return content, status_write(mirror, status, condition=success(), generation=generation, now=now)


def _compared(metadata: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: metadata[key] for key in COMPARED_METADATA if metadata.get(key)}
    if IGNORED_ANNOTATION in kept.get("annotations", {}):
        annotations = {key: value for key, value in kept["annotations"].items() if key != IGNORED_ANNOTATION}
        kept["annotations"] = annotations
    return kept


def _provider_spec(seen: MachineSnapshot, observed: Any, desired_spec: Mapping[str, Any]) -> Any:
    """The provider spec to have: the observed one if it means the same, else the converted one whole."""
    desired = desired_spec.get("providerSpec") or {}
    if isinstance(observed, Mapping):
        canonical = seen.platform.canonical_provider_spec
        if same(canonical(observed.get("value")), canonical(desired.get("value"))):
            return observed
    return desired


def _status(
    mirror: Present[mapi.Machine], converted: mapi.Machine, desired: dict[str, Any], *, now: datetime
) -> dict[str, Any]:
    observed = (mirror.tree.get("status") or {}).get("providerStatus")
    if converted.status.provider_status is None:
        return {**desired, "providerStatus": observed} if observed is not None else desired
    provider_status = dict(desired["providerStatus"])
    before = observed.get("conditions") if isinstance(observed, Mapping) else None
    provider_status["conditions"] = _merged(before, provider_status.get("conditions") or [], now=now)
    return {**desired, "providerStatus": provider_status}


def _merged(before: Any, after: list[dict[str, Any]], *, now: datetime) -> list[dict[str, Any]]:
    """`after` merged into `before` by type. Here lastTransitionTime moves with status, reason or message."""
    merged = [dict(old) for old in before] if isinstance(before, list) else []
    for condition in after:
        said = {key: value for key, value in condition.items() if key != "lastTransitionTime"}
        place = next((i for i, old in enumerate(merged) if old.get("type") == condition["type"]), None)
        if place is None:
            merged.append({**said, "lastTransitionTime": rfc3339(now)})
        elif any(merged[place].get(key) != said.get(key) for key in ("status", "reason", "message")):
            merged[place] = {**merged[place], **said, "lastTransitionTime": rfc3339(now)}
    return merged
