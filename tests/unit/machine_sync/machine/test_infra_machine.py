"""The infra machine of a mirror: what is a real difference, what is changed in place, and how it is recreated."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import mapi
from windlass.kube.control.plan import Delete, Emit, Merge, Outcome, Plan, RemoveFinalizers, Result, Retry
from windlass.kube.errors import Forbidden, KubeError, NotFound, Status
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.mirroring.infra_machine_spec import differing
from windlass.machine_sync.platforms import AWS, OPENSTACK
from windlass.model.reader import MemoryReader

from ..trees import said
from .aws_cases import AWS_VALUE, on_aws
from .cases import (
    GONE,
    INFRA_FINALIZER,
    MAPI_MACHINE,
    NOW,
    PAUSED,
    SYNC,
    Tree,
    changed,
    condition,
    decided,
    notes,
    rounds,
    settled,
    snapshot,
    under_machine_api,
    writes,
)
from .world import THEIRS, mapi_of, reconciled, synchronized, tree_of, world


def resized(**fields: Any) -> Tree:
    """In sync but for the flavor, which an existing OpenStackMachine cannot change."""
    case = under_machine_api()
    machine = changed(case["machine_api"], spec__providerSpec__value__flavor="m1.huge", metadata__generation=5)
    infra = changed(case["infra_machine"], metadata__finalizers=[INFRA_FINALIZER, SYNC])
    return {**case, "machine_api": changed(machine, **fields), "infra_machine": infra}


class TestRecreation:
    def test_it_is_deleted_stripped_and_made_again(self) -> None:
        plans = rounds(**resized())
        assert [writes(plan)[0] for plan in plans] == [
            ("Delete", "infra_machine"),
            ("RemoveFinalizers", "infra_machine"),
            ("Create", "infra_machine"),
            ("Merge status", "machine_api"),
        ]
        end = settled(**resized())
        assert end["infra_machine"]["spec"]["flavor"] == "m1.huge"
        assert end["infra_machine"]["metadata"]["uid"] == "new-infra-uid"
        assert end["infra_machine"]["metadata"]["annotations"][PAUSED] == ""
        assert end["machine_api"]["status"]["conditions"][0]["status"] == "True"
        assert end["machine_api"]["status"]["synchronizedGeneration"] == 5

    def test_meanwhile_it_is_unknown_and_the_generation_stays(self) -> None:
        first, second, *_ = rounds(**resized())
        said = condition(first)
        assert (said["status"], said["severity"], said["reason"], said["message"]) == (
            "Unknown",
            "Info",
            "ProgressingToCreateCAPIInfraMachine",
            "Progressing to synchronize MAPI Machine to CAPI",
        )
        (write,) = [action for action in first.needed if isinstance(action, Merge)]
        assert list(write.patch["status"]) == ["conditions"]
        assert writes(second) == [("RemoveFinalizers", "infra_machine")]

    def test_it_is_deleted_for_its_content_as_observed(self) -> None:
        delete = next(action for action in decided(**resized()).needed if isinstance(action, Delete))
        assert delete.pin
        assert delete.why == "spec.flavor cannot be changed on an existing OpenStackMachine"

    def test_one_that_has_an_instance_is_announced_with_what_differs(self) -> None:
        assert notes(decided(**resized())) == [
            (
                "RecreatingInfraMachine",
                "The OpenStackMachine is recreated, the instance stays; differences: "
                "~ spec.flavor: 'm1.large' -> 'm1.huge'",
            )
        ]

    def test_one_that_has_none_yet_is_not(self) -> None:
        assert notes(decided(**resized(spec__providerID=None, status__phase="Provisioning"))) == []

    def test_one_that_somebody_else_is_deleting_is_made_again(self) -> None:
        case = under_machine_api()
        going = changed(case["infra_machine"], **{f"metadata__{key}": value for key, value in GONE.items()})
        plans = rounds(**{**case, "infra_machine": going})
        assert [writes(plan)[0] for plan in plans] == [
            ("RemoveFinalizers", "infra_machine"),
            ("Create", "infra_machine"),
            ("Merge status", "machine_api"),
        ]

    def test_what_it_owns_is_orphaned_before_it_goes(self) -> None:
        """The garbage collector's finalizer stays, until it has taken the object off all that it owned."""
        case = resized()
        finalizers = [INFRA_FINALIZER, "orphan", SYNC]
        going = changed(
            case["infra_machine"],
            metadata__deletionTimestamp=GONE["deletionTimestamp"],
            metadata__finalizers=finalizers,
        )
        plan = decided(**{**case, "infra_machine": going})
        assert [kind for kind, side in writes(plan) if side == "infra_machine"] == ["RemoveFinalizers"]
        (off,) = [action for action in plan.needed if isinstance(action, RemoveFinalizers)]
        assert off.desired == ["orphan"]

    @pytest.mark.parametrize("chosen", [[], ["foregroundDeletion"]], ids=["background", "foreground"])
    def test_one_that_somebody_else_deletes_orphans_what_it_owns_before_its_finalizers_come_off(
        self, chosen: list[str]
    ) -> None:
        """Else the garbage collector would delete that, and its controller the instance."""
        case = under_machine_api()
        finalizers = [INFRA_FINALIZER, SYNC, *chosen]
        going = changed(
            case["infra_machine"],
            metadata__deletionTimestamp=GONE["deletionTimestamp"],
            metadata__finalizers=finalizers,
        )
        first, second, *_ = rounds(**{**case, "infra_machine": going})
        orphan, off, *_ = first.needed
        assert isinstance(orphan, Delete)
        assert orphan.propagation == "Orphan"
        assert isinstance(off, RemoveFinalizers)
        assert off.desired == ["orphan"]
        assert writes(second)[0] == ("Create", "infra_machine")

    @pytest.mark.parametrize("going", [{}, {"metadata__deletionTimestamp": GONE["deletionTimestamp"]}])
    def test_nothing_is_stripped_or_deleted_that_is_not_paused(self, going: Tree) -> None:
        """Its provider would take it for the end of the instance."""
        case = resized()
        unpaused = changed(case["infra_machine"], metadata__annotations=None, **going)
        plan = decided(**{**case, "infra_machine": unpaused})
        assert [kind for kind, side in writes(plan) if side == "infra_machine"] == ["Merge"]
        (pause,) = [action for action in plan.needed if isinstance(action, Merge) and "metadata" in action.patch]
        assert pause.patch["metadata"]["annotations"][PAUSED] == ""


