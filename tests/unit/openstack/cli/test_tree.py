"""`windlass openstack tree`: how trees look, for people and for programs; what is printed when something changes."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import yaml

from windlass.api.meta import Condition
from windlass.kube.errors import Forbidden, Status, TransportError
from windlass.openstack.cli import follow
from windlass.openstack.cli.follow import again, changes
from windlass.openstack.cli.show import TreeInspection, TreeRequest, render
from windlass.openstack.overview.tree import Node

SERVER = Node(kind="server", name="w", id="s-1", state="ACTIVE", detail="10.0.0.7")
PORT = Node(kind="port", name="w-0", id="p-1", state="DOWN", notes=("recorded, but it does not exist",))
WAITING = Condition(type="Ready", status="False", reason="InstanceNotReady", message="word " * 40)
READY = Condition(type="Ready", status="True", reason="Ready", message="not to be seen")
OBJECT = Node(kind="OpenStackServer", name="prod/w", ready=WAITING, children=(SERVER, PORT))
CLUSTER = Node(kind="OpenStackCluster", name="prod/one", ready=READY, children=(OBJECT,))


def lines(*nodes: Node, form: str = "tree", **how: Any) -> list[str]:
    return render(TreeRequest("", form, **how), nodes)


def test_a_tree_has_a_line_for_each_object_and_resource() -> None:
    heading, *rows = lines(CLUSTER)
    assert heading.split() == ["NAME", "STATE", "READY", "ADDRESS", "MESSAGE"]
    assert [" ".join(row.split()) for row in rows] == [
        "OpenStackCluster prod/one - True - -",
        f"└─ OpenStackServer prod/w - False - InstanceNotReady: {'word ' * 6}word … (165 more characters)",
        "├─ server w ACTIVE - 10.0.0.7 -",
        "└─ port w-0 DOWN - - recorded, but it does not exist",
    ]
    assert rows[2].startswith("   ├─ server w")


def test_a_wide_tree_has_ids_and_whole_messages() -> None:
    _, _, server, instance, _ = lines(CLUSTER, form="wide")
    assert instance.split()[-2:] == ["s-1", "-"]
    assert server.endswith("InstanceNotReady: " + " ".join(["word"] * 40))


def test_headings_can_be_left_out_and_nothing_is_no_line() -> None:
    assert len(lines(CLUSTER, headings=False)) == 4
    assert lines() == []


def test_on_a_terminal_states_have_colours() -> None:
    broken = Node(kind="load balancer", name="api", state="ACTIVE/ERROR")
    assert "\x1b[31mACTIVE/ERROR" in "\n".join(render(TreeRequest(), [broken], colour=True))


def test_programs_get_every_field_of_every_node() -> None:
    printed = json.loads("\n".join(lines(CLUSTER, form="json")))
    assert yaml.safe_load("\n".join(lines(CLUSTER, form="yaml"))) == printed
    (cluster,) = printed["items"]
    assert list(cluster) == ["kind", "name", "id", "state", "detail", "ready", "notes", "children"]
    assert cluster["ready"]["reason"] == "Ready"
    server, port = cluster["children"][0]["children"]
    assert server == {
        "kind": "server",
        "name": "w",
        "id": "s-1",
        "state": "ACTIVE",
        "detail": "10.0.0.7",
        "ready": None,
        "notes": [],
        "children": [],
    }
    assert port["notes"] == ["recorded, but it does not exist"]
    assert lines(form="json") == ['{\n  "items": []\n}']


async def seen(*sights: tuple[Node, ...]) -> AsyncIterator[TreeInspection]:
    for nodes in sights:
        yield TreeInspection(nodes, ())


REBOOTING = Node(kind="server", name="w", id="s-1", state="REBOOT")
LATER = Node(kind="OpenStackServer", name="prod/w", ready=WAITING, children=(REBOOTING,))


async def test_of_a_watched_tree_the_lines_that_change_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    await changes(seen((OBJECT,), (OBJECT,), (LATER,)), TreeRequest())
    assert [line.split()[:4] for line in capsys.readouterr().out.splitlines()] == [
        ["NAME", "STATE", "READY", "ADDRESS"],
        ["OpenStackServer", "prod/w", "-", "False"],
        ["├─", "server", "w", "ACTIVE"],
        ["└─", "port", "w-0", "DOWN"],
        ["server", "w", "REBOOT", "-"],
        ["port", "w-0", "gone", "-"],
    ]


async def test_programs_get_the_whole_whenever_it_differs(capsys: pytest.CaptureFixture[str]) -> None:
    await changes(seen((OBJECT,), (OBJECT,), (LATER,)), TreeRequest("", "json"))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["items"][0]["children"][0]["state"] == "ACTIVE"
    assert second["items"][0]["children"][0]["state"] == "REBOOT"
    await changes(seen((OBJECT,), (LATER,)), TreeRequest("", "yaml"))
    assert len(list(yaml.safe_load_all(capsys.readouterr().out))) == 2


async def test_a_trouble_that_passes_is_told_once_and_the_watch_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(follow, "SHORTEST", 0.0)
    away = TransportError("no route")
    first, last = TreeInspection((OBJECT,), ("the cloud was not asked: x",)), TreeInspection((LATER,), ())
    answers: Iterator[Any] = iter([first, away, away, last])

    async def look() -> TreeInspection:
        if isinstance(answer := next(answers), Exception):
            raise answer
        assert isinstance(answer, TreeInspection)
        return answer

    sights = again(look)
    assert [await anext(sights), await anext(sights)] == [first, last]
    told = capsys.readouterr().err.splitlines()
    assert [text.split(":")[1] for text in told] == [
        " the cloud was not asked",
        " the cluster cannot be read, trying again",
    ]


async def test_what_is_forbidden_ends_the_watch() -> None:
    async def look() -> TreeInspection:
        raise Forbidden(Status(message="no", code=403))

    with pytest.raises(Forbidden):
        await anext(again(look))
