"""What the API server refuses to write is told in the conditions of the object that it was for.

| condition | says |
|---|---|
| `Progressing` | False, `WriteRefused`: the write, the server's message, the remedy |
| `FloatingAddressFromPoolReady` | the same, in place of `Progressing`, about the floating IP of a server |
| `Deleting` | the same, while the object is being deleted |
| `Ready` | the same reason and message, unless it is True: a server that runs, runs on |

Webhooks and policies name resources, and the status is a subresource: it is written although the object itself is not.
The refusal stays told until the write passes: while a plan has other writes, it leaves the conditions as they are.

Secrets and templates have no conditions. The refusal of a write to one is an Event.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from windlass.api.meta import Condition
from windlass.kube import decoding
from windlass.kube.conditions import condition, find
from windlass.kube.control.controller import Controller
from windlass.kube.control.plan import Action, Call, Emit, Merge, Plan, target
from windlass.kube.control.refused import ByEvent, RefusalReporter, reporting
from windlass.kube.control.seen import Present
from windlass.openstack import status
from windlass.openstack.cluster import conditions as of_cluster
from windlass.openstack.cluster import controller as clusters
from windlass.openstack.constants import EVENT_SOURCE
from windlass.openstack.floating import controller as floating
from windlass.openstack.identity import controller as identities
from windlass.openstack.machine import conditions as of_machine
from windlass.openstack.machine import controller as machines
from windlass.openstack.machine_api import conditions as of_machine_api
from windlass.openstack.machine_api import controller as machine_api
from windlass.openstack.pool import controller as pools
from windlass.openstack.server import conditions as of_server
from windlass.openstack.server import controller as servers
from windlass.openstack.status import DELETING, FLOATING_READY, POOL_PARTS, PROGRESSING, Reason
from windlass.openstack.template import controller as templates


class _Write(Protocol):
    """The status write of a kind."""

    def __call__(self, found: Present[Any], told: Iterable[Condition], /, *, now: datetime) -> Merge: ...


class OnObject(Struct, frozen=True, kw_only=True):
    """Tells in the conditions of one of the objects of a snapshot.

    `found` is that object, `write` its status write in this snapshot, `part` the condition that tells, and `deletion`
    the one that tells while it is being deleted (empty: there is none).
    """

    found: Callable[[Any], Any]
    write: Callable[[Any], _Write]
    part: str = PROGRESSING
    deletion: str = DELETING

    def refused(self, seen: Any, before: Plan, text: str, /, *, now: datetime) -> Plan:
        found = self.found(seen)
        if not isinstance(found, Present):
            return before
        told = [condition(self.part, False, Reason.WRITE_REFUSED, f"{text}\nIt is tried again within 5 minutes")]
        if found.deleting and self.deletion:
            told.append(condition(self.deletion, True, Reason.WRITE_REFUSED, text))
        write = self.write(seen)
        said = next((each for each in before.actions if _is_status(each, found)), None)
        if not isinstance(said, Merge):
            return Plan.of(*before.actions, write(found, told, now=now))
        both = replace(said, desired=write(_with_status(found, said.desired["status"]), told, now=now).desired)
        return Plan.of(*(both if each is said else each for each in before.actions))

    def decided(self, seen: Any, plan: Plan, /) -> Plan:
        found = self.found(seen)
        if not isinstance(found, Present) or not self._reports_refusal(found):
            return plan
        others = (each for each in plan.needed if not isinstance(each, Emit | Call) and not _is_status(each, found))
        if next(others, None) is None:
            return plan
        return Plan(
            tuple(_with_old_conditions(each) if _is_status(each, found) else each for each in plan.actions), plan.next
        )

    def _reports_refusal(self, found: Present[Any]) -> bool:
        said = find((found.tree.get("status") or {}).get("conditions") or (), self.part)
        return said is not None and said.get("reason") == Reason.WRITE_REFUSED


def _is_status(action: Action, found: Present[Any]) -> bool:
    return isinstance(action, Merge) and action.part == "status" and action.target == target(found)


def _with_status(found: Present[Any], status: Any) -> Present[Any]:
    raw = msgspec.json.encode({**found.tree, "status": status})
    return Present(decoding.decode(raw, type(found.object)), raw)


def _with_old_conditions(action: Any) -> Merge:
    """The status write, which leaves the conditions as they are."""
    conditions = {"conditions": action.observed["status"].get("conditions")}
    kept: Merge = replace(action, desired={"status": {**action.desired["status"], **conditions}})
    return kept


def _plain(write: _Write) -> Callable[[Any], _Write]:
    return lambda _: write


def _of_machine(seen: Any) -> _Write:
    return lambda found, told, /, *, now: of_machine.write(seen, found, told, now=now)


def _of_pool(found: Present[Any], told: Iterable[Condition], /, *, now: datetime) -> Merge:
    return status.write(found, told, parts=POOL_PARTS, now=now)


def _of_secret(seen: Any) -> Any:
    return target(seen.secret) if isinstance(seen.secret, Present) else None


def _of_template(seen: Any) -> Any:
    return target(seen.template) if isinstance(seen.template, Present) else None


REPORTERS: Final[dict[str, RefusalReporter[Any]]] = {
    servers.NAME: OnObject(found=lambda seen: seen.server, write=_plain(of_server.write)),
    machines.NAME: OnObject(found=lambda seen: seen.machine, write=_of_machine),
    clusters.NAME: OnObject(found=lambda seen: seen.infra, write=_plain(of_cluster.write)),
    pools.NAME: OnObject(found=lambda seen: seen.pool, write=_plain(_of_pool)),
    floating.NAME: OnObject(
        found=lambda seen: seen.server, write=_plain(of_server.write), part=FLOATING_READY, deletion=""
    ),
    machine_api.NAME: OnObject(found=lambda seen: seen.machine, write=_plain(of_machine_api.write), deletion=""),
    identities.NAME: ByEvent(EVENT_SOURCE, _of_secret),
    templates.NAME: ByEvent(EVENT_SOURCE, _of_template),
}
"""Where each controller tells."""


def with_refusals(made: Controller[Any, Any]) -> Controller[Any, Any]:
    return reporting(made, REPORTERS[made.name])
