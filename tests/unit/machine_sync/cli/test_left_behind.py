"""A command that ends with an error has no request under way: nobody is there for the answer, and aiohttp complains."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.kube.http_script import Script, silence, status
from windlass.api import mapi
from windlass.capability.planning import ClusterListing
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.errors import Unauthorized
from windlass.machine_sync.cli.migrate import moving as migrate
from windlass.machine_sync.cli.migrate import selection
from windlass.machine_sync.cli.release import releasing as release
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.inspection import description, listing
from windlass.machine_sync.overview import KINDS
from windlass.machine_sync.planning import deciders
from windlass.machine_sync.platforms import OPENSTACK

PLACES = Namespaces("mapi", "capi")
NOW = datetime(2026, 1, 1, tzinfo=UTC)

Look = Callable[[Client], Awaitable[Any]]


async def look_before_migrating(client: Client) -> None:
    subjects = [selection.ObjectKey(mapi.Machine, name) for name in ("a", "b")]
    await migrate.preflights(client, PLACES, subjects, request=migrate.MigrateRequest((), "ClusterAPI"))


async def look_at_many_before_migrating(client: Client) -> None:
    subjects = [selection.ObjectKey(mapi.Machine, str(number)) for number in range(migrate.MANY + 1)]
    await migrate.preflights(client, PLACES, subjects, request=migrate.MigrateRequest((), "ClusterAPI"))


async def cluster_listing(client: Client) -> None:
    taking = ClusterListing(client)
    await taking.take(deciders(taking, platform=OPENSTACK, namespaces=PLACES))


LOOKS: dict[str, Look] = {
    "machines": lambda client: listing.look_at(client, PLACES, KINDS),
    "machines describe": lambda client: description.look(client, PLACES, "a", now=NOW),
    "migrate --all": lambda client: selection.every(client, PLACES),
    "migrate a b": look_before_migrating,
    "migrate many": look_at_many_before_migrating,
    "release --all": lambda client: release.observe(client, PLACES),
    "plan": cluster_listing,
}


def serves(task: "asyncio.Task[Any]") -> bool:
    """Whether this is a connection as the server sees it."""
    return getattr(task.get_coro(), "__qualname__", "") == Script._accept.__qualname__


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
async def test_when_one_request_is_refused_the_others_have_ended(look: Look) -> None:
    async with Script() as server:
        before = asyncio.all_tasks()
        server.then(status(401, "Unauthorized"), *[silence] * 50)
        async with Client(ClusterConfig(server=server.url)) as client:
            with pytest.raises(Unauthorized):
                await look(client)
            assert [task for task in asyncio.all_tasks() - before if not serves(task)] == []
