"""How everything of a server goes, in order, without its spec; and what stays because it is somebody else's."""

from typing import Any

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.inventory import MARK, Recorded, ServerInventory
from windlass.openstack.cloud.resources import Attachment, Port, Server, SubPort, Trunk, Volume
from windlass.openstack.instance.delete import next_deletion
from windlass.openstack.instance.step import Await, Send, Step, Stuck, Vanished

OURS, THEIRS = {MARK: "m"}, {MARK: "x"}
DESCRIBED = "windlass-owner=m"
SERVER = Server(id="s", name="w", status="ACTIVE", metadata=OURS)
PORT = Port(id="p", name="w-0", description=DESCRIBED)
TRUNK = Trunk(id="t", name="w-0", port_id="p", description=DESCRIBED)
VOLUME = Volume(id="v", name="w-root", status="available", metadata=OURS)
ALL = Recorded(server="s", ports=("p",), volumes=("v",), trunks=("t",))


def step(recorded: Recorded | None = None, **resources: Any) -> Step:
    return next_deletion(ServerInventory(**resources), recorded=recorded or Recorded(), project="p", mark="m")


def sent(found: Step) -> list[str]:
    assert isinstance(found, Send), found
    assert all(each.project == "p" and each.mark == "m" for each in found.requests)
    return [f"{each.verb} {getattr(each, 'id', '')}" for each in found.requests]


@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        pytest.param(
            {"servers": (SERVER,), "ports": (PORT,), "volumes": (VOLUME,)},
            ["delete server s"],
            id="server first",
        ),
        pytest.param(
            {"servers": (replace(SERVER, status="ERROR"),)}, ["delete server s"], id="a server in ERROR, whatever state"
        ),
        pytest.param(
            {"servers": (SERVER, replace(SERVER, id="s2"))}, ["delete server s", "delete server s2"], id="both"
        ),
        pytest.param({"ports": (PORT,)}, ["delete port p"], id="the port"),
        pytest.param({"ports": (PORT, replace(PORT, id="p2"))}, ["delete port p", "delete port p2"], id="duplicates"),
        pytest.param({"ports": (replace(PORT, device_id="s"),)}, ["delete port p"], id="made by Nova with our mark"),
        pytest.param(
            {"ports": (PORT,), "volumes": (VOLUME,)}, ["delete port p", "delete volume v"], id="never created"
        ),
        pytest.param({"volumes": (replace(VOLUME, status="error"),)}, ["delete volume v"], id="a broken volume"),
        pytest.param(
            {"servers": (replace(SERVER, status="SOFT_DELETED"),), "ports": (PORT,)}, ["delete port p"], id="soft"
        ),
        pytest.param(
            {"servers": (replace(SERVER, status="DELETED"),), "ports": (PORT,)}, ["delete port p"], id="deleted"
        ),
        pytest.param({"ports": (PORT,), "trunks": (TRUNK,)}, ["delete trunk t"], id="the trunk before its port"),
        pytest.param(
            {"ports": (PORT,), "trunks": (replace(TRUNK, sub_ports=[SubPort("sub")]),)},
            ["remove subports t"],
            id="subports before the trunk",
        ),
        pytest.param(
            {"ports": (replace(PORT, trunk_details={"trunk_id": "t", "sub_ports": [{"port_id": "sub"}]}),)},
            ["remove subports t"],
            id="subports that only the port tells of",
        ),
        pytest.param(
            {"ports": (replace(PORT, trunk_details={"trunk_id": "t", "sub_ports": []}),)},
            ["delete trunk t"],
            id="a trunk that only the port tells of",
        ),
        pytest.param({"trunks": (TRUNK,)}, ["delete trunk t"], id="a trunk that is left over"),
    ],
)
def test_sent_next(resources: dict[str, Any], requests: list[str]) -> None:
    assert sent(step(**resources)) == requests


