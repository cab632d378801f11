"""Measures servers in OpenStack: a MachineSet until all its Machines are provisioned, beside the bare requests.

The bare requests are what cannot be avoided: for each server a POST of a port and one of a server, ten threads at a
time, and a list of servers each second until all are ACTIVE. Both run on the same OpenStack, one after the other in
each round.
"""

import asyncio
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.contestant import environment
from bench.machine import NoiseMeter, usage
from bench.requests import RequestLog
from bench.tables import Cell, Table, against
from windlass.openstack.owned import OWNED
from windlass.testing.binaries import to_stderr
from windlass.testing.cloud import Cloud, Project
from windlass.testing.machines import cluster_api
from windlass.testing.plane.control_plane import BlockingControlPlane

GROUP = "infrastructure.cluster.x-k8s.io"
MACHINES = "/apis/cluster.x-k8s.io/v1beta2/namespaces/bench"
INFRASTRUCTURE = f"/apis/{GROUP}/v1beta1/namespaces/bench"
USER = "windlass"
LABELS = {"cluster.x-k8s.io/cluster-name": "bench"}
UNLIMITED = {"instances": -1, "cores": -1, "ram": -1, "port": -1}
REST_SECONDS = 65.0
Tree = dict[str, Any]


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: the Machines of the set."""
    return await asyncio.to_thread(_measure, directory, objects, rounds)


def _measure(directory: Path, objects: int, rounds: int) -> list[Table]:
    directory.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Cell]] = []
    with Cloud(report=to_stderr) as cloud, _plane(directory) as plane:
        for number in range(rounds):
            for count in (1, objects):
                bare = _bare(cloud.new_project(quota=UNLIMITED), count)
                rows += [_row(number, f"bare requests, {count}", bare)]
                with _windlass(plane, cloud, directory / f"{number}-{count}.log") as ours:
                    rows += [_row(number, f"MachineSet of {count}", ours(count), bare["seconds"], count)]
    columns = [
        "round",
        "what",
        "seconds",
        "times bare",
        "wanted",
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
    )
    return [Table("Servers in OpenStack", columns, rows, notes)]


def _plane(directory: Path) -> BlockingControlPlane:
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
def _windlass(plane: BlockingControlPlane, cloud: Cloud, log: Path) -> Iterator[Callable[[int], dict[str, float]]]:
    """The plane with a Cluster whose infrastructure is provisioned, and `windlass run openstack` at work."""
    project = cloud.new_project(quota=UNLIMITED)
    plane.apply_crds(*(owned.manifest() for owned in OWNED))
    if not cluster_api.runs(plane):
        cluster_api.start(plane)
    for name in ("bench", "windlass-openstack"):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    plane.apply(*_cluster(project))
    argv = [sys.executable, "-m", "windlass", "run", "openstack", "--kubeconfig", str(plane.kubeconfig(USER))]
    argv += ["--health-probe-bind-address", "0", "--metrics-bind-address", "0"]
    with log.open("w") as output, subprocess.Popen(argv, stdout=output, stderr=output, env=environment()) as process:
        try:
            _until(lambda: _provisioned(plane, f"{MACHINES}/clusters/bench"))
            yield lambda count: _scaled(plane, project, process, count)
        finally:
            plane.rest.request("DELETE", f"{MACHINES}/clusters/bench")
            _until(lambda: not plane.rest.request("GET", f"{INFRASTRUCTURE}/openstackclusters")["items"])
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            project.delete()


def _scaled(
    plane: BlockingControlPlane, project: Project, process: "subprocess.Popen[bytes]", count: int
) -> dict[str, float]:
    before, noise, began = usage(process.pid), NoiseMeter(), time.monotonic()
    asked, log = len(_requests(project)), RequestLog(plane.connection.directory / "logs" / "audit.log", user=USER)
    plane.apply(_machine_set(count))
    machines = f"{MACHINES}/machines"

    def provisioned() -> bool:
        items = plane.rest.request("GET", machines)["items"]
        return len(items) == count and all(_is_provisioned(item) for item in items)

    _until(provisioned)
    seconds, others = time.monotonic() - began, noise.read().others
    made = _requests(project)[asked:]
    lists = sum(_is_list(method, path) for method, path in made)
    writes = sum(request.is_write and not request.is_of_lease for request in log.read())
    resting = len(_requests(project))
    time.sleep(REST_SECONDS)
    at_rest = len(_requests(project)) - resting
    deleting, began = len(_requests(project)), time.monotonic()
    plane.rest.request("DELETE", f"{MACHINES}/machinesets/bench")
    _until(lambda: not plane.rest.request("GET", machines)["items"])
    gone = time.monotonic() - began
    deletions = Counter(_is_list(method, path) for method, path in _requests(project)[deleting:])
    after = usage(process.pid)
    return {
        "seconds": seconds,
        "requests": len(made),
        "a server": (len(made) - lists) / count,
        "polls": lists,
        "rest": at_rest,
        "API writes": writes / count,
        "delete, s": gone,
        "a deletion": deletions[False] / count,
        "CPU, s": after.cpu - before.cpu,
        "memory, MB": after.peak,
        "others, cores": others,
    }


def _requests(project: Project) -> list[tuple[str, str]]:
    """What Windlass asked, without what this benchmark asks."""
    return [(each.method, each.path) for each in project.requests(user_agent="windlass")]


def _is_list(method: str, path: str) -> bool:
    where = path.split("?")[0]
    return method == "GET" and where.endswith(("/servers/detail", "/v2.0/ports", "/volumes/detail"))


def _is_provisioned(item: Tree) -> bool:
    return bool(item.get("status", {}).get("initialization", {}).get("infrastructureProvisioned"))


def _provisioned(plane: BlockingControlPlane, path: str) -> bool:
    return _is_provisioned(plane.rest.request("GET", path))


def _until(true: Callable[[], bool], *, seconds: float = 600.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.1)


def _cluster(project: Project) -> list[Tree]:
    infrastructure = {"apiGroup": GROUP, "kind": "OpenStackCluster", "name": "bench"}
    identity = {"type": "Secret", "name": "credentials", "cloudName": "openstack"}
    machine = {"flavor": "m1.tiny", "image": {"filter": {"name": "cirros"}}, "sshKeyName": ""}
    return [
        _named("v1", "Secret", "credentials", stringData={"clouds.yaml": project.clouds_yaml}),
        _named("v1", "Secret", "bootstrap", stringData={"value": "#cloud-config"}),
        _named(
            f"{GROUP}/v1beta1",
            "OpenStackCluster",
            "bench",
            spec={
                "identityRef": identity,
                "network": {"id": project.network_id},
                "controlPlaneEndpoint": {"host": "10.6.0.2", "port": 6443},
            },
        ),
        _named("cluster.x-k8s.io/v1beta2", "Cluster", "bench", spec={"infrastructureRef": infrastructure}),
        _named(f"{GROUP}/v1beta1", "OpenStackMachineTemplate", "bench", spec={"template": {"spec": machine}}),
    ]


def _machine_set(count: int) -> Tree:
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
    made = _named("cluster.x-k8s.io/v1beta2", "MachineSet", "bench", spec=spec)
    made["metadata"]["labels"] = LABELS
    return made


def _named(version: str, kind: str, name: str, **content: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "bench"}, **content}
