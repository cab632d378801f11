"""Counts what a cluster in OpenStack costs: made, at rest, beside Machines of the Machine API, its bastion replaced.

Counts of requests are exact whatever else the machine does. The bastion's row is a time, and has the same by bare
requests beside it.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.machine import NoiseMeter
from bench.servers import GROUP, UNLIMITED, at_work, control_plane, named, until
from bench.tables import Cell, Table, against
from windlass.testing import crds
from windlass.testing.binaries import to_stderr
from windlass.testing.cloud import Cloud, Project
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.rest import MERGE_PATCH

CREATION, AT_REST, TIMES_BARE = 30, 9, 1.5
LOOKS = 3
REPLACED = 5
"""How often the bastion is replaced, each time followed by the bare requests: one alone is off by a second, the time
between two looks at a server."""
QUIET, OLD = 4.0, 31.0
"""Seconds without a request after which a look has ended; seconds after which lists are not taken from memory."""
PERIODS = 2
"""The polls of servers and ports in which requests are counted."""
PLACE, MACHINE_API = "bench", "openshift-machine-api"
CLUSTER = f"/apis/{GROUP}/v1beta1/namespaces/{PLACE}/openstackclusters/bench"
MACHINES = f"/apis/machine.openshift.io/v1beta1/namespaces/{MACHINE_API}/machines"
BASTION: dict[str, Any] = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, "sshKeyName": ""}
FLAGS = ("--machine-api", "--poll-period", "15s", "--metrics-bind-address", "0")
Tree = dict[str, Any]


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: the Machines of the Machine API."""
    return await asyncio.to_thread(_measure, directory, objects, rounds)


def _measure(directory: Path, objects: int, rounds: int) -> list[Table]:
    directory.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Cell]] = []
    with Cloud(report=to_stderr) as cloud, control_plane(directory) as plane:
        plane.apply_crds(*crds.documents(*crds.MACHINES))
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": MACHINE_API}})
        for number in range(rounds):
            project = cloud.new_project(quota=UNLIMITED)
            with at_work(plane, project, directory / f"{number}.log", *FLAGS, cluster=_spec()):
                noise = NoiseMeter()
                rows += [{"round": number + 1, **row} for row in _round(plane, project, objects)]
                rows[-1]["others, cores"] = noise.read().others
    notes = (
        "requests: those of Windlass to the cloud, without those for tokens, by the logs of its services",
        f"a look: the OpenStackCluster is annotated when its lists are {OLD:.0f} s old; the most of {LOOKS} looks",
        f"further requests: those in {PERIODS} polls of servers and ports, less those before there were such Machines",
        f"bastion: from the change to BastionReady, {REPLACED} times in all, by as many times the bare requests: "
        "DELETE, wait, DELETE and POST port, PUT floating IP, POST server, wait",
    )
    return [Table("Clusters in OpenStack", ["round", "what", "figure", "wanted", "others, cores"], rows, notes)]


def _spec() -> Tree:
    return {
        "managedSubnets": [{"cidr": "10.9.0.0/24"}],
        "managedSecurityGroups": {},
        "apiServerLoadBalancer": {"enabled": True},
    }


def _round(plane: BlockingControlPlane, project: Project, count: int) -> Iterator[dict[str, Cell]]:
    until(lambda: _is_ready(plane, "Ready"))
    made = len(asked(project))
    yield _figure("a network, groups and a load balancer: requests until Ready", made, CREATION)
    looks = max(_look(plane, project) for _ in range(LOOKS))
    yield _figure("the same at rest: requests a look", looks, AT_REST)
    _patch(plane, CLUSTER, {"spec": {"bastion": {"spec": BASTION}}})
    until(lambda: _is_ready(plane, "BastionReady") and _bastion(plane).get("state") == "ACTIVE")
    yield _figure(f"{count} Machines of the Machine API at rest: further requests", _beside(plane, project, count), 0)
    times, address = _replaced(plane, project)
    yield _figure("bastion of another flavor, times bare", times, TIMES_BARE)
    yield {
        "what": "its address",
        "figure": address,
        "wanted": "the same: " + ("MISSED" if "->" in address else "reached"),
    }


def _figure(what: str, figure: float, target: float) -> dict[str, Cell]:
    return {"what": what, "figure": figure, "wanted": against(figure, target)}


def asked(project: Project) -> list[str]:
    """What Windlass has asked of the cloud, without tokens."""
    found = project.requests(user_agent="windlass")
    return [f"{each.method} {each.path}" for each in found if each.service != "keystone"]


def _look(plane: BlockingControlPlane, project: Project) -> int:
    time.sleep(OLD)
    before = len(asked(project))
    _patch(plane, CLUSTER, {"metadata": {"annotations": {"bench": str(time.time())}}})
    until(lambda: len(asked(project)) > before)
    seen = 0
    while (now := len(asked(project))) != seen:
        seen = now
        time.sleep(QUIET)
    return seen - before


def _beside(plane: BlockingControlPlane, project: Project, count: int) -> int:
    """The requests in some polls with that many Machines of the Machine API, less those in as many without."""
    before = _polled(project)
    with _machines(plane, project, count):
        return _polled(project) - before


def _polled(project: Project) -> int:
    """The requests from one poll to the one that is `PERIODS` later."""
    time.sleep(OLD)  # what was being done is done

    def polls() -> int:
        return sum("/servers/detail" in each for each in asked(project))

    before = polls()
    until(lambda: polls() > before)
    time.sleep(QUIET)
    first = len(asked(project))
    until(lambda: polls() > before + PERIODS)
    time.sleep(QUIET)
    return len(asked(project)) - first


