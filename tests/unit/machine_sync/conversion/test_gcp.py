"""Google Cloud, rule by rule, in both directions. Nobody else converts it, so `tests/data/machine_sync/gcp.yaml` is the
table of what we decided; the API servers of both sides judge it in `tests/api`.
"""

from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.api import capg, capi, mapi
from windlass.api.config import Infrastructure
from windlass.kube.control.merge import same
from windlass.machine_sync.conversion import ConvertedToClusterAPI, ConvertedToMachineAPI
from windlass.machine_sync.conversion.machine_set_to_cluster_api import cluster_api_machine_set
from windlass.machine_sync.mirroring.infra_machine_spec import differing
from windlass.machine_sync.platforms import GCP

from .vectors import DATA, plain

Tree = dict[str, Any]
TABLE: Tree = yaml.safe_load((DATA / "gcp.yaml").read_text(encoding="utf-8"))
USUAL: Tree = TABLE["usual"]
PATH = {"to_cluster_api": "spec.providerSpec.value.", "to_machine_api": "spec."}


def cases(direction: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", TABLE[direction], ids=lambda case: case["name"])


def over(base: Tree, fields: Tree) -> Tree:
    """`base` with these fields; None removes one."""
    return {key: value for key, value in {**base, **fields}.items() if value is not None}


def cluster_of(case: Tree) -> capg.GCPCluster | None:
    if "cluster" in case and case["cluster"] is None:
        return None
    return msgspec.convert({"spec": over(USUAL["cluster"], case.get("cluster") or {})}, capg.GCPCluster)


def infrastructure_of(case: Tree) -> Infrastructure:
    gcp = {**USUAL["infrastructure"], **case.get("infrastructure", {})}
    status = {"infrastructureName": "quay-x2", "platformStatus": {"type": "GCP", "gcp": gcp}}
    return msgspec.convert({"status": status}, Infrastructure)


def machine_api_machine(case: Tree, *, spec: Tree | None = None, status: Tree | None = None) -> mapi.Machine:
    value = over(USUAL["provider_spec"], case["given"]) if spec is None else spec
    tree = {
        "metadata": {"name": "w-0", "labels": case.get("labels", {})},
        "spec": {"providerSpec": {"value": value}, "providerID": (status or {}).get("providerID")},
        "status": {"providerStatus": (status or {}).get("providerStatus")},
    }
    return msgspec.convert(tree, mapi.Machine)


def to_cluster_api(case: Tree) -> ConvertedToClusterAPI:
    return GCP.to_cluster_api(machine_api_machine(case), infrastructure_of(case), infra_cluster=cluster_of(case))


def to_machine_api(case: Tree, *, state: str | None = None, provider_id: str = "") -> ConvertedToMachineAPI:
    machine = {
        "metadata": {"name": "w-0", "labels": case.get("labels", {})},
        "spec": {
            "clusterName": "quay-x2",
            "failureDomain": case.get("zone", "us-east4-a"),
            "bootstrap": {"dataSecretName": "worker-user-data"},
            "providerID": provider_id,
        },
    }
    infra = {"spec": over(USUAL["infra_spec"], case["given"]), "status": {"instanceState": state}}
    return GCP.to_machine_api(
        msgspec.convert(machine, capi.Machine), msgspec.convert(infra, capg.GCPMachine), cluster_of(case)
    )


def said(direction: str, texts: list[str]) -> tuple[str, ...]:
    return tuple(text[1:] if text.startswith("/") else PATH[direction] + text for text in texts)


@cases("to_cluster_api")
def test_to_cluster_api(case: Tree) -> None:
    result = to_cluster_api(case)
    assert result.errors == said("to_cluster_api", case.get("errors", []))
    assert result.remarks == said("to_cluster_api", case.get("warnings", []))
    if "gives" not in case:
        assert result.infra_machine is None
        return
    assert plain(result.infra_machine.spec) == over(USUAL["infra_spec"], case["gives"])


@cases("to_cluster_api")
def test_what_went_to_cluster_api_comes_back(case: Tree) -> None:
    there = to_cluster_api(case)
    if there.machine is None:
        assert case["errors"]
        return
    back = GCP.to_machine_api(there.machine, there.infra_machine, cluster_of(case))
    assert (back.errors, back.remarks) == ((), ())
    assert back.machine is not None
    given = over(USUAL["provider_spec"], case["given"])
    returned = plain(back.machine.spec.provider_spec.value)
    assert returned == over(given, case.get("back", {}))
    again = GCP.to_cluster_api(back.machine, infrastructure_of(case), infra_cluster=cluster_of(case))
    assert not differing(GCP, plain(there.infra_machine.spec), plain(again.infra_machine.spec))


@cases("to_machine_api")
def test_to_machine_api(case: Tree) -> None:
    result = to_machine_api(case)
    assert result.errors == said("to_machine_api", case.get("errors", []))
    assert result.remarks == said("to_machine_api", case.get("warnings", []))
    if "gives" not in case:
        assert result.machine is None
        return
    assert result.machine is not None
    assert plain(result.machine.spec.provider_spec.value) == over(USUAL["provider_spec"], case["gives"])


@cases("to_machine_api")
def test_what_went_to_the_machine_api_is_the_same_there_for_ever_or_was_named(case: Tree) -> None:
    there = to_machine_api(case)
    if there.machine is None or there.remarks:
        assert case.get("errors") or case["warnings"]
        return
    back = GCP.to_cluster_api(there.machine, infrastructure_of(case), infra_cluster=cluster_of(case))
    assert back.infra_machine is not None, back.errors
    again = GCP.to_machine_api(back.machine, back.infra_machine, cluster_of(case))
    assert again.machine is not None
    assert again.machine.spec.provider_spec == there.machine.spec.provider_spec


@pytest.mark.parametrize(
    "case", [case for case in TABLE["to_cluster_api"] if "cluster" not in case], ids=lambda case: case["name"]
)
def test_a_set_is_converted_as_its_machines_are(case: Tree) -> None:
    template = {"metadata": {"labels": case.get("labels", {})}, "spec": plain(machine_api_machine(case).spec)}
    source = msgspec.convert({"metadata": {"name": "w"}, "spec": {"template": template}}, mapi.MachineSet)
    made = cluster_api_machine_set(GCP, source, infrastructure_of(case), infra_cluster=cluster_of(case))
    alone = to_cluster_api(case)
    assert made.errors == alone.errors
    if alone.infra_machine is not None:
        assert made.infra_template.spec.template.spec == alone.infra_machine.spec


FAITHFUL = [
    case["given"]
    for case in TABLE["to_cluster_api"]
    if "gives" in case and not {"cluster", "labels", "infrastructure"} & case.keys()
]


@given(st.lists(st.sampled_from(FAITHFUL), min_size=1, max_size=5))
@examples(60)
def test_any_mixture_comes_back_as_it_was_or_is_named_and_then_rests(mixture: list[Tree]) -> None:
    spec = {key: value for fields in (USUAL["provider_spec"], *mixture) for key, value in fields.items()}
    spec["tags"] = [*dict.fromkeys([*spec["tags"], *USUAL["provider_spec"]["tags"]])]
    there = to_cluster_api({"given": spec})
    if there.machine is None:
        assert there.errors
        return
    back = GCP.to_machine_api(there.machine, there.infra_machine, cluster_of({}))
    assert back.machine is not None, back.errors
    returned = plain(back.machine.spec.provider_spec.value)
    # As the webhook completes what these rows leave empty, and as Go writes it.
    disks = [{**one, "type": one.get("type") or "pd-standard"} for one in spec["disks"]]
    completed = {**spec, "disks": disks, "gpus": returned.get("gpus", [])}
    written = plain(msgspec.convert(completed, GCP.provider_spec))
    kept = GCP.mirrored_provider_spec({"value": written}, {"value": returned})["value"] is written
    assert kept or there.remarks
    again = GCP.to_cluster_api(back.machine, infrastructure_of({}), infra_cluster=cluster_of({}))
    assert not differing(GCP, plain(there.infra_machine.spec), plain(again.infra_machine.spec))


def test_no_text_and_no_value_has_a_key_that_a_customer_supplies() -> None:
    key = {"keyType": "Supplied", "suppliedKey": {"rawKey": "c2VjcmV0", "rsaEncryptedKey": "c2VjcmV0"}}
    spec = msgspec.convert(
        {"rootDiskEncryptionKey": key, "additionalDisks": [{"encryptionKey": key}]}, capg.GCPMachineSpec
    )
    assert b"c2VjcmV0" not in msgspec.json.encode(spec)
    result = to_machine_api({"given": {"rootDiskEncryptionKey": key, "additionalDisks": [{"encryptionKey": key}]}})
    assert len(result.errors) == 2
    assert "c2VjcmV0" not in str(result)


def test_a_control_plane_machine_is_one_in_cluster_api_too() -> None:
    case = next(case for case in TABLE["to_cluster_api"] if case["name"] == "a control plane machine of the installer")
    made = to_cluster_api(case).machine
    assert made is not None
    assert made.metadata.labels["cluster.x-k8s.io/control-plane"] == ""


@pytest.mark.parametrize(
    ("state", "ready"), [("RUNNING", True), ("PROVISIONING", False), ("TERMINATED", False), ("", False)]
)
def test_the_state_of_the_instance_in_cluster_api(state: str, ready: bool) -> None:
    status = {"providerID": "gce://quay-17/us-east4-a/w-0", "providerStatus": {"instanceState": state}}
    made = GCP.to_cluster_api(machine_api_machine({"given": {}}, status=status), infrastructure_of({})).infra_machine
    assert made.status.ready is ready
    assert made.status.instance_state == (state or None)
    assert made.spec.provider_id == "gce://quay-17/us-east4-a/w-0"


def test_a_broken_status_is_an_error_that_names_it() -> None:
    status: dict[str, Any] = {"providerStatus": {"instanceState": []}}
    result = GCP.to_cluster_api(machine_api_machine({"given": {}}, status=status), infrastructure_of({}))
    assert [text.partition(":")[0] for text in result.errors] == ["status.providerStatus"]


@pytest.mark.parametrize(
    ("state", "provider_id", "expected"),
    [
        ("", "", {}),
        ("STAGING", "", {"instanceId": "w-0", "instanceState": "STAGING"}),
        ("", "gce://quay-17/us-east4-a/w-9", {"instanceId": "w-9"}),
        ("RUNNING", "gce://quay-17/us-east4-a/w-9", {"instanceId": "w-9", "instanceState": "RUNNING"}),
    ],
)
def test_the_state_of_the_instance_in_the_machine_api(state: str, provider_id: str, expected: Tree) -> None:
    made = to_machine_api({"given": {}}, state=state, provider_id=provider_id).machine
    assert made is not None
    status: Tree = plain(made.status.provider_status)
    conditions = status.pop("conditions", [])
    assert status == {"metadata": {}, **expected}
    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == (
        [("MachineCreated", "True", "MachineCreationSucceeded")] if state else []
    )
    assert made.metadata.labels == {
        "machine.openshift.io/instance-type": "n2-standard-4",
        "machine.openshift.io/region": "us-east4",
        "machine.openshift.io/zone": "us-east4-a",
    }
    assert made.metadata.annotations.get("machine.openshift.io/instance-state", "") == state


def test_a_field_of_the_wrong_type_has_the_name_of_its_go_type() -> None:
    result = to_cluster_api({"given": {"disks": [{"encryptionKey": {"kmsKey": []}}]}})
    assert "of type v1beta1.GCPKMSKeyReference" in result.error


BOOT: Tree = USUAL["provider_spec"]["disks"][0]
WEBHOOK = "projects/rhcos-cloud/global/images/rhcos-46-82-202008260918-0-gcp"
KMS: Tree = {"name": "k", "keyRing": "r", "location": "l"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}),
        ({"gcpMetadata": [{"key": "a"}, {"key": "b"}]}, {"gcpMetadata": [{"key": "b"}, {"key": "a"}]}),
        ({"apiVersion": "gcpprovider.openshift.io/v1beta1"}, {}),
        ({"restartPolicy": "Always"}, {}),
        ({"disks": [{**BOOT, "image": "i"}]}, {"disks": [{**BOOT, "image": "projects/quay-17/global/images/i"}]}),
        ({"disks": [BOOT, {"image": WEBHOOK}]}, {"disks": [BOOT, {"image": ""}]}),
        ({"disks": [{**BOOT, "labels": {"a": "b"}}], "labels": {"a": "b"}}, {"labels": {"a": "b"}}),
        (
            {"disks": [{**BOOT, "encryptionKey": {"kmsKey": KMS}}]},
            {"disks": [{**BOOT, "encryptionKey": {"kmsKey": {**KMS, "projectID": "quay-17"}}}]},
        ),
        (
            {"resourceManagerTags": [{"parentID": "1", "key": "a"}, {"parentID": "0", "key": "b"}]},
            {"resourceManagerTags": [{"parentID": "0", "key": "b"}, {"parentID": "1", "key": "a"}]},
        ),
    ],
    ids=str,
)
def test_a_mirror_that_says_the_same_is_left_as_it_is(one: Tree, other: Tree) -> None:
    observed, made = over(USUAL["provider_spec"], one), over(USUAL["provider_spec"], other)
    assert GCP.mirrored_provider_spec({"value": observed}, {"value": made})["value"] is observed
    assert GCP.mirrored_provider_spec({"value": made}, {"value": observed})["value"] is made


