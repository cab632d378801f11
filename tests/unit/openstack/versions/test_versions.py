"""The provider's objects in v1beta1 and v1beta2: each difference, both ways; and nothing of a spec is lost."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.openstack.versions import CONVERSION_DATA, convert

GROUP = "infrastructure.cluster.x-k8s.io"
OLD, NEW = "v1beta1", "v1beta2"
FLAVOR = {"flavor": "m1"}, {"flavor": {"filter": {"name": "m1"}}}
RULES = [{"name": "ssh", "direction": "ingress"}]

CLUSTER_ROWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"apiServerPort": 6443}, {"apiServer": {"port": 6443}}),
    ({"apiServerFixedIP": "10.0.0.5"}, {"apiServer": {"fixedIP": "10.0.0.5"}}),
    ({"apiServerFloatingIP": "192.0.2.1"}, {"apiServer": {"floatingIP": "192.0.2.1"}}),
    ({"disableAPIServerFloatingIP": True}, {"apiServer": {"enableFloatingIP": False}}),
    ({"disableAPIServerFloatingIP": False}, {"apiServer": {"enableFloatingIP": True}}),
    ({"apiServerLoadBalancer": {"enabled": True}}, {"apiServer": {"managedLoadBalancer": {"enabled": True}}}),
    ({"disableExternalNetwork": True}, {"enableExternalNetwork": False}),
    ({"disableExternalNetwork": False}, {"enableExternalNetwork": True}),
    ({"networkMTU": 1400}, {"managedNetwork": {"mtu": 1400}}),
    ({"disablePortSecurity": True}, {"managedNetwork": {"enablePortSecurity": False}}),
    ({"externalRouterIPs": [{"fixedIP": "a"}]}, {"managedRouter": {"externalIPs": [{"fixedIP": "a"}]}}),
    (
        {"managedSecurityGroups": {"allNodesSecurityGroupRules": RULES, "allowAllInClusterTraffic": True}},
        {"managedSecurityGroups": {"clusterNodesSecurityGroupRules": RULES, "allowAllInClusterTraffic": True}},
    ),
    ({"bastion": {"enabled": True, "spec": FLAVOR[0]}}, {"bastion": {"enabled": True, "spec": FLAVOR[1]}}),
    ({"managedSubnets": [{"cidr": "10.0.0.0/24"}]}, {"managedSubnets": [{"cidr": "10.0.0.0/24"}]}),
]
MACHINE_ROWS = [
    FLAVOR,
    ({"flavorID": "f-1"}, {"flavor": {"id": "f-1"}}),
    (
        {**FLAVOR[0], "ports": [{"disablePortSecurity": True}, {"disablePortSecurity": False}, {}]},
        {**FLAVOR[1], "ports": [{"enablePortSecurity": False}, {"enablePortSecurity": True}, {}]},
    ),
    ({**FLAVOR[0], "sshKeyName": "k", "new": {"a": 1}}, {**FLAVOR[1], "sshKeyName": "k", "new": {"a": 1}}),
]


def wrapped(kind: str, spec: Any, version: str = OLD, **more: Any) -> dict[str, Any]:
    spec = {"template": {"spec": spec}} if kind.endswith("Template") else spec
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "x"}, "spec": spec, **more}


def converted(tree: dict[str, Any], target: str) -> dict[str, Any]:
    """Without errors; the input stays as it was."""
    before = copy.deepcopy(tree)
    found = convert(tree, target)
    assert (tree, found.errors) == (before, ())
    assert found.tree is not None
    return found.tree


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        *(("OpenStackCluster", *row) for row in CLUSTER_ROWS),
        *(("OpenStackClusterTemplate", *row) for row in CLUSTER_ROWS),
        *(("OpenStackMachine", *row) for row in MACHINE_ROWS),
        *(("OpenStackMachineTemplate", *row) for row in MACHINE_ROWS),
    ],
    ids=str,
)
def test_a_spec_is_the_same_in_both_versions(kind: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert converted(wrapped(kind, old), NEW) == wrapped(kind, new, NEW)
    assert converted(wrapped(kind, new, NEW), OLD) == wrapped(kind, old)
    assert convert(wrapped(kind, new, NEW), NEW).tree == wrapped(kind, new, NEW)


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (
            wrapped("OpenStackMachine", {"flavor": "m1", "flavorID": "f-1"}),
            wrapped("OpenStackMachine", {"flavor": {"id": "f-1"}}, NEW),
            "spec.flavor",
        ),
        (wrapped("OpenStackCluster", {"apiServer": {}}, NEW), wrapped("OpenStackCluster", {}), "spec.apiServer"),
        (
            wrapped("OpenStackClusterTemplate", {}, NEW)
            | {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}},
            wrapped("OpenStackClusterTemplate", {}),
            "spec.template.metadata",
        ),
    ],
    ids=["flavor", "empty", "metadata"],
)
def test_what_the_other_version_cannot_say_comes_back_from_the_annotation(
    before: dict[str, Any], after: dict[str, Any], lost: str
) -> None:
    target, source = (one["apiVersion"].rpartition("/")[2] for one in (after, before))
    found = convert(before, target)
    assert found.warnings == (f"{lost}: {target} cannot say it: kept in the annotation {CONVERSION_DATA}",)
    assert found.tree is not None
    annotations = found.tree["metadata"].pop("annotations")
    assert found.tree == after

    found.tree["metadata"]["annotations"] = annotations | {"theirs": "x"}
    back = convert(found.tree, source)
    assert (back.tree, back.warnings) == (before | {"metadata": {"name": "x", "annotations": {"theirs": "x"}}}, ())

    inner = found.tree["spec"].get("template", found.tree)["spec"]
    inner["tags"] = ["changed"]
    changed = convert(found.tree, source)
    assert [text.partition(":")[0] for text in changed.warnings] == [lost]
    assert changed.tree is not None
    assert "changed" in json.dumps(changed.tree["spec"])
    assert changed.tree["metadata"]["annotations"] == {"theirs": "x"}


def test_an_annotation_of_a_webhook_does_not_bring_back_what_was_changed() -> None:
    """The provider's webhook stores the whole object each time, and its way back overwrites the spec with it."""
    stored = json.dumps(wrapped("OpenStackMachine", {"flavor": "m1"}))
    tree = wrapped("OpenStackMachine", {"flavor": {"filter": {"name": "m2"}}}, NEW)
    tree["metadata"]["annotations"] = {CONVERSION_DATA: stored}
    found = convert(tree, OLD)
    assert (found.tree, found.warnings) == (wrapped("OpenStackMachine", {"flavor": "m2"}), ())
    for broken in ("{", "[]", '{"spec": 1}', 7):
        tree["metadata"]["annotations"] = {CONVERSION_DATA: broken}
        assert convert(tree, OLD) == found


