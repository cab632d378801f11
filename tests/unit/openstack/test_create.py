"""`create_instance` on a model of a cloud: repeated, interrupted, with answers that are lost."""

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.openstack.instance.model import Model
from windlass.openstack.cloud.failures import CloudFailure, Denied, Doubtful, Unavailable
from windlass.openstack.cloud.inventory import Inventory, Recorded, Weather
from windlass.openstack.cloud.marks import mark_of
from windlass.openstack.cloud.project import NONE, Quota
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import CloudRequest, CreateServer
from windlass.openstack.cloud.resources import Extension, Image, Port, Resource
from windlass.openstack.create import (
    Cloud,
    Halted,
    Unresolvable,
    create_instance,
    delete_instance,
    instance_status,
    mark_of_owner,
    wait_active,
    wait_deleted,
)
from windlass.openstack.instance.spec import InstanceSpec, PortSpec, VolumeSpec
from windlass.testing.clock import run

IMAGE = Query("image", filters=(("name", "rhcos"),))
SPEC = InstanceSpec(name="w", image=IMAGE, flavor=Query("flavor", id="f"), network=Query("network", id="lan"))
WITH_ALL = replace(
    SPEC,
    ports=(PortSpec(), PortSpec(trunk=True)),
    tags=("a",),
    root=VolumeSpec(name="root", size=1),
)
OWNER = "fleet-7/w"


class ModelCloud:
    """Project and carrier on a `Model`. `certain`: what the first look says, until the mark is born.

    `failures`: by verb, what is raised after (`Doubtful`) or instead of carrying the request out, once each.
    """

    def __init__(self, model: Model | None = None, *, certain: bool = True) -> None:
        self.model = model or Model()
        self.certain = certain
        self.images: tuple[Resource, ...] | CloudFailure = (Image(id="i", status="active"),)
        self.failures: dict[str, CloudFailure] = {}
        self.doubted: list[str] = []
        self.on_look: Callable[[], None] = lambda: None

    key = "p"
    region = "RegionOne"
    services = frozenset({"compute", "network", "block-storage"})

    async def find(self, queries: Iterable[Query]) -> Mapping[Query, tuple[Resource, ...] | CloudFailure]:
        known: dict[Query, tuple[Resource, ...] | CloudFailure] = {
            IMAGE: self.images,
            Query("extension"): (Extension("standard-attr-tag"), Extension("trunk")),
        }
        return {query: known.get(query, ()) for query in queries}

    async def look(
        self, mark: str, recorded: Recorded = NONE, *, services: Iterable[str] = (), fresh: bool = False
    ) -> Inventory:
        self.on_look()
        found = self.model.inventory(mark, recorded)
        kept = found if "block-storage" in services else replace(found, volumes=())
        return replace(kept, certain=self.certain, certain_in=0 if self.certain else 20)

    def weather(self, mark: str) -> Weather:
        return Weather()

    async def quotas(self) -> tuple[Quota, ...]:
        return ()

    async def send(self, request: CloudRequest, /) -> Any:
        failure = self.failures.pop(request.verb, None)
        if failure is not None:
            if failure.unknown_outcome:
                self.model.carry_out(request)
            raise failure
        for _ in range(5):  # a failure is told before others get their answer
            await asyncio.sleep(0)
        return self.model.carry_out(request)

    def doubt(self, request: CloudRequest, /) -> None:
        self.doubted.append(request.verb)

    def born(self, mark: str) -> str:
        self.certain = True
        return mark


def cloud_of(played: ModelCloud) -> Cloud:
    return Cloud(played, played)


def verbs(played: ModelCloud) -> list[str]:
    return [request.verb for request in played.model.requests]


async def visited(played: ModelCloud, spec: InstanceSpec = SPEC, **more: Any) -> tuple[str, bool]:
    status = await create_instance(cloud_of(played), spec, owner=OWNER, **more)
    return status.state, status.building


