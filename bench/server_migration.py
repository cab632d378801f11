"""Measures machines in OpenStack that change hands: authority over Machines moves to Cluster API and back.

All are asked for at once, by `windlass migrate`. Beside Windlass's two processes works Cluster API's own manager, on a
real OpenStack without guests, so there are no Nodes.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.contestant import Contestant, environment
from bench.machine import NoiseMeter
from bench.requests import RequestLog
from bench.servers import GROUP, UNLIMITED, USER, control_plane, until
from bench.tables import Cell, Table, against
from windlass.openstack.installation import OWNED
from windlass.testing import crds
from windlass.testing.binaries import to_stderr
from windlass.testing.cloud import Cloud, Project
from windlass.testing.cloud.faults import Request
from windlass.testing.machines import cluster_api
from windlass.testing.plane.control_plane import BlockingControlPlane
from windlass.testing.plane.rest import MERGE_PATCH

TARGET_WRITES: Final = 4
OURS, THEIRS = "openshift-machine-api", "openshift-cluster-api"
CLUSTER: Final = "bench"
MACHINES: Final = f"/apis/machine.openshift.io/v1beta1/namespaces/{OURS}/machines"
INFRA: Final = f"/apis/{GROUP}/v1beta1/namespaces/{THEIRS}/openstackmachines"
TARGETS: Final = (("ClusterAPI", "cluster-api"), ("MachineAPI", "machine-api"))
QUIET_SECONDS: Final = 5.0
MARKS: Final = ("/v2.0/ports/", "/metadata")
"""In the paths of requests that write a mark."""
Tree = dict[str, Any]


async def measure(directory: Path, *, objects: int, rounds: int) -> list[Table]:
    """`objects`: the Machines that move."""
    return await asyncio.to_thread(_measure, directory, objects, rounds)


def _measure(directory: Path, objects: int, rounds: int) -> list[Table]:
    rows: list[dict[str, Cell]] = []
    for number in range(rounds):
        folder = directory / str(number)
        folder.mkdir(parents=True)
        with Cloud(skip=("octavia",), report=to_stderr) as cloud, control_plane(folder) as plane:
            project = cloud.new_project(quota=UNLIMITED)
            with _at_work(plane, project, folder):
                rows += [{"round": number + 1, **row} for row in _moves(plane, project, objects)]
    notes = (
        "seconds: of the command, until all are in sync under the new authority; rest: until the last mark is written",
        "cloud writes: marks on a server and its port; made or deleted: anything else that was asked for",
        "API writes: of both processes, Events and refused ones included",
    )
    return [Table(f"Authority over {objects} Machines in OpenStack moves", [*rows[0]], rows, notes)]


@contextmanager
def _at_work(plane: BlockingControlPlane, project: Project, folder: Path) -> Iterator[None]:
    """Both processes, and a Cluster on `project`."""
    plane.apply_crds(*crds.documents(*{*crds.MACHINES, *crds.CLUSTER_API_CORE}))
    plane.apply_crds(*(owned.manifest() for owned in OWNED))
    cluster_api.start(plane)
    for name in (OURS, THEIRS, "windlass-openstack"):
        plane.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    _describe(plane)
    plane.apply(*_cluster(project))
    common = ["--kubeconfig", str(plane.kubeconfig(USER)), "--health-probe-bind-address", "0"]
    common += ["--metrics-bind-address", "0", "--no-leader-elect"]
    windlass = [sys.executable, "-m", "windlass", "run"]
    with (
        Contestant([*windlass, "machine-sync", *common], log=folder / "machine-sync.log"),
        Contestant([*windlass, "openstack", "--machine-api", *common], log=folder / "openstack.log"),
    ):
        yield
    project.may_leave()
    project.delete()


def _moves(plane: BlockingControlPlane, project: Project, count: int) -> Iterator[dict[str, Cell]]:
    plane.apply(*(_machine(project, number) for number in range(count)))
    until(lambda: _are_at_home(plane, "MachineAPI", count), pace=1.0)
    for authority, target in TARGETS:
        _wait_for_rest(project)
        yield {"authority to": authority, "machines": count, **_move(plane, project, authority, target, count)}


def _move(plane: BlockingControlPlane, project: Project, authority: str, target: str, count: int) -> dict[str, Cell]:
    log = RequestLog(plane.connection.directory / "logs" / "audit.log", user=USER)
    servers, before, noise, began = _servers(project), len(_writes(project)), NoiseMeter(), time.monotonic()
    command = [sys.executable, "-m", "windlass", "--kubeconfig", str(plane.kubeconfig()), "migrate"]
    command += ["--all", "--yes", "--to", target, "--max-in-flight", str(count)]
    subprocess.run(command, check=True, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    until(lambda: _are_at_home(plane, authority, count), pace=1.0)
    last = _wait_for_rest(project)
    made = _writes(project)[before:]
    marks = sum(any(part in each.path for part in MARKS) for each in made)
    changed = {*_servers(project)} ^ {*servers}
    written = [request for request in log.read() if request.is_write and not request.is_of_lease]
    return {
        "seconds": seconds,
        "rest, s": last - began,
        "cloud writes a machine": marks / count,
        "wanted": against(marks / count, TARGET_WRITES),
        "made or deleted": len(made) - marks + len(changed),
        "API writes a machine": len(written) / count,
        "others, cores": noise.read().others,
    }


def _are_at_home(plane: BlockingControlPlane, authority: str, count: int) -> bool:
    """All have arrived, and the side that has them says that they are ready."""
    path = INFRA if authority == "ClusterAPI" else MACHINES
    moved = [each["status"].get("authoritativeAPI") for each in _items(plane, MACHINES)]
    ready = [_is_ready(each) for each in _items(plane, path)]
    return moved == [authority] * count and ready == [True] * count


def _items(plane: BlockingControlPlane, path: str) -> list[Tree]:
    found: list[Tree] = plane.rest.request("GET", path)["items"]
    return [{"status": {}, **each} for each in found]


def _is_ready(item: Tree) -> bool:
    conditions = item["status"].get("conditions") or []
    return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)


def _wait_for_rest(project: Project) -> float:
    """Return once nothing was written to the cloud for a while: when the last write was first seen."""
    seen, since = len(_writes(project)), time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS:
        time.sleep(0.5)
        if (now := len(_writes(project))) != seen:
            seen, since = now, time.monotonic()
    return since


def _writes(project: Project) -> Sequence[Request]:
    """What Windlass asked the cloud to change."""
    found = project.requests(user_agent="windlass")
    return [each for each in found if each.method != "GET" and each.service != "keystone"]


def _servers(project: Project) -> list[str]:
    return sorted(each.id for each in project.sdk.compute.servers())


def _describe(plane: BlockingControlPlane) -> None:
    """Platform OpenStack, feature gate on."""
    gate = {"version": "4.22.0", "enabled": [{"name": "MachineAPIMigration"}]}
    release = {"desired": {"version": "4.22.0", "image": "release"}, "availableUpdates": []}
    for kind, plural, name, spec, status in (
        ("FeatureGate", "featuregates", "cluster", {}, {"featureGates": [gate]}),
        (
            "ClusterVersion",
            "clusterversions",
            "version",
            {"clusterID": "11111111-2222-4333-8444-555555555555"},
            {**release, "observedGeneration": 1, "versionHash": ""},
        ),
        (
            "Infrastructure",
            "infrastructures",
            "cluster",
            {},
            {"infrastructureName": CLUSTER, "platformStatus": {"type": "OpenStack"}},
        ),
    ):
        version = "config.openshift.io/v1"
        plane.apply({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
        path = f"/apis/{version}/{plural}/{name}/status"
        plane.rest.request("PATCH", path, {"status": status}, content_type=MERGE_PATCH)


def _cluster(project: Project) -> list[Tree]:
    reference = {"apiGroup": GROUP, "kind": "OpenStackCluster", "name": CLUSTER}
    infra = {
        "identityRef": {"type": "Secret", "name": "credentials", "cloudName": "openstack"},
        "network": {"id": project.network_id},
        "controlPlaneEndpoint": {"host": "10.6.0.2", "port": 6443},
        "disableExternalNetwork": True,
        "disableAPIServerFloatingIP": True,
    }
    secrets = [
        _named("v1", "Secret", name, place, stringData=data)
        for place in (OURS, THEIRS)
        for name, data in (
            ("credentials", {"clouds.yaml": project.clouds_yaml}),
            ("user-data", {"userData": "{}", "value": "{}", "disableTemplating": "true"}),
        )
    ]
    return [
        *secrets,
        _named(f"{GROUP}/v1beta1", "OpenStackCluster", CLUSTER, THEIRS, spec=infra),
        _named("cluster.x-k8s.io/v1beta2", "Cluster", CLUSTER, THEIRS, spec={"infrastructureRef": reference}),
    ]


def _machine(project: Project, number: int) -> Tree:
    value = {
        "apiVersion": "machine.openshift.io/v1alpha1",
        "kind": "OpenstackProviderSpec",
        "cloudsSecret": {"name": "credentials", "namespace": OURS},
        "cloudName": "openstack",
        "flavor": "m1.tiny",
        "image": "cirros",
        "networks": [{"subnets": [{"uuid": project.subnet_id}]}],
        "userDataSecret": {"name": "user-data"},
    }
    spec = {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": value}}
    made = _named("machine.openshift.io/v1beta1", "Machine", f"worker-{number}", OURS, spec=spec)
    made["metadata"]["labels"] = {"machine.openshift.io/cluster-api-cluster": CLUSTER}
    return made


def _named(version: str, kind: str, name: str, place: str, **content: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": place}, **content}
