"""Cluster API's core manager on a plane."""

import re
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.testing import ControlPlane
from windlass.testing.machines import cluster_api
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.waiting import wait_for

CLUSTER = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "metadata": {"name": "c"},
    "spec": {"infrastructureRef": {"apiGroup": "x.io", "kind": "X", "name": "x"}},
}
SPEC = {
    "clusterName": "c",
    "bootstrap": {"dataSecretName": "x"},
    "infrastructureRef": {"apiGroup": "x.io", "kind": "X", "name": "x"},
}
TAINT = {"key": "gpu", "effect": "NoSchedule", "propagation": "Always"}


def machine(name: str, **spec: Any) -> dict[str, Any]:
    """A Machine with this spec, in as far as its CRD asks for one."""
    tree = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": name}}
    return {**tree, "spec": {**SPEC, **spec}}


def test_it_acts_on_clusters_and_ends_with_the_plane(windlass_fresh_plane: ControlPlane) -> None:
    plane = windlass_fresh_plane.blocking
    cluster_api.start(plane)
    plane.apply(CLUSTER)
    path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/c"

    def phase() -> str | None:
        status: dict[str, Any] = plane.rest.request("GET", path).get("status", {})
        return status.get("phase")

    assert wait_for(phase, seconds=PATIENCE) == "Provisioning"
    assert cluster_api.runs(plane)
    plane.stop()
    assert not cluster_api.runs(plane)


def test_its_webhooks_fill_in_defaults_and_refuse_fields_of_gates_that_are_off(
    windlass_fresh_plane: ControlPlane,
) -> None:
    plane = windlass_fresh_plane.blocking
    cluster_api.start(plane)
    (made,) = plane.apply(machine("m"))
    assert made["spec"]["deletion"] == {"nodeDeletionTimeoutSeconds": 10}
    refusal = "spec.taints: Forbidden: taints are not allowed to be set when the feature gate MachineTaintPropagation"
    with pytest.raises(Refused, match=re.escape(refusal)):
        plane.apply(machine("tainted", taints=[TAINT]))


def test_its_webhooks_follow_its_feature_gates(windlass_fresh_plane: ControlPlane) -> None:
    plane = windlass_fresh_plane.blocking
    cluster_api.start(plane, flags=["--feature-gates=MachineTaintPropagation=true"])
    (made,) = plane.apply(machine("tainted", taints=[TAINT]))
    assert made["spec"]["taints"] == [TAINT]


def test_without_its_webhooks_its_objects_are_stored_as_they_are_written(windlass_fresh_plane: ControlPlane) -> None:
    plane = windlass_fresh_plane.blocking
    cluster_api.start(plane, webhooks=False)
    (made,) = plane.apply(machine("tainted", taints=[TAINT]))
    assert "deletion" not in made["spec"]
