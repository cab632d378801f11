"""Manifests of Cluster API's v1beta1, as a plan from files takes them."""

from typing import Any

import pytest

from windlass.openstack.planning.older_versions import of_today

INFRA = "infrastructure.cluster.x-k8s.io"
OLD_REFERENCE = {"apiVersion": f"{INFRA}/v1beta1", "kind": "OpenStackMachineTemplate", "name": "w", "namespace": "x"}
REFERENCE = {"apiGroup": INFRA, "kind": "OpenStackMachineTemplate", "name": "w"}
CONFIG = {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "name": "w"}


def made(**parts: Any) -> dict[str, Any]:
    tree = of_today({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"}, **parts})
    assert tree.pop("apiVersion") == "cluster.x-k8s.io/v1beta2"
    return {name: value for name, value in tree.items() if name in ("spec", "status")}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"infrastructureRef": OLD_REFERENCE}, {"infrastructureRef": REFERENCE}, id="a reference"),
        pytest.param(
            {"template": {"spec": {"infrastructureRef": OLD_REFERENCE, "failureDomain": "a"}}, "replicas": 3},
            {"template": {"spec": {"infrastructureRef": REFERENCE, "failureDomain": "a"}}, "replicas": 3},
            id="one in a template",
        ),
        pytest.param(
            {"bootstrap": {"configRef": CONFIG}},
            {
                "bootstrap": {
                    "configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": CONFIG["kind"], "name": "w"}
                }
            },
            id="bootstrap",
        ),
        pytest.param({"infrastructureRef": REFERENCE}, {"infrastructureRef": REFERENCE}, id="it is of today"),
        pytest.param(
            {"infrastructureRef": "odd", "template": []}, {"infrastructureRef": "odd", "template": []}, id="odd"
        ),
        pytest.param({}, {}, id="nothing"),
    ],
)
def test_references_name_a_group(before: Any, after: Any) -> None:
    assert made(spec=before)["spec"] == after


def test_the_status_says_what_is_there() -> None:
    status = {"infrastructureReady": True, "controlPlaneReady": False, "conditions": [{"severity": "Info"}]}
    assert made(spec={}, status=status)["status"] == {"initialization": {"infrastructureProvisioned": True}}