@pytest.mark.parametrize(
    ("tree", "target", "error"),
    [
        (wrapped("OpenStackMachine", {}), NEW, "spec.flavor: v1beta2 needs a flavor: set flavor or flavorID"),
        (wrapped("OpenStackMachine", {"flavor": {"id": "x"}}), NEW, "spec.flavor: expected the name of a flavor"),
        (wrapped("OpenStackMachine", {"flavor": "m1"}, NEW), OLD, "spec.flavor: expected an object with id or filter"),
        (wrapped("OpenStackMachine", {"flavor": {}}, NEW), OLD, "spec.flavor: expected either id or filter.name"),
        (
            wrapped("OpenStackMachine", {"flavor": {"filter": {"name": "a", "ram": 1}}}, NEW),
            OLD,
            "spec.flavor.filter.ram: v1beta1 has no such field: remove it",
        ),
        (
            wrapped("OpenStackCluster", {"apiServer": {"port": 1, "dns": "x"}}, NEW),
            OLD,
            "spec.apiServer.dns: v1beta1 has no such field: remove it",
        ),
        (
            wrapped("OpenStackCluster", {"apiServer": {"port": 1}}),
            NEW,
            "spec.apiServer: v1beta1 has no such field, only v1beta2 has: remove it",
        ),
        (
            wrapped("OpenStackMachineTemplate", {"flavor": "a", "ports": [{"disablePortSecurity": "no"}]}),
            NEW,
            "spec.template.spec.ports[0].disablePortSecurity: expected true or false, got 'no'",
        ),
        (wrapped("OpenStackCluster", {"managedNetwork": 7}, NEW), OLD, "spec.managedNetwork: expected an object"),
        (wrapped("OpenStackCluster", {}) | {"spec": []}, NEW, "spec: expected an object, got []"),
        (wrapped("OpenStackClusterTemplate", None), NEW, "spec.template.spec: expected an object"),
        (wrapped("OpenStackCluster", {}, "v1alpha7"), NEW, f"apiVersion: v1alpha7 is not supported: write {GROUP}/"),
        ({"kind": "OpenStackCluster"}, NEW, "apiVersion: it is missing: write"),
    ],
    ids=str,
)
def test_a_field_that_cannot_be_converted_is_an_error_with_its_path(
    tree: dict[str, Any], target: str, error: str
) -> None:
    found = convert(tree, target)
    assert found.tree is None
    assert [text[: len(error)] for text in found.errors] == [error]


