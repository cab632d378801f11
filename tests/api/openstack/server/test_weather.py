"""Bad weather in a real cloud: each kind of creating request meets a fault once, and there is one of each after it."""

from typing import Any

import pytest

from tests.api.openstack.server.stage import held, staged
from windlass.openstack.cloud.certainty import Times
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

PATIENCE = Times(answer=3.0, request=8.0)
POSTS = {"neutron": ("/ports$", "/trunks$"), "cinder": ("/volumes$",), "nova": ("/servers$",)}
FAULTS: dict[str, dict[str, Any]] = {
    "the answer is lost": {"after": True, "drop": True},
    "503": {"status": 503},
    "the connection is closed": {"drop": True},
    # The service goes to work when nobody waits for it any more.
    "too slow": {"delay": PATIENCE.answer + 2.0, "after": True, "drop": True},
    "429 with Retry-After": {"status": 429, "headers": {"Retry-After": "2"}},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_every_kind_of_creating_request_meets_a_fault_and_there_is_one_of_each(
    openstack_plane: PlaneAccess, windlass_namespace: str, project: Project, fault: dict[str, Any]
) -> None:
    faults = [
        project.fault(service, method="POST", path=path, count=1, **fault)
        for service, paths in POSTS.items()
        for path in paths
    ]
    async with staged(openstack_plane, windlass_namespace, project, times=PATIENCE) as stage:
        await stage.secret()
        await stage.server(trunk=True, rootVolume={"sizeGiB": 1})
        await stage.until_ready()
        assert [each.hits for each in faults] == [1, 1, 1, 1]
        assert held(project) == {"servers": 1, "ports": 1, "trunks": 1, "volumes": 1}
        await stage.delete()
        await stage.until_gone()
