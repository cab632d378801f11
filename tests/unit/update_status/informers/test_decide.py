"""What the decision about an UpdateInformer asks, question by question."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from windlass.api.core import Service
from windlass.api.update_informer import UpdateInformer
from windlass.kube.control.plan import Call, Outcome, Plan, RequestToken, Result, Target
from windlass.kube.control.question import Answers, Needs, Question
from windlass.kube.control.seen import Absent, Present, Seen
from windlass.kube.errors import Status, api_error
from windlass.update_status.informers.decide import decide
from windlass.update_status.informers.questions import CannotAsk, FeedState, Hearing, NoToken, ServiceOf
from windlass.update_status.informers.settings import InformersSettings
from windlass.update_status.informers.snapshot import InformerSnapshot

from .world import ACCOUNT, envelope

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SERVICE = ServiceOf("disks", "storage")
HEARING = Hearing("disks", 0, None)
SERVED: Seen[Service] = Present(
    msgspec.convert({"spec": {"clusterIPs": ["172.30.1.2"], "ports": [{"port": 443}]}}, Service), b"{}"
)
GONE = CannotAsk("disks", 0, None, "Service storage/disks is not there: create it or correct spec.clientConfig.service")


def seen(known: dict[Question[Any], Any], *results: Result, enabled: bool = True) -> InformerSnapshot:
    spec = {"enabled": enabled, "clientConfig": {"service": {"namespace": "storage", "name": "disks"}}}
    tree = envelope(UpdateInformer, "disks", spec)
    informer = Present(msgspec.convert(tree, UpdateInformer), msgspec.json.encode(tree))
    return InformerSnapshot(
        informer=informer,
        every=(informer.object,),
        stored=Absent(),
        last=Outcome(results),
        answers=Answers.of(known, at=NOW),
    )


def decided(snapshot: InformerSnapshot) -> Plan:
    return decide(snapshot, now=NOW, settings=InformersSettings(), account=ACCOUNT)


@pytest.mark.parametrize(
    ("known", "asks"),
    [
        pytest.param({}, SERVICE, id="first where it is"),
        pytest.param({SERVICE: SERVED}, HEARING, id="then what it told"),
        pytest.param({SERVICE: Absent(confirmed=True)}, GONE, id="without a Service, what counts in the silence"),
    ],
)
def test_it_asks_where_the_informer_is_and_then_what_it_told(
    known: dict[Question[Any], Any], asks: Question[Any]
) -> None:
    with pytest.raises(Needs) as needs:
        decided(seen(known))
    assert needs.value.questions == (asks,)


def test_a_refused_token_is_noted_before_it_looks_whether_a_question_is_due() -> None:
    request = RequestToken(target=Target(UpdateInformer, "disks"), audiences=("a",), seconds=600)
    refused = Result(request, api_error(Status("Failure", "no", "Forbidden", 403)))
    with pytest.raises(Needs) as needs:
        decided(seen({SERVICE: SERVED}, refused))
    [note] = needs.value.questions
    assert isinstance(note, NoToken)
    assert note.why.startswith("the API server makes no token for it: ")


def test_one_that_is_disabled_is_not_asked_about_so_the_feed_forgets_it() -> None:
    assert decided(seen({}, enabled=False)).needed


@pytest.mark.parametrize(
    ("state", "does"),
    [
        pytest.param(FeedState(wait=30.0), "", id="its question is not due"),
        pytest.param(FeedState(), "RequestToken", id="it has no token"),
        pytest.param(FeedState(token="secret"), "Call", id="it is due"),
    ],
)
def test_a_question_is_sent_when_it_is_due_and_has_its_token(state: FeedState, does: str) -> None:
    plan = decided(seen({SERVICE: SERVED, HEARING: state}))
    kinds = [type(action).__name__ for action in plan.actions if isinstance(action, Call | RequestToken)]
    assert kinds == ([does] if does else [])