async def test_a_call_makes_what_can_be_made_and_another_one_reports() -> None:
    played = ModelCloud()
    assert await visited(played) == ("BUILD", True)
    assert verbs(played) == ["create port", "create server"]
    played.model.pass_time()
    status = await create_instance(cloud_of(played), SPEC, owner=OWNER)
    assert (status.state, status.ready, status.building) == ("ACTIVE", True, False)
    assert status.id in played.model.servers
    assert len(played.model.requests) == 2


async def test_a_call_does_not_wait_for_volumes() -> None:
    played = ModelCloud()
    status = await create_instance(cloud_of(played), WITH_ALL, owner=OWNER)
    assert (status.id, status.building) == ("", True)
    assert "w-root" in status.message
    assert "create server" not in verbs(played)
    played.model.pass_time()
    assert await visited(played, WITH_ALL) == ("BUILD", True)


async def test_two_owners_have_two_servers_of_one_name() -> None:
    played = ModelCloud()
    for owner in ("one", "two"):
        await create_instance(cloud_of(played), SPEC, owner=owner)
    marks = [mark_of(server) for server in played.model.servers.values()]
    assert marks == [mark_of_owner("one"), mark_of_owner("two")]


async def test_user_data_is_sent_in_base64() -> None:
    played = ModelCloud()
    await visited(played, user_data="#cloud-config")
    [request] = [each for each in played.model.requests if isinstance(each, CreateServer)]
    assert base64.b64decode(request.user_data) == b"#cloud-config"


@pytest.mark.parametrize("verb", ["create port", "create trunk", "create volume", "create server"])
async def test_s28_a_lost_answer_makes_nothing_twice(verb: str) -> None:
    played = ModelCloud()
    played.failures[verb] = Doubtful("network", "no answer", code=503)
    lost = 0
    for _ in range(4):
        try:
            await visited(played, WITH_ALL)
        except Doubtful:
            lost += 1
        played.model.pass_time()
    assert (lost, played.doubted) == (1, [verb])
    assert sorted(verbs(played)) == sorted(
        ["create port", "create port", "create volume", "create trunk", "create server", *["set tags"] * 3]
    )
    assert await visited(played, WITH_ALL) == ("ACTIVE", False)


async def test_a_refusal_is_raised_after_all_requests_have_ended() -> None:
    played = ModelCloud()
    played.failures["create port"] = Denied("network", "not allowed", code=403)
    with pytest.raises(Denied, match="not allowed"):
        await visited(played, WITH_ALL)
    assert played.doubted == []
    assert "create volume" in verbs(played)


async def test_the_first_call_does_not_wait_for_requests_that_nobody_sent() -> None:
    assert await visited(ModelCloud(certain=False)) == ("BUILD", True)


@pytest.mark.parametrize(
    ("there", "more"),
    [
        pytest.param(True, {}, id="something is there"),
        pytest.param(False, {"ports": ["theirs"]}, id="a server could come without ports of its own"),
    ],
)
async def test_a_call_waits_while_a_server_may_still_arrive(there: bool, more: dict[str, Any]) -> None:
    played = ModelCloud(certain=False)
    if there:
        played.model.ports["p"] = Port(id="p", name="w-0", description=f"windlass-owner={mark_of_owner(OWNER)}")
    assert await visited(played, **more) == ("", True)
    assert verbs(played) == []


async def test_a_spec_that_cannot_be_resolved_names_its_fields() -> None:
    played = ModelCloud()
    played.images = ()
    with pytest.raises(Unresolvable, match="image: no image matches"):
        await visited(played, replace(SPEC, network=None))
    assert verbs(played) == []


@pytest.mark.parametrize("images", [(), Unavailable("image", "down", code=503)], ids=["deleted", "Glance is down"])
async def test_a_server_that_exists_is_reported_without_its_image(images: Any) -> None:
    played = ModelCloud()
    await visited(played)
    played.images = images
    assert await visited(played) == ("BUILD", True)


async def test_a_question_that_fails_is_raised() -> None:
    played = ModelCloud()
    played.images = Unavailable("image", "down", code=503)
    with pytest.raises(Unavailable):
        await visited(played)


