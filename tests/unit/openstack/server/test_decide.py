"""The rows of the table, from an object that nobody has looked at to a server that runs, and what can be in the way."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from tests.unit.openstack.server.cases import (
    FLAVOR,
    FRESH,
    IMAGE,
    MARK_A,
    NETWORK,
    NOW,
    PORT,
    SERVER,
    after,
    asked,
    cinder,
    cluster,
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
from windlass.api.meta import ObjectMeta
from windlass.kube.control.plan import Call, Done, Emit, Outcome, Plan, RequeueAfter, Result, target
from windlass.kube.control.seen import Absent, NotServedKind, Unreadable
from windlass.openstack.cloud.failures import (
    CloudFailure,
    Denied,
    Doubtful,
    OverQuota,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from windlass.openstack.cloud.inventory import MARK, Blockers, Closed, Quota, Refusal, ServerInventory
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import CreatePort, CreateServer, MarkServer
from windlass.openstack.cloud.resources import Fault, Flavor, Image
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION, PAUSED_ANNOTATION, SERVER_FINALIZER
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.instance.spec import Problem
from windlass.openstack.server.snapshot import ServerSnapshot, intent_of
from windlass.openstack.server.snapshot import made as made_of
from windlass.openstack.status import AUTHENTICATED, INSTANCE, INSTANCE_READY, PAUSED, PROGRESSING, READY

LATER = NOW + timedelta(minutes=10)


def plan(found: Any, cloud: Any = None, *, now: Any = NOW, **more: Any) -> Plan:
    return decided(seen(found, cloud, **more), now=now)


def rests(snapshot: ServerSnapshot, *, now: Any = NOW) -> bool:
    """Nothing more to write or send."""
    return not decided(snapshot, now=now).needed


@pytest.mark.parametrize(
    "found", [Absent(), Unreadable(ObjectMeta(name="a"), "spec.ports"), NotServedKind("no CRD")], ids=lambda f: str(f)
)
def test_nothing_is_done_about_what_cannot_be_read(found: Any) -> None:
    assert plan(found) == Plan.nothing(decided(seen(found), now=NOW).next.note)  # type: ignore[union-attr]


class TestTheFirstVisit:
    def test_writes_all_conditions_before_the_cloud_is_asked(self) -> None:
        found = server(status={"conditions": []}, mark="", finalizers=())
        first = plan(found)
        assert not requests(first)
        assert list(conditions(after(found, first))) == list(INSTANCE)
        assert told(first, READY, found).message == "Waiting for the credentials of cloud openstack in Secret cloud"

    def test_names_the_cluster_if_there_is_none(self) -> None:
        found = server(status={"conditions": []}, cluster="c")
        assert "Cluster shop/c" in told(plan(found, cluster=Absent(confirmed=True)), READY, found).message


class TestBuilding:
    def test_a_minimal_server_gets_one_port_and_one_server_and_its_status_says_so(self) -> None:
        found = server(mark="", finalizers=())
        first = plan(found, asked(None))
        found = after(found, first)
        assert (found.metadata.annotations, found.metadata.finalizers) == (
            {MARK_ANNOTATION: FRESH},
            [SERVER_FINALIZER],
        )
        resolved = found.object.status.resolved
        assert resolved is not None
        assert (resolved.image_id, resolved.flavor_id, len(resolved.ports)) == (IMAGE, FLAVOR, 1)
        assert len(first.needed) == 2, "one write of metadata, one of status"

        port = plan(found, asked())
        (create,) = requests(port)
        assert isinstance(create, CreatePort)
        assert (create.subject, create.body["name"], create.body["network_id"]) == ("a-0", "a-0", NETWORK)
        assert len(port.needed) == 1, "what was made is stored together, when the server is there"

        boot = plan(found, asked(ServerInventory(ports=(neutron(description=f"windlass-owner={FRESH}"),))))
        (create,) = requests(boot)
        assert isinstance(create, CreateServer)
        assert (create.body["networks"], create.body["metadata"]) == ([{"port": PORT}], {MARK: FRESH})

        answer = nova("", metadata={MARK: FRESH})
        born = asked(ServerInventory(servers=(answer,), ports=(neutron(description=f"windlass-owner={FRESH}"),)))
        recorded = plan(found, born)
        assert recorded.next == RequeueAfter(10.0, "the server is building")
        found = after(found, recorded)
        status = found.object.status
        assert (status.instance_id, status.instance_state, status.ready) == (SERVER, "BUILD", False)
        assert status.resources is not None
        assert [each.id for each in status.resources.ports] == [PORT]
        assert conditions(found)[INSTANCE_READY] == "False InstanceNotReady"

        building = replace(answer, status="BUILD", task_state="spawning")
        assert not plan(
            found, asked(ServerInventory((building,), (neutron(description=f"windlass-owner={FRESH}"),)))
        ).needed, "the tasks of a build are no news"

        active = nova("ACTIVE", metadata={MARK: FRESH})
        done = asked(ServerInventory((active,), (neutron(description=f"windlass-owner={FRESH}", device_id=SERVER),)))
        found = after(found, plan(found, done))
        assert conditions(found) == {
            READY: "True Ready",
            AUTHENTICATED: "True Ready",
            INSTANCE_READY: "True Ready",
            PROGRESSING: "False Success",
            "Deleting": "False NotDeleting",
            PAUSED: "False NotPaused",
        }
        assert [(each.type, each.address) for each in found.object.status.addresses] == [
            ("InternalIP", "10.0.0.5"),
            ("InternalDNS", "a"),
        ]
        assert rests(seen(found, done))
        assert plan(found, done).next == Done()

    def test_what_has_the_mark_is_adopted_although_status_is_empty(self) -> None:
        found = server()
        adopted = after(found, plan(found, standing()))
        assert adopted.object.status.instance_id == SERVER
        assert rests(seen(adopted, standing()))

    def test_parts_that_have_the_mark_are_used_once_the_choices_are_made_again(self) -> None:
        found = server()
        inventory = asked(ServerInventory(ports=(neutron(),)))
        resolved = after(found, plan(found, inventory))
        assert verbs(plan(resolved, inventory)) == ["create server"]

    def test_a_server_with_the_mark_is_the_server_although_no_id_is_recorded(self) -> None:
        found = intended()
        assert after(found, plan(found, standing())).object.status.instance_id == SERVER

    def test_nothing_is_sent_in_the_round_that_stores_the_intent(self) -> None:
        for found in (server(), server(mark="", finalizers=()), server(finalizers=()), intended(finalizers=())):
            assert not requests(plan(found, asked()))

    def test_an_intent_is_finalizer_mark_and_choices_together(self) -> None:
        assert intent_of(intended(), made_of(intended()).resolved) is not None
        for found in (intended(finalizers=()), intended(mark=""), intended(deleting=True)):
            assert intent_of(found, made_of(intended()).resolved) is None
        assert intent_of(intended(), None) is None

    def test_a_finalizer_that_somebody_removed_is_put_back_and_the_mark_stays(self) -> None:
        found = after(found := intended(finalizers=()), plan(found))
        assert found.metadata.finalizers == [SERVER_FINALIZER]
        assert found.metadata.annotations[MARK_ANNOTATION] == MARK_A

    def test_a_port_that_was_deleted_before_the_server_exists_is_made_once_more(self) -> None:
        found = intended(status={"resources": {"ports": [{"id": "gone"}]}})
        assert verbs(plan(found, asked())) == ["create port"]
        found = after(found, plan(found, asked(ServerInventory(servers=(nova(""),), ports=(neutron(),)))))
        assert found.object.status.resources is not None
        assert [each.id for each in found.object.status.resources.ports] == [PORT]

    def test_a_server_of_the_same_name_without_our_mark_is_not_ours(self) -> None:
        # The cloud shows only what has the mark; what has not is not in the inventory.
        found = intended()
        assert verbs(plan(found, asked(ServerInventory(ports=(neutron(),))))) == ["create server"]

    def test_after_an_answer_that_was_lost_nothing_is_sent_until_the_cloud_was_looked_at_for_long_enough(
        self,
    ) -> None:
        found = intended()
        unsure = asked(ServerInventory(ports=(neutron(),), certain=False, certain_in=12.0))
        waits = plan(found, unsure)
        assert not requests(waits)
        assert isinstance(waits.next, RequeueAfter)
        assert waits.next.seconds == pytest.approx(12.2)

    def test_volumes_are_awaited_before_the_server_is_asked_for(self) -> None:
        spec = {"rootVolume": {"sizeGiB": 5}}
        found = intended(spec=spec)
        assert sorted(verbs(plan(found, asked()))) == ["create port", "create volume"]
        creating = asked(ServerInventory(ports=(neutron(),), volumes=(cinder(status="creating"),)))
        waits = plan(found, creating)
        assert not requests(waits)
        assert "volume a-root (volume-a-root) is creating" in told(waits, PROGRESSING, found).message
        found = after(found, waits)
        assert found.object.status.resources is not None
        assert [each.id for each in found.object.status.resources.volumes] == ["volume-a-root"]
        ready = asked(ServerInventory(ports=(neutron(),), volumes=(cinder(),)))
        assert verbs(plan(found, ready)) == ["create server"]

    def test_two_volumes_in_error_stop_it_with_a_sentence(self) -> None:
        found = intended(spec={"rootVolume": {"sizeGiB": 5}})
        broken = (cinder(status="error"), cinder(status="error", id="another"))
        stuck = plan(found, asked(ServerInventory(ports=(neutron(),), volumes=broken)))
        assert not requests(stuck)
        assert told(stuck, INSTANCE_READY, found).reason == "InstanceCreateFailed"
        assert told(stuck, PROGRESSING, found).status == "False"


class TestResolving:
    SPEC: ClassVar = {"flavorID": None, "flavor": "m1.small", "image": {"filter": {"name": "rhcos"}}}
    FLAVORS = Query("flavor", filters=(("name", "m1.small"),))
    IMAGES = Query("image", filters=(("name", "rhcos"),))

    def test_what_was_found_is_stored(self) -> None:
        found = server(spec=self.SPEC)
        answers = {self.FLAVORS: (Flavor(id="f"),), self.IMAGES: (Image(id="i"),)}
        resolved = after(found, plan(found, asked(answers=answers))).object.status.resolved
        assert resolved is not None
        assert (resolved.flavor_id, resolved.image_id) == ("f", "i")

    @pytest.mark.parametrize(
        ("answers", "reason"),
        [
            pytest.param({IMAGES: (Image(id="i"),)}, "DependencyFailed", id="no flavor of that name"),
            pytest.param({FLAVORS: (Flavor(id="f"),)}, "DependencyFailed", id="no image of that name"),
            pytest.param(
                {FLAVORS: (Flavor(id="f"),), IMAGES: (Image(id="i"), Image(id="j"))},
                "DependencyFailed",
                id="two images of that name",
            ),
            pytest.param(
                {FLAVORS: (Flavor(id="f"),), IMAGES: Unavailable("image", "down", code=503)},
                "DependencyFailed",
                id="API error",
            ),
        ],
    )
    def test_what_is_in_the_way_is_told_with_the_next_attempt(self, answers: Any, reason: str) -> None:
        found = server(spec=self.SPEC)
        stopped = plan(found, asked(answers=answers, answered=NOW))
        assert not requests(stopped)
        assert told(stopped, INSTANCE_READY, found).reason == reason
        assert told(stopped, INSTANCE_READY, found).message.startswith("Failed to resolve server spec: ")
        assert "Next attempt at 2026-11-23T02:0" in told(stopped, PROGRESSING, found).message
        found = after(found, stopped)
        assert rests(seen(found, asked(answers=answers, answered=NOW)), now=NOW + timedelta(seconds=5))

    def test_a_port_without_a_network_is_told_of(self) -> None:
        found = server(spec={"ports": []})
        stopped = plan(found, asked())
        assert told(stopped, INSTANCE_READY, found).reason == "InvalidConfiguration"
        assert "network" in told(stopped, INSTANCE_READY, found).message

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param({"floatingIPPoolRef": {"kind": "K", "name": "n"}}, id="a pool of no API group"),
            pytest.param({"image": {}}, id="no image"),
        ],
    )
    def test_what_is_not_supported_is_told_before_the_cloud_is_asked(self, spec: dict[str, Any]) -> None:
        found = server(spec=spec, mark="", finalizers=())
        stopped = plan(found)
        assert told(stopped, INSTANCE_READY, found).reason == "InvalidConfiguration"
        assert told(stopped, PROGRESSING, found).status == "False"
        assert stopped.next == Done()
        assert rests(seen(after(found, stopped)))

    def test_a_server_that_exists_is_kept_although_its_spec_is_not_supported(self) -> None:
        found = server(spec={"image": {}}, status={"instanceID": SERVER})
        found = after(found, plan(found, standing()))
        assert conditions(found)[READY] == "True Ready"


class TestUserData:
    SPEC: ClassVar = {"userDataRef": {"name": "boot"}}

    def boot(self, user_data: Any) -> tuple[Any, Plan]:
        found = intended(spec=self.SPEC)
        return found, plan(found, asked(ServerInventory(ports=(neutron(),))), user_data=user_data)

    def test_it_is_sent_as_the_secret_has_it(self) -> None:
        _, boot = self.boot("Zm9v")
        (create,) = requests(boot)
        assert isinstance(create, CreateServer)
        assert create.user_data == "Zm9v"

    def test_no_server_is_created_without_it(self) -> None:
        found, waits = self.boot(Problem("Dependency", "userDataRef", "Secret shop/boot does not exist"))
        assert not requests(waits)
        assert told(waits, INSTANCE_READY, found).reason == "DependencyFailed"
        assert "Secret shop/boot" in told(waits, INSTANCE_READY, found).message
        assert not requests(self.boot(None)[1])

    def test_other_parts_are_made_without_it(self) -> None:
        found = intended(spec=self.SPEC)
        assert verbs(plan(found, asked())) == ["create port"]

    def test_what_is_too_long_for_nova_is_told_of(self) -> None:
        found, stopped = self.boot("x" * 65_536)
        assert not requests(stopped)
        assert told(stopped, INSTANCE_READY, found).reason == "InvalidConfiguration"


def refusal(failure: CloudFailure, what: str = "create server", subject: str = "a", at: Any = NOW) -> Blockers:
    return Blockers(refusals=(Refusal(what, subject, failure, at),))


class TestTrouble:
    """The port is there, and the server's POST is next."""

    READY_TO_BOOT = ServerInventory(ports=(neutron(),))

    def boot(self, blockers: Blockers, *, found: Any = None, now: Any = NOW, **more: Any) -> tuple[Any, Plan]:
        found = found or intended()
        return found, plan(found, asked(self.READY_TO_BOOT, blockers=blockers, **more), now=now)

    @pytest.mark.parametrize(
        ("failure", "reason", "by_itself", "seconds"),
        [
            pytest.param(Unavailable("compute", "down", code=503), "InstanceCreateFailed", True, 1, id="503"),
            pytest.param(Doubtful("compute", "lost"), "InstanceCreateFailed", True, 1, id="lost answer"),
            pytest.param(
                Throttled("compute", "slow", code=429, retry_after=30), "InstanceCreateFailed", True, 30, id="429"
            ),
            pytest.param(OverQuota("compute", "10 of 10", code=403), "QuotaExceeded", True, 60, id="quota"),
            pytest.param(Rejected("compute", "bad zone", code=400), "InvalidConfiguration", False, 600, id="400"),
            pytest.param(Denied("compute", "policy", code=403), "InstanceCreateFailed", False, 300, id="403"),
        ],
    )
    def test_a_refused_request_is_told_of_and_not_sent_before_it_is_due(
        self, failure: CloudFailure, reason: str, by_itself: bool, seconds: float
    ) -> None:
        found, stopped = self.boot(refusal(failure))
        assert not requests(stopped)
        assert isinstance(stopped.next, RequeueAfter)
        assert stopped.next.seconds == pytest.approx(seconds)
        instance, progress = told(stopped, INSTANCE_READY, found), told(stopped, PROGRESSING, found)
        assert (instance.status, instance.reason, progress.status) == ("False", reason, str(by_itself))
        assert str(failure) in instance.message
        assert told(stopped, READY, found).reason == reason
        found = after(found, stopped)
        just_before, just_after = (NOW + timedelta(seconds=seconds + eps) for eps in (-0.5, 0.5))
        _, again = self.boot(refusal(failure), found=found, now=just_before)
        assert not again.needed, "nothing new to tell"
        _, again = self.boot(refusal(failure), found=found, now=just_after)
        assert verbs(again) == ["create server"]

    def test_the_event_is_the_provider_s_and_comes_once(self) -> None:
        failure = Rejected("compute", "The requested availability zone is not available", code=400)
        found, stopped = self.boot(refusal(failure))
        (event,) = (action for action in stopped.actions if isinstance(action, Emit))
        assert (event.type, event.reason) == ("Warning", "Failedcreateserver")
        later = refusal(failure, at=LATER)
        _, again = self.boot(later, found=after(found, stopped), now=LATER)
        assert not [action for action in again.actions if isinstance(action, Emit)]

    def test_delays_grow_with_the_age_of_the_condition(self) -> None:
        failure = Unavailable("compute", "down", code=503)
        found, stopped = self.boot(refusal(failure))
        found = after(found, stopped)
        at = NOW + timedelta(seconds=64)
        _, again = self.boot(refusal(failure, at=at), found=found, now=at)
        assert isinstance(again.next, RequeueAfter)
        assert again.next.seconds == pytest.approx(64)

    def test_a_port_that_cannot_be_made_is_told_of_as_such(self) -> None:
        found = intended()
        stopped = plan(found, asked(blockers=refusal(Unavailable("network", "down", code=503), "create port", "a-0")))
        assert not requests(stopped)
        assert told(stopped, INSTANCE_READY, found).reason == "PortCreateFailed"

    def test_a_refusal_of_another_request_does_not_hold_this_one(self) -> None:
        _, goes = self.boot(refusal(Unavailable("network", "down"), "create port", "a-0"))
        assert verbs(goes) == ["create server"]

    def test_nothing_is_sent_through_a_closed_gate(self) -> None:
        until = NOW + timedelta(seconds=30)
        closed = Blockers(gates={"compute": Closed(until, Throttled("compute", "slow", code=429, retry_after=30))})
        found, stopped = self.boot(closed)
        assert not requests(stopped)
        assert stopped.next == RequeueAfter(30.0, told(stopped, INSTANCE_READY, found).message)
        assert "Next attempt at 2026-11-23T02:00:30Z" in told(stopped, PROGRESSING, found).message
        _, again = self.boot(closed, found=after(found, stopped), now=until)
        assert verbs(again) == ["create server"]
        others = Blockers(gates={"network": closed.gates["compute"]})
        assert verbs(self.boot(others)[1]) == ["create server"]

    def test_a_gate_of_a_quota_holds_only_what_needs_it(self) -> None:
        until = NOW + timedelta(seconds=60)
        full = Blockers(gates={"quota:compute/servers": Closed(until, OverQuota("compute", "10 of 10", code=403))})
        found, stopped = self.boot(full, quotas=(Quota("instances", 10, 10),))
        assert not requests(stopped)
        assert "10 of 10 instances" in told(stopped, INSTANCE_READY, found).message
        assert verbs(plan(intended(), asked(blockers=full))) == ["create port"]
        ports = Blockers(gates={"quota:network/ports": Closed(until, OverQuota("network", "full", code=409))})
        assert not verbs(plan(intended(), asked(blockers=ports)))
        assert verbs(self.boot(ports)[1]) == ["create server"]

    def test_parts_that_are_not_refused_are_made_meanwhile(self) -> None:
        found = intended(spec={"rootVolume": {"sizeGiB": 5}})
        blockers = refusal(OverQuota("block-storage", "full"), "create volume", "a-root")
        assert verbs(plan(found, asked(blockers=blockers))) == ["create port"]

    def test_nothing_more_is_sent_in_an_attempt_in_which_a_request_failed(self) -> None:
        found = intended(spec={"rootVolume": {"sizeGiB": 5}})
        first = plan(found, asked())
        port, volume = (action for action in first.actions if isinstance(action, Call))
        failed = Outcome((Result(port, error=Unavailable("network", "down", code=503)), Result(volume, answer={})))
        creating = asked(ServerInventory(volumes=(cinder(status="creating"),)))
        stopped = plan(found, creating, last=failed)
        assert not requests(stopped)
        assert told(stopped, INSTANCE_READY, found).reason == "PortCreateFailed"
        assert isinstance(stopped.next, RequeueAfter)
        # The answer was lost, but the port is there: the rest comes soon, and nothing is told.
        lost = Outcome((Result(port, error=Doubtful("network", "lost")),))
        goes_on = plan(found, asked(ServerInventory(ports=(neutron(),))), last=lost)
        assert not goes_on.needed
        assert goes_on.next == RequeueAfter(0.2, "send the rest")