@pytest.mark.parametrize(
    ("recorded", "resources", "what"),
    [
        pytest.param(
            None,
            {"servers": (replace(SERVER, task_state="deleting"),), "ports": (PORT,)},
            "server w (s) is being deleted",
            id="the server goes",
        ),
        pytest.param(
            ALL,
            {"servers": (replace(SERVER, task_state="deleting", metadata={}),), "ports": (PORT,)},
            "server w (s) is being deleted",
            id="Nova lists it without its mark while it goes",
        ),
        pytest.param(
            None, {"volumes": (replace(VOLUME, status="creating"),)}, "volume w-root (v) is creating", id="volume"
        ),
        pytest.param(
            None, {"volumes": (replace(VOLUME, status="deleting"),)}, "volume w-root (v) is deleting", id="volume goes"
        ),
        pytest.param(
            ALL,
            {"volumes": (replace(VOLUME, status="in-use", attachments=[Attachment("s")]),)},
            "volume w-root (v) is in-use",
            id="still attached to the server that is gone",
        ),
        pytest.param(
            ALL,
            {"volumes": (replace(VOLUME, status="error", attachments=[Attachment("s")]),)},
            "volume w-root (v) is error",
            id="broken and still attached",
        ),
        pytest.param(
            None, {"certain": False, "certain_in": 9.0}, "which may arrive in the next 9 s", id="something may arrive"
        ),
    ],
)
def test_waited_for(recorded: Recorded | None, resources: dict[str, Any], what: str) -> None:
    found = step(recorded, **resources)
    assert isinstance(found, Await)
    assert what in found.what


def test_it_ends_when_nothing_is_left() -> None:
    assert step() == Vanished()
    assert step(ALL) == Vanished()
    assert step(ALL, servers=(replace(SERVER, status="SOFT_DELETED", metadata={}),)) == Vanished()


def test_what_is_recorded_is_marked_before_it_is_deleted() -> None:
    resources = {"servers": (replace(SERVER, metadata={}),), "ports": (replace(PORT, description="mine"),)}
    assert sent(step(ALL, **resources)) == ["mark server s", "describe p"]


@pytest.mark.parametrize(
    ("resources", "note"),
    [
        pytest.param(
            {"servers": (replace(SERVER, metadata=THEIRS),)},
            "server w (s) stays: it belongs to an unknown owner",
            id="S27",
        ),
        pytest.param(
            {"ports": (replace(PORT, description="windlass-owner=x"),)},
            "port w-0 (p) stays: it belongs to an unknown owner",
            id="port",
        ),
        pytest.param(
            {"volumes": (replace(VOLUME, status="in-use", attachments=[Attachment("other")]),)},
            "volume w-root (v) stays: it is attached to server other",
            id="a volume that somebody attached to another server",
        ),
        pytest.param(
            {
                "servers": (replace(SERVER, status="SOFT_DELETED"),),
                "volumes": (replace(VOLUME, status="in-use", attachments=[Attachment("s")]),),
            },
            "volume w-root (v) stays: it is attached to server s",
            id="the volume of a server that can be restored",
        ),
    ],
)
def test_what_is_not_ours_stays_and_is_told(resources: dict[str, Any], note: str) -> None:
    assert step(ALL, **resources) == Vanished(note)


def test_a_volume_that_cinder_cannot_delete_needs_an_operator() -> None:
    found = step(volumes=(replace(VOLUME, status="error_deleting"),))
    assert isinstance(found, Stuck)
    assert found.reason == "InstanceDeleteFailed"
    assert "w-root (v)" in found.message


def test_the_rest_goes_although_a_volume_cannot() -> None:
    assert sent(step(volumes=(replace(VOLUME, status="error_deleting"),), ports=(PORT,))) == ["delete port p"]


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({"ports": (replace(PORT, device_id="s"),)}, id="a port"),
        pytest.param({"ports": (replace(PORT, device_id="s"),), "trunks": (TRUNK,)}, id="a trunk with its port"),
        pytest.param(
            {"volumes": (replace(VOLUME, status="in-use", attachments=[Attachment(server_id="s")]),)}, id="a volume"
        ),
    ],
)
def test_what_belongs_to_a_server_that_another_owner_has_adopted_at_the_same_time_stays(resources: Any) -> None:
    found = step(Recorded(server="s"), servers=(replace(SERVER, metadata=THEIRS),), **resources)
    assert isinstance(found, Vanished)
    assert "stays: it is attached to server s" in found.note


def test_a_server_that_is_going_with_an_earlier_mark_is_waited_for_before_its_ports() -> None:
    """It cannot be marked any more, and Neutron refuses to delete a port of a server."""
    going = Server(id="s", name="w", status="ACTIVE", task_state="deleting", metadata={MARK: "earlier"})
    port = Port(id="p", name="w-0", description=DESCRIBED, device_id="s")
    inventory = ServerInventory(servers=(going,), ports=(port,))
    found = next_deletion(inventory, project="p", mark="m", formers=frozenset({"earlier"}))
    assert found == Await("server w (s) is being deleted")