async def test_s6_a_known_server_that_is_gone_is_not_made_again() -> None:
    played = ModelCloud()
    status = await create_instance(cloud_of(played), SPEC, owner=OWNER, server_id="gone")
    assert (status.state, status.ready, status.building) == ("DELETED", False, False)
    assert verbs(played) == []


async def test_ports_of_the_caller_are_used_and_stay() -> None:
    played = ModelCloud()
    played.model.ports["theirs"] = Port(id="theirs", name="vip")
    await visited(played, ports=["theirs"])
    assert played.model.ports["theirs"].device_id
    while not await delete_instance(cloud_of(played), owner=OWNER):
        played.model.pass_time()
    assert list(played.model.everything) == [Port(id="theirs", name="vip")]


async def test_a_deletion_leaves_nothing_and_needs_no_spec() -> None:
    played = ModelCloud()
    await visited(played, WITH_ALL)
    played.model.pass_time()
    await visited(played, WITH_ALL)
    calls = 0
    while not await delete_instance(cloud_of(played), owner=OWNER):
        played.model.pass_time()
        calls += 1
        assert calls < 5
    assert list(played.model.everything) == []
    assert await instance_status(cloud_of(played), owner=OWNER) is None


async def test_the_status_is_read_without_a_spec() -> None:
    played = ModelCloud()
    await visited(played)
    status = await instance_status(cloud_of(played), owner=OWNER)
    assert status is not None
    assert (status.name, status.state) == ("w", "BUILD")


# Waiting, in virtual time


def in_virtual_time(played: ModelCloud, waiting: Awaitable[Any]) -> Any:
    """At each look, the cloud has come on."""
    played.on_look = played.model.pass_time

    async def wait() -> Any:
        return await waiting

    return run(wait())


def test_waiting_ends_when_the_server_is_active() -> None:
    played = ModelCloud()
    played.failures["create port"] = Unavailable("network", "starting", code=503)
    status = in_virtual_time(played, wait_active(cloud_of(played), WITH_ALL, owner=OWNER, seconds=60))
    assert (status.state, status.ready) == ("ACTIVE", True)
    assert len(played.model.servers) == 1


def test_waiting_ends_when_nothing_is_left() -> None:
    played = ModelCloud()
    in_virtual_time(played, wait_active(cloud_of(played), WITH_ALL, owner=OWNER, seconds=60))
    in_virtual_time(played, wait_deleted(cloud_of(played), owner=OWNER, seconds=60))
    assert list(played.model.everything) == []


def test_waiting_ends_at_the_deadline_and_says_what_is_missing() -> None:
    played = ModelCloud(certain=False)
    played.model.ports["p"] = Port(id="p", name="w-0", description=f"windlass-owner={mark_of_owner(OWNER)}")
    with pytest.raises(TimeoutError, match=r"not ACTIVE after 60 s: waits: the answer to an earlier request"):
        in_virtual_time(played, wait_active(cloud_of(played), SPEC, owner=OWNER, seconds=60))


def test_waiting_ends_at_once_when_somebody_has_to_act() -> None:
    played = ModelCloud(Model({"w-root": 2}))
    with pytest.raises(Halted, match="w-root could not be made, twice"):
        in_virtual_time(played, wait_active(cloud_of(played), WITH_ALL, owner=OWNER, seconds=60))
    played = ModelCloud()
    played.failures["create port"] = Denied("network", "not allowed", code=403)
    with pytest.raises(Denied):
        in_virtual_time(played, wait_active(cloud_of(played), SPEC, owner=OWNER, seconds=60))


def test_waiting_heeds_a_pause_that_the_cloud_asks_for() -> None:
    played = ModelCloud()
    played.failures["create port"] = Unavailable("network", "later", code=503, retry_after=300.0)
    with pytest.raises(TimeoutError, match="later"):
        in_virtual_time(played, wait_active(cloud_of(played), SPEC, owner=OWNER, seconds=60))
