"""What comes next for a server, row by row: what is sent, what is waited for, what cannot go on."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.inventory import MARK, Recorded, ServerInventory
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.requests import CreateServer, Describe, Intent, SetTags
from windlass.openstack.cloud.resources import Attachment, Port, Server, Trunk, Volume
from windlass.openstack.instance.next import USER_DATA_LIMIT, needs_extensions, next_step
from windlass.openstack.instance.spec import InstanceSpec, PortSpec, Resolved, ResolvedPort, ResolvedVolume, VolumeSpec
from windlass.openstack.instance.step import Await, Send, Standing, Step, Stuck, Vanished

TAGGING = frozenset({"standard-attr-tag", "trunk"})
SPEC = InstanceSpec(name="w", image=Query("image", id="i"), flavor=Query("flavor", id="f"))
RESOLVED = Resolved(image_id="i", flavor_id="f", ports=(ResolvedPort(name="w-0", network_id="lan"),))
TWO = replace(SPEC, ports=(PortSpec(), PortSpec()))
TWO_PORTS = replace(RESOLVED, ports=(*RESOLVED.ports, ResolvedPort(name="w-1", network_id="lan")))
TAGGED = replace(RESOLVED, ports=(ResolvedPort(name="w-0", network_id="lan", tags=("a", "b"), trunk=True),))
WITH_ROOT = replace(SPEC, root=VolumeSpec(name="root", size=20))
ROOT = replace(RESOLVED, volumes=(ResolvedVolume(name="w-root", size=20),))

OURS, THEIRS, NOBODYS = {MARK: "m"}, {MARK: "x"}, dict[str, str]()
DESCRIBED = "windlass-owner=m"
PORT = Port(id="p0", name="w-0", description=DESCRIBED)
PORT1 = Port(id="p1", name="w-1", description=DESCRIBED)
TRUNK = Trunk(id="t0", name="w-0", port_id="p0", description=DESCRIBED)
SERVER = Server(id="s", name="w", status="ACTIVE", metadata=OURS)
VOLUME = Volume(id="v", name="w-root", status="available", metadata=OURS)
BROKEN = replace(VOLUME, id="b", status="error")


def step(
    inventory: ServerInventory,
    *,
    spec: InstanceSpec = SPEC,
    resolved: Resolved = RESOLVED,
    recorded: Recorded | None = None,
    extensions: frozenset[str] = TAGGING,
    user_data: str = "",
) -> Step:
    return next_step(
        spec,
        resolved,
        inventory,
        recorded=recorded or Recorded(),
        project="p",
        intent=Intent("m"),
        extensions=extensions,
        user_data=user_data,
    )


def sent(found: Step) -> list[str]:
    assert isinstance(found, Send), found
    assert all(each.project == "p" and each.mark == "m" for each in found.requests)
    return [f"{each.verb} {getattr(each, 'id', '') or each.subject}" for each in found.requests]


def inv(**resources: Any) -> ServerInventory:
    return ServerInventory(**resources)


@pytest.mark.parametrize(
    ("spec", "resolved", "inventory", "requests"),
    [
        pytest.param(SPEC, RESOLVED, inv(), ["create port w-0"], id="nothing there"),
        pytest.param(TWO, TWO_PORTS, inv(), ["create port w-0", "create port w-1"], id="ports at the same time"),
        pytest.param(TWO, TWO_PORTS, inv(ports=(PORT1,)), ["create port w-0"], id="the missing port"),
        pytest.param(
            WITH_ROOT, ROOT, inv(), ["create port w-0", "create volume w-root"], id="volumes and ports together"
        ),
        pytest.param(SPEC, RESOLVED, inv(ports=(PORT,)), ["create server w"], id="the port is there"),
        pytest.param(
            WITH_ROOT,
            ROOT,
            inv(ports=(PORT,), volumes=(VOLUME,)),
            ["create server w"],
            id="volume and port are there",
        ),
        pytest.param(
            SPEC, TAGGED, inv(ports=(PORT,)), ["set tags p0", "create trunk w-0"], id="tags and trunk of a new port"
        ),
        pytest.param(
            SPEC,
            TAGGED,
            inv(ports=(PORT,), trunks=(TRUNK,)),
            ["set tags p0", "set tags t0", "create server w"],
            id="tags go beside the server",
        ),
        pytest.param(
            SPEC,
            TAGGED,
            inv(ports=(replace(PORT, tags=["b", "a"]),), trunks=(replace(TRUNK, tags=["a", "b"]),)),
            ["create server w"],
            id="both are there",
        ),
        pytest.param(
            SPEC,
            TAGGED,
            inv(ports=(replace(PORT, tags=["a", "b"], trunk_details={"trunk_id": "t0", "sub_ports": []}),)),
            ["create server w"],
            id="the port tells of its trunk",
        ),
        pytest.param(
            WITH_ROOT, ROOT, inv(ports=(PORT,), volumes=(BROKEN,)), ["create volume w-root"], id="a broken volume, once"
        ),
        pytest.param(
            WITH_ROOT,
            ROOT,
            inv(ports=(PORT,), volumes=(BROKEN, VOLUME)),
            ["delete volume b", "create server w"],
            id="the replacement works",
        ),
        pytest.param(
            WITH_ROOT,
            ROOT,
            inv(ports=(PORT,), volumes=(replace(VOLUME, id="d", status="deleting"),)),
            ["create volume w-root"],
            id="a volume that goes is none",
        ),
        pytest.param(
            SPEC,
            RESOLVED,
            inv(ports=(PORT, replace(PORT, id="late"))),
            ["delete port late", "create server w"],
            id="the older port stays",
        ),
        pytest.param(
            SPEC,
            RESOLVED,
            inv(servers=(SERVER, replace(SERVER, id="late")), ports=(PORT,)),
            ["delete server late"],
            id="the older server stays",
        ),
        pytest.param(
            SPEC,
            RESOLVED,
            inv(servers=(SERVER,), ports=(replace(PORT, id="idle"), replace(PORT, device_id="s"))),
            ["delete port idle"],
            id="the port of the server stays",
        ),
        pytest.param(
            SPEC,
            RESOLVED,
            inv(ports=(replace(PORT, device_id="s"), replace(PORT, id="used", device_id="s2"))),
            ["create server w"],
            id="a port that a server has is not surplus",
        ),
        pytest.param(
            SPEC,
            TAGGED,
            inv(servers=(SERVER,), ports=(PORT,), trunks=(TRUNK,)),
            ["set tags p0", "set tags t0"],
            id="tags of a server that exists",
        ),
    ],
)
def test_sent_next(spec: InstanceSpec, resolved: Resolved, inventory: ServerInventory, requests: list[str]) -> None:
    assert sent(step(inventory, spec=spec, resolved=resolved)) == requests


@pytest.mark.parametrize(
    ("resolved", "inventory"),
    [
        pytest.param(RESOLVED, inv(servers=(SERVER,), ports=(PORT,)), id="all there"),
        pytest.param(TWO_PORTS, inv(servers=(SERVER,)), id="ports are not made again for a server"),
        pytest.param(ROOT, inv(servers=(SERVER,)), id="nor are volumes"),
        pytest.param(TAGGED, inv(servers=(SERVER,), ports=(replace(PORT, tags=["a", "b"]),)), id="nor are trunks"),
        pytest.param(
            RESOLVED,
            inv(servers=(SERVER,), ports=(replace(PORT, tags=["x"]),), trunks=(replace(TRUNK, tags=["y"]),)),
            id="no tags wanted: left alone",
        ),
        pytest.param(
            RESOLVED,
            inv(servers=(SERVER, replace(SERVER, id="late", task_state="deleting"))),
            id="a second server goes already",
        ),
        pytest.param(RESOLVED, inv(servers=(SERVER,), certain=False), id="whatever may still arrive"),
    ],
)
def test_it_stands(resolved: Resolved, inventory: ServerInventory) -> None:
    assert step(inventory, resolved=resolved) == Standing(SERVER)


def test_without_the_extension_no_tags_are_set() -> None:
    assert sent(step(inv(ports=(PORT,), trunks=(TRUNK,)), resolved=TAGGED, extensions=frozenset())) == [
        "create server w"
    ]


@pytest.mark.parametrize(
    ("port", "needed"),
    [
        ({}, False),
        ({"trunk": True}, False),
        ({"tags": ("a",)}, True),
        ({"trusted": True}, True),
    ],
)
def test_extensions_are_needed_before_a_port_with_tags_or_trust_is_made(port: dict[str, Any], needed: bool) -> None:
    resolved = replace(RESOLVED, ports=(ResolvedPort(name="w-0", network_id="lan", **port),))
    assert needs_extensions(resolved) is needed


@pytest.mark.parametrize(
    ("inventory", "what"),
    [
        pytest.param(
            inv(volumes=(replace(VOLUME, status="creating"),)), "volume w-root (v) is creating", id="creating"
        ),
        pytest.param(
            inv(volumes=(BROKEN, replace(VOLUME, status="downloading"))), "volume w-root (v) is downloading", id="again"
        ),
        pytest.param(
            inv(volumes=(replace(VOLUME, status="in-use", attachments=[Attachment("else")]),)),
            "volume w-root (v) is in-use",
            id="taken",
        ),
    ],
)
def test_the_server_waits_for_its_volumes(inventory: ServerInventory, what: str) -> None:
    assert step(replace(inventory, ports=(PORT,)), spec=WITH_ROOT, resolved=ROOT) == Await(what)


@pytest.mark.parametrize(
    ("spec", "resolved", "inventory"),
    [
        pytest.param(SPEC, RESOLVED, inv(), id="the port"),
        pytest.param(SPEC, TAGGED, inv(ports=(replace(PORT, tags=["a", "b"]),)), id="the trunk"),
        pytest.param(SPEC, RESOLVED, inv(ports=(PORT,)), id="the server"),
        pytest.param(WITH_ROOT, ROOT, inv(ports=(PORT,), volumes=(BROKEN,)), id="the volume"),
    ],
)
def test_nothing_is_created_while_an_earlier_request_may_still_arrive(
    spec: InstanceSpec, resolved: Resolved, inventory: ServerInventory
) -> None:
    unsure = replace(inventory, certain=False, certain_in=12.0)
    found = step(unsure, spec=spec, resolved=resolved)
    assert isinstance(found, Await)
    assert "in the next 12 s" in found.what
    assert isinstance(step(inventory, spec=spec, resolved=resolved), Send)


# What is recorded


def test_what_is_recorded_gets_the_mark_before_anything_else() -> None:
    inventory = inv(
        servers=(replace(SERVER, metadata=NOBODYS),),
        ports=(replace(PORT, description="old"),),
        volumes=(replace(VOLUME, metadata=NOBODYS),),
        trunks=(replace(TRUNK, description=""),),
    )
    recorded = Recorded(server="s", ports=("p0",), volumes=("v",), trunks=("t0",))
    found = step(inventory, resolved=TAGGED, recorded=recorded)
    assert sent(found) == ["mark server s", "mark volume v", "describe p0", "describe t0"]
    assert isinstance(found, Send)
    described = [each.description for each in found.requests if isinstance(each, Describe)]
    assert described == ["old windlass-owner=m", "windlass-owner=m"]


@pytest.mark.parametrize("state", [{"task_state": "deleting"}, {"status": "SOFT_DELETED"}])
def test_a_server_that_is_being_deleted_gets_no_mark(state: dict[str, str]) -> None:
    """Nova would refuse it, or say that there is no such server."""
    going = replace(SERVER, metadata=NOBODYS, **state)
    assert step(inv(servers=(going,)), recorded=Recorded(server="s")) == Standing(going)


def test_a_server_of_somebody_else_is_not_taken() -> None:
    found = step(inv(servers=(replace(SERVER, metadata=THEIRS),)), recorded=Recorded(server="s"))
    assert isinstance(found, Stuck)
    assert found.reason == "OwnedByAnother"
    assert "belongs to an unknown owner" in found.message


def test_another_server_is_not_surplus_unless_it_is_ours() -> None:
    assert step(inv(servers=(SERVER, replace(SERVER, id="x", metadata=THEIRS)))) == Standing(SERVER)


def test_a_port_of_somebody_else_is_not_used() -> None:
    inventory = inv(ports=(replace(PORT, description="windlass-owner=x"),))
    assert sent(step(inventory, recorded=Recorded(ports=("p0",)))) == ["create port w-0"]


@pytest.mark.parametrize(
    ("inventory", "requests"),
    [
        pytest.param(inv(), ["create port w-0"], id="gone"),
        pytest.param(inv(ports=(replace(PORT, id="new"),)), ["create server w"], id="replaced"),
    ],
)
def test_a_recorded_port_that_is_gone_is_made_again_once(inventory: ServerInventory, requests: list[str]) -> None:
    assert sent(step(inventory, recorded=Recorded(ports=("gone",)))) == requests


def test_a_recorded_port_stays_although_another_one_is_older() -> None:
    inventory = inv(ports=(replace(PORT, id="older"), PORT))
    found = step(inventory, recorded=Recorded(ports=("p0",)))
    assert sent(found) == ["delete port older", "create server w"]


def test_a_recorded_port_is_used_whatever_its_name() -> None:
    found = step(inv(ports=(replace(PORT, name="renamed"),)), recorded=Recorded(ports=("p0",)))
    assert isinstance(found, Send)
    [request] = found.requests
    assert isinstance(request, CreateServer)
    assert request.body["networks"] == [{"port": "p0"}]


def test_a_recorded_server_is_never_made_again() -> None:
    assert step(inv(ports=(PORT,)), recorded=Recorded(server="s")) == Vanished()


def test_a_second_server_does_not_replace_the_recorded_one() -> None:
    inventory = inv(servers=(replace(SERVER, id="late"),))
    assert sent(step(inventory, recorded=Recorded(server="s"))) == ["delete server late"]


def test_the_recorded_server_stays_although_another_one_is_older() -> None:
    inventory = inv(servers=(replace(SERVER, id="older"), SERVER))
    assert sent(step(inventory, recorded=Recorded(server="s"))) == ["delete server older"]


def test_a_deleted_server_still_counts_as_made() -> None:
    """Somebody deleted it before its ID was recorded."""
    gone = replace(SERVER, status="SOFT_DELETED")
    assert step(inv(servers=(gone,))) == Standing(gone)


# What cannot go on


def test_a_volume_that_fails_twice_is_told_and_not_tried_again() -> None:
    found = step(inv(volumes=(BROKEN, replace(BROKEN, id="c"))), spec=WITH_ROOT, resolved=ROOT)
    assert isinstance(found, Stuck)
    assert found.reason == "InstanceCreateFailed"
    assert "b, c" in found.message


@pytest.mark.parametrize(
    ("resolved", "user_data", "words"),
    [
        pytest.param(RESOLVED, "x" * (USER_DATA_LIMIT + 1), "65536 characters", id="user data too long"),
        pytest.param(replace(RESOLVED, ports=()), "", "resolve it again", id="another number of ports"),
        pytest.param(replace(RESOLVED, image_id=""), "", "resolve it again", id="no image"),
        pytest.param(ROOT, "", "resolve it again", id="other volumes"),
    ],
)
def test_nothing_is_created_of_what_cannot_become_a_server(resolved: Resolved, user_data: str, words: str) -> None:
    found = step(inv(), resolved=resolved, user_data=user_data)
    assert isinstance(found, Stuck)
    assert words in found.message
    there = inv(servers=(SERVER,))
    assert step(there, resolved=resolved, user_data=user_data) == Standing(SERVER)


def test_the_server_gets_user_data_and_the_ids_of_its_ports_in_order() -> None:
    found = step(inv(ports=(PORT1, PORT)), spec=TWO, resolved=TWO_PORTS, user_data="Zm9v")
    assert isinstance(found, Send)
    [request] = found.requests
    assert isinstance(request, CreateServer)
    assert request.body["networks"] == [{"port": "p0"}, {"port": "p1"}]
    assert request.user_data == "Zm9v"


def test_ports_of_somebody_else_are_used_and_not_touched() -> None:
    spec = replace(SPEC, ports=(PortSpec(id="theirs"),), tags=("a",))
    found = step(inv(), spec=spec, resolved=replace(RESOLVED, ports=(ResolvedPort(id="theirs"),)))
    assert isinstance(found, Send)
    [request] = found.requests
    assert isinstance(request, CreateServer)
    assert request.body["networks"] == [{"port": "theirs"}]


def test_tags_are_shown_as_a_change() -> None:
    found = step(inv(ports=(replace(PORT, tags=["x"]),), servers=(SERVER,)), resolved=TAGGED)
    assert isinstance(found, Send)
    [request] = found.requests
    assert isinstance(request, SetTags)
    assert (request.before, request.tags) == (("x",), ("a", "b"))
