"""The trees of floating IP pools and of Machines of the Machine API."""

from typing import Any

import pytest

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.mapi import Machine
from windlass.api.meta import Condition
from windlass.openstack.cloud.project_inventory import ProjectInventory
from windlass.openstack.cloud.resources import AttachedVolume, FloatingIp, Port, Server, Trunk, Volume
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION
from windlass.openstack.overview.reading import tree_of_machine, tree_of_pool
from windlass.openstack.overview.tree import FOREIGN, GONE, UNRECORDED

from .cases import CLUSTER_MARK, OTHER_MARK, SERVER_MARK, held, outline, present, project_inventory, ready, uuid

BLIND = "the cloud was not asked: Keystone is away"


def floating(number: int, mark: str = "", **fields: Any) -> FloatingIp:
    address = f"203.0.113.{number}"
    made: FloatingIp = held(FloatingIp, number, mark, floating_ip_address=address, status="DOWN", **fields)
    return made


def of_pool(sight: ProjectInventory | str, *users: str, **claims: str) -> list[str]:
    status = {"claims": [{"name": name, "address": address} for name, address in claims.items()]}
    spec = {"preAllocatedFloatingIPs": list(users)}
    pool = present(OpenStackFloatingIPPool, "pool", mark=CLUSTER_MARK, spec=spec, status=status)
    return [line.strip() for line in outline(tree_of_pool(pool, sight))[1:]]


@pytest.mark.parametrize(
    ("there", "users", "claims", "lines"),
    [
        ((), (), {}, []),
        ((floating(1, CLUSTER_MARK),), (), {}, ["floating IP | 203.0.113.1 | DOWN | free"]),
        ((floating(1, CLUSTER_MARK),), (), {"a": "203.0.113.1"}, ["floating IP | 203.0.113.1 | DOWN | claim a"]),
        ((floating(1),), ("203.0.113.1",), {}, ["floating IP | 203.0.113.1 | DOWN | free"]),
        ((), ("203.0.113.1",), {}, [f"floating IP | 203.0.113.1 | - | free | {GONE}"]),
        ((), (), {"a": "203.0.113.1"}, [f"floating IP | 203.0.113.1 | - | claim a | {GONE}"]),
        (
            (floating(1, OTHER_MARK),),
            ("203.0.113.1",),
            {},
            [f"floating IP | 203.0.113.1 | DOWN | free | {FOREIGN}"],
        ),
        (
            (floating(1, port_id="p"),),
            ("203.0.113.1",),
            {},
            ["floating IP | 203.0.113.1 | DOWN | free | no claim has it, and it leads to port p"],
        ),
        (
            (floating(1, CLUSTER_MARK, port_id="p"),),
            (),
            {"a": "203.0.113.1"},
            ["floating IP | 203.0.113.1 | DOWN | claim a"],
        ),
        ((floating(1), floating(2, OTHER_MARK)), (), {}, []),
    ],
    ids=[
        "none",
        "made",
        "given",
        "the user's",
        "the user's is gone",
        "a given one is gone",
        "of another owner",
        "in use by others",
        "in use",
        "strangers",
    ],
)
def test_a_pool_shows_its_floating_ips_and_who_has_them(
    there: tuple[FloatingIp, ...], users: tuple[str, ...], claims: dict[str, str], lines: list[str]
) -> None:
    assert of_pool(project_inventory(*there), *users, **claims) == lines


def test_a_pool_shows_what_the_user_gave_first_and_each_address_once() -> None:
    sight = project_inventory(floating(3, CLUSTER_MARK), floating(2, CLUSTER_MARK), floating(1))
    shown = of_pool(sight, "203.0.113.1", a="203.0.113.2", b="203.0.113.1")
    assert [line.split(" | ")[1] for line in shown] == ["203.0.113.1", "203.0.113.2", "203.0.113.3"]


def test_without_an_answer_of_the_cloud_a_pool_shows_what_it_names() -> None:
    pool = present(OpenStackFloatingIPPool, "pool", spec={"preAllocatedFloatingIPs": ["203.0.113.1"]})
    assert outline(tree_of_pool(pool, "Keystone is away")) == [
        f"OpenStackFloatingIPPool | prod/pool | {BLIND}",
        "  floating IP | 203.0.113.1 | Unknown | free",
    ]


