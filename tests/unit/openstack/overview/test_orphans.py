"""Which resources are orphans, and in which order they are deleted."""

from datetime import UTC, datetime, timedelta

import pytest

from windlass.openstack.cloud.inventory import ServerInventory
from windlass.openstack.cloud.network_inventory import Balancer, NetworkInventory
from windlass.openstack.cloud.resources import Attachment, FloatingIp, LoadBalancer, Network, Port, Server, Volume
from windlass.openstack.create import mark_of_owner
from windlass.openstack.overview.orphans import Orphan, is_young, next_requests, orphans, still_there

from .cases import CLUSTER_MARK, OTHER_MARK, SERVER_MARK, held, project_inventory, uuid

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)

SERVER = held(Server, 1, SERVER_MARK, name="w", status="ACTIVE", created="2026-11-23T09:00:00Z")
PORT = held(Port, 2, SERVER_MARK, name="w-0", created_at="2026-11-23T08:59:00Z")


def test_what_has_a_mark_that_no_object_has_is_an_orphan() -> None:
    found = orphans(project_inventory(SERVER, PORT, held(Volume, 3, OTHER_MARK), held(Network, 4)), {OTHER_MARK})
    assert found == [
        Orphan("server", "w", uuid(1), SERVER_MARK, "2026-11-23T09:00:00Z"),
        Orphan("port", "w-0", uuid(2), SERVER_MARK, "2026-11-23T08:59:00Z"),
    ]


def test_all_services_times_of_creation_have_a_zone() -> None:
    """Cinder and Octavia leave it out."""
    found = orphans(
        project_inventory(
            held(Volume, 1, SERVER_MARK, created_at="2026-11-23T09:00:00.000000"),
            held(LoadBalancer, 2, SERVER_MARK, created_at="2026-11-23T10:00:00"),
            held(Network, 3, SERVER_MARK, created_at="2026-11-23T08:00:00Z"),
            held(FloatingIp, 4, SERVER_MARK),
        ),
        (),
    )
    times = ["2026-11-23T09:00:00Z", "2026-11-23T10:00:00Z", "2026-11-23T08:00:00Z", ""]
    assert [each.created for each in found] == times
    assert not is_young(found[:3], NOW)


def test_if_an_object_names_one_resource_nothing_of_its_mark_is_an_orphan() -> None:
    assert orphans(project_inventory(SERVER, PORT), {PORT.id}) == []


@pytest.mark.parametrize("mark", [mark_of_owner("fleet-7/w-0"), "somebody", "0" * 32])
def test_what_a_program_has_marked_is_never_an_orphan(mark: str) -> None:
    assert orphans(project_inventory(held(Server, 1, mark)), ()) == []


@pytest.mark.parametrize(
    ("times", "young"),
    [
        (["2026-11-23T11:00:01Z"], True),
        (["2026-11-23T11:00:00Z"], False),
        (["2026-11-20T11:00:00Z", "2026-11-23T11:30:00Z"], True),
        (["2026-11-23T10:00:00Z", ""], True),
    ],
)
def test_a_mark_is_young_if_it_was_used_in_the_last_hour_or_nobody_knows(times: list[str], young: bool) -> None:
    assert is_young([Orphan("port", "", "", "", each) for each in times], NOW) is young
    assert timedelta(hours=1) == NOW - datetime(2026, 11, 23, 11, tzinfo=UTC)


def test_what_is_gone_or_has_lost_its_mark_is_not_left() -> None:
    found = orphans(project_inventory(SERVER, PORT), ())
    assert still_there(project_inventory(held(Server, 1, OTHER_MARK), PORT), found) == [found[1]]


BALANCER = held(LoadBalancer, 10, CLUSTER_MARK, name="api", provisioning_status="ACTIVE")
NETWORK = held(Network, 22, CLUSTER_MARK, name="net")
WORKER = held(Server, 1, CLUSTER_MARK, name="w", status="ACTIVE")
GOING = held(Server, 1, CLUSTER_MARK, name="w", status="ACTIVE", task_state="deleting")
VOLUME = held(Volume, 4, CLUSTER_MARK, name="v", status="in-use", attachments=[Attachment("other")])
USED = Port(id=uuid(5), name="p", network_id=uuid(22), device_owner="compute:nova", device_id="s")


@pytest.mark.parametrize(
    ("inventory", "network", "sent", "waits", "stuck"),
    [
        (ServerInventory(servers=(WORKER,)), NetworkInventory(networks=(NETWORK,)), ["delete server w"], "", ""),
        (
            ServerInventory(servers=(GOING,)),
            NetworkInventory(balancers=(Balancer(BALANCER),)),
            [],
            f"server w ({uuid(1)}) is being deleted",
            "",
        ),
        (ServerInventory(), NetworkInventory(balancers=(Balancer(BALANCER),)), ["delete load balancer api"], "", ""),
        (
            ServerInventory(volumes=(VOLUME,)),
            NetworkInventory(networks=(NETWORK,)),
            ["delete network net"],
            "",
            f"volume v ({uuid(4)}) stays: it is attached to server other",
        ),
        (
            ServerInventory(),
            NetworkInventory(networks=(NETWORK,), ports=(USED,)),
            [],
            "",
            f"the network of the cluster has ports of others: p ({uuid(5)}) of compute:nova s. Delete them",
        ),
        (ServerInventory(), NetworkInventory(), [], "", ""),
    ],
    ids=["servers first", "going", "then the rest", "volume in use", "network in use", "nothing"],
)
def test_orphans_go_as_their_owners_would_delete_them(
    inventory: ServerInventory, network: NetworkInventory, sent: list[str], waits: str, stuck: str
) -> None:
    following = next_requests(inventory, network, project="key", mark=CLUSTER_MARK)
    assert [f"{each.verb} {each.subject}" for each in following.requests] == sent
    assert (following.waits, following.stuck) == (waits, stuck)
    assert {each.mark for each in following.requests} <= {CLUSTER_MARK}
