"""Measures servers in OpenStack: a MachineSet until all its Machines are provisioned, beside the bare requests.

The bare requests are what cannot be avoided: for each server a POST of a port and one of a server, ten threads at a
time, and a list of servers each second until all are ACTIVE. Both run on the same OpenStack, one after the other in
each round. A second table has what a quota that is used up costs.
"""

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from bench.contestant import environment
from bench.machine import NoiseMeter, usage
from bench.requests import Request, RequestLog
from bench.tables import Cell, Table, against
from windlass.openstack.installation import OWNED
from windlass.testing.binaries import to_stderr
from windlass.testing.cloud import Cloud, Project
from windlass.testing.machines import cluster_api
from windlass.testing.plane.control_plane import BlockingControlPlane

GROUP = "infrastructure.cluster.x-k8s.io"
MACHINES = "/apis/cluster.x-k8s.io/v1beta2/namespaces/bench"
SERVERS = f"/apis/{GROUP}/v1alpha1/namespaces/bench"
OF_MACHINES = ("openstackmachines", "status")
USER = "windlass"
LABELS = {"cluster.x-k8s.io/cluster-name": "bench"}
UNLIMITED = {"instances": -1, "cores": -1, "ram": -1, "port": -1}
REST_SECONDS = 65.0
QUOTA, ASKED, QUOTA_SECONDS = 10, 20, 300.0
Tree = dict[str, Any]


