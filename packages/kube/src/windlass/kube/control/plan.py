"""Plans: the actions that a controller wants, as values that can be printed, compared and carried out.

    observe(key, last outcome) -> Snapshot      reads
    decide(Snapshot, now)      -> Plan          decides, in the terms of this module
    apply(Plan)                -> Outcome       writes (`windlass.kube.control.executor`)

A `Plan` is a tuple of actions, carried out in order, and what comes next:

| next | meaning |
|---|---|
| `Done()` | after the actions, observe again at once; without actions, rest until something changes |
| `RequeueAfter(seconds, why)` | the same, but observe again after `seconds` even if nothing changes |
| `WaitFor(what, safety)` | the same, naming the awaited change; `safety` seconds guard against a missed event |
| `Retry(error)` | after the actions, stop; come back with growing delays until the error is gone |

Actions name their target by the observed identity (uid, resourceVersion), because a decision is valid only for the
state that it saw:

| action | rule |
|---|---|
| `Create` | a new object; when no answer comes, the next round looks for it before it is created again |
| `Merge` | JSON merge patch from the observed to the desired tree, null for removed keys, with resourceVersion |
| `MergeItems` | the same by JSON patch, which sends only the changed items of lists, with a test of resourceVersion |
| `AddFinalizer`, `RemoveFinalizers` | merge patch of the list with resourceVersion |
| `Delete` | with the uid, and the resourceVersion when the content was the reason |
| `Evict` | a Pod, with the uid, unless a PodDisruptionBudget forbids: then `Unevictable` is the error |
| `RequestToken` | a token for a ServiceAccount; the answer is in `Result.answer`, its text does not show the token |
| `Emit` | an Event; best effort, the same Event is not sent twice |
| `Call` | an effect in another system, such as a cloud; see `windlass.kube.control.effects` |

Each action has a reason (`why`), which `windlass plan` and the logs show.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import Struct, to_builtins

from windlass.api.authentication import BoundObjectReference
from windlass.api.meta import KubernetesObject, ObjectMeta
from windlass.kube.control.item_patch import MOST_OPERATIONS, NoParent, Operation, item_patch
from windlass.kube.control.merge import FieldChange, changes, merge_patch
from windlass.kube.control.seen import Present
from windlass.kube.errors import ApiError, Failure, Unevictable
from windlass.kube.object import Object

Tree: TypeAlias = Mapping[str, Any]
Subresource: TypeAlias = Literal["", "status"]
Propagation: TypeAlias = Literal["", "Background", "Foreground", "Orphan"]

_encoded = msgspec.json.Encoder().encode


class Target(Struct, frozen=True):
    """The object an action writes. `uid` and `resource_version` are what was observed, empty for a new object."""

    kind: type[KubernetesObject]
    name: str
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind.RESOURCE.kind}.{self.kind.RESOURCE.group or 'core'} {place}{self.name}"


def target(found: Present[Any]) -> Target:
    """The target that is the observed object itself."""
    meta = found.metadata
    return Target(type(found.object), meta.name, meta.namespace or None, meta.uid, meta.resource_version)


def target_of(kind: type[KubernetesObject], meta: ObjectMeta) -> Target:
    """The target that is the observed object with this metadata, readable or not."""
    return Target(kind, meta.name, meta.namespace or None, meta.uid, meta.resource_version)


class Action(Struct, frozen=True, kw_only=True):
    """One write. `target` first, `why` for people."""

    target: Target
    why: str = ""

    @property
    def verb(self) -> str:
        """The verb of the action, for people."""
        return type(self).__name__.lower()

    @property
    def subresource(self) -> str:
        return ""

    @property
    def needed(self) -> bool:
        """False if the object already has everything desired, and nothing of ours that is no longer desired."""
        return True

    def diff(self) -> tuple[FieldChange, ...]:
        """Field by field, what this action changes."""
        return ()

    def __str__(self) -> str:
        because = f": {self.why}" if self.why else ""
        sub = f" ({self.subresource})" if self.subresource else ""
        return f"{self.verb} {self.target}{sub}{because}"


class Create(Action, frozen=True, kw_only=True):
    """Create the object `body` (a whole tree; apiVersion, kind, name and namespace are filled in from the target)."""

    body: Tree

    def diff(self) -> tuple[FieldChange, ...]:
        return tuple(changes({}, self.body))


class Merge(Action, frozen=True, kw_only=True, dict=True):
    """Change the observed object into the desired one.

    `observed` and `desired` are trees of the same extent: the whole object, or only the parts that this controller
    decides (`{"spec": ..., "metadata": {"labels": ...}}`). Fields that are in neither are left alone.
    """

    observed: Tree
    desired: Tree
    part: Subresource = ""

    @property
    def subresource(self) -> str:
        return self.part

    @cached_property
    def patch(self) -> Tree:
        """The merge patch, without the resourceVersion that the executor adds. Computed once and kept."""
        return merge_patch(self.observed, self.desired)

    @property
    def needed(self) -> bool:
        return bool(self.patch)

    def diff(self) -> tuple[FieldChange, ...]:
        return tuple(changes(self.observed, self.desired))


class MergeItems(Merge, frozen=True, kw_only=True, dict=True):
    """The same for an object with large lists, of which only the changed items are sent.

    Items are named by their place in the list, so `observed` must have the lists as the server sent them
    (`Present.tree`), not as a type has them. If it has not, the server refuses the patch as Invalid.
    """

    @property
    def verb(self) -> str:
        return "merge"

    @cached_property
    def operations(self) -> list[Operation] | None:
        """The JSON patch, without the test of resourceVersion. None where the merge patch is sent instead: it is
        smaller, a parent was not observed, or the server takes no patch so long."""
        try:
            operations = item_patch(self.observed, self.desired)
        except NoParent:
            return None
        if len(operations) >= MOST_OPERATIONS:
            return None
        return operations if len(_encoded(operations)) < len(_encoded(self.patch)) else None


class AddFinalizer(Action, frozen=True, kw_only=True):
    """Add `finalizer` to the list that was `observed`."""

    observed: tuple[str, ...]
    finalizer: str

    @property
    def verb(self) -> str:
        return "add finalizer to"

    @property
    def needed(self) -> bool:
        return self.finalizer not in self.observed

    @property
    def desired(self) -> list[str]:
        return [*self.observed, self.finalizer]

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("metadata.finalizers", None, self.finalizer),)


class RemoveFinalizers(Action, frozen=True, kw_only=True):
    """Take `finalizers` off the list that was `observed`; the others stay in order."""

    observed: tuple[str, ...]
    finalizers: tuple[str, ...]

    @property
    def verb(self) -> str:
        return "remove finalizers from"

    @property
    def needed(self) -> bool:
        return any(finalizer in self.observed for finalizer in self.finalizers)

    @property
    def desired(self) -> list[str]:
        return [finalizer for finalizer in self.observed if finalizer not in self.finalizers]

    def diff(self) -> tuple[FieldChange, ...]:
        return tuple(FieldChange("metadata.finalizers", f, None) for f in self.observed if f in self.finalizers)


class Delete(Action, frozen=True, kw_only=True):
    """Delete the object with the uid of the target; `pin` also its resourceVersion (the content was the reason).

    `propagation` says how the garbage collector treats its dependents; empty: the default of its kind.
    """

    pin: bool = False
    propagation: Propagation = ""
    deleting: bool = False
    """It is already being deleted, so there is nothing to do."""

    @property
    def needed(self) -> bool:
        return not self.deleting

    def __str__(self) -> str:
        cascade = f" (--cascade={self.propagation.lower()})" if self.propagation else ""
        because = f": {self.why}" if self.why else ""
        return f"{self.verb} {self.target}{cascade}{because}"


class Evict(Action, frozen=True, kw_only=True):
    """Evict the Pod with the uid of the target. `grace_seconds` None: as its spec says.

    Its result has no object: the Pod is deleted when its containers have ended, and a later observation shows that.
    """

    grace_seconds: int | None = None
    deleting: bool = False
    """It is already being deleted, so there is nothing to do."""

    @property
    def needed(self) -> bool:
        return not self.deleting


class RequestToken(Action, frozen=True, kw_only=True):
    """Request a token for the target, a ServiceAccount. It need not have been observed: the name is enough.

    The answer is a `TokenRequestStatus` in `Result.answer`; its text does not show the token. When no answer comes,
    request another token: the lost one expires by itself. `audiences`, `seconds` and `bound` are those of
    `windlass.kube.verbs.Api.request_token`.
    """

    audiences: tuple[str, ...] = ()
    seconds: int = 3600
    bound: BoundObjectReference | None = None

    @property
    def verb(self) -> str:
        return "request a token for"

    def diff(self) -> tuple[FieldChange, ...]:
        asked = {"audiences": [*self.audiences], "expirationSeconds": self.seconds, "boundObjectRef": self.bound}
        return tuple(changes({}, to_builtins({name: value for name, value in asked.items() if value})))


class Emit(Action, frozen=True, kw_only=True):
    """Emit an Event about the target, for people. `note` is cut to the length that the API admits.

    The same reason and note are sent once about a target; a different `occasion` sends them again.
    """

    type: Literal["Normal", "Warning"]
    reason: str
    note: str
    source: str
    occasion: str = ""

    @property
    def verb(self) -> str:
        return f"event {self.type} {self.reason} on"

    def __str__(self) -> str:
        return f"{self.verb} {self.target}: {self.note}"


def verb_of(kind: type[Any]) -> str:
    """The name of a class as words: `CreateBucket` is `create bucket`."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()