SOME = st.sampled_from([1400, "a", True, {"id": "x"}, [{"name": "a"}]])
FLAGS = st.booleans()


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


OLD_PORTS = st.lists(some(disablePortSecurity=FLAGS, trunk=FLAGS, tags=SOME), max_size=3)
NEW_PORTS = st.lists(some(enablePortSecurity=FLAGS, trunk=FLAGS, tags=SOME), max_size=3)
NAMES = st.sampled_from(["a", "b"])
OLD_MACHINES = st.one_of(
    some(flavor=NAMES, ports=OLD_PORTS, image=SOME).map(lambda spec: {"flavorID": "x", **spec}),
    some(ports=OLD_PORTS, rootVolume=SOME).map(lambda spec: {"flavor": "x", **spec}),
)
NEW_MACHINES = st.builds(
    lambda flavor, spec: {"flavor": flavor, **spec},
    st.sampled_from([{"id": "x"}, {"filter": {"name": "m1"}}]),
    some(ports=NEW_PORTS, image=SOME, tags=SOME),
)
OLD_CLUSTERS = some(
    **dict.fromkeys(("apiServerPort", "apiServerFixedIP", "apiServerFloatingIP", "networkMTU", "tags"), SOME),
    **dict.fromkeys(("disableAPIServerFloatingIP", "disableExternalNetwork", "disablePortSecurity"), FLAGS),
    apiServerLoadBalancer=SOME,
    externalRouterIPs=SOME,
    managedSecurityGroups=some(allNodesSecurityGroupRules=SOME, workerNodesSecurityGroupRules=SOME),
    bastion=some(enabled=FLAGS, spec=OLD_MACHINES),
)
NEW_CLUSTERS = some(
    apiServer=some(port=SOME, fixedIP=SOME, floatingIP=SOME, enableFloatingIP=FLAGS, managedLoadBalancer=SOME),
    enableExternalNetwork=FLAGS,
    managedNetwork=some(mtu=SOME, enablePortSecurity=FLAGS),
    managedRouter=some(externalIPs=SOME),
    managedSecurityGroups=some(clusterNodesSecurityGroupRules=SOME, allowAllInClusterTraffic=FLAGS),
    bastion=some(enabled=FLAGS, spec=NEW_MACHINES),
    tags=SOME,
)
OBJECTS = st.one_of(
    st.builds(wrapped, st.sampled_from(["OpenStackCluster", "OpenStackClusterTemplate"]), OLD_CLUSTERS, st.just(OLD)),
    st.builds(wrapped, st.sampled_from(["OpenStackCluster", "OpenStackClusterTemplate"]), NEW_CLUSTERS, st.just(NEW)),
    st.builds(wrapped, st.sampled_from(["OpenStackMachine", "OpenStackMachineTemplate"]), OLD_MACHINES, st.just(OLD)),
    st.builds(wrapped, st.sampled_from(["OpenStackMachine", "OpenStackMachineTemplate"]), NEW_MACHINES, st.just(NEW)),
)