def machine(*, server: int = 0, mark: str = SERVER_MARK, authority: str = "MachineAPI", **status: Any) -> Any:
    annotations = {MACHINE_MARK_ANNOTATION: mark} if mark else {}
    spec = {"providerID": f"openstack:///{uuid(server)}"} if server else {}
    told = {"phase": "Running", "authoritativeAPI": authority, **status}
    return present(Machine, "w", metadata={"annotations": annotations}, spec=spec, status=told)


def of_machine(found: Any, *resources: Any) -> list[str]:
    return [line.strip() for line in outline(tree_of_machine(found, project_inventory(*resources)))]


INSTANCE = held(Server, 11, SERVER_MARK, name="w", status="ACTIVE", volumes=[AttachedVolume(uuid(13))])
PORT = held(Port, 12, SERVER_MARK, name="w-0", status="ACTIVE", device_id=uuid(11))
VOLUME = held(Volume, 13, SERVER_MARK, name="w-root", status="in-use")
TRUNK = held(Trunk, 14, SERVER_MARK, name="w-0", port_id=uuid(12))
ADDRESS = floating(15, port_id=uuid(12))


def test_a_machine_shows_its_server_with_all_that_hangs_on_it() -> None:
    assert outline(tree_of_machine(machine(server=11), project_inventory(INSTANCE, PORT, VOLUME, TRUNK, ADDRESS))) == [
        "Machine | prod/w | Running",
        "  server | w | ACTIVE",
        "  volume | w-root | in-use",
        "  port | w-0 | ACTIVE",
        "    trunk | w-0 | -",
        "    floating IP | 203.0.113.15 | DOWN",
    ]


def unmarked(kind: type[Any], number: int, **fields: Any) -> Any:
    return held(kind, number, **fields)


@pytest.mark.parametrize(
    ("found", "resources", "lines"),
    [
        (machine(), (), []),
        (machine(server=11), (), [f"server | {uuid(11)} | - | {GONE}"]),
        (machine(), (INSTANCE,), [f"server | w | ACTIVE | {UNRECORDED}"]),
        (machine(), (held(Port, 12, SERVER_MARK, name="w-0"), VOLUME), ["volume | w-root | in-use", "port | w-0 | -"]),
        (
            machine(server=11, mark=""),
            (
                unmarked(Server, 11, name="w", status="BUILD", volumes=[AttachedVolume(uuid(13))]),
                unmarked(Port, 12, device_id=uuid(11), name="w-0", status="DOWN"),
                unmarked(Port, 22, device_id=uuid(99), name="x"),
                unmarked(Volume, 13, name="data", status="in-use"),
                unmarked(Volume, 23, name="y"),
            ),
            ["server | w | BUILD", "volume | data | in-use", "port | w-0 | DOWN"],
        ),
        (machine(mark=""), (unmarked(Port, 12, name="of nobody"),), []),
        (
            machine(server=11),
            (held(Server, 11, OTHER_MARK, name="w", status="ACTIVE"),),
            [f"server | w | ACTIVE | {FOREIGN}"],
        ),
    ],
    ids=["nothing yet", "gone", "unrecorded", "being made", "of another controller", "no marks", "foreign"],
)
def test_what_a_machine_has_is_known_by_provider_id_and_mark(found: Any, resources: Any, lines: list[str]) -> None:
    assert of_machine(found, *resources) == ["Machine | prod/w | Running", *lines]


@pytest.mark.parametrize("authority", ["ClusterAPI", "Migrating"])
def test_under_another_authority_the_server_is_shown_with_its_openstackmachine(authority: str) -> None:
    found = machine(server=11, authority=authority)
    assert of_machine(found, INSTANCE, PORT) == [f"Machine | prod/w | Running | the authority is {authority}"]


def test_without_an_answer_of_the_cloud_a_machine_shows_its_provider_id() -> None:
    assert outline(tree_of_machine(machine(server=11), "Keystone is away")) == [
        f"Machine | prod/w | Running | {BLIND}",
        f"  server | {uuid(11)} | Unknown",
    ]


def test_ready_of_a_machine_is_told_as_that_of_all_objects() -> None:
    told = ready("False", "InstanceNotReady", "Wait")
    told["conditions"][0] |= {"severity": "Warning", "lastTransitionTime": "2026-11-24T04:00:00Z"}
    assert tree_of_machine(machine(**told), project_inventory()).ready == Condition(
        type="Ready",
        status="False",
        reason="InstanceNotReady",
        message="Wait",
        last_transition_time="2026-11-24T04:00:00Z",
    )