class TestAccess:
    @pytest.mark.parametrize(
        "trouble",
        [
            pytest.param(IdentityTrouble("Secret shop/cloud does not exist: create it"), id="Secret missing"),
            pytest.param(IdentityTrouble("identity x is not for namespace shop"), id="denied"),
            pytest.param(Unauthenticated("identity", "wrong password", code=401), id="wrong password"),
        ],
    )
    def test_credentials_that_do_not_work_are_told_of(self, trouble: Any) -> None:
        for found in (intended(), made(state="ACTIVE")):
            stopped = plan(found, trouble)
            auth = told(stopped, AUTHENTICATED, found)
            assert (auth.status, auth.reason) == ("False", "OpenStackAuthenticationFailed")
            assert auth.message.startswith("Failed to create OpenStack client scope: ")
            assert told(stopped, READY, found).status == "False"
            assert told(stopped, PROGRESSING, found).status == "False"
            assert rests(seen(after(found, stopped), trouble), now=NOW + timedelta(minutes=5))

    def test_they_are_right_again(self) -> None:
        found = made()
        found = after(found, plan(found, IdentityTrouble("Secret shop/cloud does not exist")))
        found = after(found, plan(found, standing()))
        assert conditions(found)[READY] == "True Ready"

    def test_a_server_stays_ready_while_a_service_is_down_for_a_moment(self) -> None:
        found = made()
        found = after(found, plan(found, standing()))
        down = Unavailable("compute", "down", code=503)
        stopped = plan(found, down)
        assert told(stopped, READY, found).status == "True"
        progress = told(stopped, PROGRESSING, found)
        assert (progress.status, progress.reason) == ("True", "TransientError")
        found = after(found, stopped)
        assert told(plan(found, down, now=NOW + timedelta(minutes=4)), READY, found).status == "True"

    def test_after_five_minutes_nothing_is_known_about_it(self) -> None:
        found = made()
        found = after(found, plan(found, standing()))
        down = Unavailable("compute", "down", code=503)
        found = after(found, plan(found, down))
        overdue = plan(found, down, now=NOW + timedelta(minutes=5))
        instance = told(overdue, INSTANCE_READY, found)
        assert (instance.status, instance.reason) == ("Unknown", "OpenStackError")
        found = after(found, overdue)
        found = after(found, plan(found, standing()))
        assert conditions(found)[READY] == "True Ready"

    def test_a_server_that_is_not_there_yet_is_not_ready_while_a_service_is_down(self) -> None:
        found = intended()
        stopped = plan(found, Unavailable("network", "down", code=503))
        assert told(stopped, INSTANCE_READY, found).reason == "OpenStackError"


