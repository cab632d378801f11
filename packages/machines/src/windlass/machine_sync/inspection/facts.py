"""Extracts the facts to show about a mirrored object, its twin and its infrastructure, as plain values.

It reads the untyped objects, so that it also describes a malformed object: that is when people need it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from windlass.api.core import Event
from windlass.api.meta import KubernetesObject
from windlass.kube.control.seen import Present, Unreadable, seen
from windlass.kube.object import Object
from windlass.machine_sync.constants import CLUSTER_API, MIGRATING, PAUSED_ANNOTATION

Tree = Mapping[str, Any]


class Condition(Struct, rename="camel", frozen=True):
    """`since` is RFC 3339, None if it is not set. `of` names the list, if one object has several."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    severity: str = ""
    since: str | None = None
    of: str = ""


class Described(Struct, rename="camel", frozen=True):
    """One object. Fields that it or its kind does not have are empty.

    `paused` says why its controllers are paused, empty if they are not. `synchronized_api` is the last authority, which
    matters while authority migrates. `replicas` are those of a MachineSet: desired, current, ready and available; None
    for those that are not set.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    created: str | None
    deleting: str | None
    phase: str = ""
    provider_id: str = field(default="", name="providerID")
    node: str = ""
    addresses: tuple[str, ...] = ()
    replicas: dict[str, int | None] | None = None
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    paused: str = ""
    synchronized_api: str = field(default="", name="synchronizedAPI")
    infrastructure: str = ""
    conditions: tuple[Condition, ...] = ()
    unreadable: str = ""


class Happening(Struct, rename="camel", frozen=True):
    """An Event about `object`. `last` is when it was last seen, RFC 3339."""

    object: str
    type: str
    reason: str
    message: str
    source: str
    count: int
    last: str


class Reference(NamedTuple):
    """The object that another one refers to, in its own namespace."""

    kind: str
    name: str


def described(found: Object[Any]) -> Described:
    """One Machine, MachineSet, infrastructure machine or template."""
    tree, meta = found.tree(), found.metadata
    spec, status = _map(tree.get("spec")), _map(tree.get("status"))
    resource = found.kind.RESOURCE
    looked = seen(found)
    infrastructure = infrastructure_of(found)
    return Described(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        generation=meta.generation,
        created=meta.creation_timestamp,
        deleting=meta.deletion_timestamp,
        phase=_text(status.get("phase")),
        provider_id=_text(spec.get("providerID")),
        node=_text(_map(status.get("nodeRef")).get("name")),
        addresses=tuple(
            f"{_text(one.get('type'))} {_text(one.get('address'))}".strip() for one in _maps(status.get("addresses"))
        ),
        replicas=_replicas(spec, status) if resource.kind == "MachineSet" else None,
        owners=tuple(f"{owner.kind}/{owner.name}" for owner in meta.owner_references),
        finalizers=tuple(meta.finalizers),
        paused=_paused(meta.annotations, status),
        synchronized_api=_text(status.get("synchronizedAPI")),
        infrastructure=f"{infrastructure.kind}/{infrastructure.name}" if infrastructure else "",
        conditions=(
            *_conditions(status.get("conditions")),
            *_conditions(_map(status.get("providerStatus")).get("conditions"), of="providerStatus"),
        ),
        unreadable=looked.why if isinstance(looked, Unreadable) else "",
    )


def infrastructure_of(found: Object[Any]) -> Reference | None:
    """The infrastructure machine, or for a MachineSet the template, that an object of Cluster API refers to."""
    spec = _map(found.tree().get("spec"))
    if found.kind.RESOURCE.kind == "MachineSet":
        spec = _map(_map(spec.get("template")).get("spec"))
    reference = _map(spec.get("infrastructureRef"))
    kind, name = _text(reference.get("kind")), _text(reference.get("name"))
    return Reference(kind, name) if kind and name else None


class InvolvedObject(NamedTuple):
    """The subject of Events: an object, or (without uid) any object that had this name."""

    kind: type[KubernetesObject]
    namespace: str
    name: str
    uid: str = ""


def happenings(events: Iterable[Object[Event]], subjects: Sequence[InvolvedObject], *, at_most: int) -> list[Happening]:
    """The last of the `events` about `subjects`, newest last."""
    looked = (seen(event) for event in events)
    told = (found.object for found in looked if isinstance(found, Present))
    found = [_happening(event) for event in told if any(_is_about(event, subject) for subject in subjects)]
    return sorted(found, key=lambda one: one.last)[-at_most:]


def _happening(event: Event) -> Happening:
    about = event.involved_object
    return Happening(
        object=f"{about.kind}.{_group(about.api_version)}/{about.name}",
        type=event.type,
        reason=event.reason,
        message=event.message,
        source=event.reporting_component or event.source.component,
        count=max(event.count, 1),
        last=event.last_seen,
    )


def _is_about(event: Event, subject: InvolvedObject) -> bool:
    """The API version is ignored: it is the one that the sender of the Event used."""
    about, resource = event.involved_object, subject.kind.RESOURCE
    same_kind = (about.kind, _group(about.api_version)) == (resource.kind, resource.group)
    same_name = (about.namespace, about.name) == (subject.namespace, subject.name)
    return same_kind and same_name and (not subject.uid or about.uid in ("", subject.uid))


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _paused(annotations: Mapping[str, str], status: Tree) -> str:
    if PAUSED_ANNOTATION in annotations:
        return f"annotation {PAUSED_ANNOTATION}"
    # The Machine API's controllers pause by authority; nothing else has this field.
    authority = _text(status.get("authoritativeAPI"))
    return f"status.authoritativeAPI is {authority}" if authority in (CLUSTER_API, MIGRATING) else ""


def _replicas(spec: Tree, status: Tree) -> dict[str, int | None]:
    found = {
        "desired": spec.get("replicas"),
        "current": status.get("replicas"),
        "ready": status.get("readyReplicas"),
        "available": status.get("availableReplicas"),
    }
    return {name: count if isinstance(count, int) else None for name, count in found.items()}


def _conditions(listed: Any, *, of: str = "") -> Iterable[Condition]:
    for one in _maps(listed):
        since = one.get("lastTransitionTime")
        yield Condition(
            type=_text(one.get("type")),
            status=_text(one.get("status")),
            reason=_text(one.get("reason")),
            message=_text(one.get("message")),
            severity=_text(one.get("severity")),
            since=since if isinstance(since, str) else None,
            of=of,
        )


def _map(value: Any) -> Tree:
    return value if isinstance(value, Mapping) else {}


def _maps(value: Any) -> list[Tree]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
