"""A real cloud does what its model does: the same cases, the same facts."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests import cloud_cases, cloud_cases_clusters
from tests.cloud_cases import Site
from tests.waiting import eventually
from windlass.openstack.cloud.credentials import read
from windlass.openstack.cloud.session import CloudSession
from windlass.openstack.cloud.threads import Threads
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

CASES = {**cloud_cases.CASES, **cloud_cases_clusters.CASES}


@pytest.fixture
async def site(project: Project) -> AsyncIterator[Site]:
    session = CloudSession(read(project.clouds_yaml, "openstack", where="the test"), Threads(4))
    await session.project_id()
    image, flavor = project.sdk.image.find_image("cirros"), project.sdk.compute.find_flavor("m1.tiny")
    assert image is not None
    assert flavor is not None

    yield Site(
        wire=session,
        network=project.network_id,
        subnet=project.subnet_id,
        image=image.id,
        flavor=flavor.id,
        until=eventually,
        set_quota=lambda resource, limit: project.set_quota(**{resource: limit}),
    )
    session.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_a_real_cloud_does_what_the_model_does(site: Site, case: Callable[[Site], Awaitable[Any]]) -> None:
    assert await case(site) == CASES[case]
