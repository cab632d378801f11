"""Carries out plans; no other code writes.

The executor sends the actions of a plan in order and stops at the first error. Finalizers to be added to several
objects are sent at the same time, and so are neighbouring Calls: they do not depend on each other, one that fails does
not cancel the others, and the next action waits for all. It

* drops actions that would change nothing, and Events already sent;
* refuses what the controller did not declare, so that RBAC generated from the declaration cannot drift from code;
* refuses a change or a deletion that does not say which object it was decided on (uid, resourceVersion);
* chains resourceVersions: a second write to an object in the same plan is conditional on the *first* one's result,
  which is safe because that one was itself conditional on what was observed;
* reports every answer to the `Ledger`, so that the next observation sees our own writes before the watch does;
* after a conflict reads the object once, so that the next attempt decides on its present state;
* tells a JSON patch that met a newer object (a Conflict) from one that does not fit what was observed (Invalid);
* takes a deletion as done when the object is not found, but as failed when its kind is not served;
* never repeats a write of unknown outcome: it reports doubt, and the next observation reads the object live;
* makes Calls through the carriers of `systems` (`windlass.kube.control.effects`); one without carriers is a dry run.

Events are best effort: a refused one never stops a plan. It is logged as a warning, once for each namespace and class
of error until Events succeed there again. The name of an Event is a hash of (uid, reason, note), so a repeat by this
process or its successor gets AlreadyExists.
"""

import asyncio
import base64
import contextlib
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from windlass.api.authentication import TokenRequestStatus
from windlass.api.core import Event
from windlass.kube.client.fence import Fence
from windlass.kube.client.overlay import is_gone
from windlass.kube.clock import rfc3339
from windlass.kube.control.effects import Carrier, Effects
from windlass.kube.control.item_patch import Operation
from windlass.kube.control.permissions import Permits, require
from windlass.kube.control.plan import (
    Action,
    AddFinalizer,
    Call,
    Create,
    Delete,
    Emit,
    Evict,
    Merge,
    MergeItems,
    Outcome,
    Plan,
    RemoveFinalizers,
    RequestToken,
    Result,
    Target,
)
from windlass.kube.control.webhooks import StoppedWrites
from windlass.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound, Status, Unconditional
from windlass.kube.logger import Logger
from windlass.kube.object import Object
from windlass.kube.shorten import shortened
from windlass.kube.verbs import Api, PatchType

NOTE_LIMIT = 1024
"""Characters of a note that the API server admits in an Event."""

_REMEMBERED_EVENTS = 4096
_BESIDE_TARGET = (Call, Emit, RequestToken)
"""Actions that do not change their target."""

log = Logger(__name__)


class Ledger(Protocol):
    """Receives the results of writes: the caches, so that own writes are visible at once."""

    def wrote(self, written: Object[Any]) -> None:
        """The API server answered a write, or a read after a conflict, with this object."""

    def removed(self, target: Target) -> None:
        """The object is gone: deleted by us without finalizers in the way, or found missing."""

    def doubt(self, target: Target) -> None:
        """A write of unknown outcome: do not trust the cache about this object before a live read."""


