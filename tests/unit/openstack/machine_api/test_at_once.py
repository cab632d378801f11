"""Two Machines that name one server, at work at the same moment, on the models of the API server and the cloud."""

from random import Random
from typing import Any

import pytest

from tests.unit.openstack.clouded import NAMESPACE, PROJECT, Process
from tests.unit.openstack.crossing import crossing, together
from tests.unit.openstack.machine_api.cases import Fleet, floating_ip, machine
from tests.unit.openstack.machine_api.lives import Life, change, delete, deletions, of, says
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION

NAMES = ("x", "y")


class Worker(Life):
    """One of several workers of a process."""

    def __init__(self, world: Fleet, name: str, clouds: Clouds) -> None:
        Process.__init__(self, world, clouds=clouds)
        self.key = (NAMESPACE, name)


def named_by_both() -> Fleet:
    """A person has made the server."""
    world = Fleet()

    def ask(service: Any, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(world.cloud.services.handle(PROJECT, Http(service, "POST", path, body=body))[1])

    port = ask("network", "/v2.0/ports", {"port": {"network_id": world.network, "name": "of-a-person"}})["port"]["id"]
    body = {"name": "of-a-person", "flavorRef": world.flavor, "networks": [{"port": port}]}
    made = ask("compute", "/servers", {"server": body})["server"]["id"]
    world.cloud.pass_time(5)
    for name in NAMES:
        tree = machine(world, meta={"name": name})
        world.api.load({**tree, "spec": {**tree["spec"], "providerID": f"openstack:///{made}"}})
    return world


@pytest.mark.parametrize("order", range(6))
async def test_one_has_the_server_with_its_port_and_the_other_makes_its_own_once_its_remedy_is_followed(
    order: int,
) -> None:
    world = named_by_both()
    (had,) = world.cloud.services.servers
    clouds = crossing(world, Random(order))
    await together(*(Worker(world, name, clouds) for name in NAMES))
    keeper, loser = sorted(NAMES, key=lambda name: says(of(world, name))[0] != "Ready")
    assert says(of(world, keeper))[0] == "Ready"
    reason, message = says(of(world, loser))
    assert (reason, f"server {had} belongs to Machine {NAMESPACE}/{keeper}" in message) == ("OwnedByAnother", True)
    assert world.held() == {"servers": 1, "ports": 1}
    mark = of(world, keeper)["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    assert [each["description"] for each in world.cloud.services.ports.values()] == [f"windlass-owner={mark}"]
    await change(world, loser, {"spec": {"providerID": None}})
    await Life(world, loser).settle()
    assert says(of(world, loser))[0] == "Ready"
    assert world.held() == {"servers": 2, "ports": 2}
    await delete(world, loser)
    assert list(world.cloud.services.servers) == [had]
    assert not any(had in each for each in deletions(world))
    await delete(world, keeper)
    assert world.held() == {}


@pytest.mark.parametrize("order", range(6))
async def test_of_two_that_ask_for_one_floating_ip_the_first_has_it_and_it_is_never_led_away_from_there(
    order: int,
) -> None:
    world = Fleet()
    address = floating_ip(world)["floating_ip_address"]
    for name in NAMES:
        world.api.load(machine(world, meta={"name": name}))
        await Life(world, name).settle()
        await change(world, name, {"spec": {"providerSpec": {"value": {"floatingIP": address}}}})
    clouds = crossing(world, Random(order))
    await together(*(Worker(world, name, clouds) for name in NAMES))
    led = [each.path for each in world.cloud.requests if each.method == "PUT" and "/floatingips/" in each.path]
    assert len(led) == 1, "the second one sees that it leads to the first"
    assert says(of(world, NAMES[0]))[0] == says(of(world, NAMES[1]))[0] == "Ready"
