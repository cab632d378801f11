"""Planes that are reused: whoever gets one next finds it alive, and nothing cluster-scoped on it."""

from typing import Any

from windlass.testing import crds
from windlass.testing.plane.access import found
from windlass.testing.plane.pool import PlanePool

NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "left-behind"}}
INFRASTRUCTURE: dict[str, Any] = {
    "apiVersion": "config.openshift.io/v1",
    "kind": "Infrastructure",
    "metadata": {"name": "cluster"},
    "spec": {},
}


def test_the_next_one_finds_the_same_plane_without_cluster_scoped_leftovers(windlass_planes: PlanePool) -> None:
    plane = windlass_planes.plane("module", crds=crds.documents("config.openshift.io"))
    plane.blocking.apply(NODE, INFRASTRUCTURE)
    namespace = plane.blocking.create_namespace()

    again = windlass_planes.plane("module")

    rest = again.blocking.rest
    assert again.url == plane.url
    assert found(rest, "/api/v1/nodes/left-behind") is None
    assert found(rest, "/apis/config.openshift.io/v1/infrastructures/cluster") is None
    assert found(rest, f"/api/v1/namespaces/{namespace}") is not None


def test_the_next_one_finds_an_api_server_that_was_killed_running_again(windlass_planes: PlanePool) -> None:
    windlass_planes.plane("module").blocking.kill_apiserver()

    plane = windlass_planes.plane("module")

    assert plane.blocking.rest.text("GET", "/readyz/ping") == "ok"
