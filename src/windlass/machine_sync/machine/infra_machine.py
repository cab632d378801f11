"""The infra machine of a mirror: made, kept up to date, and made anew where its provider admits no change.

| infra machine | what follows |
|---|---|
| not there | created, paused, owned by the Cluster API Machine |
| differs in what its provider lets one change | changed |
| differs otherwise | deleted and, being paused, stripped of its finalizers; then created |
| being deleted by somebody | the same; what it owns is orphaned first |
| differs only in what the provider or the API server filled in, or in what we do not know | stays |
| differs in what conversion makes as it did when the infra machine was given it | stays |

What it was given is noted on it, while it is paused: `mirroring.infra_machine_spec` compares by it, so that a provider
that completes or changes what it is given does not have it recreated without end. One that is not paused is its
provider's, and whoever takes it over compares the whole spec once.

Nothing is made anew that is not paused: its provider would take the deletion for the end of the instance. And what it
owns does not go with it: OpenStack's provider keeps the instance in an OpenStackServer that the OpenStackMachine owns.
Only a deletion in the foreground, of it or of an owner, can be faster: the collector then deletes what it owns at once.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from windlass.api import capi, mapi
from windlass.api.meta import OwnerReference, tree
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
from windlass.machine_sync.machine.owners import reference
from windlass.machine_sync.machine.propagation import claimed_metadata
from windlass.machine_sync.machine.reasons import RECREATING
from windlass.machine_sync.machine.snapshot import MachineSnapshot, infra_machine_name
from windlass.machine_sync.mirroring import conditions, metadata
from windlass.machine_sync.mirroring.collector import FINALIZERS as COLLECTORS
from windlass.machine_sync.mirroring.collector import ORPHAN
from windlass.machine_sync.mirroring.infra_machine_spec import differing, given
from windlass.machine_sync.mirroring.synchronized import Verdict

MARKS = {PAUSED_ANNOTATION: ""}


class Ensured(Struct, frozen=True):
    """What there is to do. `recreating`: what `Synchronized` says while the infra machine is being made anew."""

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
    """Make the infra machine of a paused mirror what conversion says. The Cluster API Machine exists, with `owners`."""
    owner = _owner(seen)
    found = seen.infra_machine
    if not isinstance(found, Present):
        return Ensured((create(seen, converted, owner, labels=labels, why="mirror of the Machine API Machine"),))
    observed, annotations = found.tree["metadata"], converted.metadata.annotations
    claimed = claimed_metadata(seen.cluster_api_set, owners)
    made: dict[str, Any] = tree(converted.spec)
    wanted = metadata.mirrored(
        observed, labels=labels, annotations=annotations, owners=[owner], marks=_marks(seen, made), claimed=claimed
    )
    noted = found.metadata.annotations.get(MIRRORED_SPEC_ANNOTATION)
    spec = differing(seen.platform, found.tree.get("spec") or {}, made, noted=noted)
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
    seen: MachineSnapshot, converted: Any, owner: OwnerReference | None, *, labels: Mapping[str, str], why: str
) -> Create:
    """A new infra machine: paused if it gets an owner, which is then a mirror like itself."""
    spec: dict[str, Any] = tree(converted.spec)
    meta = metadata.mirrored(
        {},
        labels=labels,
        annotations=converted.metadata.annotations,
        owners=[owner] if owner is not None else [],
        marks=_marks(seen, spec) if owner is not None else {},
    )
    body = {"metadata": {**meta, "finalizers": [SYNC_FINALIZER]}, "spec": spec}
    aim = Target(seen.platform.infra_machine, infra_machine_name(seen), seen.namespaces.cluster_api)
    return Create(target=aim, body=body, why=why)


def unpause(seen: MachineSnapshot, *, why: str) -> Merge | None:
    """Let its provider act on the infra machine that is there; None if there is none."""
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


def status(seen: MachineSnapshot, converted: Any, *, now: datetime) -> Merge | None:
    """The status that follows from that of the Machine; None where the platform converts none.

    Where it does not, the provider's own stays.
    """
    found = seen.infra_machine
    if not isinstance(found, Present) or seen.platform.provider_status is None:
        return None
    observed: Mapping[str, Any] = found.tree.get("status") or {}
    desired: dict[str, Any] = tree(converted.status)
    desired["conditions"] = conditions.merged_v1beta1(
        observed.get("conditions"), desired.get("conditions") or [], now=now
    )
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
    orphan = Delete(
        target=target(found),
        propagation="Orphan",
        deleting=ORPHAN in theirs or not theirs,
        why="its deletion did not orphan what it owns, and the instance stays",
    )
    # Paused, its provider never takes its finalizer off. In one go with the orphaning: nothing shows when that is done.
    held = tuple(finalizer for finalizer in meta.finalizers if finalizer not in COLLECTORS)
    off = RemoveFinalizers(
        target=target(found),
        observed=(*held, ORPHAN) if theirs else held,
        finalizers=held,
        why="it is recreated; the instance stays",
    )
    return Ensured((orphan, off), RECREATING)


def _announce(kind: str, differ: list[FieldChange], source: Present[mapi.Machine]) -> list[Emit]:
    """An instance that is described anew is worth knowing about: which fields made it so."""
    if not source.object.spec.provider_id and source.object.status.phase not in ("Provisioned", "Running", "Deleting"):
        return []
    note = f"The {kind} is recreated, the instance stays; differences: {'; '.join(map(str, differ))}"
    return [Emit(target=target(source), type="Normal", reason="RecreatingInfraMachine", note=note, source=EVENT_SOURCE)]


def _marks(seen: MachineSnapshot, spec: Mapping[str, Any]) -> dict[str, str]:
    """What is said on an infra machine about itself: that it is paused, the `spec` that it is given, and what it is of.

    The last where its name does not tell. If its Machine is lost it is found by that, and is not left behind.
    """
    of = {MACHINE_ANNOTATION: seen.name} if infra_machine_name(seen) != seen.name else {}
    return {**MARKS, MIRRORED_SPEC_ANNOTATION: given(spec), **of}


def _owner(seen: MachineSnapshot) -> OwnerReference:
    machine = metadata_of(seen.cluster_api)
    assert machine is not None
    return reference(capi.Machine, machine, controller=True, block_owner_deletion=True)
