"""Which case a MachineSet is, row by row of the table in `windlass.machine_sync.machine_set.decide`."""

from typing import Any

import msgspec
import pytest

from windlass.api import capi, capo, mapi
from windlass.kube.clock import rfc3339
from windlass.kube.control.merge import FieldChange
from windlass.kube.control.plan import (
    Action,
    AddFinalizer,
    Create,
    Delete,
    Done,
    Emit,
    Merge,
    Outcome,
    Plan,
    Result,
    Retry,
    WaitFor,
)
from windlass.kube.control.seen import NotServedKind
from windlass.kube.errors import Forbidden, Status
from windlass.machine_sync.constants import MIRRORED_SPEC_ANNOTATION
from windlass.machine_sync.machine_set.decide import decide
from windlass.machine_sync.mirroring import mirrored_spec
from windlass.machine_sync.mirroring.migration import AUTHORITY_CHANGED
from windlass.machine_sync.platforms import OPENSTACK
from windlass.testing.machines.simulators.authority import paused_condition

from .cases import (
    AUTHORITY,
    BEHIND_CLUSTER_API,
    CAPI_SET,
    CLUSTER,
    EARLIER,
    GONE,
    MACHINE_SET_LABEL,
    MAPI_SET,
    NOW,
    OF_CLUSTER,
    PAUSED,
    PROVIDER_SPEC,
    SYNC,
    TEMPLATE,
    Tree,
    changed,
    snapshot,
    template,
)
from .world import at_rest, capi_of, mapi_of, templates_of

MADE = "ms-47015b3e"
"""The template that conversion names for `MAPI_SET`."""


def decided(**case: Any) -> Plan:
    return decide(snapshot(**case), now=NOW)


def only(kind: type[Action], plan: Plan, of: type[Any] | None = None, *, part: str = "") -> Any:
    """The one needed action of a kind (about objects of `of`, at subresource `part`)."""
    (found,) = [
        action
        for action in plan.needed
        if isinstance(action, kind) and action.subresource == part and of in (None, action.target.kind)
    ]
    return found


def condition(plan: Plan) -> Tree:
    """The Synchronized condition that the plan writes."""
    write = only(Merge, plan, mapi.MachineSet, part="status")
    (found,) = [c for c in write.desired["status"]["conditions"] if c["type"] == "Synchronized"]
    return dict(found)


def notes(plan: Plan) -> list[tuple[str, str]]:
    return [(action.reason, action.note) for action in plan.actions if isinstance(action, Emit)]


def written(plan: Plan) -> list[tuple[str, str, str]]:
    """What the plan would do: verb, object, subresource."""
    return [(type(action).__name__, action.target.kind.__name__, action.subresource) for action in plan.needed]


async def mirrored(**case: Any) -> dict[str, Any]:
    """Both sets, the template and all templates as they are at rest, for `snapshot`."""
    api = await at_rest(**case)
    templates = templates_of(api)
    source = capi_of(api)
    assert source is not None
    used = source["spec"]["template"]["spec"]["infrastructureRef"]["name"]
    return {
        "machine_api": mapi_of(api),
        "cluster_api": source,
        "template": templates.get(used),
        "templates": tuple(one for one in templates.values() if MACHINE_SET_LABEL in one["metadata"].get("labels", {})),
    }


async def behind() -> dict[str, Any]:
    """Cluster API is authoritative, and all is in sync."""
    return await mirrored(machine_api=BEHIND_CLUSTER_API, cluster_api=CAPI_SET)


class TestNothingToMirror:
    def test_neither_side_exists(self) -> None:
        assert decided(machine_api=None) == Plan.nothing("the MachineSet exists in neither API")

    def test_a_set_of_cluster_api_alone_is_independent(self) -> None:
        assert decided(machine_api=None, cluster_api=CAPI_SET).needed == ()

    @pytest.mark.parametrize("authority", ["Elsewhere", "Migrating"])
    def test_without_a_known_authority_nothing_is_touched(self, authority: str) -> None:
        status = {"authoritativeAPI": authority}
        assert decided(machine_api=changed(MAPI_SET, status=status), cluster_api=CAPI_SET).needed == ()

    @pytest.mark.parametrize("side", ["machine_api", "cluster_api"])
    def test_a_kind_that_is_not_served_is_said_and_waited_for(self, side: str) -> None:
        case = msgspec.structs.replace(snapshot(), **{side: NotServedKind("no CRD")})
        assert decide(case, now=NOW) == Plan.nothing("no CRD")

    def test_an_empty_authority_becomes_what_spec_says(self) -> None:
        plan = decided(machine_api=changed(MAPI_SET, status=None))
        assert only(Merge, plan, part="status").patch == {"status": {"authoritativeAPI": "MachineAPI"}}
        assert len(plan.needed) == 1


