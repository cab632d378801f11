"""The CRDs that the projects publish, on a plane that has no conversion webhooks."""

from windlass.testing import crds
from windlass.testing.plane.facade import PlaneAccess


async def test_published_crds_are_chosen_by_group_and_serve_the_one_version_that_they_store(
    windlass_plane: PlaneAccess,
) -> None:
    applied = await windlass_plane.apply_crds(*crds.documents("cluster.x-k8s.io", "machine.openshift.io"))
    assert {"machines.cluster.x-k8s.io", "machines.machine.openshift.io", "machinesets.cluster.x-k8s.io"} <= {
        crd["metadata"]["name"] for crd in applied
    }
    for crd in applied:
        assert [version["storage"] for version in crd["spec"]["versions"] if version["served"]] == [True]
        assert crd["spec"]["conversion"]["strategy"] == "None"
