"""One project and one pair of namespaces for all stories of whose a server is, on the shared plane."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.openstack.ownership.stage import Places, Stage
from tests.house import ROOT
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.testing import PlaneAccess, crds
from windlass.testing.cloud import Project
from windlass.testing.cloud.access import CloudAccess

CRDS = ROOT / "deploy" / "openstack" / "crds" / "crds.yaml"


def with_machines(plane: PlaneAccess) -> PlaneAccess:
    """A plane that knows the kinds of machines in both APIs, and ours as we ship them."""
    plane.blocking.apply_crds(
        *crds.documents("cluster.x-k8s.io", "ipam.cluster.x-k8s.io", "machine.openshift.io", "config.openshift.io"),
        CRDS,
    )
    return plane


@pytest.fixture(scope="package")
def management(windlass_plane: PlaneAccess) -> PlaneAccess:
    return with_machines(windlass_plane)


@pytest.fixture(scope="package")
def places(management: PlaneAccess) -> Places:
    home, other = (management.blocking.create_namespace(prefix) for prefix in ("home-", "other-"))
    return Places(home, other)


@pytest.fixture(scope="package")
def shared(windlass_cloud: CloudAccess) -> Iterator[Project]:
    """The project of all stories of this worker. It goes with all that it has; each story looks at what it leaves."""
    project = windlass_cloud.new_project(quota={"instances": 50, "cores": 50, "ram": 500_000})
    yield project
    project.delete()


@pytest.fixture
async def stage(management: PlaneAccess, places: Places, shared: Project) -> AsyncIterator[Stage]:
    """A stage on which nobody is at work. After the story no condition and no Event has told a mark, and each server
    has exactly one object that lives."""
    async with Client(config.load(kubeconfig=management.kubeconfig()), field_manager="kubectl") as client:
        stage = Stage(client, places, shared)
        await stage.prepare()
        yield stage
        await stage.is_in_order()