@given(OBJECTS)
def test_there_and_back_gives_the_same_object(tree: dict[str, Any]) -> None:
    source = tree["apiVersion"].rpartition("/")[2]
    there = converted(tree, NEW if source == OLD else OLD)
    assert converted(there, source) == tree


def test_a_status_in_the_new_version() -> None:
    condition = {"type": "APIServerIngressReadyCondition", "status": "False", "severity": "Error", "message": "m"}
    tree = wrapped(
        "OpenStackCluster",
        {},
        status={
            "ready": True,
            "failureReason": "CreateError",
            "failureMessage": "no",
            "failureDomains": {"b": {"controlPlane": True}, "a": {"attributes": {"x": "y"}}},
            "apiServerLoadBalancer": {"id": "lb"},
            "bastion": {"resolved": {"ports": [{"disablePortSecurity": True}]}},
            "conditions": [condition, {"type": "Ready", "status": "True", "observedGeneration": 1, "reason": "R"}],
        },
    )
    tree["metadata"]["generation"] = 4
    found = convert(tree, NEW)
    assert found.tree is not None
    assert found.tree["status"] == {
        "initialization": {"provisioned": True},
        "failureDomains": [{"name": "a", "attributes": {"x": "y"}}, {"name": "b", "controlPlane": True}],
        "apiServerManagedLoadBalancer": {"id": "lb"},
        "bastion": {"resolved": {"ports": [{"enablePortSecurity": False}]}},
        "conditions": [
            {
                "type": "APIServerIngressReady",
                "status": "False",
                "reason": "NoReasonReported",
                "message": "m",
                "observedGeneration": 4,
            },
            {"type": "Ready", "status": "True", "observedGeneration": 1, "reason": "R", "message": ""},
        ],
    }
    assert [text.split(" is dropped")[0] for text in found.warnings] == [
        "status.failureReason: 'CreateError'",
        "status.failureMessage: 'no'",
        "status.conditions[APIServerIngressReadyCondition].severity: 'Error'",
    ]


@pytest.mark.parametrize(
    ("kind", "ready", "status"),
    [
        ("OpenStackMachine", "True", {"ready": True}),
        ("OpenStackCluster", "False", {"ready": False}),
        ("OpenStackMachineTemplate", "True", {}),
    ],
)
def test_a_status_in_the_old_version(kind: str, ready: str, status: dict[str, Any]) -> None:
    told = {
        "failureDomains": [{"name": "a"}, {"name": "b", "controlPlane": True}],
        "resolved": {"ports": [{"enablePortSecurity": True}]},
        "conditions": [
            {"type": "Ready", "status": ready, "reason": "NoReasonReported", "observedGeneration": 2},
            {"type": "APIServerIngressReady", "status": "True", "reason": "R"},
        ],
    }
    flavor = FLAVOR[1] if "Machine" in kind else {}
    assert converted(wrapped(kind, flavor, NEW, status=told), OLD)["status"] == {
        **status,
        "failureDomains": {"a": {"controlPlane": False}, "b": {"controlPlane": True}},
        "resolved": {"ports": [{"disablePortSecurity": False}]},
        "conditions": [
            {"type": "Ready", "status": ready},
            {"type": "APIServerIngressReadyCondition", "status": "True", "reason": "R"},
        ],
    }