@pytest.mark.parametrize(
    "other",
    [
        {"disks": [{**BOOT, "image": WEBHOOK}]},
        {"disks": [BOOT, {"image": "projects/quay-17/global/images/seed"}]},
        {"disks": [{**BOOT, "labels": {"a": "b"}}]},
        {"restartPolicy": "Never"},
        {"tags": ["c"]},
    ],
    ids=str,
)
def test_a_mirror_that_says_something_else_is_written(other: Tree) -> None:
    disks = {"disks": [BOOT, {"image": ""}]} if len(other.get("disks", [])) > 1 else {}
    observed, made = over(USUAL["provider_spec"], disks), over(USUAL["provider_spec"], other)
    written = GCP.mirrored_provider_spec({"value": observed}, {"value": made})["value"]
    assert same(written, made)
    assert not same(GCP.canonical_provider_spec(observed), GCP.canonical_provider_spec(made))


def test_a_key_of_another_project_is_another_key() -> None:
    def keyed(project: str) -> Any:
        key = {"kmsKey": {**KMS, "projectID": project}}
        return GCP.canonical_provider_spec({**USUAL["provider_spec"], "disks": [{**BOOT, "encryptionKey": key}]})

    assert keyed("quay-17") != keyed("other")


def test_what_the_machine_apis_set_controller_writes_stays() -> None:
    disabled = {"shieldedInstanceConfig": {"secureBoot": "Disabled"}, "restartPolicy": "Never"}
    observed = over(USUAL["provider_spec"], disabled)
    assert GCP.mirrored_provider_spec({"value": observed}, {"value": USUAL["provider_spec"]})["value"] is observed


@pytest.mark.parametrize("odd", [None, [], {"disks": [None, 7, {"encryptionKey": []}]}, {"tags": [{}], "disks": 1}])
def test_a_spec_of_any_shape_has_a_canonical_form(odd: Any) -> None:
    canonical = GCP.canonical_provider_spec(odd)
    assert GCP.canonical_provider_spec(canonical) == canonical


def test_a_gcp_machine_that_says_the_same_is_no_other_one() -> None:
    given = {
        "image": "projects/p/global/images/family/f",
        "additionalDisks": [{}, {"size": 16}],
        "guestAccelerators": [{"count": 1, "type": "projects/p/zones/z/acceleratorTypes/t"}, {"type": "t"}],
    }
    assert GCP.comparable_infra_machine(given) == {
        "imageFamily": "projects/p/global/images/family/f",
        "additionalDisks": [{"deviceType": "pd-standard", "size": 30}, {"deviceType": "pd-standard", "size": 16}],
        "guestAccelerators": [{"count": 1, "type": "zones/z/acceleratorTypes/t"}, {"type": "t"}],
    }
    assert GCP.comparable_infra_machine({}) == {}
