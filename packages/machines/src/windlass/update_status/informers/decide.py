"""Decides about one UpdateInformer: whether it is asked now, and what its status says.

| seen | planned |
|---|---|
| it is not to be asked | the status says why; one whose Service may appear is looked at again |
| its next question is not due | the status, if it differs |
| it is due, and there is no fresh token for it | a token of its own audience |
| it is due | the question |

| the answer | condition Online | reason |
|---|---|---|
| none yet | Unknown | `NotAskedYet` |
| good | True | `Answering`; `InsightsRefused` if a part was not taken |
| none, but there was one less than 5 min before | as it was | |
| none | False | `NotAnswering` |

An informer that never answered is reported at once: the person who registers it waits for that.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec import structs

from windlass.api.core import ServiceAccount
from windlass.api.meta import Condition
from windlass.api.update import UpdateStatus
from windlass.api.update_informer import (
    AskedUpdate,
    UpdateInformer,
    UpdateInformerStatus,
    UpdateInsightsRequest,
    audience_of,
)
from windlass.api.update_insights import INSTALLATION
from windlass.capability.manifests import rights
from windlass.kube.conditions import condition, find, put
from windlass.kube.control.plan import (
    Action,
    Call,
    Emit,
    Merge,
    Plan,
    RequestToken,
    RequeueAfter,
    Target,
    target,
)
from windlass.kube.control.seen import NotServedKind, Present, Seen, Unreadable
from windlass.update_status.informers.admission import MOST_ENABLED, Denied, Endpoint, Reason, admitted, candidates
from windlass.update_status.informers.feed import AskInformer
from windlass.update_status.informers.heard import GRACE, Heard
from windlass.update_status.informers.questions import CannotAsk, Hearing, NewToken, NoToken, ServiceOf
from windlass.update_status.informers.settings import InformersSettings
from windlass.update_status.informers.snapshot import InformerSnapshot
from windlass.update_status.times import MINUTE, Moment, moment, of_datetime, rfc3339

SOURCE: Final = "windlass-update-status"
ONLINE: Final = "Online"
AGAIN: Final = 30.0
"""Seconds until a Service that cannot be asked is looked at again: Services are not watched."""
TOKEN_SECONDS: Final = 600
HEARTBEAT: Final = 5 * MINUTE
"""While nothing else changes, `lastAnswered` is written so often."""
MOST_NAMED: Final = 3
"""Refusals that a message quotes."""

_FINAL: Final = frozenset({Reason.DISABLED, Reason.NAMESPACE_NOT_ALLOWED, Reason.INVALID_CA_BUNDLE})
"""Only a change of the UpdateInformer or of the flags ends these."""
_NOT_OURS: Final = frozenset({Reason.DISABLED, Reason.NAMESPACE_NOT_ALLOWED, Reason.TOO_MANY})
"""Those who are not asked for one of these have no place in the report."""


def decide(
    seen: InformerSnapshot, *, now: datetime, settings: InformersSettings, account: rights.ServiceAccount
) -> Plan:
    """Pure: the rows of the module. `account`: whose tokens are sent."""
    match seen.informer:
        case Present() as found:
            pass
        case NotServedKind(why=why):
            return Plan.nothing(f"UpdateInformers are not served: {why}")
        case Unreadable(metadata=metadata, why=why):
            return Plan().retry(f"UpdateInformer {metadata.name} cannot be read: {why}: correct or delete it")
        case _:
            return Plan.nothing("there is no such UpdateInformer")
    name, generation, update = found.metadata.name, found.metadata.generation, asked_update(seen.stored)
    endpoint = _endpoint(seen, found.object, settings)
    if isinstance(endpoint, Denied):
        if endpoint.reason not in _NOT_OURS:
            seen.need(CannotAsk(name, generation, update, endpoint.message))
        plan = Plan.of(*_report(found, endpoint.reason, endpoint.message, None, now))
        return plan if endpoint.reason in _FINAL else plan.then(RequeueAfter(AGAIN, "its Service, or its place"))
    made = next((result for result in seen.last.results if isinstance(result.action, RequestToken)), None)
    if made is not None and made.error is not None:
        seen.need(NoToken(name, generation, update, f"the API server makes no token for it: {made.error}"))
    elif made is not None:
        seen.need(NewToken(name, generation, update, made.answer))
    told = seen.need(Hearing(name, generation, update), this_round=True)
    if told.wait > 0:
        reason, message = _verdict(found.object, told.heard, now=of_datetime(now))
        return Plan.of(*_report(found, reason, message, told.heard, now)).then(RequeueAfter(told.wait, "next question"))
    if not told.token:
        request = RequestToken(
            target=Target(ServiceAccount, account.name, account.namespace),
            audiences=(audience_of(name),),
            seconds=TOKEN_SECONDS,
            why=f"only {name} takes it",
        )
        return Plan.of(request)
    question = AskInformer(
        endpoint=endpoint,
        asked=UpdateInsightsRequest(informer=name, update=update),
        token=told.token,
        generation=generation,
    )
    why = "an update is going on" if update else "to see whether it answers"
    return Plan.of(Call(target=target(found), request=question, why=why))


def _endpoint(seen: InformerSnapshot, informer: UpdateInformer, settings: InformersSettings) -> Endpoint | Denied:
    """Where it is asked, or why it is not. The Service counts only of those that may be asked."""
    names = [one.metadata.name for one in candidates(seen.every, settings.namespaces)]
    name, at = informer.metadata.name, informer.spec.client_config.service
    asked = name in names[:MOST_ENABLED]
    return admitted(
        informer,
        seen.need(ServiceOf(at.name, at.namespace)) if asked else None,
        place=names.index(name) if name in names else len(names),
        namespaces=settings.namespaces,
        forbidden=settings.forbidden,
    )


def asked_update(stored: Seen[UpdateStatus]) -> AskedUpdate | None:
    """The update that is going on by the UpdateStatus; None: there is none."""
    if not isinstance(stored, Present):
        return None
    status = stored.object.status
    if status.overview is None or status.overview.state != "Updating" or status.control_plane is None:
        return None
    entries = (entry.insight for one in status.control_plane.informers for entry in one.insights)
    version = next((each.cluster_version for each in entries if each.cluster_version), None)
    if version is None or version.versions is None:
        return AskedUpdate()
    previous, target = version.versions.previous, version.versions.target
    new = any(each.key == INSTALLATION for each in previous.metadata)
    return AskedUpdate(previous="" if new else previous.version, target=target.version, started_at=version.started_at)


def _verdict(informer: UpdateInformer, heard: Heard | None, *, now: Moment) -> tuple[Reason, str]:
    if heard is None:
        return Reason.NOT_ASKED_YET, "it is asked soon"
    if heard.silent is None:
        count = f"it answers, with {len(heard.insights)} insights"
        if not heard.refused:
            return Reason.ANSWERING, count
        named = "; ".join(heard.refused[:MOST_NAMED])
        more = len(heard.refused) - MOST_NAMED
        return Reason.INSIGHTS_REFUSED, f"{count}; refused: {named}" + (f"; and {more} more" if more > 0 else "")
    stood = find(informer.status.conditions, ONLINE)
    if now - heard.silent < GRACE and stood is not None and stood.status == "True":
        return Reason(stood.reason), stood.message
    return Reason.NOT_ANSWERING, heard.trouble


def _report(
    found: Present[UpdateInformer], reason: Reason, message: str, heard: Heard | None, now: datetime
) -> Iterator[Action]:
    """The status and the Event of its change, if there is one."""
    before = found.object.status
    new = condition(ONLINE, _ONLINE.get(reason, False), reason, message, observed_generation=found.metadata.generation)
    after = structs.replace(before, conditions=put(before.conditions, new, now=now))
    if heard is not None:
        after = _counted(before, after, heard)
    yield from _events(found, find(before.conditions, ONLINE), new)
    yield Merge(
        target=target(found),
        part="status",
        observed={"status": found.tree.get("status") or {}},
        desired={"status": msgspec.to_builtins(after)},
        why=message,
    )


_ONLINE: Final = {Reason.ANSWERING: True, Reason.INSIGHTS_REFUSED: True, Reason.NOT_ASKED_YET: None}


def _counted(before: UpdateInformerStatus, after: UpdateInformerStatus, heard: Heard) -> UpdateInformerStatus:
    after = structs.replace(after, insights=len(heard.insights), refused=len(heard.refused))
    if heard.answered is None:
        return after
    last = moment(before.last_answered) if before.last_answered else None
    if after != before or last is None or heard.answered - last >= HEARTBEAT:
        return structs.replace(after, last_answered=rfc3339(heard.answered))
    return after


def _events(found: Present[UpdateInformer], before: Condition | None, after: Condition) -> Iterator[Emit]:
    """| reason | type | when |
    |---|---|---|
    | `InformerEnabled`, `InformerDisabled` | Normal | it is asked from now on, or no more |
    | `InformerDegraded` | Warning | it cannot be asked, or does not answer |
    | `InformerOnline` | Normal | it answers, after it did not |
    """
    was, now_is = (before.reason if before else Reason.DISABLED), after.reason

    def event(kind: Literal["Normal", "Warning"], reason: str, note: str) -> Emit:
        occasion = (before.last_transition_time if before else "") or ""
        return Emit(target=target(found), type=kind, reason=reason, note=note, source=SOURCE, occasion=occasion)

    if was == Reason.DISABLED and now_is != Reason.DISABLED:
        yield event("Normal", "InformerEnabled", "It is asked from now on")
    if was != Reason.DISABLED and now_is == Reason.DISABLED:
        yield event("Normal", "InformerDisabled", "It is not asked any more, and its insights are removed")
    elif after.status == "False" and now_is not in (Reason.DISABLED, was):
        yield event("Warning", "InformerDegraded", after.message)
    elif after.status == "True" and before is not None and before.status == "False" and was != Reason.DISABLED:
        yield event("Normal", "InformerOnline", after.message)