@contextmanager
def _machines(plane: BlockingControlPlane, project: Project, count: int) -> Iterator[None]:
    """Machines of the Machine API that are provisioned, and have their Nodes."""
    plane.apply(
        _apart("v1", "Secret", "cloud", stringData={"clouds.yaml": project.clouds_yaml}),
        _apart("v1", "Secret", "user-data", stringData={"userData": "e30=", "disableTemplating": "true"}),
    )
    names = [f"worker-{number}" for number in range(count)]
    for name in names:
        machine = _apart("machine.openshift.io/v1beta1", "Machine", name, spec=_machine(project))
        machine["metadata"]["labels"] = {"machine.openshift.io/cluster-api-cluster": "bench"}
        plane.apply(machine)
    until(lambda: _phases(plane) == ["Provisioned"] * count)
    for name in names:
        reference = {"status": {"nodeRef": {"kind": "Node", "name": name}}}
        _patch(plane, f"{MACHINES}/{name}/status", reference)
    until(lambda: _phases(plane) == ["Running"] * count)
    try:
        yield
    finally:
        for name in names:
            plane.rest.request("DELETE", f"{MACHINES}/{name}")
        until(lambda: not _phases(plane))


def _machine(project: Project) -> Tree:
    value = {
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudsSecret": {"name": "cloud", "namespace": MACHINE_API},
        "cloudName": "openstack",
        "flavor": "m1.tiny",
        "image": "cirros",
        "networks": [{"subnets": [{"uuid": project.subnet_id}]}],
        "userDataSecret": {"name": "user-data"},
    }
    return {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": value}}


def _phases(plane: BlockingControlPlane) -> list[str]:
    return [(each.get("status") or {}).get("phase", "") for each in plane.rest.request("GET", MACHINES)["items"]]


def _replaced(plane: BlockingControlPlane, project: Project) -> tuple[float, str]:
    """How much longer than bare requests it takes to replace the bastion, and its addresses, each once."""
    ours = bare = 0.0
    addresses = [_bastion(plane)["floatingIP"]]
    for number in range(REPLACED):
        ours += _replace(plane, "m1.tiny" if number % 2 else "m1.small")
        addresses.append(_bastion(plane)["floatingIP"])
        bare += _bare(project, _bastion(plane))
    return ours / bare, " -> ".join(dict.fromkeys(addresses))


def _replace(plane: BlockingControlPlane, flavor: str) -> float:
    """The seconds until a bastion of another flavor is ready."""
    before, began = _bastion(plane)["id"], time.monotonic()
    _patch(plane, CLUSTER, {"spec": {"bastion": {"spec": {**BASTION, "flavor": flavor}}}})
    until(lambda: _bastion(plane).get("id", before) != before and _is_ready(plane, "BastionReady"))
    return time.monotonic() - began


def _bare(project: Project, bastion: Tree) -> float:
    """The seconds of the bare requests that replace a server like the bastion."""
    sdk = project.sdk
    flavors = {each.name: each.id for each in sdk.compute.flavors()}
    image = sdk.image.find_image("cirros")
    assert image is not None
    server = sdk.compute.get_server(bastion["id"])
    [port] = sdk.network.ports(device_id=server.id)
    [address] = sdk.network.ips(floating_ip_address=bastion["floatingIP"])
    network, port_of = port.network_id, port.id

    def make(flavor: str) -> str:
        made = sdk.network.post("/ports", json={"port": {"network_id": network, "name": "bare"}}).json()["port"]["id"]
        body = {"name": "bare", "imageRef": image.id, "flavorRef": flavors[flavor], "networks": [{"port": made}]}
        answer = sdk.compute.post("/servers", json={"server": body}, microversion="2.53")
        assert answer.status_code == 202, answer.text
        return str(made)

    def lead(to: str | None) -> None:
        sdk.network.put(f"/floatingips/{address.id}", json={"floatingip": {"port_id": to}})

    def servers() -> list[Tree]:
        found = sdk.compute.get("/servers/detail?name=bare", microversion="2.53").json()["servers"]
        return [each for each in found if each["name"] == "bare"]

    def is_active() -> bool:
        return [each["status"] for each in servers()] == ["ACTIVE"]

    old = make("m1.tiny")
    until(is_active, pace=1.0)
    began = time.monotonic()
    sdk.compute.delete(f"/servers/{servers()[0]['id']}")
    until(lambda: not servers(), pace=1.0)
    sdk.network.delete(f"/ports/{old}")
    lead(make("m1.small"))
    until(is_active, pace=1.0)
    seconds = time.monotonic() - began
    lead(port_of)
    sdk.compute.delete(f"/servers/{servers()[0]['id']}")
    until(lambda: not servers(), pace=1.0)
    for left in sdk.network.ports(name="bare"):
        sdk.network.delete(f"/ports/{left.id}")
    return seconds


def _bastion(plane: BlockingControlPlane) -> Tree:
    return (plane.rest.request("GET", CLUSTER).get("status") or {}).get("bastion") or {}


def _is_ready(plane: BlockingControlPlane, kind: str) -> bool:
    """The condition is True, and about the spec as it is."""
    found = plane.rest.request("GET", CLUSTER)
    conditions = (found.get("status") or {}).get("conditions") or []
    about: Tree = next((each for each in conditions if each["type"] == kind), {})
    return about.get("status") == "True" and about.get("observedGeneration") == found["metadata"]["generation"]


def _patch(plane: BlockingControlPlane, path: str, body: Tree) -> None:
    plane.rest.request("PATCH", path, body, content_type=MERGE_PATCH)


def _apart(version: str, kind: str, name: str, **content: Any) -> Tree:
    tree = named(version, kind, name, **content)
    return {**tree, "metadata": {"name": name, "namespace": MACHINE_API}}
