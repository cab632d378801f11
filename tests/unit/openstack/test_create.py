"""`create_instance` on a model of a cloud, in virtual time: repeated, interrupted, with answers that are lost."""

import asyncio
import base64
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.openstack.clouded import no_answer
from tests.waiting import until
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import Denied, Missing, NotSent, Unavailable
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.query import Query
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
from windlass.testing.memory_cloud import MemoryCloud, MemoryWire, Reply

SPEC = InstanceSpec(
    name="w",
    image=Query("image", filters=(("name", "rhcos"),)),
    flavor=Query("flavor", filters=(("name", "m1.small"),)),
    network=Query("network", filters=(("name", "lan"),)),
)
WITH_ALL = replace(
    SPEC, ports=(PortSpec(), PortSpec(trunk=True)), tags=("a",), root=VolumeSpec(name="root", size=1), config_drive=True
)
OWNER = "fleet-7/w"
ALL = {"servers": 1, "ports": 2, "trunks": 1, "volumes": 1}
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


class PlayedCloud(MemoryCloud):
    """The model in the time of the loop."""

    def __init__(self) -> None:
        super().__init__(no_answer=no_answer)
        self.services.image("rhcos")
        self.services.flavor("m1.small")
        self.services.network("lan")
        self.late = "nothing"
        """The port that is made 20 seconds after it was asked for."""

    def answer(self, project: str, asked: Any) -> Reply:
        self.services.now = asyncio.get_running_loop().time()
        return super().answer(project, asked)

    async def process(self) -> Cloud:
        """A process that has just started."""
        clock = asyncio.get_running_loop().time
        clouds = Clouds(
            wire=lambda _: SlowWire(self, "project"), clock=clock, now=lambda: EPOCH + timedelta(seconds=clock())
        )
        clouds.begin_term()
        return Cloud(clouds, await clouds.project(Credentials({}, "one")))

    @property
    def held(self) -> dict[str, int]:
        self.services.now = asyncio.get_running_loop().time()
        return dict(self.services.held("project"))

    @property
    def posts(self) -> list[str]:
        """What was created, also where the answer was lost; refused requests are left out."""
        return [each.path.rsplit("/", 1)[-1] for each in self.requests if each.method == "POST" and each.status < 300]

    def port(self, **state: Any) -> str:
        """A port that somebody else has made."""
        [network] = self.services.networks
        body = {"port": {"name": "w-0", "network_id": network, **state}}
        _, answer = self.services.handle("project", _Post("network", "/v2.0/ports", body))
        return str(answer["port"]["id"])


class _Post:
    method, query = "POST", ()

    def __init__(self, service: str, path: str, body: dict[str, Any]) -> None:
        self.service, self.path, self.body = service, path, body


class SlowWire(MemoryWire, frozen=True):
    """A refusal comes before the answers to requests that were sent together with it."""

    cloud: PlayedCloud

    async def send(self, request: Any, /, *, seconds: float, agent: str = "") -> Reply:
        if (request.body or {}).get("port", {}).get("name") == self.cloud.late:
            await asyncio.sleep(20)
        reply = await super().send(request, seconds=seconds, agent=agent)
        await asyncio.sleep(0.2 if reply.status < 300 else 0)
        return reply


@pytest.fixture
def cloud() -> PlayedCloud:
    return PlayedCloud()