class TestStates:
    @pytest.mark.parametrize(
        ("state", "more", "ready", "reason", "seconds"),
        [
            pytest.param("ACTIVE", {}, "True", "Ready", None, id="ACTIVE"),
            pytest.param("ERROR", {}, "False", "InstanceStateError", 60, id="ERROR"),
            pytest.param("DELETED", {}, "False", "InstanceDeleted", 60, id="DELETED"),
            pytest.param("BUILD", {}, "False", "InstanceNotReady", 10, id="BUILD"),
            pytest.param("SHUTOFF", {}, "Unknown", "InstanceNotReady", 60, id="SHUTOFF"),
        ],
    )
    @pytest.mark.parametrize("before", ["ACTIVE", "ERROR", "BUILD"])
    def test_the_state_of_the_server_is_told(
        self, before: str, state: str, more: dict[str, Any], ready: str, reason: str, seconds: float | None
    ) -> None:
        found = made(state=before)
        said = plan(found, standing(state, **more))
        instance = told(said, INSTANCE_READY, found)
        assert (instance.status, instance.reason) == (ready, reason)
        assert said.next == (Done() if seconds is None else said.next)
        if seconds is not None:
            assert isinstance(said.next, RequeueAfter)
            assert said.next.seconds == seconds
        status = after(found, said).object.status
        assert (status.instance_state, status.ready) == (state, state == "ACTIVE")
        assert told(said, READY, found).status == ready

    def test_the_fault_is_told_in_nova_s_words(self) -> None:
        found = made(state="BUILD")
        fault = Fault(code=500, message="No valid host was found. There are not enough hosts available.")
        said = plan(found, standing("ERROR", fault=fault))
        for kind in (READY, INSTANCE_READY, PROGRESSING):
            assert "No valid host was found" in told(said, kind, found).message

    @pytest.mark.parametrize("state", ["ACTIVE", "ERROR", "SHUTOFF", "BUILD"])
    def test_at_rest_nothing_is_written(self, state: str) -> None:
        found = made(state=state)
        found = after(found, plan(found, standing(state)))
        assert rests(seen(found, standing(state)), now=LATER)


