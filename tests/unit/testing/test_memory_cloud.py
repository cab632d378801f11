"""The model of a cloud does what clouds do. The same cases run on a real one, in `tests/api/testing/cloud`."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.cloud_cases import CASES, Site
from windlass.openstack.cloud.failures import Doubtful
from windlass.testing.memory_cloud import MemoryCloud


def _site() -> Site:
    cloud = MemoryCloud(no_answer=lambda service, write, slow: Doubtful(service, "no answer"))
    services = cloud.services
    network = services.network("machines")

    async def until(look: Callable[[], Awaitable[Any]], wanted: Callable[[Any], bool]) -> Any:
        for _ in range(10):
            if wanted(found := await look()):
                return found
            cloud.pass_time(1)
        raise AssertionError("it does not come")

    def set_quota(resource: str, limit: int) -> None:
        services.quotas.setdefault("project", {})[resource] = limit

    return Site(
        wire=cloud.wire("project"),
        network=network,
        subnet=services.networks[network]["subnets"][0],
        image=services.image("cirros"),
        flavor=services.flavor("m1.tiny", ephemeral=0),
        until=until,
        set_quota=set_quota,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_model_does_what_clouds_do(case: Callable[[Site], Awaitable[Any]]) -> None:
    assert await case(_site()) == CASES[case]
