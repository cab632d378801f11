"""Prints the trees of OpenStackClusters, floating IP pools and Machines: as lines, or for programs."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import click
import msgspec

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.capability.conventions import complaints, output
from windlass.capability.conventions.connection import connect
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.settings import Settings
from windlass.capability.conventions.table import Cell, Column, Table
from windlass.kube.control.seen import Present
from windlass.kube.process.colour import colourful
from windlass.kube.shorten import shortened
from windlass.kube.verbs import Api
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE
from windlass.openstack.machine_api.provider_spec import is_ours
from windlass.openstack.overview.reading import OWNERS, Objects, Projects, objects, trees
from windlass.openstack.overview.tree import UNKNOWN, Node, alone, flat

NOTHING: Final = "-"
ROOTS: Final = (OpenStackCluster, OpenStackFloatingIPPool, Machine)
"""The kinds that have trees of their own, in the order in which they are shown. What is alone follows."""
_KINDS: Final = (
    "OpenStackCluster, OpenStackFloatingIPPool, Machine of the Machine API on OpenStack, or OpenStackMachine or"
    " OpenStackServer that belongs to no cluster"
)
_LONGEST_MESSAGE: Final = 80
_COLOURS: Final = {"True": "green", "False": "red", "Unknown": "yellow"}
_STATES: Final = {
    "ACTIVE": "green",
    "ERROR": "red",
    "Failed": "red",
    "in-use": "green",
    "ONLINE": "green",
    "Running": "green",
    UNKNOWN: "yellow",
}


class TreeRequest(NamedTuple):
    """The name of what is shown (empty: all), and how. `machine_api`: the namespace of Machines of the Machine API."""

    wanted: str = ""
    form: str = "tree"
    headings: bool = True
    machine_api: str = MACHINE_API_NAMESPACE


class TreeInspection(NamedTuple):
    """The trees, and what could not be read, in sentences."""

    trees: Sequence[Node]
    troubles: Sequence[str]


class Line(NamedTuple):
    """A node, with the lines that lead to it from the one above. `path` tells it apart from all others."""

    node: Node
    branch: str
    path: str


async def once(settings: Settings, request: TreeRequest) -> Exit:
    """`windlass openstack tree`. Raises KubeErrors."""
    async with connect(settings) as client, Clouds() as clouds:
        sight = await look(client, clouds, settings, request)
    for text in sight.troubles:
        complaints.say("error", text)
    if not sight.trees and not sight.troubles:
        click.echo(f"No {_KINDS} found.", err=True)
    for line in render(request, sight.trees, colour=colourful(sys.stdout)):
        click.echo(line)
    return Exit.FAILED if sight.troubles else Exit.OK


async def look(api: Api, clouds: Clouds, settings: Settings, request: TreeRequest) -> TreeInspection:
    """What there is now. Raises KubeErrors."""
    place, _, name = request.wanted.rpartition("/")
    namespace = place or settings.namespace
    found = await objects(api, OWNERS, namespace=namespace, machine_api=request.machine_api)
    if not any(kind in found.listed for kind in ROOTS):
        text = f"the API server does not serve {OpenStackCluster.RESOURCE}: install its CustomResourceDefinition"
        return TreeInspection((), (text,))
    wanted = list(_wanted(found, name))
    troubles = list(found.unreadable())
    if name and not wanted:
        troubles.append(f"no {_KINDS} is named {name}{f' in namespace {namespace}' if namespace else ''}")
    nodes = await trees(found, Projects(api, clouds), wanted)
    troubles += dict.fromkeys(note for one in nodes for each in flat(one) for note in each.notes if _is_blind(note))
    return TreeInspection(nodes, troubles)


def render(request: TreeRequest, nodes: Sequence[Node], *, colour: bool = False) -> list[str]:
    """The lines of standard output."""
    if request.form in ("json", "yaml"):
        return [output.items(request.form, map(for_programs, nodes))]
    if not nodes:
        return []
    return table(request, colour=colour).lines(lines(nodes), headings=request.headings)


def table(request: TreeRequest, *, colour: bool) -> Table[Line]:
    wide = request.form == "wide"
    columns: list[Column[Line]] = [
        Column("NAME", lambda line: Cell(f"{line.branch}{_title(line.node)}")),
        Column("STATE", lambda line: _state(line.node)),
        Column("READY", lambda line: _ready(line.node)),
        Column("ADDRESS", lambda line: Cell(line.node.detail or NOTHING)),
        Column("ID", lambda line: Cell(line.node.id or NOTHING), wide=True),
        Column("MESSAGE", lambda line: Cell(_message(line.node, wide=wide) or NOTHING)),
    ]
    return Table([each for each in columns if wide or not each.wide], colour=colour)


def lines(nodes: Sequence[Node]) -> Iterator[Line]:
    for node in nodes:
        yield Line(node, "", _title(node))
        yield from _below(node, "", _title(node))


def _below(node: Node, indent: str, path: str) -> Iterator[Line]:
    for number, child in enumerate(node.children, start=1):
        last = number == len(node.children)
        where = f"{path}/{child.kind} {child.id or child.name}"
        yield Line(child, f"{indent}{'└─ ' if last else '├─ '}", where)
        yield from _below(child, f"{indent}{'   ' if last else '│  '}", where)


def for_programs(node: Node) -> dict[str, Any]:
    """A tree, every field in every node."""
    return {
        "kind": node.kind,
        "name": node.name,
        "id": node.id,
        "state": node.state,
        "detail": node.detail,
        "ready": msgspec.to_builtins(node.ready) if node.ready is not None else None,
        "notes": list(node.notes),
        "children": [for_programs(each) for each in node.children],
    }


def _wanted(found: Objects, name: str) -> Iterator[Present[Any]]:
    for kind in ROOTS:
        for each in sorted(found.all(kind), key=lambda each: (each.metadata.namespace, each.metadata.name)):
            if name in ("", each.metadata.name) and (kind is not Machine or is_ours(each.object)):
                yield each
    apart = alone(found.all(OpenStackCluster), found.all(OpenStackMachine), found.all(OpenStackServer))
    yield from (each for each in apart if name in ("", each.metadata.name))


def _is_blind(note: str) -> bool:
    return note.startswith("the cloud was not asked")


def _title(node: Node) -> str:
    return f"{node.kind} {node.name}"


def _state(node: Node) -> Cell:
    worst = node.state.replace("/", " ").split(" ")
    colour = next((_STATES[each] for each in ("ERROR", UNKNOWN) if each in worst), _STATES.get(worst[0]))
    return Cell(node.state or NOTHING, colour)


def _ready(node: Node) -> Cell:
    if node.ready is None:
        return Cell(NOTHING)
    return Cell(node.ready.status, _COLOURS.get(node.ready.status))


def _message(node: Node, *, wide: bool) -> str:
    said = list(node.notes)
    if node.ready is not None and node.ready.status != "True":
        said.append(": ".join(filter(None, (node.ready.reason, node.ready.message))))
    text = "; ".join(" ".join(each.split()) for each in said)
    return text if wide else shortened(text, _LONGEST_MESSAGE)