class TestLost:
    """The recorded server is not there any more."""

    def gone(self, seconds: float) -> Any:
        return asked(ServerInventory(missing_since=NOW, as_of=NOW + timedelta(seconds=seconds)))

    @pytest.mark.parametrize("seconds", [0.0, 29.0])
    def test_a_server_that_is_missing_once_is_looked_for_again(self, seconds: float) -> None:
        waits = plan(made(), self.gone(seconds))
        assert waits == Plan(next=RequeueAfter(30.0 - seconds, "the server is missing: look again"))

    def test_one_that_is_missing_twice_is_not_found_and_never_made_again(self) -> None:
        found = made()
        lost = plan(found, self.gone(30.0))
        assert not requests(lost)
        instance = told(lost, INSTANCE_READY, found)
        assert (instance.status, instance.reason) == ("False", "InstanceNotFound")
        assert instance.message.startswith("The server was unexpectedly deleted")
        assert told(lost, READY, found).status == "False"
        found = after(found, lost)
        assert not found.object.status.ready
        assert found.object.status.instance_id == SERVER
        assert rests(seen(found, self.gone(3000.0)), now=LATER)

    def test_after_a_restart_it_is_still_lost(self) -> None:
        found = made()
        found = after(found, plan(found, self.gone(30.0)))
        assert not plan(found, self.gone(0.0)).needed

    def test_one_that_comes_back_is_ready(self) -> None:
        found = made()
        found = after(found, plan(found, self.gone(30.0)))
        found = after(found, plan(found, standing()))
        assert conditions(found)[READY] == "True Ready"


