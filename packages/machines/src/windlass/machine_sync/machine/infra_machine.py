"""Creates and updates the infra machine of a mirror, and recreates it if its provider does not allow a change.

| infra machine | what follows |
|---|---|
| does not exist | created, paused, owned by the Cluster API Machine |
| differs in fields that its provider allows to change | changed |
| differs in other fields | deleted, and its finalizers removed, because it is paused; then created |
| being deleted by somebody else | the same; the objects that it owns are orphaned first |
| differs only in fields that the provider or the API server filled in, or that we do not know | stays |
| differs in fields whose converted value is the same as when they were last written | stays |
| differs, but an earlier release of Windlass wrote it from the same provider spec | stays: `mirroring.mirrored_spec` |

While it is paused, an annotation records the fields that we wrote. `mirroring.infra_machine_spec` compares with that
record, so that a provider that completes or changes fields does not cause endless recreation. While it is not paused,
it belongs to its provider and has no record; when it is paused again, the whole spec is compared once.

An infra machine is paused before it is recreated; otherwise its provider would delete the instance. The objects that it
owns are kept: OpenStack's provider keeps the instance in an OpenStackServer that the OpenStackMachine owns. Only if
somebody else deletes it or an owner in the foreground, the collector may be faster and delete these objects.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import ObjectMeta, OwnerReference, owner_reference, tree
from windlass.kube.control.merge import FieldChange, changes
from windlass.kube.control.plan import Action, Create, Delete, Emit, Merge, RemoveFinalizers, Target, target, target_of
from windlass.kube.control.seen import Present, metadata_of
from windlass.machine_sync.constants import (
    EVENT_SOURCE,
    MACHINE_ANNOTATION,
    MIRRORED_SPEC_ANNOTATION,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.machine.propagation import claimed_metadata
from windlass.machine_sync.machine.reasons import RECREATING
from windlass.machine_sync.machine.snapshot import MachineSnapshot, infra_machine_name
from windlass.machine_sync.mirroring import conditions, metadata, mirrored_spec
from windlass.machine_sync.mirroring.collector import FINALIZERS as COLLECTORS
from windlass.machine_sync.mirroring.collector import ORPHAN
from windlass.machine_sync.mirroring.infra_machine_spec import differing, given
from windlass.machine_sync.mirroring.synchronized import Verdict

MARKS = {PAUSED_ANNOTATION: ""}


class Ensured(Struct, frozen=True):
    """The actions. `recreating`: the condition `Synchronized` while the infra machine is being recreated."""

    actions: tuple[Action, ...]
    recreating: Verdict | None = None


def ensure(
    seen: MachineSnapshot,
    converted: Any,
    *,
    labels: Mapping[str, str],
    owners: Iterable[OwnerReference],
    source: Present[mapi.Machine],
) -> Ensured:
    """Make a paused mirror's infra machine equal to the converted one. The Machine exists, with `owners`."""
    owner = _owner(seen)
    found = seen.infra_machine
    if not isinstance(found, Present):
        why = "mirror of the Machine API Machine"
        return Ensured((create(seen, converted, owner, labels=labels, source=source, why=why),))
    observed, annotations = found.tree["metadata"], converted.metadata.annotations
    claimed = claimed_metadata(seen.cluster_api_set, owners)
    made: dict[str, Any] = tree(converted.spec)
    noted, record = found.metadata.annotations.get(MIRRORED_SPEC_ANNOTATION), _record(seen, made, source)
    stays = None if noted is None else _standing(seen, noted, source)
    spec = differing(seen.platform, found.tree.get("spec") or {}, made, noted=record if stays else noted)
    wanted = metadata.mirrored(
        observed,
        labels=labels,
        annotations=annotations,
        owners=[owner],
        marks=_marks(seen, stays or record),
        claimed=claimed,
    )
    changeable = {key: made.get(key) for key in seen.platform.infra_machine_mutable if key in spec}
    if found.deleting or spec.keys() - changeable.keys():
        fields = changes(spec, {key: value for key, value in made.items() if key in spec}, path="spec")
        return _recreate(seen, found, [*fields], source=source)
    update = Merge(
        target=target(found),
        observed={"metadata": metadata.compared(observed), "spec": {key: spec[key] for key in changeable}},
        desired={"metadata": wanted, "spec": changeable},
        why="the Machine API Machine changed",
    )
    return Ensured((update,))


def create(
    seen: MachineSnapshot,
    converted: Any,
    owner: OwnerReference | None,
    *,
    labels: Mapping[str, str],
    source: Present[mapi.Machine],
    why: str,
) -> Create:
    """A new infra machine: paused if it gets an owner, because its Machine is then a mirror."""
    spec: dict[str, Any] = tree(converted.spec)
    meta = metadata.mirrored(
        {},
        labels=labels,
        annotations=converted.metadata.annotations,
        owners=[owner] if owner is not None else [],
        marks=_marks(seen, _record(seen, spec, source)) if owner is not None else {},
    )
    body = {"metadata": {**meta, "finalizers": [SYNC_FINALIZER]}, "spec": spec}
    aim = Target(seen.platform.infra_machine, infra_machine_name(seen), seen.namespaces.cluster_api)
    return Create(target=aim, body=body, why=why)


