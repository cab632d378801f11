"""The controller dies after each of its writes, to either side, before it has the answer: one of each is made, and all
of it goes."""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from tests.api.openstack.mortal import NOTHING_UNDER_WAY, MortalClient, lives
from tests.api.openstack.server.stage import Stage, Writes, at_work, held, says
from windlass.kube import config
from windlass.kube.client.client import Client
from windlass.kube.errors import NotFound
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled


class Ours(MortalClient, Writes):
    """Counts its writes, and dies at one."""


@pytest.fixture
async def mortal(openstack_plane: PlaneAccess, windlass_namespace: str, project: Project) -> AsyncIterator[Stage]:
    """A stage on which nobody is at work yet."""
    kubeconfig = config.load(kubeconfig=openstack_plane.kubeconfig())
    async with Client(kubeconfig) as client, Ours(kubeconfig) as ours:
        yield Stage(client, ours, windlass_namespace, project)


async def test_one_that_dies_after_each_of_its_writes_makes_one_of_each_and_leaves_nothing(mortal: Stage) -> None:
    await mortal.secret()
    await mortal.server(trunk=True, rootVolume={"sizeGiB": 1})

    async def is_ready() -> bool:
        return says(await mortal.get(), "Ready") == "True Ready"

    assert isinstance(mortal.ours, Ours)
    life = partial(at_work, mortal, times=NOTHING_UNDER_WAY)
    asked = await lives(mortal.ours, lambda point: life(point=point), until=is_ready)
    assert [what for what in asked if what.startswith("create ")] == [
        "create port", "create volume", "create trunk", "create server",
    ]  # fmt: skip
    assert held(mortal.project) == {"servers": 1, "ports": 1, "trunks": 1, "volumes": 1}
    assert len(mortal.asked(method="POST")) == 4

    await mortal.delete()

    async def is_gone() -> bool:
        try:
            await mortal.get()
        except NotFound:
            return True
        return False

    asked = await lives(mortal.ours, lambda point: life(point=point), until=is_gone)
    assert {"delete server", "delete trunk", "delete port"} <= {*asked}