class TestTakingOver:
    def test_an_object_of_the_provider_gets_a_mark_and_creates_nothing(self) -> None:
        found = made(mark="")
        first = plan(found)
        assert [str(change) for action in first.needed for change in action.diff()] == [
            f"+ metadata.annotations.{MARK_ANNOTATION}: {FRESH!r}"
        ]
        found = after(found, first)
        unmarked = ServerInventory((nova(metadata={}),), (neutron(description="by CAPO", device_id=SERVER),))
        marks = plan(found, asked(unmarked))
        assert sorted(verbs(marks)) == ["describe", "mark server"]
        assert all(request.mark == FRESH for request in requests(marks))

    def test_an_adopted_server_is_marked_with_its_ports_and_volumes_and_told(self) -> None:
        found = server(mark="", finalizers=(), annotations={ADOPT_ANNOTATION: SERVER})
        found = after(found, plan(found))
        assert found.metadata.annotations[MARK_ANNOTATION] == FRESH
        foreign, port = nova(metadata={}), neutron(description="", device_id=SERVER)
        unmarked = ServerInventory((foreign,), (), (cinder(metadata={}),), attached=(port,))
        assert sorted(verbs(plan(found, asked(unmarked)))) == ["describe", "mark volume"]
        assert verbs(plan(found, asked(ServerInventory((foreign,))))) == ["mark server"]
        fresh = ServerInventory(
            (nova(metadata={MARK: FRESH}),),
            (neutron(description=f"windlass-owner={FRESH}", device_id=SERVER),),
            (cinder(metadata={MARK: FRESH}),),
        )
        found = after(found, plan(found, asked(fresh)))
        assert (found.object.status.instance_id, conditions(found)[READY]) == (SERVER, "True Ready")

    @pytest.mark.parametrize("resolved", [False, True])
    def test_an_adopted_server_that_does_not_exist_is_never_made(self, resolved: bool) -> None:
        adopting = {ADOPT_ANNOTATION: SERVER}
        found = intended(annotations=adopting) if resolved else server(annotations=adopting)
        once, twice = (
            plan(found, asked(ServerInventory(missing_since=NOW, as_of=NOW + timedelta(seconds=seconds))))
            for seconds in (0.0, 31.0)
        )
        assert once.next == RequeueAfter(30.0, "the server is missing: look again")
        assert "Looking for server" in told(once, PROGRESSING, found).message
        assert not requests(once)
        assert not requests(twice)
        assert told(twice, INSTANCE_READY, found).reason == "InstanceNotFound"

    def test_a_server_of_somebody_else_is_not_taken(self) -> None:
        found = server(annotations={ADOPT_ANNOTATION: SERVER})
        foreign = asked(ServerInventory((nova(metadata={MARK: "theirs"}),)))
        stopped = plan(found, foreign)
        assert not requests(stopped)
        about = told(stopped, INSTANCE_READY, found)
        assert (about.reason, "theirs" in about.message) == ("OwnedByAnother", False)