class Request(Struct, frozen=True):
    """One request to another system, in the terms of that system.

        class CreateBucket(Request, frozen=True):
            SYSTEM = "buckets"
            SECONDS = 10.0
            name: str
            owner: str

    `SYSTEM` names the system. `SECONDS`: how long it may take; then it is cut off and its outcome is unknown. The
    values of the fields in `SECRET` are never shown. A request that changes something existing overrides `diff`.
    """

    SYSTEM: ClassVar[str]
    SECONDS: ClassVar[float] = 30.0
    SECRET: ClassVar[frozenset[str]] = frozenset()

    @property
    def verb(self) -> str:
        """The verb of the request, for people: `create bucket`."""
        return verb_of(type(self))

    def diff(self) -> tuple[FieldChange, ...]:
        """Field by field, what the effect changes."""
        shown = {name: "(secret)" if name in self.SECRET else value for name, value in to_builtins(self).items()}
        return tuple(changes({}, shown))


class Call(Action, frozen=True, kw_only=True):
    """Ask another system for `request`, on behalf of the target; the answer is `Result.answer`.

    Neighbouring Calls are sent at the same time, and the next action waits for all of them.
    """

    request: Request

    @property
    def system(self) -> str:
        return self.request.SYSTEM

    @property
    def verb(self) -> str:
        return self.request.verb

    def diff(self) -> tuple[FieldChange, ...]:
        return self.request.diff()

    def repeats(self, other: "Call") -> bool:
        """It asks for the same on behalf of the same object."""
        return self.target.uid == other.target.uid and self.request == other.request

    def __str__(self) -> str:
        because = f": {self.why}" if self.why else ""
        return f"{self.verb} ({self.system}) for {self.target}{because}"


