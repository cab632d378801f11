"""The simulated cloud: records every instance, and which side acted on it when.

The simulated Machine API and the simulated infrastructure provider both create and delete instances, and an instance
can pass from one to the other. So its history is in a ConfigMap named by its ID, which stays when the instance is
deleted. A test that moves authority back and forth reads it afterwards:

    for instance in await instances(client, namespace="openshift-cluster-api"):
        assert instance.alive                        # nobody deleted it
        assert not instance.seizures                 # nobody acted on it before the other had let go

| entry | who writes it, when |
|---|---|
| created | the side that is unpaused, when a machine names no instance |
| imported | the side that first meets an instance that is not recorded: a test made up its provider ID |
| taken | the side that is unpaused, before it acts on it, if it is not the holder; from whom, if that one still is |
| let go | the holder, when it finds itself paused, before it says so in a condition |
| deleted | the side that is unpaused, when the machine is deleted |

Entries are written with the resourceVersion of a live read of the record, so none is based on stale state. The provider
of OpenStack cannot report that it is paused, so there the Machine API waits until it has released the instance.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, TypeAlias

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.kube.clock import rfc3339
from windlass.kube.control.permissions import Permission, permission, writes
from windlass.kube.control.plan import Action, Create, Merge, Target, target
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.kube.object import Object
from windlass.kube.verbs import Api

NAMESPACE: Final = "openshift-cluster-api"
"""The default namespace of the records. All simulators that share a cloud must use the same one."""

SELECTOR: Final = "simulators.windlass.dev/instance"
"""Label of the records."""

Side: TypeAlias = Literal["MachineAPI", "ClusterAPI"]
"""Who acts: the Machine API's controllers, or those of Cluster API, of which the infrastructure provider is one."""


class InstanceRecord(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The ConfigMap."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps")

    metadata: ObjectMeta = always(ObjectMeta)
    data: dict[str, str] = field(default_factory=dict)


class Entry(Struct, frozen=True):
    """`side` did `what` at `time`; `before` is the side that held the instance until then, without letting go."""

    time: str
    side: str
    what: str
    before: str = ""

    def __str__(self) -> str:
        return " ".join([self.time, self.side, self.what.replace(" ", "-"), *([self.before] if self.before else [])])


class Instance(Struct, frozen=True, kw_only=True):
    """The record of one instance. `machine` is the name of the machine it was made for."""

    id: str
    machine: str
    holder: str
    entries: tuple[Entry, ...]

    @property
    def alive(self) -> bool:
        return not any(entry.what == "deleted" for entry in self.entries)

    @property
    def seizures(self) -> tuple[Entry, ...]:
        """The times when one side acted while the other had not let go: two authorities at once."""
        return tuple(entry for entry in self.entries if entry.before)

    @property
    def hands(self) -> tuple[str, ...]:
        """The sides that held the instance, in order."""
        return tuple(entry.side for entry in self.entries if entry.what in ("created", "imported", "taken"))


def instance_of(record: InstanceRecord) -> Instance:
    """The record, read."""
    return Instance(
        id=record.metadata.name,
        machine=record.data.get("machine", ""),
        holder=record.data.get("holder", ""),
        entries=tuple(map(_entry, record.data.get("history", "").splitlines())),
    )


async def instances(api: Api, *, namespace: str = NAMESPACE) -> list[Instance]:
    """All instances that ever were, by machine and age."""
    listed = await api.list(InstanceRecord, namespace=namespace, label_selector=SELECTOR)
    return read(listed.items)


def read(records: Iterable[Object[InstanceRecord]]) -> list[Instance]:
    """The instances of these records, by machine and age."""
    found = [instance_of(record.decode()) for record in records]
    return sorted(found, key=lambda instance: (instance.machine, instance.entries[0].time))


def record_permissions(namespace: str) -> Sequence[Permission]:
    """What a simulator that keeps records must declare."""
    return (
        permission(InstanceRecord, "get", namespace=namespace),
        writes(InstanceRecord, "create", "patch", namespace=namespace),
    )


def recorded(record: Seen[InstanceRecord]) -> bool:
    """Whether the record could be looked at: otherwise nothing may be decided from it."""
    return isinstance(record, Present | Absent)


def gone(record: Seen[InstanceRecord]) -> bool:
    """Whether the instance has been deleted."""
    return isinstance(record, Present) and not instance_of(record.object).alive


def held_by_other(record: Seen[InstanceRecord], side: Side) -> bool:
    """Whether the other side has not released the instance yet."""
    return isinstance(record, Present) and record.object.data.get("holder", "") not in ("", side)


def hold(record: Seen[InstanceRecord], to: Target, *, machine: str, side: Side, named: bool, now: datetime) -> Action:
    """Create the instance for this side, or take it over. Not needed if this side holds it already.

    `to` is the target of the record. `named`: the machine has its ID already, so it must exist even if it is not
    recorded.
    """
    if isinstance(record, Present):
        holder = record.object.data.get("holder", "")
        return _write(record, Entry(rfc3339(now), side, "taken", holder), holder=side, skip=holder == side)
    entry = Entry(rfc3339(now), side, "imported" if named else "created")
    body = {
        "metadata": {"labels": {SELECTOR: ""}},
        "data": {"machine": machine, "holder": side, "history": str(entry)},
    }
    return Create(target=to, body=body, why=f"an instance of {machine} is {entry.what}")


def let_go(record: Seen[InstanceRecord], *, side: Side, now: datetime) -> Action | None:
    """This side will not act on the instance until it takes it again."""
    if not isinstance(record, Present) or record.object.data.get("holder") != side:
        return None
    return _write(record, Entry(rfc3339(now), side, "let go"), holder="")


def delete(record: Seen[InstanceRecord], *, side: Side, now: datetime) -> Action | None:
    """There is no such instance any more."""
    if not isinstance(record, Present) or gone(record):
        return None
    holder = record.object.data.get("holder", "")
    seized = holder if holder != side else ""
    return _write(record, Entry(rfc3339(now), side, "deleted", seized), holder="")


def record_target(instance: str, namespace: str) -> Target:
    """The target of a record that may not exist yet."""
    return Target(InstanceRecord, instance, namespace)


def _write(record: Present[InstanceRecord], entry: Entry, *, holder: str, skip: bool = False) -> Merge:
    observed = {"data": dict(record.object.data)}
    history = f"{record.object.data.get('history', '')}\n{entry}"
    desired: Mapping[str, Any] = {"data": {**record.object.data, "holder": holder, "history": history}}
    return Merge(
        target=target(record),
        observed=observed,
        desired=observed if skip else desired,
        why=f"the instance of {record.object.data.get('machine')} is {entry.what} by {entry.side}",
    )


def _entry(line: str) -> Entry:
    time, side, what, *before = line.split(" ")
    return Entry(time, side, what.replace("-", " "), before[0] if before else "")