class TestRecreationThatFails:
    def case(self, kind: type) -> Tree:
        """In which the first write of all is a `kind`. No provider has had it: nobody is waited for."""
        case = resized()
        case["infra_machine"] = changed(case["infra_machine"], metadata__finalizers=[SYNC])
        if kind is RemoveFinalizers:
            case["infra_machine"] = changed(
                case["infra_machine"], metadata__deletionTimestamp=GONE["deletionTimestamp"]
            )
        return case

    def after(self, kind: type, error: KubeError, **seen: Any) -> Plan:
        """The plan of the round after the one in which the write failed."""
        action = next(action for action in decided(**self.case(kind)).needed if isinstance(action, kind))
        last = Outcome((Result(action, error=error),))
        return decide(replace(snapshot(**{**self.case(kind), **seen}), last=last), now=NOW)

    @pytest.mark.parametrize("kind", [Delete, RemoveFinalizers])
    def test_an_error_is_a_condition_and_retried(self, kind: type) -> None:
        plan = self.after(kind, Forbidden(Status(code=403, message="no")))
        assert condition(plan)["reason"] == "FailedToUpdateCAPIInfraMachine"
        assert condition(plan)["message"].endswith(": no")
        assert isinstance(plan.next, Retry)

    @pytest.mark.parametrize(("kind", "verb"), [(Delete, "delete"), (RemoveFinalizers, "patch")])
    async def test_one_that_somebody_else_has_just_deleted_is_no_error(self, kind: type, verb: str) -> None:
        api = world(**self.case(kind))
        api.fail_next(verb, OPENSTACK.infra_machine, NotFound(Status(code=404, message="gone")))
        rest = await reconciled(api, MemoryReader(api))
        assert not rest.failed
        assert "False" not in said(api, mapi.Machine)
        end = tree_of(api, OPENSTACK.infra_machine, "w-0", THEIRS)
        assert end is not None
        assert end["spec"]["flavor"] == "m1.huge"
        assert synchronized(mapi_of(api))["status"] == "True"


OPENSTACK_MADE: Tree = {"flavor": "f", "identityRef": {"name": "n", "cloudName": "c", "type": "Secret"}}