class TestPause:
    @pytest.mark.parametrize(
        "found",
        [
            pytest.param(made(), id="a server that stands"),
            pytest.param(intended(), id="one that is to be made"),
            pytest.param(server(), id="nothing resolved"),
            pytest.param(server(status={"conditions": []}), id="never visited"),
        ],
    )
    def test_nothing_is_sent_while_paused(self, found: Any) -> None:
        assert not requests(decided(seen(found, asked(), cluster=cluster(paused=True)), now=NOW))

    def test_a_server_that_stands_is_paused_at_once(self) -> None:
        found = made(cluster="c")
        stopped = plan(found, cluster=cluster(paused=True))
        assert told(stopped, PAUSED, found).status == "True"
        assert rests(seen(after(found, stopped), cluster=cluster(paused=True)))

    def test_the_annotation_pauses_too(self) -> None:
        found = made(annotations={PAUSED_ANNOTATION: ""})
        assert told(plan(found), PAUSED, found).status == "True"

    def test_in_mid_build_what_was_made_is_stored_before_it_is_paused(self) -> None:
        found = intended(cluster="c")
        unsure = asked(ServerInventory(certain=False, certain_in=20.0))
        waits = plan(found, unsure, cluster=cluster(paused=True))
        assert told(waits, PAUSED, found).reason == "Pausing"
        assert waits.next == RequeueAfter(20.0, "A request may be under way")
        found = after(found, waits)
        stopped = plan(found, asked(ServerInventory(ports=(neutron(),))), cluster=cluster(paused=True))
        assert told(stopped, PAUSED, found).status == "True"
        found = after(found, stopped)
        assert found.object.status.resources is not None
        assert [each.id for each in found.object.status.resources.ports] == [PORT]
        resumed = after(found, plan(found, cluster=cluster()))
        assert conditions(resumed)[PAUSED] == "False NotPaused"
        assert verbs(plan(resumed, asked(ServerInventory(ports=(neutron(),))), cluster=cluster())) == ["create server"]

    def test_a_cloud_that_does_not_answer_holds_a_pause_up_for_a_minute(self) -> None:
        found = intended(cluster="c")
        down = Unavailable("compute", "down")
        first = plan(found, down, cluster=cluster(paused=True))
        assert told(first, PAUSED, found).reason == "Pausing"
        found = after(found, first)
        then = plan(found, down, cluster=cluster(paused=True), now=NOW + timedelta(seconds=61))
        assert told(then, PAUSED, found).status == "True"


class TestWithoutItsCluster:
    GONE = Absent(confirmed=True)

    def test_nothing_is_made_and_it_says_what_it_waits_for(self) -> None:
        found = intended(cluster="c")
        waits = plan(found, asked(), cluster=self.GONE)
        assert not requests(waits)
        assert told(waits, INSTANCE_READY, found).reason == "WaitingForClusterInfrastructure"

    def test_a_server_that_runs_is_left_alone(self) -> None:
        found = made(cluster="c")
        found = after(found, plan(found, standing(), cluster=cluster()))
        assert rests(seen(found, standing(), cluster=self.GONE))

    def test_it_goes_on_when_the_cluster_is_there(self) -> None:
        found = intended(cluster="c")
        assert verbs(plan(found, asked(), cluster=cluster())) == ["create port"]


def test_marks_are_never_those_of_another_owner() -> None:
    found = intended()
    assert {request.mark for request in requests(plan(found, asked()))} == {MARK_A}
    assert target(found).uid == "u"
    assert MarkServer.SERVICE == "compute"
