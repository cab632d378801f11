"""Reports in `Synchronized` that a write was refused, would be refused, or that its mirror cannot exist.

The rules are those of Machines and of MachineSets alike. The names and reasons in the messages differ; a `Reports` has
them.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import AddFinalizer, Create, Merge, Plan, RemoveFinalizers, Result, WaitFor, target_of
from windlass.kube.control.seen import Seen, metadata_of
from windlass.machine_sync.mirroring import synchronized
from windlass.machine_sync.mirroring.removal import Removal, is_of_machine_api
from windlass.machine_sync.mirroring.synchronized import Fault

ANNOTATIONS_LIMIT: Final = 262_144
"""The bytes of all keys and values of an object's annotations that an API server accepts."""


class Written(NamedTuple):
    """An object that we write: its name in messages, and the reasons of a refused create or change."""

    name: str
    not_created: str
    not_changed: str


class Mirrored(Protocol):
    """The parts of a snapshot that reports need."""

    @property
    def machine_api(self) -> Seen[Any]: ...

    @property
    def cluster_api(self) -> Seen[Any]: ...

    @property
    def removal(self) -> Removal: ...


class Reports(Struct, frozen=True, kw_only=True):
    """The reports of one controller.

    what           the controller's object in messages
    written        the two kinds that mirror each other
    infra          all other kinds that the controller writes
    mirror_removed the reason while the CRD or the namespace of the mirrors is being deleted
    reported_on    the kind of Cluster API that gets an Event while the Machine API has no object; None: no Event
    """

    what: str
    written: Mapping[type[KubernetesObject], Written]
    infra: Written
    mirror_removed: str
    reported_on: type[KubernetesObject] | None = None

    def failed(self, seen: Mirrored, fault: Fault, *, now: datetime) -> Plan:
        """Report the fault: as a condition of the Machine API object, or, without one, as an Event of the other one."""
        source = metadata_of(seen.cluster_api)
        aim = target_of(self.reported_on, source) if self.reported_on is not None and source is not None else None
        return synchronized.failed(fault, seen.machine_api, source=aim, now=now)

    def stopped(self, seen: Mirrored, by: Fault | WaitFor, *, now: datetime) -> Plan:
        """Nothing is written: wait, or report the fault."""
        return Plan().then(by) if isinstance(by, WaitFor) else self.failed(seen, by, now=now)

    def refused(self, seen: Mirrored, result: Result, *, now: datetime) -> Plan:
        """The API server refused a write of the last round, not just temporarily: report which, and try again later."""
        return self.failed(seen, self.removed(seen) if seen.removal.cause else self.blame(result), now=now)

    def removed(self, seen: Mirrored) -> Fault:
        """The mirror is being deleted, or cannot be created, and no user wants that: its kind or namespace goes."""
        removal, reason = seen.removal, self.mirror_removed
        if removal.unknown:
            reason = next(
                one.not_changed
                for kind, one in self.written.items()
                if is_of_machine_api(kind) == removal.of_machine_api
            )
        return Fault(reason, removal.remains(self.what))

    def admitted(self, seen: Mirrored, plan: Plan, *, now: datetime) -> Plan:
        """`plan`, or the report of a fault if it would write more annotations than an API server accepts."""
        fault = self._oversized(plan)
        return plan if fault is None else self.failed(seen, fault, now=now)

    def blame(self, result: Result) -> Fault:
        """The fault of a refused write: which write it was, and the API server's message."""
        action = result.action
        written = self._written(action.target.kind)
        name = written.name
        match action:
            case Create():
                return Fault(written.not_created, f"unable to ensure {name}: failed to create {name}: {result.error}")
            case AddFinalizer():
                text = f"failed to ensure sync finalizer on {action.target}"
            case Merge():
                text = f"unable to ensure {name}: failed to update {'status' if action.part else name}"
            case RemoveFinalizers():
                text = f"failed to remove finalizers from {action.target}"
            case _:
                text = f"failed to {action.verb} {action.target}"
        return Fault(written.not_changed, f"{text}: {result.error}")

    def _oversized(self, plan: Plan) -> Fault | None:
        """The fault of a `plan` that gives a mirror more annotations than an API server accepts; None if it does not.

        A mirror has the authority's annotations, those of others, and our records. The write is not tried again until
        some of them are removed.
        """
        for action in plan.needed:
            match action:
                case Create(body={"metadata": {"annotations": annotations}}):
                    pass
                case Merge(desired={"metadata": {"annotations": annotations}}):
                    pass
                case _:
                    continue
            size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
            if size > ANNOTATIONS_LIMIT:
                one = self._written(action.target.kind)
                text = (
                    f"unable to ensure {one.name}: its annotations would have {size} bytes, and {ANNOTATIONS_LIMIT} "
                    "are admitted; they are those that are copied, those that others put on "
                    f"{action.target}, and the names of all that is copied"
                )
                reason = one.not_created if isinstance(action, Create) else one.not_changed
                remedy = "Remove annotations or labels where the authority is; until then nothing is copied."
                return Fault(reason, text, retry=False, remedy=remedy)
        return None

    def _written(self, kind: type[KubernetesObject]) -> Written:
        return self.written.get(kind, self.infra)
