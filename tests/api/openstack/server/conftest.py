"""The stage of a test: a namespace, a project, and the controller at work."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.api.openstack.server.stage import Stage, staged
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.kube.crd import custom_resource_definition
from windlass.testing import PlaneAccess, crds
from windlass.testing.cloud import Project


@pytest.fixture
async def openstack_plane(windlass_plane: PlaneAccess) -> PlaneAccess:
    """The shared plane, with the kinds that our controllers watch."""
    kinds: tuple[type[Any], ...] = (OpenStackServer, OpenStackClusterIdentity, OpenStackFloatingIPPool)
    groups = ("cluster.x-k8s.io", "ipam.cluster.x-k8s.io")
    await windlass_plane.apply_crds(*crds.documents(*groups), *map(custom_resource_definition, kinds))
    return windlass_plane


@pytest.fixture
async def stage(openstack_plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    async with staged(openstack_plane, windlass_namespace, project) as stage:
        yield stage
