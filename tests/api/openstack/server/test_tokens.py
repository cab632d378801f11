"""Tokens that live for seconds: they are renewed in time, and nobody sees it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.api.openstack.server.stage import Stage, held, staged
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Cloud, Project

pytestmark = [pytest.mark.cloud, pytest.mark.sampled]

TOKEN_LIFE = 5
"""Seconds."""


@pytest.fixture(scope="module")
def own() -> Iterator[Cloud]:
    """A cloud that takes as long to boot a server as a token lives."""
    with Cloud(skip=("octavia",), token_life=TOKEN_LIFE, spawn_delay=float(TOKEN_LIFE)) as cloud:
        yield cloud


@pytest.fixture
def project(own: Cloud) -> Project:
    """It goes with its cloud."""
    return own.new_project()


@pytest.fixture
async def stage(openstack_plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    async with staged(openstack_plane, windlass_namespace, project) as stage:
        yield stage


async def test_a_server_is_made_and_goes_with_tokens_that_live_for_seconds(stage: Stage) -> None:
    await stage.secret()
    await stage.server(trunk=True, rootVolume={"sizeGiB": 1})
    await stage.until_ready()
    assert len(stage.asked(method="POST")) == 4, "one of each"
    await stage.delete()
    await stage.until_gone()
    assert held(stage.project) == {"servers": 0, "ports": 0, "trunks": 0, "volumes": 0}
    told = [str(body) for *_, body in stage.ours.sent]
    assert not [text for text in told if "Error" in text or "Failed" in text]
    requests = stage.project.requests(user_agent="^windlass-openstack/")
    tokens = sum(each.service == "keystone" for each in requests)
    assert 2 <= tokens < len(requests) / 3, "some, and not one for each request"