class Executor:
    """Writes plans to `api` as field manager `manager`.

    `permits` None allows everything (scripts, tests). `now` is the clock of Event timestamps. `systems`: a carrier for
    each other system by name. `fence` guards Calls as the client's fence guards writes. `stopped` remembers
    the writes that webhooks stop.
    """

    def __init__(
        self,
        api: Api,
        *,
        ledger: Ledger | None = None,
        permits: Permits | None = None,
        manager: str = "windlass",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        systems: Mapping[str, Carrier[Any]] | None = None,
        fence: Fence | None = None,
        stopped: StoppedWrites | None = None,
    ) -> None:
        self._api = api
        self._stopped = stopped or StoppedWrites()
        self._ledger = ledger
        self._permits = permits
        self._manager = manager
        self._now = now
        self._effects = Effects(systems or {}, permits=permits, fence=fence)
        self._emitted: OrderedDict[str, None] = OrderedDict()
        self._refusing_events: dict[str | None, type[KubeError]] = {}

    def pending(self, plan: Plan) -> tuple[Action, ...]:
        """The actions of `plan` that would be sent: needed ones, without Events this process has already sent."""
        return tuple(
            action for action in plan.needed if not (isinstance(action, Emit) and event_name(action) in self._emitted)
        )

    async def apply(self, plan: Plan, *, wrote: Callable[[Object[Any]], None] | None = None) -> Outcome:
        """Carry out what is pending, in order, up to the first error. Never raises a Failure: it is in the result.

        `wrote` is called with the answer to each write as soon as it is there.
        """
        results: list[Result] = []
        versions: dict[str, str] = {}
        for batch in _batches(self.pending(plan)):
            if len(batch) == 1:
                done = [await self._carry_out(batch[0], versions, wrote)]
            else:
                done = await _all(self._carry_out(action, versions, wrote) for action in batch)
            answered = [result for result in done if result is not None]
            results += answered
            self._stopped.take_note(answered)
            if any(result is not None and result.error is not None for result in done):
                break
        return Outcome(tuple(results))

    async def _carry_out(
        self, action: Action, versions: dict[str, str], wrote: Callable[[Object[Any]], None] | None
    ) -> Result | None:
        """None: an Event that was refused, which is ignored."""
        try:
            _require_identity(action)
            if isinstance(action, Call):
                return await self._effects.make(action)
            self._require_declared(action)
            if isinstance(action, RequestToken):
                return Result(action, answer=await self._request_token(action))
            answer = await self._send(action, versions)
        except asyncio.CancelledError:
            # Cut off by a time-out or a shutdown: the request may be on its way.
            if self._ledger is not None and not isinstance(action, _BESIDE_TARGET):
                self._ledger.doubt(action.target)
            raise
        except KubeError as error:
            if isinstance(action, Emit):
                self._mind_refused(action, error)
                return None
            await self._account_for(action, error)
            return Result(action, error=error)
        if isinstance(action, Evict):
            if self._ledger is not None:
                self._ledger.doubt(action.target)  # it exists until its grace period ends: only a live read can tell
            return Result(action)
        if answer is not None and is_gone(answer):
            answer = None
        changed = True
        if answer is not None and action.target.uid:
            before = versions.get(action.target.uid, action.target.resource_version)
            changed = answer.resource_version != before
            versions[action.target.uid] = answer.resource_version
        self._report(action, answer)
        if wrote is not None and answer is not None:
            wrote(answer)
        return Result(action, object=answer, changed=changed)

    def _require_declared(self, action: Action) -> None:
        aim = action.target
        match action:
            case Emit():
                require(self._permits, Event, "create", namespace=aim.namespace or "default", what=action)
            case Create():
                require(self._permits, aim.kind, "create", namespace=aim.namespace, what=action)
            case Evict():
                require(
                    self._permits, aim.kind, "create", "eviction", namespace=aim.namespace, name=aim.name, what=action
                )
            case RequestToken():
                require(self._permits, aim.kind, "create", "token", namespace=aim.namespace, name=aim.name, what=action)
            case _:
                verb, part = "delete" if isinstance(action, Delete) else "patch", action.subresource
                require(self._permits, aim.kind, verb, part, namespace=aim.namespace, name=aim.name, what=action)
                if isinstance(action, MergeItems):  # to tell a conflict; see _patch_items
                    require(self._permits, aim.kind, "get", namespace=aim.namespace, name=aim.name, what=action)

    async def _send(self, action: Action, versions: dict[str, str]) -> Object[Any] | None:
        aim = action.target
        version = versions.get(aim.uid, aim.resource_version)
        match action:
            case Create():
                body = _identified(action.body, aim)
                return await self._api.create(aim.kind, body, namespace=aim.namespace, field_manager=self._manager)
            case MergeItems(operations=list() as operations):
                return await self._patch_items(action, operations, version)
            case Merge():
                metadata = {**(action.patch.get("metadata") or {}), "resourceVersion": version}
                return await self._patch(action, {**action.patch, "metadata": metadata})
            case AddFinalizer() | RemoveFinalizers():
                return await self._patch(
                    action, {"metadata": {"finalizers": action.desired, "resourceVersion": version}}
                )
            case Delete():
                return await self._delete(action, version)
            case Evict():
                await self._evict(action)
                return None
            case Emit():
                return await self._emit(action)
        raise TypeError(f"the executor does not know the action {type(action).__name__}")

    async def _patch_items(self, action: MergeItems, operations: list[Operation], version: str) -> Object[Any]:
        aim = action.target
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        try:
            return await self._patch(action, [test, *operations], PatchType.JSON)
        except Invalid as error:
            # The answer to a failed test and to a path that leads nowhere is the same, and has no causes. The second
            # is a mistake in the decision, which another attempt would repeat.
            if error.status.details.causes:
                raise
            live = await self._api.get(aim.kind, aim.name, namespace=aim.namespace)
            if live.resource_version == version:
                raise
            text = f"{aim} has been modified: resourceVersion {version} was observed, now it is {live.resource_version}"
            raise Conflict(Status("Failure", text, "Conflict", 409), request=error.request) from error

    async def _patch(
        self, action: Action, body: dict[str, Any] | list[Operation], kind: PatchType = PatchType.MERGE
    ) -> Object[Any]:
        aim = action.target
        return await self._api.patch(
            aim.kind,
            aim.name,
            body,
            type=kind,
            namespace=aim.namespace,
            subresource=action.subresource,
            field_manager=self._manager,
        )

    async def _delete(self, action: Delete, version: str) -> Object[Any] | None:
        aim = action.target
        try:
            return await self._api.delete(
                aim.kind,
                aim.name,
                namespace=aim.namespace,
                uid=aim.uid,
                resource_version=version if action.pin else "",
                propagation=action.propagation,
            )
        except NotFound:
            return None

    async def _evict(self, action: Evict) -> None:
        aim = action.target
        with contextlib.suppress(NotFound):
            await self._api.evict(
                aim.kind, aim.name, namespace=aim.namespace or "", uid=aim.uid, grace_seconds=action.grace_seconds
            )

    async def _request_token(self, action: RequestToken) -> TokenRequestStatus:
        aim = action.target
        return await self._api.request_token(
            aim.name,
            namespace=aim.namespace or "",
            audiences=action.audiences,
            seconds=action.seconds,
            bound=action.bound,
        )

    async def _emit(self, action: Emit) -> Object[Any] | None:
        name = event_name(action)
        body = event_body(action, now=self._now())
        with contextlib.suppress(AlreadyExists):
            await self._api.create(Event, body, namespace=body["metadata"]["namespace"], field_manager=self._manager)
        self._refusing_events.pop(action.target.namespace, None)
        self._emitted[name] = None
        while len(self._emitted) > _REMEMBERED_EVENTS:
            self._emitted.popitem(last=False)
        return None

    def _mind_refused(self, event: Emit, error: KubeError) -> None:
        where = event.target.namespace
        say = log.debug if self._refusing_events.get(where) is type(error) else log.warning
        self._refusing_events[where] = type(error)
        say("an event was refused", about=str(event), error=f"{type(error).__name__}: {error}")

    def _report(self, action: Action, answer: Object[Any] | None) -> None:
        if self._ledger is None or isinstance(action, _BESIDE_TARGET):
            return
        if answer is None:
            self._ledger.removed(action.target)
        else:
            self._ledger.wrote(answer)

    async def _account_for(self, action: Action, error: KubeError) -> None:
        if self._ledger is None or isinstance(action, _BESIDE_TARGET):
            return
        if error.unknown_outcome:
            self._ledger.doubt(action.target)
        elif isinstance(error, Conflict | AlreadyExists | NotFound):
            aim = action.target
            try:
                require(self._permits, aim.kind, "get", namespace=aim.namespace, name=aim.name)
                self._ledger.wrote(await self._api.get(aim.kind, aim.name, namespace=aim.namespace))
            except NotFound:
                self._ledger.removed(aim)
            except KubeError:
                self._ledger.doubt(aim)


