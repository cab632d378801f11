"""The Route by which the played service of alerts is found, on a real API server."""

import pytest

from windlass.api.route import Route
from windlass.kube.client import Client
from windlass.testing.updates.thanos import NAME, NAMESPACE, ThanosQuerier

pytestmark = pytest.mark.plane


async def test_its_route_has_the_host_of_the_service_that_runs_now(admin: Client) -> None:
    for _ in range(2):
        async with ThanosQuerier(token="any") as thanos:
            await thanos.announce(admin)
            route = (await admin.get(Route, NAME, namespace=NAMESPACE)).decode()
            assert [ingress.host for ingress in route.status.ingress] == [thanos.host]
