"""An update as it was recorded: what `history` follows, `text.records` prints and `expectation` learns from.

`record_of` reads an UpdateRecord, one of earlier versions too; `spec_of` and `status_of` are what is stored of it.
"""

from typing import Any

import msgspec
from msgspec import Struct, field

from windlass.api.update_record import (
    NodeTook,
    State,
    Took,
    Trouble,
    UpdateRecord,
    UpdateRecordSpec,
    UpdateRecordStatus,
    Verification,
)


class Record(Struct, omit_defaults=True, kw_only=True, frozen=True):
    """One update from `previous` ("": an installation) to `target`; times are RFC 3339, absent where nothing was seen.

    state     that of UpdateRecord; "" as long as the record has nothing but a name
    verified  whether the signature of the release was checked; None: the history does not say
    """

    name: str
    previous: str = ""
    target: str
    state: str
    started: str
    image: str = ""
    verified: bool | None = None
    accepted_risks: str = ""
    control_plane_completed: str | None = None
    completed: str | None = None
    operators: list[Took] = field(default_factory=list)
    pools: list[Took] = field(default_factory=list)
    nodes: list[NodeTook] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    omitted: str = ""


def is_former(found: UpdateRecord) -> bool:
    """Whether a controller of an earlier version wrote it: then its own fields count, and not `spec` and `status`."""
    return bool(found.target)


def record_of(found: UpdateRecord) -> Record:
    """The update that the object records."""
    if is_former(found):
        return Record(
            name=found.metadata.name,
            previous=found.previous,
            target=found.target,
            state=found.state,
            started=found.started or "",
            image=found.image,
            verified=found.verified,
            accepted_risks=found.accepted_risks,
            control_plane_completed=found.control_plane_completed,
            completed=found.completed,
            operators=found.operators,
            pools=found.pools,
            nodes=found.nodes,
            troubles=found.troubles,
            omitted=found.omitted,
        )
    spec, status = found.spec, found.status
    return Record(
        name=found.metadata.name,
        previous=spec.previous,
        target=spec.target,
        state=status.state or "",
        started=spec.started_at,
        image=status.image,
        verified=None if status.verification is None else status.verification == "Verified",
        accepted_risks=status.accepted_risks,
        control_plane_completed=status.control_plane_completed_at,
        completed=status.completed_at,
        operators=status.operators,
        pools=status.pools,
        nodes=status.nodes,
        troubles=status.troubles,
        omitted=status.omitted,
    )


def tree_of(record: Record) -> dict[str, Any]:
    """Its UpdateRecord."""
    kind = UpdateRecord.RESOURCE
    identity = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": record.name}}
    return {**identity, "spec": spec_of(record), "status": status_of(record)}


def spec_of(record: Record) -> dict[str, Any]:
    """`spec` of its UpdateRecord."""
    spec = UpdateRecordSpec(previous=record.previous, target=record.target, started_at=record.started)
    tree: dict[str, Any] = msgspec.to_builtins(spec)
    return tree


def status_of(record: Record) -> dict[str, Any]:
    """`status` of its UpdateRecord."""
    status = UpdateRecordStatus(
        state=_STATES.get(record.state),
        control_plane_completed_at=record.control_plane_completed,
        completed_at=record.completed,
        image=record.image,
        verification=None if record.verified is None else _VERIFICATIONS[record.verified],
        accepted_risks=record.accepted_risks,
        operators=record.operators,
        pools=record.pools,
        nodes=record.nodes,
        troubles=record.troubles,
        omitted=record.omitted,
    )
    tree: dict[str, Any] = msgspec.to_builtins(status)
    return tree


_STATES: dict[str, State] = {
    "Progressing": "Progressing",
    "Completed": "Completed",
    "Superseded": "Superseded",
    "Refused": "Refused",
}
_VERIFICATIONS: dict[bool, Verification] = {True: "Verified", False: "Unverified"}