def unpause(seen: MachineSnapshot, *, why: str) -> Merge | None:
    """Unpause the infra machine; None if there is none."""
    meta = metadata_of(seen.infra_machine)
    if meta is None:
        return None
    marks = (PAUSED_ANNOTATION, MIRRORED_SPEC_ANNOTATION, MACHINE_ANNOTATION)
    left = {key: value for key, value in meta.annotations.items() if key not in marks}
    return Merge(
        target=target_of(seen.platform.infra_machine, meta),
        observed={"metadata": {"annotations": meta.annotations}},
        desired={"metadata": {"annotations": left}},
        why=why,
    )


def given_up(seen: MachineSnapshot, meta: ObjectMeta) -> tuple[Delete, RemoveFinalizers]:
    """Release an infra machine that is paused and being deleted, and keep what it owns, for the instance stays."""
    aim = target_of(seen.platform.infra_machine, meta)
    theirs = [finalizer for finalizer in meta.finalizers if finalizer != SYNC_FINALIZER]
    orphan = Delete(
        target=aim,
        propagation="Orphan",
        deleting=ORPHAN in theirs or not theirs,
        why="its deletion did not orphan what it owns, and the instance stays",
    )
    # Its provider is paused, so it never removes its finalizer. Together with the orphaning, which leaves no trace once
    # done.
    held = tuple(finalizer for finalizer in meta.finalizers if finalizer not in COLLECTORS)
    off = RemoveFinalizers(
        target=aim,
        observed=(*held, ORPHAN) if theirs else held,
        finalizers=held,
        why="it is no longer the infrastructure machine of a mirror; the instance stays",
    )
    return orphan, off


def status(seen: MachineSnapshot, converted: Any, *, now: datetime) -> Merge | None:
    """The status converted from that of the Machine; None if the platform converts none: the provider's own stays."""
    found = seen.infra_machine
    if not isinstance(found, Present) or seen.platform.provider_status is None:
        return None
    observed: Mapping[str, Any] = found.tree.get("status") or {}
    desired: dict[str, Any] = tree(converted.status)
    if merged := conditions.merged_v1beta1(observed.get("conditions"), desired.get("conditions") or [], now=now):
        desired["conditions"] = merged  # not every platform's infra machines have any
    return Merge(
        target=target(found),
        part="status",
        observed={"status": observed},
        desired={"status": desired},
        why="the status of the Machine API Machine changed",
    )


def _recreate(
    seen: MachineSnapshot, found: Present[Any], differ: list[FieldChange], *, source: Present[mapi.Machine]
) -> Ensured:
    meta = found.metadata
    if PAUSED_ANNOTATION not in meta.annotations:
        pause = Merge(
            target=target(found),
            observed={"metadata": {"annotations": meta.annotations}},
            desired={"metadata": {"annotations": {**meta.annotations, **MARKS}}},
            why="it is to be recreated, and its provider must not delete the instance",
        )
        return Ensured((pause,), RECREATING)
    theirs = tuple(finalizer for finalizer in meta.finalizers if finalizer != SYNC_FINALIZER)
    if not found.deleting:
        kind = seen.platform.infra_machine.RESOURCE.kind
        why = f"{', '.join(change.path for change in differ)} cannot be changed on an existing {kind}"
        delete = Delete(target=target(found), pin=True, propagation="Orphan" if theirs else "", why=why)
        return Ensured((*_announce(kind, differ, source), delete), RECREATING)
    return Ensured(given_up(seen, meta), RECREATING)


def _announce(kind: str, differ: list[FieldChange], source: Present[mapi.Machine]) -> list[Emit]:
    """The Event for users about the recreation, with the fields that differ; none if there is no instance yet."""
    if not source.object.spec.provider_id and source.object.status.phase not in ("Provisioned", "Running", "Deleting"):
        return []
    note = f"The {kind} is recreated, the instance stays; differences: {'; '.join(map(str, differ))}"
    return [Emit(target=target(source), type="Normal", reason="RecreatingInfraMachine", note=note, source=EVENT_SOURCE)]


def _marks(seen: MachineSnapshot, record: str) -> dict[str, str]:
    """The annotations of an infra machine: the pause, the record of its spec, and the machine if it has another name.

    If the Machine is lost, the infra machine is found by that name.
    """
    of = {MACHINE_ANNOTATION: seen.name} if infra_machine_name(seen) != seen.name else {}
    return {**MARKS, MIRRORED_SPEC_ANNOTATION: record, **of}


def _record(seen: MachineSnapshot, spec: Mapping[str, Any], source: Present[mapi.Machine]) -> str:
    return given(seen.platform, spec, source=source.object.spec.provider_spec.value)


def _standing(seen: MachineSnapshot, noted: str, source: Present[mapi.Machine]) -> str | None:
    """The record of an infra machine that another version of conversion wrote and that stays; else None."""
    provider_spec = source.object.spec.provider_spec.value
    return mirrored_spec.standing(noted, conversion=seen.platform.conversion, source=provider_spec, move=seen.move)


def _owner(seen: MachineSnapshot) -> OwnerReference:
    machine = metadata_of(seen.cluster_api)
    assert machine is not None
    return owner_reference(capi.Machine, machine, controller=True, block_owner_deletion=True)