class Place(Protocol):
    """Where servers can be made: clouds.yaml with the cloud `openstack`, and a network."""

    @property
    def clouds_yaml(self) -> str: ...
    @property
    def network_id(self) -> str: ...
    def delete(self) -> None: ...


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: the Machines of the set."""
    return await asyncio.to_thread(_measure, directory, objects, rounds)


def _measure(directory: Path, objects: int, rounds: int) -> list[Table]:
    directory.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Cell]] = []
    refused: list[dict[str, Cell]] = []
    with Cloud(report=to_stderr) as cloud, control_plane(directory) as plane:
        for number in range(rounds):
            for count in (1, objects):
                bare = _bare(cloud.new_project(quota=UNLIMITED), count)
                rows += [_row(number, f"bare requests, {count}", bare)]
                project = cloud.new_project(quota=UNLIMITED)
                with at_work(plane, project, directory / f"{number}-{count}.log") as process:
                    ours = _scaled(plane, project, process, count)
                rows += [_row(number, f"MachineSet of {count}", ours, bare["seconds"], count)]
        project = cloud.new_project(quota={**UNLIMITED, "instances": QUOTA})
        with at_work(plane, project, directory / "quota.log"):
            refused += [_refused(plane, project)]
    columns = [
        "round",
        "what",
        "seconds",
        "times bare",
        "wanted",
        "ours, s",
        "requests",
        "a server",
        "polls",
        "rest",
        "API writes",
    ]
    columns += ["delete, s", "a deletion", "CPU, s", "memory, MB", "others, cores"]
    notes = (
        "requests: to the cloud, tokens and lists included; a server: those that are not lists of the whole project",
        f"rest: requests in {REST_SECONDS:.0f} s after all are provisioned",
        "API writes: of all objects, Events included, a machine, until all are provisioned",
        "ours: from the first OpenStackServer to the last status of an OpenStackMachine",
    )
    of_quota = (
        "one request tries for all that wait, after 60, 120 and 240 s; Cluster API's own provider sends 230 POSTs in "
        "300 s (measured elsewhere by the same protocol)",
    )
    return [
        Table("Servers in OpenStack", columns, rows, notes),
        Table("A quota is used up", [*refused[0]], refused, of_quota),
    ]


def control_plane(directory: Path) -> BlockingControlPlane:
    """With a user that may do everything, whose requests are in the audit log."""
    return BlockingControlPlane(directory=directory / "plane", users={USER: ["system:masters"]})


def _row(number: int, what: str, found: dict[str, float], bare: float | None = None, count: int = 1) -> dict[str, Cell]:
    row: dict[str, Cell] = {"round": number + 1, "what": what, **found}
    if bare is not None:
        times = found["seconds"] / bare
        row["times bare"] = times
        row["wanted"] = against(found["seconds"], 4.0, unit="s") if count == 1 else against(times, 1.25)
    return row


def _bare(project: Project, count: int) -> dict[str, float]:
    sdk = project.sdk
    image, flavor = sdk.image.find_image("cirros"), sdk.compute.find_flavor("m1.tiny")
    assert image is not None
    assert flavor is not None
    sdk.compute.get("/limits")  # both contestants have their token before

    def make(number: int) -> None:
        port = sdk.network.post(
            "/ports", json={"port": {"network_id": project.network_id, "name": f"b{number}"}}
        ).json()["port"]
        server = {
            "name": f"b{number}",
            "imageRef": image.id,
            "flavorRef": flavor.id,
            "networks": [{"port": port["id"]}],
        }
        answer = sdk.compute.post("/servers", json={"server": server}, microversion="2.53")
        assert answer.status_code == 202, answer.text

    noise, began = NoiseMeter(), time.monotonic()
    with ThreadPoolExecutor(10) as threads:
        made = [threads.submit(make, number) for number in range(count)]
        while True:
            asked = time.monotonic()
            servers = sdk.compute.get("/servers/detail", microversion="2.53").json()["servers"]
            for each in made:
                if each.done():
                    each.result()
            if sum(server["status"] == "ACTIVE" for server in servers) == count:
                break
            time.sleep(max(0.0, asked + 1.0 - time.monotonic()))
        for each in made:
            each.result()
    seconds = time.monotonic() - began
    others = noise.read().others
    project.may_leave()
    project.delete()
    return {"seconds": seconds, "others, cores": others}


@contextmanager
def at_work(
    plane: BlockingControlPlane, project: Place, log: Path, *flags: str, cluster: Tree | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """`windlass run openstack`, and a Cluster on `project` whose infrastructure is provisioned; all goes at the end.

    `cluster`: the spec of its OpenStackCluster, but for the credentials; by default it is on the project's network.
    """
    plane.apply_crds(*(owned.manifest() for owned in OWNED))
    if not cluster_api.runs(plane):
        cluster_api.start(plane)
    for name in ("bench", "windlass-openstack"):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    on_network = {
        "network": {"id": project.network_id},
        "controlPlaneEndpoint": {"host": "10.6.0.2", "port": 6443},
    }
    plane.apply(*_cluster(project, on_network if cluster is None else cluster))
    argv = [sys.executable, "-m", "windlass", "run", "openstack", "--kubeconfig", str(plane.kubeconfig(USER))]
    argv += ["--allow-loopback-clouds", "--health-probe-bind-address", "0", *(flags or ("--metrics-bind-address", "0"))]
    with log.open("w") as output, subprocess.Popen(argv, stdout=output, stderr=output, env=environment()) as process:
        try:
            until(lambda: _is_provisioned(plane.rest.request("GET", f"{MACHINES}/clusters/bench")))
            yield process
            plane.rest.request("DELETE", f"{MACHINES}/clusters/bench")
            until(lambda: not plane.rest.request("GET", f"{MACHINES}/clusters")["items"])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            project.delete()


def scale(plane: BlockingControlPlane, count: int) -> None:
    """Make the MachineSet; returns when all Machines are provisioned."""
    plane.apply(machine_set(count))
    path, pace = f"{MACHINES}/machines", 0.1 if count == 1 else 1.0

    def provisioned() -> bool:
        items = plane.rest.request("GET", path)["items"]
        return len(items) == count and all(_is_provisioned(item) for item in items)

    until(provisioned, pace=pace)


def _scaled(
    plane: BlockingControlPlane, project: Project, process: "subprocess.Popen[bytes]", count: int
) -> dict[str, float]:
    before, noise, began = usage(process.pid), NoiseMeter(), time.monotonic()
    asked, log = len(_requests(project)), RequestLog(plane.connection.directory / "logs" / "audit.log", user=USER)
    scale(plane, count)
    seconds, others = time.monotonic() - began, noise.read().others
    made = _requests(project)[asked:]
    lists = sum(_is_list(method, path) for method, path in made)
    written = [request for request in log.read() if request.is_write and not request.is_of_lease]
    resting = len(_requests(project))
    time.sleep(REST_SECONDS)
    at_rest = len(_requests(project)) - resting
    deleting, began = len(_requests(project)), time.monotonic()
    plane.rest.request("DELETE", f"{MACHINES}/machinesets/bench")
    until(lambda: not plane.rest.request("GET", f"{MACHINES}/machines")["items"])
    gone = time.monotonic() - began
    deletions = Counter(_is_list(method, path) for method, path in _requests(project)[deleting:])
    after = usage(process.pid)
    return {
        "seconds": seconds,
        "ours, s": _ours(written),
        "requests": len(made),
        "a server": (len(made) - lists) / count,
        "polls": lists,
        "rest": at_rest,
        "API writes": len(written) / count,
        "delete, s": gone,
        "a deletion": deletions[False] / count,
        "CPU, s": after.cpu - before.cpu,
        "memory, MB": after.peak,
        "others, cores": others,
    }


def _ours(written: Sequence[Request]) -> float:
    """Seconds from the first OpenStackServer to the last status of an OpenStackMachine."""
    first = next(each for each in written if (each.verb, each.object_ref.resource) == ("create", "openstackservers"))
    last = [each for each in written if (each.object_ref.resource, each.object_ref.subresource) == OF_MACHINES][-1]
    return (last.answered - first.received).total_seconds()


def _refused(plane: BlockingControlPlane, project: Project) -> dict[str, Cell]:
    """What ASKED servers cost where QUOTA are allowed."""
    plane.apply(machine_set(ASKED))
    time.sleep(QUOTA_SECONDS)
    posts = project.requests("nova", method="POST", path="/servers$", user_agent="windlass")
    servers = plane.rest.request("GET", f"{SERVERS}/openstackservers")["items"]
    told = [each["status"]["conditions"] for each in servers if not each["status"].get("instanceID")]
    messages = {one["message"] for conditions in told for one in conditions if one["type"] == "InstanceReady"}
    plane.rest.request("DELETE", f"{MACHINES}/machinesets/bench")
    until(lambda: not plane.rest.request("GET", f"{MACHINES}/machines")["items"])
    return {
        "servers wanted": ASKED,
        "quota": QUOTA,
        "seconds": QUOTA_SECONDS,
        "made": sum(post.status == 202 for post in posts),
        "refused POSTs": sum(post.status == 403 for post in posts),
        "requests in all": len(project.requests(user_agent="windlass")),
        "wait": len(told),
        "the condition says": min(messages, default=""),
    }


def _requests(project: Project) -> list[tuple[str, str]]:
    """What Windlass asked, without what this benchmark asks."""
    return [(each.method, each.path) for each in project.requests(user_agent="windlass")]


def _is_list(method: str, path: str) -> bool:
    where = path.split("?")[0]
    return method == "GET" and where.endswith(("/servers/detail", "/v2.0/ports", "/volumes/detail"))


def _is_provisioned(item: Tree) -> bool:
    return bool(item.get("status", {}).get("initialization", {}).get("infrastructureProvisioned"))


def until(true: Callable[[], bool], *, seconds: float = 900.0, pace: float = 0.1) -> None:
    """Look each `pace` seconds until it is true; a look at many objects costs the API server something, too."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(pace)