class Done(Struct, frozen=True):
    """Nothing more until something changes. `note` says why there was nothing to do, for people."""

    note: str = ""


class RequeueAfter(Struct, frozen=True):
    seconds: float
    why: str = ""


class WaitFor(Struct, frozen=True):
    """`what` names the expected change and who makes it; after `safety` seconds we observe anyway."""

    what: str
    safety: float = 600.0


class Retry(Struct, frozen=True):
    """This attempt failed. The key comes back with growing delays."""

    error: str


Next: TypeAlias = Done | RequeueAfter | WaitFor | Retry


class Plan(Struct, frozen=True):
    actions: tuple[Action, ...] = ()
    next: Next = Done()

    @classmethod
    def of(cls, *actions: Action | None) -> "Plan":
        """The plan of these actions, None left out."""
        return cls(tuple(action for action in actions if action is not None))

    @classmethod
    def nothing(cls, note: str = "") -> "Plan":
        """Rest. `note` is why, for people."""
        return cls(next=Done(note))

    def then(self, coming: Next) -> "Plan":
        return Plan(self.actions, coming)

    def retry(self, error: Failure | str) -> "Plan":
        return Plan(self.actions, Retry(str(error)))

    @property
    def needed(self) -> tuple[Action, ...]:
        """The actions that would change an object or another system."""
        return tuple(action for action in self.actions if action.needed)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.actions), f"then {self.next}"])


class Result(Struct, frozen=True):
    """The result of one action.

    `error` None means it was carried out. Then `object` is the server's answer (None if the object is gone), and
    `answer` is the other system's answer to a Call, or the token that was requested. `error.unknown_outcome` means that
    it may have been carried out: the next observation finds out. `changed` False: the server accepted the write, but a
    default or a pruned field undid it.
    """

    action: Action
    error: Failure | None = None
    object: Object[Any] | None = None
    changed: bool = True
    answer: Any = None


class Outcome(Struct, frozen=True):
    """The outcome of one round's plan: a result for each action that was tried, up to the first error.

    The outcome that `observe` gets begins with the Calls and the evictions that failed in earlier rounds of the
    attempt.
    """

    results: tuple[Result, ...] = ()

    @property
    def failed(self) -> Result | None:
        """The action that stopped the plan, if one did."""
        return next((result for result in self.results if result.error is not None), None)

    @property
    def error(self) -> Failure | None:
        failed = self.failed
        return failed.error if failed else None

    @property
    def failures(self) -> tuple[Result, ...]:
        """All failed results; of actions that are sent together more than one may fail."""
        return tuple(result for result in self.results if result.error is not None)

    @property
    def refusal(self) -> Result | None:
        """The write that the API server refused. None: it refused none, or only the eviction of a Pod that its
        PodDisruptionBudget keeps for now."""
        for each in self.failures:
            if isinstance(each.error, ApiError) and not isinstance(each.error, Unevictable):
                return None if isinstance(each.action, Call) else each
        return None

    def of(self, request: type[Request]) -> tuple[Result, ...]:
        """The results of the Calls with a request of this class."""
        return tuple(
            result
            for result in self.results
            if isinstance(result.action, Call) and isinstance(result.action.request, request)
        )
