"""The stage of a test: a namespace, a project, and our controllers at work."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.openstack.cluster.stage import Stage, staged
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_server import OpenStackServer
from windlass.kube.crd import custom_resource_definition
from windlass.testing import PlaneAccess, crds
from windlass.testing.cloud import Project

OURS: tuple[type[Any], ...] = (OpenStackCluster, OpenStackMachine, OpenStackServer, OpenStackClusterIdentity)


@pytest.fixture
async def plane(windlass_plane: PlaneAccess) -> PlaneAccess:
    """It knows the kinds of clusters and machines."""
    await windlass_plane.apply_crds(
        *crds.documents("cluster.x-k8s.io"), *(custom_resource_definition(kind) for kind in OURS)
    )
    return windlass_plane


@pytest.fixture
async def stage(plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    async with staged(plane, windlass_namespace, project) as stage:
        yield stage