def _cluster(project: Place, spec: Tree) -> list[Tree]:
    infrastructure = {"apiGroup": GROUP, "kind": "OpenStackCluster", "name": "bench"}
    identity = {"type": "Secret", "name": "credentials", "cloudName": "openstack"}
    machine = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, "sshKeyName": ""}
    return [
        named("v1", "Secret", "credentials", stringData={"clouds.yaml": project.clouds_yaml}),
        named("v1", "Secret", "bootstrap", stringData={"value": "#cloud-config"}),
        named(f"{GROUP}/v1beta1", "OpenStackCluster", "bench", spec={"identityRef": identity, **spec}),
        named("cluster.x-k8s.io/v1beta2", "Cluster", "bench", spec={"infrastructureRef": infrastructure}),
        named(f"{GROUP}/v1beta1", "OpenStackMachineTemplate", "bench", spec={"template": {"spec": machine}}),
    ]


def machine_set(count: int) -> Tree:
    template = {
        "metadata": {"labels": {"set": "bench", **LABELS}},
        "spec": {
            "clusterName": "bench",
            "bootstrap": {"dataSecretName": "bootstrap"},
            "infrastructureRef": {"apiGroup": GROUP, "kind": "OpenStackMachineTemplate", "name": "bench"},
        },
    }
    selector = {"matchLabels": {"set": "bench", **LABELS}}
    spec = {"clusterName": "bench", "replicas": count, "selector": selector, "template": template}
    made = named("cluster.x-k8s.io/v1beta2", "MachineSet", "bench", spec=spec)
    made["metadata"]["labels"] = LABELS
    return made


def named(version: str, kind: str, name: str, **content: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "bench"}, **content}