class TestToClusterApi:
    def test_a_set_without_a_mirror_gets_a_template_and_a_mirror_both_paused(self) -> None:
        plan = decided()
        assert written(plan) == [("Create", "OpenStackMachineTemplate", ""), ("Create", "MachineSet", "")]
        template = only(Create, plan, capo.OpenStackMachineTemplate)
        assert (template.target.name, template.target.namespace) == (MADE, "openshift-cluster-api")
        record = mirrored_spec.record({}, conversion=OPENSTACK.conversion, source=PROVIDER_SPEC)
        assert template.body["metadata"] == {
            "labels": {MACHINE_SET_LABEL: "ms"},
            "annotations": {PAUSED: "", MIRRORED_SPEC_ANNOTATION: record},
            "ownerReferences": [OF_CLUSTER],
        }
        assert template.body["spec"]["template"]["spec"]["flavor"] == "m1.large"
        mirror = only(Create, plan, capi.MachineSet)
        assert mirror.body["metadata"]["ownerReferences"] == [OF_CLUSTER]
        assert mirror.body["metadata"]["finalizers"] == [SYNC]
        annotations = mirror.body["metadata"]["annotations"]
        assert (annotations[PAUSED], annotations[AUTHORITY]) == ("", "MachineAPI")
        spec = mirror.body["spec"]
        assert spec["template"]["spec"]["infrastructureRef"]["name"] == MADE
        assert (spec["replicas"], spec["deletion"], spec["clusterName"]) == (2, {"order": "Newest"}, "c")

    def test_our_finalizer_is_there_before_a_mirror_is(self) -> None:
        plan = decided(machine_api=changed(MAPI_SET, metadata__finalizers=[]))
        assert [type(action) for action in plan.needed] == [AddFinalizer, Create, Create]

    async def test_a_created_mirror_gets_its_status_and_then_the_condition(self) -> None:
        at_end = await mirrored()
        assert decided(**at_end).needed == ()
        assert decided(**at_end).next == Done()
        status = at_end["cluster_api"]["status"]
        assert (status["replicas"], status["readyReplicas"], status["observedGeneration"]) == (2, 1, 1)
        assert at_end["machine_api"]["status"]["synchronizedGeneration"] == 4

    async def test_conditions_of_v1beta2_are_written_too(self) -> None:
        status = (await mirrored())["cluster_api"]["status"]
        assert {one["type"]: one["status"] for one in status["conditions"]} == {
            "ScalingDown": "False",
            "ScalingUp": "False",
            "MachinesReady": "False",
            "MachinesUpToDate": "False",
            "Deleting": "False",
        }
        assert {one["observedGeneration"] for one in status["conditions"]} == {1}

    async def test_a_mirror_that_is_there_gets_the_owner_the_finalizers_and_the_condition(self) -> None:
        paused = {PAUSED: ""}
        bare = changed(CAPI_SET, metadata__finalizers=[], metadata__ownerReferences=None, metadata__annotations=paused)
        plan = decided(cluster_api=bare, machine_api=changed(MAPI_SET, metadata__finalizers=[]))
        held: list[type[Any]] = [one.target.kind for one in plan.needed if isinstance(one, AddFinalizer)]
        assert held == [mapi.MachineSet, capi.MachineSet]
        content = only(Merge, plan, capi.MachineSet)
        assert content.patch["metadata"]["ownerReferences"] == [OF_CLUSTER]
        assert condition(plan)["status"] == "True"

    async def test_replicas_of_spec_and_status_follow(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(case["machine_api"], spec__replicas=5, status__readyReplicas=2)
        plan = decided(**case)
        content = only(Merge, plan, capi.MachineSet)
        assert content.patch == {"spec": {"replicas": 5}}
        status = only(Merge, plan, capi.MachineSet, part="status").patch["status"]
        assert status["readyReplicas"] == 2
        assert status["observedGeneration"] == 2

    async def test_another_provider_spec_is_another_template_and_the_one_before_goes(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(
            case["machine_api"], spec__template__spec__providerSpec__value__flavor="m1.huge", metadata__generation=5
        )
        plan = decided(**case)
        assert written(plan) == [
            ("Create", "OpenStackMachineTemplate", ""),
            ("Merge", "MachineSet", ""),
            ("Merge", "MachineSet", "status"),
            ("Delete", "OpenStackMachineTemplate", ""),
            ("Merge", "MachineSet", "status"),
        ]
        created = only(Create, plan).target.name
        content = only(Merge, plan, capi.MachineSet)
        assert content.diff() == (FieldChange("spec.template.spec.infrastructureRef.name", MADE, created),)
        assert only(Delete, plan).target.name == MADE

    async def test_a_template_that_a_user_made_is_never_deleted(self) -> None:
        """Whatever its label or its name, as long as it does not have both."""
        case = await mirrored()
        case["templates"] += (template("mine"), template("mine", made_for=None), template("ms-00000000", made_for=None))
        assert decided(**case).needed == ()

    async def test_a_template_that_another_set_refers_to_is_not_deleted(self) -> None:
        case = await mirrored()
        case["templates"] += (template("ms-00000000"), template("ms-11111111"))
        plan = decided(**case, users={"ms-00000000": ("other",)})
        assert only(Delete, plan).target.name == "ms-11111111"

    async def test_a_template_of_ours_that_somebody_edited_is_what_its_name_says_again(self) -> None:
        case = await mirrored()
        (made,) = case["templates"]
        case["templates"] = (changed(made, spec__template__spec__flavor="edited"),)
        update = only(Merge, decided(**case), capo.OpenStackMachineTemplate)
        assert update.patch == {"spec": {"template": {"spec": {"flavor": "m1.large"}}}}

    async def test_what_the_server_adds_to_a_template_or_a_set_is_no_difference(self) -> None:
        case = await mirrored()
        (made,) = case["templates"]
        spec = made["spec"]["template"]["spec"]
        case["templates"] = (changed(made, spec__template__spec={**spec, "providerID": "x"}),)
        case["cluster_api"] = changed(
            case["cluster_api"],
            spec__machineNaming={"template": "{{ .machineSet.name }}-{{ .random }}"},
            spec__template__spec__readinessGates=[{"conditionType": "A"}],
            spec__template__spec__minReadySeconds=0,
        )
        assert decided(**case).needed == ()

    async def test_a_template_that_is_being_deleted_is_waited_for(self) -> None:
        case = await mirrored()
        case["templates"] = (template(MADE, **GONE),)
        plan = decided(**case)
        assert plan.needed == ()
        assert plan.next == WaitFor(f"template {MADE}, which is being deleted, to be gone before it is recreated")

    async def test_labels_that_are_gone_at_the_authority_go_and_those_of_others_stay(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(case["machine_api"], metadata__labels={"stage": "b"})
        labels = {**case["cluster_api"]["metadata"]["labels"], "theirs": "x"}
        case["cluster_api"] = changed(case["cluster_api"], metadata__labels=labels)
        content = only(Merge, decided(**case), capi.MachineSet)
        assert content.patch["metadata"]["labels"] == {"team": None, "stage": "b"}

    def test_a_set_that_somebody_owns_is_a_failure_without_retry(self) -> None:
        owner = {"apiVersion": "v1", "kind": "P", "name": "a", "uid": "1"}
        plan = decided(machine_api=changed(MAPI_SET, metadata__ownerReferences=[owner]))
        assert condition(plan)["reason"] == "FailedToConvertMAPIMachineSetToCAPI"
        assert condition(plan)["message"] == (
            'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"P","name":"a","uid":"1"}]: '
            "could not convert Machine API machine set owner references to Cluster API"
        )
        assert plan.next == Done()

    @pytest.mark.parametrize(
        ("case", "reason", "text"),
        [
            pytest.param(
                {"machine_api": changed(MAPI_SET, spec__template__spec__metadata__name="n")},
                "FailedToConvertMAPIMachineSetToCAPI",
                "failed to convert MAPI machine set to CAPI machine set: spec.metadata.name: Invalid value: "
                '"n": name is not supported',
                id="not-convertible",
            ),
            pytest.param(
                {"cluster": None},
                "FailedToConvertMAPIMachineSetToCAPI",
                "failed to get Cluster API cluster owner reference: failed to get CAPI cluster: "
                'clusters.cluster.x-k8s.io "c" not found',
                id="no-cluster",
            ),
            pytest.param(
                {"infrastructure": None},
                "FailedToConvertMAPIMachineSetToCAPI",
                "failed to convert MAPI machine set to CAPI machine set: failed to get Infrastructure: "
                'infrastructures.config.openshift.io "cluster" not found',
                id="no-infrastructure",
            ),
        ],
    )
    def test_what_cannot_be_made_is_said_and_tried_again(self, case: Tree, reason: str, text: str) -> None:
        plan = decided(**case)
        said = condition(plan)
        assert (said["status"], said["severity"], said["reason"], said["message"]) == ("False", "Error", reason, text)
        assert plan.next == Retry(text)
        assert "synchronizedGeneration" not in only(Merge, plan, part="status").patch["status"]

    def test_a_mirror_that_cannot_be_read_is_said(self) -> None:
        plan = decided(cluster_api=changed(CAPI_SET, spec__replicas="two"))
        assert condition(plan)["reason"] == "FailedToGetCAPIMachineSet"
        assert plan.next == Done()

    async def test_a_selector_that_differs_is_said_and_the_rest_follows(self) -> None:
        case = await mirrored()
        labels = {MACHINE_SET_LABEL: "ms", "other": "x"}
        case["cluster_api"] = changed(case["cluster_api"], spec__selector__matchLabels=labels, spec__replicas=9)
        plan = decided(**case)
        assert only(Merge, plan, capi.MachineSet).patch == {"spec": {"replicas": 2}}
        ((reason, note),) = notes(plan)
        assert reason == "ConversionWarning"
        assert note.startswith(
            'spec.selector of the MachineSets differs: "machine.openshift.io/cluster-api-machineset=ms" in the Machine '
            'API, "machine.openshift.io/cluster-api-machineset=ms,other=x" in Cluster API.'
        )
        assert plan.next == Done()

    async def test_authority_does_not_move_while_the_selectors_differ(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(
            case["machine_api"],
            spec__authoritativeAPI="ClusterAPI",
        )
        (write,) = decided(**case).needed
        assert write.diff()[0] == FieldChange("status.authoritativeAPI", "MachineAPI", "Migrating")
        case["cluster_api"] = changed(case["cluster_api"], spec__selector__matchLabels={"other": "x"})
        plan = decided(**case)
        assert plan.needed == ()
        assert isinstance(plan.next, WaitFor)

    async def test_the_selector_that_cluster_api_gives_to_a_set_without_one_is_no_difference(self) -> None:
        case = await mirrored(machine_api=changed(MAPI_SET, spec__selector={}))
        theirs = {"cluster.x-k8s.io/set-name": "ms"}
        labels = {**case["cluster_api"]["spec"]["template"]["metadata"]["labels"], **theirs}
        case["cluster_api"] = changed(
            case["cluster_api"], spec__selector__matchLabels=theirs, spec__template__metadata__labels=labels
        )
        assert decided(**case).needed == ()

    def test_a_first_set_under_cluster_api_authority_is_not_paused(self) -> None:
        plan = decided(machine_api=BEHIND_CLUSTER_API)
        assert written(plan) == [("Create", "OpenStackMachineTemplate", ""), ("Create", "MachineSet", "")]
        assert "annotations" not in only(Create, plan, capo.OpenStackMachineTemplate).body["metadata"]
        annotations = only(Create, plan, capi.MachineSet).body["metadata"].get("annotations", {})
        assert not {PAUSED, AUTHORITY} & set(annotations)

    def test_a_template_from_before_is_not_paused_either(self) -> None:
        found = template(MADE, annotations={PAUSED: "", "theirs": "x"})
        plan = decided(machine_api=BEHIND_CLUSTER_API, templates=(found,))
        update = only(Merge, plan, capo.OpenStackMachineTemplate)
        assert update.desired["metadata"]["annotations"] == {"theirs": "x"}


class TestToMachineApi:
    async def test_all_in_sync_is_nothing_to_do(self) -> None:
        assert decided(**await behind()).needed == ()

    async def test_replicas_metadata_and_status_follow(self) -> None:
        case = await behind()
        labels = {"cluster.x-k8s.io/cluster-name": "c", "team": "b"}
        annotations = {"note": "x", "cluster.x-k8s.io/odd": "y"}
        deprecated = {"v1beta1": {"fullyLabeledReplicas": 2, "readyReplicas": 1, "availableReplicas": 0}}
        case["cluster_api"] = changed(
            case["cluster_api"],
            metadata__labels=labels,
            metadata__annotations=annotations,
            metadata__generation=8,
            spec__replicas=5,
            status__deprecated=deprecated,
        )
        plan = decided(**case)
        content = only(Merge, plan, mapi.MachineSet)
        assert content.patch["spec"] == {"replicas": 5}
        assert content.patch["metadata"]["labels"] == {"team": "b"}
        assert content.desired["metadata"]["annotations"]["note"] == "x"
        assert "cluster.x-k8s.io/odd" not in content.desired["metadata"]["annotations"]
        status = only(Merge, plan, mapi.MachineSet, part="status").patch["status"]
        assert (status["readyReplicas"], status["availableReplicas"]) == (1, None)
        assert status["synchronizedGeneration"] == 8

    async def test_the_observed_generation_follows_when_the_status_is_about_the_spec_that_there_is(self) -> None:
        """Who waits for a scaling waits for it, and reads the replicas then."""
        case = await behind()

        def observed(plan: Plan) -> tuple[int, bool]:
            (write,) = [one for one in plan.actions if isinstance(one, Merge) and one.part == "status"]
            return write.desired["status"]["observedGeneration"], write.needed

        before = case["machine_api"]["metadata"]["generation"]
        assert observed(decided(**case)) == (before, False)
        case["cluster_api"] = changed(case["cluster_api"], metadata__generation=8, spec__replicas=5)
        assert observed(decided(**case)) == (before, True)  # the generation is noted

        case["machine_api"] = changed(case["machine_api"], metadata__generation=before + 1, spec__replicas=5)
        assert observed(decided(**case))[0] == before
        case["cluster_api"] = changed(case["cluster_api"], status__observedGeneration=8)
        assert observed(decided(**case)) == (before + 1, True)

    async def test_another_template_is_another_provider_spec(self) -> None:
        case = await behind()
        case["template"] = changed(TEMPLATE, spec__template__spec__flavor="m1.huge")
        content = only(Merge, decided(**case), mapi.MachineSet)
        assert [str(change) for change in content.diff()] == [
            "~ spec.template.spec.providerSpec.value.flavor: 'm1.large' -> 'm1.huge'"
        ]

    async def test_a_provider_spec_that_means_the_same_is_no_difference(self) -> None:
        case = await behind()
        value = case["machine_api"]["spec"]["template"]["spec"]["providerSpec"]["value"]
        said = {**value, "trunk": False}
        for provider_spec, needed in ((value, 0), ({**value, "flavor": "other"}, 1), (said, 1)):
            tree = changed(case["machine_api"], spec__template__spec__providerSpec__value=provider_spec)
            plan = decided(**{**case, "machine_api": tree})
            assert len([one for one in plan.needed if not one.subresource]) == needed

    async def test_authority_of_the_set_and_of_new_machines_is_kept(self) -> None:
        spec = (await behind())["machine_api"]["spec"]
        assert spec["authoritativeAPI"] == "ClusterAPI"
        assert spec["template"]["spec"]["authoritativeAPI"] == "MachineAPI"

    async def test_labels_that_are_gone_from_the_template_go_from_the_mirrors(self) -> None:
        labels = {**BEHIND_CLUSTER_API["spec"]["template"]["metadata"]["labels"], "old": "x"}
        machine_api = changed(BEHIND_CLUSTER_API, spec__template__metadata__labels=labels)
        content = only(Merge, decided(machine_api=machine_api, cluster_api=CAPI_SET), mapi.MachineSet)
        assert content.patch["spec"]["template"]["metadata"]["labels"]["old"] is None

    async def test_a_set_that_its_controllers_have_not_looked_at_leaves_the_status_alone(self) -> None:
        plan = decided(machine_api=BEHIND_CLUSTER_API, cluster_api=changed(CAPI_SET, status=None))
        status = only(Merge, plan, mapi.MachineSet, part="status").patch["status"]
        assert sorted(status) == ["conditions", "synchronizedGeneration"]

    def test_the_noted_generation_never_goes_down(self) -> None:
        machine_api = changed(BEHIND_CLUSTER_API, status__synchronizedGeneration=40)
        write = only(Merge, decided(machine_api=machine_api, cluster_api=CAPI_SET), mapi.MachineSet, part="status")
        assert write.desired["status"]["synchronizedGeneration"] == 40

    @pytest.mark.parametrize(
        ("case", "reason", "text", "again"),
        [
            pytest.param(
                {"cluster_api": changed(CAPI_SET, metadata__ownerReferences=[OF_CLUSTER, OF_CLUSTER])},
                "FailedToConvertCAPIMachineSetToMAPI",
                "metadata.ownerReferences: Too many: 2: must have at most 1 item",
                False,
                id="two-owners",
            ),
            pytest.param(
                {"cluster_api": changed(CAPI_SET, spec__clusterName="")},
                "FailedToGetCAPIInfraResources",
                "failed to fetch CAPI infra resources: machine set openshift-cluster-api/ms: cluster name is empty in "
                "Cluster API machine set spec",
                False,
                id="no-cluster-name",
            ),
            pytest.param(
                {"cluster_api": changed(CAPI_SET, spec__template__spec__infrastructureRef={})},
                "FailedToGetCAPIInfraResources",
                "failed to fetch CAPI infra resources: machine set openshift-cluster-api/ms: infrastructure machine "
                "template reference is invalid or incomplete",
                False,
                id="no-template-name",
            ),
            pytest.param(
                {"template": None},
                "FailedToGetCAPIInfraResources",
                "failed to fetch CAPI infra resources: failed to get CAPI infrastructure machine template: "
                'openstackmachinetemplates.infrastructure.cluster.x-k8s.io "made-by-a-user" not found',
                True,
                id="ss15-no-template",
            ),
            pytest.param(
                {"infra_cluster": None},
                "FailedToGetCAPIInfraResources",
                "failed to fetch CAPI infra resources: failed to get CAPI infrastructure cluster: "
                'openstackclusters.infrastructure.cluster.x-k8s.io "c" not found',
                True,
                id="no-infra-cluster",
            ),
            pytest.param(
                {"cluster_api": changed(CAPI_SET, spec__template__spec__version="v1")},
                "FailedToConvertCAPIMachineSetToMAPI",
                "failed to convert CAPI machine set to MAPI machine set: "
                'spec.version: Invalid value: "v1": version is not supported',
                True,
                id="ss8-not-convertible",
            ),
        ],
    )
    def test_what_cannot_be_mirrored_is_said(self, case: Tree, reason: str, text: str, again: bool) -> None:
        plan = decided(**{"machine_api": BEHIND_CLUSTER_API, "cluster_api": CAPI_SET, **case})
        said = condition(plan)
        assert (said["status"], said["severity"], said["reason"], said["message"]) == ("False", "Error", reason, text)
        assert plan.next == (Retry(text) if again else Done())

    def test_a_reference_that_is_empty_is_said_where_it_has_to_be_mended_too(self) -> None:
        plan = decided(machine_api=BEHIND_CLUSTER_API, cluster_api=changed(CAPI_SET, spec__clusterName=""))
        events = [action for action in plan.needed if isinstance(action, Emit)]
        assert {event.reason for event in events} == {"SynchronizationError"}
        assert [event.target.kind.RESOURCE for event in events] == [capi.MachineSet.RESOURCE, mapi.MachineSet.RESOURCE]

    def test_a_selector_that_differs_is_said(self) -> None:
        cluster_api = changed(CAPI_SET, spec__selector__matchLabels={"other": "x"})
        plan = decided(machine_api=BEHIND_CLUSTER_API, cluster_api=cluster_api)
        assert condition(plan)["status"] == "True"
        ((reason, note),) = notes(plan)
        assert reason == "ConversionWarning"
        assert note.startswith("spec.selector of the MachineSets differs")

    def test_a_source_that_cannot_be_read_is_said(self) -> None:
        plan = decided(machine_api=BEHIND_CLUSTER_API, cluster_api=changed(CAPI_SET, spec__replicas="two"))
        assert condition(plan)["reason"] == "FailedToConvertCAPIMachineSetToMAPI"
        assert plan.next == Done()


class TestComparedStatus:
    """Which differences of the mirror's status are written."""

    @pytest.mark.parametrize(
        ("fields", "differs"),
        [
            pytest.param({"status__readyReplicas": 0}, True, id="ready-replicas"),
            pytest.param({"status__availableReplicas": 1}, True, id="available-replicas"),
            pytest.param({"status__deprecated": None}, True, id="v1beta1-gone"),
        ],
    )
    async def test_replicas_are_compared(self, fields: Tree, differs: bool) -> None:
        case = await mirrored()
        plan = decided(**{**case, "cluster_api": changed(case["cluster_api"], **fields)})
        assert bool(plan.needed) is differs

    @pytest.mark.parametrize(
        ("change", "differs"),
        [
            pytest.param({"status": "Unknown"}, True, id="status"),
            pytest.param({"lastTransitionTime": EARLIER}, False, id="time-only"),
        ],
    )
    @pytest.mark.parametrize("old", [False, True], ids=["v1beta2", "v1beta1"])
    async def test_conditions_are_compared_without_their_times(self, change: Tree, differs: bool, old: bool) -> None:
        case = await mirrored()
        tree = changed(case["cluster_api"])
        status = tree["status"]["deprecated"]["v1beta1"] if old else tree["status"]
        status["conditions"][0] = {**status["conditions"][0], **change}
        assert bool(decided(**{**case, "cluster_api": tree}).needed) is differs

    async def test_a_condition_of_the_mirrors_own_controllers_stays(self) -> None:
        case = await mirrored()
        tree = changed(case["cluster_api"])
        for kind in ("Paused", "Remediating"):
            said = {"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": EARLIER}
            tree["status"]["conditions"].append(said)
        assert decided(**{**case, "cluster_api": tree}).needed == ()


class TestRefusals:
    def test_a_refused_write_is_said_and_tried_again(self) -> None:
        plan = decided()
        template, mirror = plan.needed
        content = only(Merge, decided(cluster_api=CAPI_SET), capi.MachineSet)
        no = Forbidden(Status(message="no", reason="Forbidden", code=403))
        for action, reason, text in (
            (template, "FailedToCreateCAPIInfraMachineTemplate", "unable to ensure CAPI infra machine template: "),
            (mirror, "FailedToCreateCAPIMachineSet", "unable to ensure CAPI machine set: failed to create"),
            (content, "FailedToUpdateCAPIMachineSet", "unable to ensure CAPI machine set: failed to update"),
        ):
            said = decided(last=Outcome((Result(action, error=no),)))
            assert condition(said)["reason"] == reason
            assert condition(said)["message"].startswith(text)
            assert isinstance(said.next, Retry)

    async def test_a_step_of_a_move_that_is_refused_is_an_event_and_leaves_the_condition_alone(self) -> None:
        case = await migrating("MachineAPI")
        step = only(Merge, decided(**case), capi.MachineSet)
        no = Forbidden(Status(message="no", reason="Forbidden", code=403))
        plan = decided(**case, last=Outcome((Result(step, error=no),)))
        assert [reason for reason, _ in notes(plan)] == ["SynchronizationWarning"]
        assert len(plan.needed) == 1
        assert isinstance(plan.next, Retry)

    def test_a_set_that_cannot_be_read_is_said_in_an_event(self) -> None:
        plan = decided(machine_api=changed(MAPI_SET, spec__replicas="two"))
        ((reason, note),) = notes(plan)
        assert reason == "SynchronizationError"
        assert "replicas" in note


SYNCED = {"type": "Synchronized", "status": "True", "reason": "ResourceSynchronized", "lastTransitionTime": EARLIER}


def said_paused(tree: Tree, *, paused: bool = True) -> Tree:
    said = {"type": "Paused", "status": str(paused), "reason": "R", "message": "", "lastTransitionTime": EARLIER}
    others = [one for one in tree["status"].get("conditions", []) if one["type"] != "Paused"]
    return changed(tree, status__conditions=[*others, said])


async def migrating(to: str, *, came_from: str | None = None, generation: int | None = None) -> dict[str, Any]:
    """Both sets on their way, in sync at the generation of the side that they come from. Nobody has paused yet."""
    source = came_from if came_from is not None else {"MachineAPI": "ClusterAPI", "ClusterAPI": "MachineAPI"}[to]
    case = await (behind() if (source or "MachineAPI") == "ClusterAPI" else mirrored())
    noted = case["machine_api"]["status"]["synchronizedGeneration"]
    case["machine_api"] = changed(
        case["machine_api"],
        spec__authoritativeAPI=to,
        status__authoritativeAPI="Migrating",
        status__synchronizedAPI=source or None,
        status__synchronizedGeneration=noted if generation is None else generation,
        status__conditions=[SYNCED],
    )
    return case


def asked_to_pause(case: dict[str, Any]) -> Tree:
    """Its set of Cluster API with the marks of a mirror."""
    annotations = case["cluster_api"]["metadata"].get("annotations") or {}
    return changed(case["cluster_api"], metadata__annotations={**annotations, PAUSED: "", AUTHORITY: "MachineAPI"})


class TestMigration:
    async def test_nothing_moves_that_is_where_spec_wants_it(self) -> None:
        assert decided(**await mirrored()).needed == ()

    @pytest.mark.parametrize("to", ["ClusterAPI", "MachineAPI"])
    async def test_a_move_begins_when_all_is_in_sync(self, to: str) -> None:
        case = await (mirrored() if to == "ClusterAPI" else behind())
        source = case["machine_api"]["status"]["authoritativeAPI"]
        case["machine_api"] = changed(case["machine_api"], spec__authoritativeAPI=to)
        plan = decided(**case)
        (write,) = plan.needed
        assert write.diff() == (
            FieldChange("status.authoritativeAPI", source, "Migrating"),
            FieldChange("status.synchronizedAPI", None, source),
        )

    async def test_the_request_is_noted_as_synchronized_as_the_move_begins(self) -> None:
        case = await mirrored()
        generation = case["machine_api"]["metadata"]["generation"] + 1
        case["machine_api"] = changed(
            case["machine_api"], spec__authoritativeAPI="ClusterAPI", metadata__generation=generation
        )
        assert only(Merge, decided(**case), part="status").patch["status"] == {
            "authoritativeAPI": "Migrating",
            "synchronizedAPI": "MachineAPI",
            "synchronizedGeneration": generation,
        }

    @pytest.mark.parametrize("authority", ["ClusterAPI", "MachineAPI"])
    async def test_after_a_move_the_machine_apis_controllers_may_say_first_that_they_know(self, authority: str) -> None:
        case = await (behind() if authority == "ClusterAPI" else mirrored())
        arrived = {**AUTHORITY_CHANGED.condition, "lastTransitionTime": rfc3339(NOW)}
        for said, waits in (("Migrating", True), (authority, False)):
            heard = {**paused_condition(said), "lastTransitionTime": EARLIER}
            case["machine_api"] = changed(case["machine_api"], status__conditions=[arrived, heard])
            plan = decided(**case)
            assert isinstance(plan.next, WaitFor) == waits
            assert bool(plan.needed) != waits

    async def test_a_set_that_is_not_in_sync_is_synchronized_first(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(case["machine_api"], spec__authoritativeAPI="ClusterAPI", spec__replicas=7)
        plan = decided(**case)
        assert only(Merge, plan, capi.MachineSet).patch == {"spec": {"replicas": 7}}
        assert "Migrating" not in str([action.diff() for action in plan.needed])

    async def test_a_set_that_cannot_be_synchronized_does_not_move(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(
            case["machine_api"], spec__authoritativeAPI="ClusterAPI", spec__template__spec__metadata__name="n"
        )
        plan = decided(**case)
        assert condition(plan)["reason"] == "FailedToConvertMAPIMachineSetToCAPI"
        assert isinstance(plan.next, Retry)

    async def test_a_move_waits_until_the_controllers_of_today_have_taken_up_the_last_one(self) -> None:
        case = await mirrored()
        case["machine_api"] = said_paused(changed(case["machine_api"], spec__authoritativeAPI="ClusterAPI"))
        case["machine_api"]["status"]["conditions"].append(SYNCED)
        plan = decided(**case)
        assert not [one for one in plan.needed if isinstance(one, Delete)]
        assert "Migrating" not in str([one.diff() for one in plan.needed])

    async def test_one_that_its_cluster_pauses_may_leave_cluster_api(self) -> None:
        case = await behind()
        asked = changed(case["machine_api"], spec__authoritativeAPI="MachineAPI", metadata__generation=9)
        for paused, begins in ((False, False), (True, True)):
            api = await at_rest(
                machine_api=asked,
                cluster_api=said_paused(case["cluster_api"]),
                cluster=changed(CLUSTER, spec={"paused": paused}),
            )
            there = mapi_of(api)
            assert there is not None
            assert (there["status"]["authoritativeAPI"] != "ClusterAPI") == begins, paused

    async def test_a_set_that_is_being_deleted_does_not_move(self) -> None:
        case = await mirrored()
        case["machine_api"] = changed(
            case["machine_api"],
            spec__authoritativeAPI="ClusterAPI",
            metadata={**case["machine_api"]["metadata"], **GONE},
        )
        assert only(Delete, decided(**case), capi.MachineSet)

    async def test_to_the_machine_api_cluster_api_is_asked_to_pause(self) -> None:
        templates = (template(MADE), template("mine", made_for=None))
        plan = decided(**{**await migrating("MachineAPI"), "templates": templates})
        asked = [
            (one.target.name, one.desired["metadata"]["annotations"]) for one in plan.needed if isinstance(one, Merge)
        ]
        assert asked == [("ms", {PAUSED: "", AUTHORITY: "MachineAPI"}), (MADE, {PAUSED: ""})]
        assert isinstance(plan.next, WaitFor)

    @pytest.mark.parametrize("paused", [None, False])
    async def test_until_cluster_api_says_that_it_is_paused_nothing_more_happens(self, paused: bool | None) -> None:
        case = await migrating("MachineAPI")
        asked = asked_to_pause(case)
        cluster_api = asked if paused is None else said_paused(asked, paused=paused)
        plan = decided(**{**case, "cluster_api": cluster_api})
        assert plan.needed == ()
        assert isinstance(plan.next, WaitFor)

    async def test_until_the_machine_api_says_that_it_is_paused_nothing_happens(self) -> None:
        plan = decided(**await migrating("ClusterAPI"))
        assert plan.needed == ()
        assert isinstance(plan.next, WaitFor)

    @pytest.mark.parametrize("noted", [3, 9])
    async def test_a_source_that_changed_on_the_way_leads_back(self, noted: int) -> None:
        case = await migrating("ClusterAPI", generation=noted)
        machine_api, cluster_api = said_paused(case["machine_api"]), said_paused(case["cluster_api"])
        (write,) = decided(**{**case, "machine_api": machine_api, "cluster_api": cluster_api}).needed
        assert_arrived(write, "MachineAPI")

    @pytest.mark.parametrize("to", ["ClusterAPI", "MachineAPI"])
    async def test_a_label_that_changed_on_the_way_leads_back(self, to: str) -> None:
        """No generation counts it."""
        case = await migrating(to)
        case["cluster_api"] = said_paused(asked_to_pause(case))
        case["machine_api"] = said_paused(case["machine_api"])
        source = "machine_api" if to == "ClusterAPI" else "cluster_api"
        labels = {**case[source]["metadata"]["labels"], "team": "another"}
        case[source] = changed(case[source], metadata__labels=labels)
        first, *_ = decided(**case).needed
        if to == "ClusterAPI":
            assert_arrived(first, "MachineAPI")
        else:
            assert first.patch == {"metadata": {"annotations": {PAUSED: None, AUTHORITY: None}}}  # type: ignore[attr-defined]

    async def test_without_a_noted_source_the_move_waits(self) -> None:
        case = await migrating("ClusterAPI", came_from="", generation=3)
        plan = decided(**{**case, "machine_api": said_paused(case["machine_api"])})
        assert plan.needed == ()

    async def test_to_cluster_api_it_is_released_and_then_authoritative(self) -> None:
        case = await migrating("ClusterAPI")
        case["machine_api"] = said_paused(case["machine_api"])
        plan = decided(**case)
        # The set last: its controllers go on from there.
        assert [action.target.name for action in plan.needed] == [MADE, "ms"]
        assert plan.needed[1].patch == {"metadata": {"annotations": {PAUSED: None, AUTHORITY: None}}}  # type: ignore[attr-defined]
        released = {
            "cluster_api": changed(case["cluster_api"], metadata__annotations=None),
            "templates": [changed(one, metadata__annotations=None) for one in case["templates"]],
        }
        (write,) = decided(**{**case, **released}).needed
        assert_arrived(write, "ClusterAPI")

    async def test_to_the_machine_api(self) -> None:
        case = await migrating("MachineAPI")
        (write,) = decided(**{**case, "cluster_api": said_paused(asked_to_pause(case))}).needed
        assert_arrived(write, "MachineAPI")

    @pytest.mark.parametrize("source", ["MachineAPI", "ClusterAPI"])
    async def test_a_move_that_is_taken_back_leads_back(self, source: str) -> None:
        case = await migrating(source, came_from=source)
        case["machine_api"] = said_paused(case["machine_api"])
        if source == "MachineAPI":
            case["cluster_api"] = said_paused(case["cluster_api"])
        (write,) = decided(**case).needed
        assert_arrived(write, source)

    async def test_a_set_that_was_recreated_is_noted_anew_by_way_of_migrating(self) -> None:
        """The Machine API's controllers need not say anything: nothing changes for them."""
        case = await behind()
        case["cluster_api"] = changed(case["cluster_api"], metadata__uid="anew", metadata__generation=2)
        (left,) = decided(**case).needed
        assert left.diff()[0] == FieldChange("status.authoritativeAPI", "ClusterAPI", "Migrating")
        back = changed(case["machine_api"], status=left.desired["status"])  # type: ignore[attr-defined]
        (write,) = decided(**{**case, "machine_api": back}).needed
        assert_arrived(write, "ClusterAPI")


def assert_arrived(write: Action, authority: str) -> None:
    assert isinstance(write, Merge)
    status = write.desired["status"]
    (found,) = [one for one in status["conditions"] if one["type"] == "Synchronized"]
    assert (status["authoritativeAPI"], status["synchronizedAPI"]) == (authority, authority)
    assert status["synchronizedGeneration"] == 0
    assert (found["status"], found["severity"], found["reason"]) == ("Unknown", "Info", "AuthoritativeAPIChanged")
    assert found["message"] == "Waiting for resync after change of AuthoritativeAPI"