class TestDifferences:
    @pytest.mark.parametrize(
        "observed",
        [
            {"providerID": "openstack:///1"},
            {"instanceID": "1"},
            {"tags": []},
            {"sshKeyName": ""},
            {"serverMetadata": None, "ports": []},
            {"image": {}},
            {"image": {"filter": {"name": ""}}},
        ],
    )
    def test_on_openstack_what_the_provider_filled_in_or_says_nothing_is_none(self, observed: Tree) -> None:
        assert differing(OPENSTACK, {**OPENSTACK_MADE, **observed}, OPENSTACK_MADE) == {}

    @pytest.mark.parametrize(
        ("observed", "fields"),
        [
            ({"flavor": "g"}, {"flavor"}),
            ({"flavor": None}, {"flavor"}),
            ({"tags": ["t"]}, {"tags"}),
            ({"configDrive": False}, {"configDrive"}),
            ({"rootVolume": {"sizeGiB": 0}}, {"rootVolume"}),
            ({"identityRef": {"name": "other", "cloudName": "c", "type": "Secret"}}, {"identityRef"}),
            ({"flavor": "g", "tags": ["t"]}, {"flavor", "tags"}),
        ],
    )
    def test_on_openstack_other_values_and_fields_that_conversion_owns_are(
        self, observed: Tree, fields: set[str]
    ) -> None:
        assert set(differing(OPENSTACK, {**OPENSTACK_MADE, **observed}, OPENSTACK_MADE)) == fields

    @pytest.mark.parametrize(
        ("observed", "fields"),
        [
            ({"instanceType": "t", "providerID": "aws:///a/i", "instanceID": "i"}, set()),
            ({"instanceType": "t", "hostAffinity": "default"}, set()),
            ({"instanceType": "t", "hostAffinity": "host"}, {"hostAffinity"}),
            ({"instanceType": "t", "ignition": {"version": "2.3", "storageType": "ClusterObjectStore"}}, set()),
            ({"instanceType": "t", "ignition": {"version": "3.4"}}, set()),
            ({"instanceType": "t", "ignition": {"storageType": "UnencryptedUserData"}}, {"ignition"}),
            ({"instanceType": "t", "instanceMetadataOptions": {"httpTokens": "optional"}}, set()),
            ({"instanceType": "t", "instanceMetadataOptions": {"httpTokens": "required"}}, {"instanceMetadataOptions"}),
            ({"instanceType": "t", "instanceMetadataOptions": {"httpPutResponseHopLimit": 1}}, set()),
        ],
    )
    def test_on_aws(self, observed: Tree, fields: set[str]) -> None:
        assert set(differing(AWS, observed, {"instanceType": "t"})) == fields

    def test_on_aws_a_default_that_only_conversion_says_is_none(self) -> None:
        """A user who made the machine in Cluster API left these to the provider."""
        said = {"hostAffinity": "default", "instanceMetadataOptions": {"httpTokens": "optional"}}
        assert differing(AWS, {"instanceType": "t"}, {"instanceType": "t", **said}) == {}
        asked = {"instanceMetadataOptions": {"httpTokens": "required"}}
        assert set(differing(AWS, {"instanceType": "t"}, {"instanceType": "t", **asked})) == {"instanceMetadataOptions"}

    def test_what_conversion_sets_is_compared_though_it_is_a_default_or_the_providers(self) -> None:
        observed = {"providerID": "a", "hostAffinity": "default"}
        assert set(differing(AWS, observed, {"providerID": "b", "hostAffinity": "host"})) == set(observed)


class TestFieldsThatCanBeChanged:
    def test_on_openstack_the_credentials(self) -> None:
        case = under_machine_api()
        other = changed(case["machine_api"], spec__providerSpec__value__cloudName="other", metadata__generation=5)
        first, second = rounds(**{**case, "machine_api": other})
        assert writes(first) == [("Merge", "infra_machine")]
        assert writes(second)[-1] == ("Merge status", "machine_api")
        end = settled(**{**case, "machine_api": other})
        assert end["infra_machine"]["metadata"]["uid"] == case["infra_machine"]["metadata"]["uid"]
        assert end["infra_machine"]["spec"]["identityRef"]["cloudName"] == "other"

    @pytest.mark.parametrize(
        "more", [{"tags": [{"name": "a", "value": "b"}]}, {"securityGroups": [{"id": "sg-2"}]}, {"securityGroups": []}]
    )
    def test_on_aws_tags_and_security_groups(self, more: Tree) -> None:
        case = settled(**on_aws())
        other = changed(case["machine_api"], spec__providerSpec__value={**AWS_VALUE, **more}, metadata__generation=5)
        plans = rounds(**{**on_aws(), **case, "machine_api": other})
        assert writes(plans[0]) == [("Merge", "infra_machine")]
        assert len(plans) == 2
        assert not any(isinstance(action, Emit | Delete) for plan in plans for action in plan.actions)

    def test_together_with_one_that_cannot_it_is_made_anew_with_both(self) -> None:
        case = settled(**on_aws())
        value = {**AWS_VALUE, "instanceType": "m6i.huge", "tags": [{"name": "a", "value": "b"}]}
        other = changed(case["machine_api"], spec__providerSpec__value=value, metadata__generation=5)
        end = settled(**{**on_aws(), **case, "machine_api": other})
        assert end["infra_machine"]["spec"]["instanceType"] == "m6i.huge"
        assert end["infra_machine"]["spec"]["additionalTags"] == {"a": "b"}


def test_a_machine_of_the_machine_api_that_moved_here_keeps_its_instance() -> None:
    """The provider noted its instance on the infra machine while Cluster API was authoritative."""
    case = under_machine_api(machine_api=MAPI_MACHINE)
    noted = changed(case["infra_machine"], spec__providerID="openstack:///1", spec__instanceID="1")
    assert decided(**{**case, "infra_machine": noted}).needed == ()