def virtual(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test in virtual time."""

    @wraps(test)
    def in_virtual_time(**arguments: Any) -> None:
        run(test(**arguments))

    return in_virtual_time


async def visit(process: Cloud, spec: InstanceSpec = SPEC, **more: Any) -> tuple[str, bool]:
    status = await create_instance(process, spec, owner=OWNER, **more)
    return status.state, status.building


@virtual
async def test_a_call_makes_what_can_be_made_and_another_one_reports(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    assert await visit(process) == ("", True)
    assert cloud.posts == ["ports", "servers"]
    await asyncio.sleep(2)
    status = await create_instance(process, SPEC, owner=OWNER)
    assert (status.state, status.ready, status.building) == ("ACTIVE", True, False)
    assert [(each.type, bool(each.address)) for each in status.addresses] == [
        ("InternalIP", True),
        ("InternalDNS", True),
    ]
    assert status.id in cloud.services.servers
    assert cloud.posts == ["ports", "servers"]


@virtual
async def test_a_call_does_not_wait_for_volumes(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    status = await create_instance(process, WITH_ALL, owner=OWNER)
    assert (status.id, status.building) == ("", True)
    assert "volume w-root" in status.message
    assert "is creating" in status.message
    assert "servers" not in cloud.posts
    await asyncio.sleep(2)
    status = await create_instance(process, WITH_ALL, owner=OWNER)
    assert status.id
    assert cloud.held == ALL
    assert [port["tags"] for port in cloud.services.ports.values()] == [["a"], ["a"]]


@virtual
async def test_two_owners_have_two_servers_of_one_name(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    for owner in ("one", "two"):
        await create_instance(process, SPEC, owner=owner)
    marks = [server["metadata"][MARK] for server in cloud.services.servers.values()]
    assert marks == [mark_of_owner("one"), mark_of_owner("two")]


@virtual
async def test_user_data_is_sent_in_base64(cloud: PlayedCloud) -> None:
    await visit(await cloud.process(), user_data="#cloud-config")
    [server] = cloud.services.servers.values()
    assert base64.b64decode(server["body"]["server"]["user_data"]) == b"#cloud-config"


@pytest.mark.parametrize("path", ["/ports$", "/trunks$", "/volumes$", "/servers$"])
@virtual
async def test_a_lost_answer_makes_nothing_twice(cloud: PlayedCloud, path: str) -> None:
    process = await cloud.process()
    lost = cloud.fault(method="POST", path=path, status=503, after=True)
    await wait_active(process, WITH_ALL, owner=OWNER, seconds=60)
    assert lost.hits == 1
    assert sorted(cloud.posts) == ["ports", "ports", "servers", "trunks", "volumes"]
    assert cloud.held == ALL
    assert await visit(process, WITH_ALL) == ("ACTIVE", False)


@virtual
async def test_a_process_that_dies_leaves_nothing_that_the_next_one_makes_again(cloud: PlayedCloud) -> None:
    await visit(await cloud.process(), WITH_ALL)
    await asyncio.sleep(2)
    status = await create_instance(await cloud.process(), WITH_ALL, owner=OWNER)
    assert "an earlier request" in status.message
    await wait_active(await cloud.process(), WITH_ALL, owner=OWNER, seconds=60)
    assert cloud.held == ALL
    assert len(cloud.posts) == 5


@virtual
async def test_a_server_may_be_under_way_if_its_port_is_there(cloud: PlayedCloud) -> None:
    cloud.port(description=f"windlass-owner={mark_of_owner(OWNER)}")
    process = await cloud.process()
    assert await visit(process) == ("", True)
    assert cloud.posts == []
    await asyncio.sleep(40)
    await visit(process)
    assert cloud.posts == ["servers"]


@virtual
async def test_what_a_cancelled_call_has_made_is_taken(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    call = asyncio.create_task(visit(process))
    await until(lambda: cloud.posts)
    call.cancel()
    await asyncio.wait([call])
    status = await create_instance(process, SPEC, owner=OWNER)
    assert status.building
    assert cloud.posts == ["ports", "servers"]
    await wait_active(process, SPEC, owner=OWNER, seconds=60)
    assert cloud.posts == ["ports", "servers"]


@virtual
async def test_what_a_cancelled_call_has_sent_may_still_arrive(cloud: PlayedCloud) -> None:
    process, spec = await cloud.process(), replace(SPEC, ports=(PortSpec(), PortSpec()))
    cloud.late = "w-1"
    call = asyncio.create_task(create_instance(process, spec, owner=OWNER))
    await asyncio.sleep(5)
    call.cancel()
    await asyncio.wait([call])
    assert cloud.posts == ["ports"]
    cloud.late = "nothing"
    status = await create_instance(process, spec, owner=OWNER)
    assert "an earlier request" in status.message
    assert cloud.posts == ["ports"]
    await wait_active(process, spec, owner=OWNER, seconds=60)
    assert cloud.posts == ["ports", "ports", "servers"]


@virtual
async def test_a_refusal_is_raised_after_all_requests_have_ended(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    cloud.fault(method="POST", path="/ports$", status=403, body=b'{"NeutronError": {"message": "not allowed"}}')
    with pytest.raises(Denied, match="not allowed"):
        await visit(process, WITH_ALL)
    assert sorted(cloud.posts) == ["ports", "volumes"]
    inventory = await process.project.look(mark_of_owner(OWNER), services=["block-storage"])
    assert (len(inventory.ports), len(inventory.volumes)) == (1, 1)


@virtual
async def test_ports_of_the_caller_may_have_a_server_already_under_way(cloud: PlayedCloud) -> None:
    port = cloud.port()
    assert await visit(await cloud.process(), ports=[port]) == ("", True)
    assert cloud.posts == []


@virtual
async def test_ports_of_the_caller_are_used_and_stay(cloud: PlayedCloud) -> None:
    port = cloud.port()
    process = await cloud.process()
    await asyncio.sleep(40)
    await visit(process, ports=[port])
    assert cloud.services.ports[port]["device_id"]
    await wait_deleted(process, owner=OWNER, seconds=60)
    assert cloud.held == {"ports": 1}


@virtual
async def test_a_spec_that_cannot_be_resolved_names_its_fields(cloud: PlayedCloud) -> None:
    cloud.services.images.clear()
    process = await cloud.process()
    with pytest.raises(Unresolvable, match=r"image: no image matches .*\nports\[0\].network: "):
        await visit(process, replace(SPEC, network=None))
    assert cloud.posts == []


@virtual
async def test_an_image_that_is_not_uploaded_yet_is_named_as_such(cloud: PlayedCloud) -> None:
    cloud.services.images.clear()
    cloud.services.image("rhcos", status="queued")
    process = await cloud.process()
    with pytest.raises(Unresolvable, match=r"image \(name rhcos\) is queued, not active"):
        await visit(process)


@pytest.mark.parametrize("status", [200, 503], ids=["the image is deleted", "Glance is down"])
@virtual
async def test_a_server_that_exists_is_reported_without_its_image(cloud: PlayedCloud, status: int) -> None:
    await visit(await cloud.process())
    cloud.fault(path="/images", status=status, body=b'{"images": []}', count=9)
    assert await visit(await cloud.process()) == ("BUILD", True)


@virtual
async def test_a_question_that_fails_is_raised(cloud: PlayedCloud) -> None:
    cloud.fault(path="/images", status=503, count=9)
    process = await cloud.process()
    with pytest.raises(Unavailable):
        await visit(process)


@virtual
async def test_a_known_server_that_is_gone_is_not_made_again(cloud: PlayedCloud) -> None:
    status = await create_instance(await cloud.process(), SPEC, owner=OWNER, server_id="gone")
    assert (status.state, status.ready, status.building) == ("DELETED", False, False)
    assert cloud.posts == []


@virtual
async def test_a_deletion_needs_no_spec_and_leaves_nothing(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    await wait_active(process, WITH_ALL, owner=OWNER, seconds=60)
    assert not await delete_instance(process, owner=OWNER)
    await wait_deleted(process, owner=OWNER, seconds=60)
    assert cloud.held == {}
    assert await instance_status(process, owner=OWNER) is None
    assert await delete_instance(process, owner=OWNER)


@virtual
async def test_a_deletion_in_a_new_process_ends_when_nothing_can_arrive_any_more(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    assert not await delete_instance(process, owner=OWNER)
    cloud.port(description=f"windlass-owner={mark_of_owner(OWNER)}")  # arrives late
    await wait_deleted(process, owner=OWNER, seconds=60)
    assert cloud.held == {}
    assert asyncio.get_running_loop().time() > 30


@virtual
async def test_the_status_is_read_without_a_spec(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    await visit(process)
    await asyncio.sleep(0.5)
    status = await instance_status(process, owner=OWNER)
    assert status is not None
    assert (status.name, status.state) == ("w", "BUILD")


@virtual
async def test_waiting_ends_when_the_server_is_active(cloud: PlayedCloud) -> None:
    cloud.fault(method="POST", path="/ports$", status=503)
    status = await wait_active(await cloud.process(), WITH_ALL, owner=OWNER, seconds=60)
    assert (status.state, status.ready) == ("ACTIVE", True)
    assert cloud.held == ALL


@virtual
async def test_waiting_ends_at_a_state_that_stays(cloud: PlayedCloud) -> None:
    cloud.services.flavor("huge", fits=False)
    spec = replace(SPEC, flavor=Query("flavor", filters=(("name", "huge"),)))
    status = await wait_active(await cloud.process(), spec, owner=OWNER, seconds=60)
    assert (status.state, status.ready) == ("ERROR", False)
    assert "No valid host" in status.message


@virtual
async def test_waiting_ends_at_the_deadline_and_says_what_is_missing(cloud: PlayedCloud) -> None:
    cloud.services.spawn = 1000
    process = await cloud.process()
    with pytest.raises(TimeoutError, match=r"w is not ACTIVE after 60 s: Instance is building"):
        await wait_active(process, SPEC, owner=OWNER, seconds=60)


@virtual
async def test_waiting_ends_at_once_when_somebody_has_to_act(cloud: PlayedCloud) -> None:
    process = await cloud.process()
    broken = replace(SPEC, root=VolumeSpec(name="root", size=1), name="fail")
    with pytest.raises(Halted, match="fail-root could not be made, twice"):
        await wait_active(process, broken, owner=OWNER, seconds=60)
    nowhere = replace(SPEC, network=Query("network", id="nowhere"))
    with pytest.raises(Missing, match="nowhere"):
        await wait_active(process, nowhere, owner="another", seconds=60)


@virtual
async def test_waiting_heeds_a_pause_that_the_cloud_asks_for(cloud: PlayedCloud) -> None:
    cloud.fault(method="POST", path="/ports$", status=429, headers={"retry-after": "20"})
    process = await cloud.process()
    with pytest.raises(TimeoutError, match="429"):
        await wait_active(process, SPEC, owner=OWNER, seconds=10)
    with pytest.raises(NotSent):
        await visit(process)
    await wait_active(process, SPEC, owner=OWNER, seconds=60)
    assert asyncio.get_running_loop().time() >= 20
