"""Reads one object in full for somebody who looks at it on the page: facts, conditions and last Events.

It is read with the rights of whoever asks. What they may not read is named, and the rest is shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from windlass.api.core import Event
from windlass.api.meta import Condition
from windlass.kube.control.seen import Present, read
from windlass.kube.errors import Forbidden, NotFound, NotServed
from windlass.kube.object import Object
from windlass.kube.shorten import shortened
from windlass.kube.verbs import ReadApi
from windlass.web.view import Refused

MOST_EVENTS: Final = 10
LONGEST: Final = 32_768
"""Characters of a text: what the API takes for the message of a condition."""

Facts = Sequence[tuple[str, str]]
"""Names and values, for people; an empty value is left out."""


async def present(api: ReadApi, kind: type[Any], name: str, *, namespace: str | None = None) -> Present[Any]:
    """The object. Raises Refused if there is none, or if it cannot be read, and KubeErrors."""
    where = f"{namespace}/{name}" if namespace else name
    try:
        found = read(await api.get(kind, name, namespace=namespace))
    except NotServed as error:
        raise Refused(404, f"the API server does not serve {kind.RESOURCE.kind}: {error}") from None
    except NotFound:
        raise Refused(404, f"there is no {kind.RESOURCE.kind} {where} any more") from None
    if not isinstance(found, Present):
        raise Refused(422, f"{kind.RESOURCE.kind} {where} cannot be read: {found.why}")
    return found


def side(found: Present[Any], facts: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """An object as the page draws it."""
    meta, resource = found.metadata, found.object.RESOURCE
    return {
        "kind": resource.kind,
        "apiVersion": f"{resource.group}/{resource.version}" if resource.group else resource.version,
        "namespace": meta.namespace,
        "name": meta.name,
        "created": meta.creation_timestamp,
        "deleting": meta.deletion_timestamp,
        "facts": [[name, shortened(value, LONGEST)] for name, value in facts if value],
        "conditions": [_condition(each) for each in found.object.status.conditions],
    }


async def described(api: ReadApi, sides: Sequence[dict[str, Any]], subjects: Iterable[Present[Any]]) -> dict[str, Any]:
    """`sides`, with the last Events of the `subjects`."""
    events: list[Event] = []
    unavailable: list[Mapping[str, str]] = []
    for each in subjects:
        try:
            events += await _events(api, each)
        except Forbidden as error:
            unavailable.append(
                {"what": f"Events of {each.object.RESOURCE.kind} {each.metadata.name}", "message": str(error)}
            )
    last = sorted(events, key=lambda event: event.last_seen)[-MOST_EVENTS:]
    return {"sides": [*sides], "events": [_event(each) for each in last], "unavailable": unavailable}


async def _events(api: ReadApi, found: Present[Any]) -> list[Event]:
    meta = found.metadata
    about = f"involvedObject.kind={found.object.RESOURCE.kind},involvedObject.name={meta.name}"
    listed: Sequence[Object[Event]] = (
        await api.list(Event, namespace=meta.namespace or "default", field_selector=about)
    ).items
    return [each.object for each in map(read, listed) if isinstance(each, Present)]


def _event(event: Event) -> dict[str, Any]:
    return {
        "type": event.type,
        "reason": event.reason,
        "message": shortened(event.message, LONGEST),
        "last": event.last_seen,
        "count": event.count,
        "kind": event.involved_object.kind,
        "object": event.involved_object.name,
    }


def _condition(each: Condition | Any) -> dict[str, Any]:
    return {
        "type": each.type,
        "status": each.status,
        "reason": each.reason,
        "message": shortened(each.message, LONGEST),
        "since": each.last_transition_time,
    }
