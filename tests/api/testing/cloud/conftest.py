"""What tests of a cloud make in their project, and wait for."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.waiting import wait_until
from windlass.testing.cloud import Project

Boot = Callable[..., Any]


@pytest.fixture
def boot(project: Project) -> Boot:
    """Create a server of the smallest flavor and wait for its status; it is deleted with the project."""

    def make(*, until: str | None = "ACTIVE", **arguments: Any) -> Any:
        compute = project.sdk.compute
        server = compute.create_server(
            name="server",
            **{
                "flavor_id": compute.find_flavor("m1.tiny", ignore_missing=False).id,
                "image_id": project.sdk.image.find_image("cirros", ignore_missing=False).id,
                "networks": [{"uuid": project.network_id}],
                **arguments,
            },
        )
        if until is None:
            return server
        return wait_until(f"the server is {until}", lambda: _in(compute.get_server(server.id), until))

    return make


def _in(server: Any, status: str) -> Any:
    assert server.status in ("BUILD", status), (server.status, server.fault)
    return server if server.status == status else None