def event_name(action: Emit) -> str:
    """`<object>.<hash>`: equal for equal (uid, reason, note, occasion), so that a repeat is the same Event."""
    aim = action.target
    told = "\x1f".join((aim.uid, aim.name, action.reason, action.note, action.occasion))
    digest = hashlib.sha256(told.encode()).digest()
    suffix = base64.b32encode(digest[:10]).decode().lower()
    return f"{aim.name[: 253 - len(suffix) - 1]}.{suffix}"


def event_body(action: Emit, *, now: datetime) -> dict[str, Any]:
    """The v1 Event that `kubectl describe` shows under the target."""
    aim, stamp = action.target, rfc3339(now)
    return {
        "apiVersion": Event.RESOURCE.api_version,
        "kind": Event.RESOURCE.kind,
        "metadata": {"name": event_name(action), "namespace": aim.namespace or "default"},
        "involvedObject": {
            "apiVersion": aim.kind.RESOURCE.api_version,
            "kind": aim.kind.RESOURCE.kind,
            "name": aim.name,
            **({"namespace": aim.namespace} if aim.namespace else {}),
            **({"uid": aim.uid} if aim.uid else {}),
            **({"resourceVersion": aim.resource_version} if aim.resource_version else {}),
        },
        "type": action.type,
        "reason": action.reason,
        "message": shortened(action.note, NOTE_LIMIT),
        "source": {"component": action.source},
        "reportingComponent": action.source,
        "reportingInstance": "",
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }


def _batches(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """The actions in order; neighbouring Calls, and finalizers added to different objects, come together."""
    batch: list[Action] = []
    for action in actions:
        if batch and not all(_go_together(action, other) for other in batch):
            yield batch
            batch = []
        batch.append(action)
    if batch:
        yield batch


def _go_together(one: Action, other: Action) -> bool:
    if isinstance(one, AddFinalizer) and isinstance(other, AddFinalizer):
        return one.target.uid != other.target.uid
    return isinstance(one, Call) and isinstance(other, Call)


async def _all(carried: Iterable[Coroutine[Any, Any, Result | None]]) -> list[Result | None]:
    """Wait for all of them; then raise the first exception, if there is one."""
    done = await asyncio.gather(*carried, return_exceptions=True)
    for each in done:
        if isinstance(each, BaseException):
            raise each
    return [each for each in done if not isinstance(each, BaseException)]


def _require_identity(action: Action) -> None:
    """Raise Unconditional if the target lacks uid or resourceVersion: the name may belong to another object by now."""
    match action:
        case Create() | Emit() | RequestToken():
            return
        case Delete(pin=False) | Evict() | Call():
            known = {"uid": action.target.uid}
        case _:
            known = {"uid": action.target.uid, "resourceVersion": action.target.resource_version}
    if missing := [name for name, value in known.items() if not value]:
        raise Unconditional(f"{action}: the target has no {' and no '.join(missing)}; take it from what was observed")


def _identified(body: Any, aim: Target) -> dict[str, Any]:
    metadata = {**(body.get("metadata") or {}), "name": aim.name}
    if aim.namespace:
        metadata["namespace"] = aim.namespace
    resource = aim.kind.RESOURCE
    return {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
