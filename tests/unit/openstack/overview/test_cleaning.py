"""Orphans are deleted, on the model of a cloud."""

from typing import Any

import msgspec
import pytest

from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.marks import described
from windlass.openstack.cloud.wire import Http, Method, Service
from windlass.openstack.overview.cleaning import clean
from windlass.openstack.overview.orphans import Orphan, orphans

from ..clouded import PROJECT, World
from .cases import CLUSTER_MARK, OTHER_MARK, SERVER_MARK


class Project:
    """A project, what somebody has left in it, and time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.world = World()
        self.account: Account

    async def enter(self) -> None:
        clouds: Clouds = self.world.clouds()
        self.account = await clouds.project(Credentials({}, "one"))

    async def ask(self, service: Service, path: str, body: Any = None, *, method: Method = "POST") -> Any:
        wire = self.world.cloud.wire(PROJECT)
        answer = await wire.send(Http(service, method, path, body=body, microversion="2.53"), seconds=30)
        assert answer.status < 300, answer.body
        return next(iter(msgspec.json.decode(answer.body).values()), None) if answer.body else None

    async def neutron(self, kind: str, mark: str = CLUSTER_MARK, **fields: Any) -> str:
        body = {"name": kind, "description": described("", mark) if mark else "", **fields}
        made = await self.ask("network", f"/v2.0/{kind.replace('_', '-')}s", {kind: body})
        return str(made["id"])

    async def cluster(self) -> None:
        """A cluster with all that it can have."""
        public = self.world.cloud.services.external_network()
        network = await self.neutron("network")
        subnet = await self.neutron("subnet", network_id=network, ip_version=4, cidr="10.9.0.0/24")
        router = await self.neutron("router", external_gateway_info={"network_id": public})
        await self.ask("network", f"/v2.0/routers/{router}/add_router_interface", {"subnet_id": subnet}, method="PUT")
        await self.neutron("security_group")
        balancer = {"name": "api", "description": described("", CLUSTER_MARK), "vip_subnet_id": subnet}
        made = await self.ask("load-balancer", "/v2.0/lbaas/loadbalancers", {"loadbalancer": balancer})
        address = {"floating_network_id": public, "port_id": made["vip_port_id"]}
        description = described("", CLUSTER_MARK)
        await self.ask("network", "/v2.0/floatingips", {"floatingip": {**address, "description": description}})

    async def machine(self, mark: str = SERVER_MARK) -> str:
        """A server with a port with a trunk, and a volume that is not attached."""
        port = await self.neutron("port", mark, network_id=self.world.network)
        await self.neutron("trunk", mark, port_id=port)
        metadata = {MARK: mark}
        await self.ask("block-storage", "/volumes", {"volume": {"name": "v", "size": 1, "metadata": metadata}})
        server = {"name": "w", "flavorRef": self.world.flavor, "imageRef": self.world.image, "metadata": metadata}
        made = await self.ask("compute", "/servers", {"server": {**server, "networks": [{"port": port}]}})
        self.world.cloud.pass_time(5)
        return str(made["id"])

    async def found(self, *known: str) -> list[Orphan]:
        return orphans(await self.account.project_inventory(), known)

    async def clean(self, found: list[Orphan], *, seconds: float = 120.0) -> dict[str, str]:
        async def sleep(pause: float) -> None:
            self.world.cloud.pass_time(pause)

        services = self.world.cloud.services
        return await clean(self.account, found, seconds=seconds, clock=lambda: services.now, sleep=sleep)


@pytest.fixture
async def project() -> Project:
    project = Project()
    await project.enter()
    return project


async def test_a_cluster_and_a_machine_go_and_nothing_else(project: Project) -> None:
    before = project.world.held()
    kept = await project.machine(OTHER_MARK)
    owned = project.world.held()
    await project.cluster()
    await project.machine()
    found = await project.found(OTHER_MARK)
    assert {each.kind for each in found} == {
        "server", "port", "trunk", "volume", "network", "subnet", "router", "security group", "floating IP",
        "load balancer",
    }  # fmt: skip
    assert await project.clean(found) == {}
    assert project.world.held() == owned != before
    assert [each.id for each in await project.found() if each.kind == "server"] == [kept]
    assert await project.found(OTHER_MARK) == []


async def test_what_a_cloud_refuses_is_left_with_its_reason_and_all_else_goes(project: Project) -> None:
    await project.machine()
    await project.neutron("security_group")
    refused = {"service": "network", "method": "DELETE", "path": "security-groups", "status": 403}
    project.world.cloud.fault(body=b'{"NeutronError": {"type": "Policy", "message": "not you"}}', **refused)
    found = await project.found()
    left = await project.clean(found)
    assert [each.kind for each in found if each.id in left] == ["security group"]
    (reason,) = left.values()
    assert "not you" in reason
    tried = [each for each in project.world.cloud.requests if (each.method, each.status) == ("DELETE", 403)]
    assert len(tried) == 1


async def test_a_network_that_others_use_is_left_and_they_are_named(project: Project) -> None:
    network = await project.neutron("network")
    await project.neutron("subnet", network_id=network, ip_version=4, cidr="10.9.0.0/24")
    port = await project.neutron("port", "", network_id=network)
    left = await project.clean(await project.found())
    assert network in left
    assert all(f"has ports of others: port ({port})" in reason for reason in left.values()), left


async def test_a_project_is_known_from_one_list_of_each_kind(project: Project) -> None:
    await project.cluster()
    for _ in range(3):
        await project.machine()
    before = len(project.world.cloud.requests)
    await project.account.project_inventory()
    asked = [f"{each.service} {each.path}" for each in project.world.cloud.requests[before:]]
    of_balancer = [each for each in asked if "lbaas" in each and not each.endswith("/loadbalancers")]
    assert len(of_balancer) <= 3
    assert len(asked) - len(of_balancer) == 11


async def test_an_outage_is_waited_for(project: Project) -> None:
    await project.machine()
    found = await project.found()
    project.world.cloud.fault(service="compute", path="/servers", status=503, count=3)
    assert await project.clean(found) == {}


async def test_when_time_is_up_what_is_left_is_said(project: Project) -> None:
    server = await project.machine()
    project.world.cloud.services.destroy = 1000.0
    left = await project.clean(await project.found(), seconds=10.0)
    assert "server w" in left[server]
    assert "is being deleted" in left[server]
