"""The end of a server: everything with its mark goes first, whatever else is missing."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.openstack.server.cases import (
    FRESH,
    NOW,
    PORT,
    SERVER,
    after,
    asked,
    cinder,
    conditions,
    decided,
    intended,
    made,
    neutron,
    nova,
    requests,
    seen,
    server,
    standing,
    told,
    verbs,
)
from windlass.kube.control.plan import Call, Emit, Outcome, Plan, RemoveFinalizers, RequeueAfter, Result
from windlass.kube.control.seen import Absent
from windlass.openstack.cloud.failures import InConflict, Unauthenticated, Unavailable
from windlass.openstack.cloud.inventory import MARK, Blockers, Closed, Refusal, ServerInventory
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.resources import AttachedVolume, Attachment, Trunk
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, PAUSED_ANNOTATION
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.status import DELETING, INSTANCE_READY, PROGRESSING, READY

GOING: dict[str, Any] = {"deleting": True}
NOTHING = asked(ServerInventory())


def plan(found: Any, cloud: Any = None, *, now: Any = NOW, **more: Any) -> Plan:
    return decided(seen(found, cloud, **more), now=now)


def is_released(done: Plan) -> bool:
    return any(isinstance(action, RemoveFinalizers) for action in done.needed)


def test_the_server_goes_first_then_its_port_then_the_finalizer() -> None:
    found = made(**GOING)
    first = plan(found, standing())
    assert verbs(first) == ["delete server"]
    found = after(found, first)
    assert conditions(found)[DELETING] == "True DeletingServer"
    assert conditions(found)[READY] == "False DeletingServer"
    assert found.object.status.ready is False

    waits = plan(found, standing(task_state="deleting"))
    assert not requests(waits)
    assert not waits.needed, "what is being done has been told"
    assert isinstance(waits.next, RequeueAfter)

    then = plan(found, asked(ServerInventory(ports=(neutron(),))))
    assert verbs(then) == ["delete port"]
    found = after(found, then)
    assert conditions(found)[DELETING] == "True DeletingPorts"
    assert told(then, READY, found).message == "Deleting what server a had"

    last = plan(found, NOTHING)
    assert is_released(last)
    (event,) = (action for action in last.actions if isinstance(action, Emit))
    assert (event.reason, event.note) == ("Successfuldeleteserver", f"Deleted server a with id {SERVER}")


@pytest.mark.parametrize(
    ("found", "cloud", "sent"),
    [
        pytest.param(
            made(**GOING, spec={"rootVolume": {"sizeGiB": 1}}),
            asked(ServerInventory((nova(volumes=[AttachedVolume("volume-a-root")]),), (), (cinder(status="in-use"),))),
            ["delete server"],
            id="a volume of a server goes with it",
        ),
        pytest.param(
            intended(**GOING, spec={"rootVolume": {"sizeGiB": 1}}),
            asked(ServerInventory(ports=(neutron(),), volumes=(cinder(),))),
            ["delete port", "delete volume"],
            id="a volume without a server",
        ),
        pytest.param(intended(**GOING), standing(), ["delete server"], id="no ID is recorded"),
        pytest.param(server(**GOING), standing(), ["delete server"], id="no status at all"),
        pytest.param(
            made(**GOING, cluster="c"), asked(ServerInventory(ports=(neutron(),))), ["delete port"], id="server is gone"
        ),
        pytest.param(
            server(**GOING, spec={"image": {}, "flavorID": None}),
            standing(),
            ["delete server"],
            id="a spec that cannot be resolved",
        ),
        pytest.param(
            made(**GOING),
            asked(
                ServerInventory(ports=(neutron(),), trunks=(Trunk("t", "a-0", described("", "mark-a"), port_id=PORT),))
            ),
            ["delete trunk"],
            id="a trunk goes before its port",
        ),
    ],
)
def test_what_has_the_mark_goes(found: Any, cloud: Any, sent: list[str]) -> None:
    done = plan(found, cloud, cluster=Absent(confirmed=True))
    assert sorted(verbs(done)) == sent
    assert not is_released(done)


def test_what_has_another_mark_stays() -> None:
    foreign = ServerInventory((nova(metadata={MARK: "theirs"}),), (neutron(description=described("", "theirs")),))
    done = plan(made(**GOING), asked(foreign))
    assert not requests(done)
    assert is_released(done)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(server(**GOING, mark=""), id="neither a mark nor anything recorded"),
        pytest.param(
            server(**GOING, mark="", annotations={ADOPT_ANNOTATION: SERVER}), id="a server that was not adopted yet"
        ),
    ],
)
def test_an_object_that_never_had_anything_goes_without_asking_the_cloud(found: Any) -> None:
    done = plan(found)
    assert is_released(done)
    assert not requests(done)


def test_an_object_without_our_finalizer_is_none_of_our_business() -> None:
    assert not plan(made(**GOING, finalizers=("theirs",)), standing()).actions


def test_what_the_provider_recorded_is_marked_before_it_is_deleted() -> None:
    found = made(**GOING, mark="")
    found = after(found, plan(found))
    assert found.metadata.annotations[MARK_ANNOTATION] == FRESH
    unmarked = asked(ServerInventory((nova(metadata={}),), (neutron(description="", device_id=SERVER),)))
    marks = plan(found, unmarked)
    assert sorted(verbs(marks)) == ["describe", "mark server"]
    assert {request.mark for request in requests(marks)} == {FRESH}


def test_while_an_earlier_request_may_still_arrive_the_finalizer_stays() -> None:
    unsure = asked(ServerInventory(certain=False, certain_in=9.0))
    waits = plan(intended(**GOING), unsure)
    assert not is_released(waits)
    assert isinstance(waits.next, RequeueAfter)
    assert waits.next.seconds == pytest.approx(9.2)


@pytest.mark.parametrize(
    "trouble",
    [
        IdentityTrouble("Secret shop/cloud does not exist: create it"),
        Unauthenticated("identity", "wrong password", code=401),
    ],
    ids=["the Secret is gone", "wrong password"],
)
def test_without_credentials_nobody_knows_what_is_left_so_it_stays_and_says_who_must_act(trouble: Any) -> None:
    found = made(**GOING)
    stays = plan(found, trouble)
    assert not is_released(stays)
    message = told(stays, READY, found).message
    assert str(getattr(trouble, "message", trouble)) in message
    assert "restore them" in message
    found = after(found, stays)
    assert not plan(found, trouble, now=NOW + timedelta(minutes=5)).needed
    assert verbs(plan(found, standing())) == ["delete server"], "the credentials are right again"


def test_while_the_cloud_cannot_be_asked_nothing_is_deleted() -> None:
    found = made(**GOING)
    waits = plan(found, Unavailable("compute", "down", code=503))
    assert not requests(waits)
    assert not is_released(waits)
    assert told(waits, READY, found).status == "False"
    assert told(waits, PROGRESSING, found).reason == "TransientError"


def test_a_deletion_that_fails_is_told_of_and_tried_again() -> None:
    found = made(**GOING)
    blockers = Blockers(refusals=(Refusal("delete server", "a", InConflict("compute", "task pending", code=409), NOW),))
    cloud = asked(standing().inventory, blockers=blockers)
    stops = plan(found, cloud)
    assert not requests(stops)
    instance = told(stops, INSTANCE_READY, found)
    assert (instance.status, instance.reason) == ("False", "InstanceDeleteFailed")
    assert instance.message.startswith("Deleting instance failed: ")
    assert "task pending" in told(stops, READY, found).message
    assert isinstance(stops.next, RequeueAfter)
    assert stops.next.seconds == pytest.approx(5.0)
    assert verbs(plan(after(found, stops), cloud, now=NOW + timedelta(seconds=6))) == ["delete server"]


def test_nothing_more_is_deleted_in_an_attempt_in_which_a_request_failed() -> None:
    found = intended(**GOING)
    both = asked(ServerInventory(ports=(neutron(),), volumes=(cinder(),)))
    port, volume = (action for action in plan(found, both).actions if isinstance(action, Call))
    failed = Outcome((Result(port, error=Unavailable("network", "down", code=503)), Result(volume)))
    assert not requests(plan(found, both, last=failed))


def test_a_closed_gate_holds_deletions_too() -> None:
    closed = Blockers(gates={"compute": Closed(NOW + timedelta(seconds=30), Unavailable("compute", "down"))})
    assert not requests(plan(made(**GOING), asked(standing().inventory, blockers=closed)))


def test_a_quota_holds_no_deletion() -> None:
    full = Blockers(
        gates={"quota:compute/servers": Closed(NOW + timedelta(seconds=30), Unavailable("compute", "full"))}
    )
    assert verbs(plan(made(**GOING), asked(standing().inventory, blockers=full))) == ["delete server"]


def test_a_volume_that_cinder_fails_to_delete_stops_it_with_a_sentence() -> None:
    found = intended(**GOING)
    stuck = plan(found, asked(ServerInventory(volumes=(cinder(status="error_deleting"),))))
    assert not requests(stuck)
    assert told(stuck, INSTANCE_READY, found).reason == "InstanceDeleteFailed"
    assert "an operator must reset its state" in told(stuck, READY, found).message


def test_a_volume_that_hangs_on_another_server_stays() -> None:
    elsewhere = cinder(status="in-use", attachments=[Attachment("another")])
    assert is_released(plan(intended(**GOING), asked(ServerInventory(volumes=(elsewhere,)))))


def test_a_paused_object_is_not_deleted() -> None:
    found = made(**GOING, annotations={PAUSED_ANNOTATION: "true"})
    stays = plan(found, standing())
    assert not requests(stays)
    assert not is_released(stays)
