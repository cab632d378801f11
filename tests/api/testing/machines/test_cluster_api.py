"""Cluster API's core manager on a plane."""

from typing import Any

from tests.patience import PATIENCE
from windlass.testing import ControlPlane
from windlass.testing.machines import cluster_api
from windlass.testing.plane.waiting import wait_for


def test_it_acts_on_clusters_and_ends_with_the_plane(windlass_fresh_plane: ControlPlane) -> None:
    plane = windlass_fresh_plane.blocking
    cluster_api.start(plane)
    cluster = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c"}}
    plane.apply(cluster | {"spec": {"infrastructureRef": {"apiGroup": "x.io", "kind": "X", "name": "x"}}})
    path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/c"

    def phase() -> str | None:
        status: dict[str, Any] = plane.rest.request("GET", path).get("status", {})
        return status.get("phase")

    assert wait_for(phase, seconds=PATIENCE) == "Provisioning"
    assert cluster_api.runs(plane)
    plane.stop()
    assert not cluster_api.runs(plane)
