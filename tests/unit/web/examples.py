"""Objects of a cluster as views show them: clusters and machines on OpenStack, and pools with images of the OS.

They look as controllers leave them, with troubles of each kind. Tests draw them in a browser, and the pictures of the
docs are made of them.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from windlass.api import mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.clock import rfc3339
from windlass.kube.control.seen import Present, read
from windlass.kube.object import Object
from windlass.openstack.view import clouds
from windlass.openstack.view.document import document as of_clouds
from windlass.os_build.view import pools
from windlass.os_build.view.document import document as of_pools
from windlass.web.following import Followed, Kept, framed
from windlass.web.running import Alive, Runs

GROUP = "machineconfiguration.openshift.io"
FULL = (
    "Failed to create server {name}: compute (403): Quota exceeded for cores: Requested 4, but already used 78 of 80 "
    "cores. In use: 78 of 80 cores, 19 of 20 instances. Raise the quota of the project, or delete something in it"
)
NO_FLAVOR = (
    "Failed to resolve server spec: no flavor matches flavor (name m9.huge): create it, share it with the project, or "
    "correct `spec.flavor`"
)
LOG = """STEP 3/4: RUN install-agent --version 7
/bin/sh: install-agent: not found
subprocess exited with status 127
Error: building at STEP "RUN install-agent --version 7": exit status 127"""
FAILED = (
    "The build failed in step 'RUN install-agent --version 7' with exit code 127 (attempt 1 of 4). Correct the "
    "command, or what it needs: if it is the user's, ConfigMap openshift-machine-config-operator/on-cluster-build-"
    "custom-dockerfile, key infra. It is built again when its inputs change, or after `windlass os-build rebuild "
    f"infra`. Last lines of the log:\n{LOG}"
)


def ago(**how_long: float) -> str:
    return rfc3339(datetime.now(UTC) - timedelta(**how_long))


def condition(kind: str, status: str, reason: str = "", message: str = "", *, since: str = "") -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": since or ago(hours=5),
    }


def tree(
    kind: type[Any], name: str, *, namespace: str = "", meta: Mapping[str, Any] | None = None, **rest: Any
) -> dict[str, Any]:
    resource = kind.RESOURCE
    return {
        "apiVersion": f"{resource.group}/{resource.version}",
        "kind": resource.kind,
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "creationTimestamp": ago(days=12),
            **(meta or {}),
        },
        **rest,
    }


def present(kind: type[Any], found: Mapping[str, Any]) -> Present[Any]:
    seen = read(Object.of(kind, found))
    assert isinstance(seen, Present), seen
    return seen


def kept(followed: Mapping[str, Followed[Any]], objects: Iterable[Mapping[str, Any]], *, alive: Alive) -> Kept:
    """What following these objects keeps."""
    of_kind = {(each.kind.RESOURCE.kind, each.kind.RESOURCE.group): name for name, each in followed.items()}
    rows: dict[str, list[Any]] = {name: [] for name in followed}
    for each in objects:
        name = of_kind[each["kind"], each["apiVersion"].partition("/")[0]]
        if (drawn := followed[name].draw(present(followed[name].kind, each))) is not None:
            rows[name].append(drawn)
    return Kept(rows, alive=alive)


RUNNING = Alive(Runs.RUNS, "it runs")
STOPPED = Alive(Runs.STOPPED, "OpenStack does not run: nobody holds Lease windlass-openstack/windlass-openstack")

# OpenStack

READY = (condition("Ready", "True"), condition("InstanceReady", "True"), condition("Progressing", "False", "Success"))


def failing(reason: str, message: str, *, since: str, by_itself: bool = False) -> tuple[dict[str, Any], ...]:
    """The conditions of a machine without its server."""
    told = (
        f"{message}\nNext attempt at {ago(minutes=-3)}"
        if by_itself
        else f"{message}\nIt is tried again within 10 minutes"
    )
    progress = condition(
        "Progressing", str(by_itself), "TransientError" if by_itself else "InvalidConfiguration", told, since=since
    )
    return (
        condition("Ready", "False", reason, message, since=since),
        condition("InstanceReady", "False", reason, message, since=since),
        progress,
    )


def machine(name: str, number: int = 0, *conditions: Any, state: str = "ACTIVE", **meta: Any) -> dict[str, Any]:
    address = f"10.6.{number // 250}.{number % 250 + 4}"
    return tree(
        OpenStackMachine,
        name,
        namespace="prod",
        meta={"labels": {"cluster.x-k8s.io/cluster-name": "one"}, **meta},
        spec={"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}},
        status={
            "conditions": [*(conditions or READY)],
            "instanceState": state,
            "addresses": [{"type": "InternalIP", "address": address}] if state else [],
        },
    )


def server_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """The OpenStackServer of an OpenStackMachine, in the same state."""
    meta = found["metadata"]
    owner = {"apiVersion": found["apiVersion"], "kind": "OpenStackMachine", "name": meta["name"], "uid": "1"}
    return tree(
        OpenStackServer,
        meta["name"],
        namespace=meta["namespace"],
        meta={"labels": meta["labels"], "ownerReferences": [owner], **{key: meta[key] for key in GOING if key in meta}},
        spec={"identityRef": {"name": "cloud", "cloudName": "demo"}, "flavor": "m1.large"},
        status=found["status"],
    )


GOING: dict[str, Any] = {"deletionTimestamp": ago(minutes=1), "finalizers": ["a/b"]}


def clouds_objects(machines: int = 6) -> list[dict[str, Any]]:
    since = ago(minutes=25)
    good = [machine(f"one-workers-{number}", number) for number in range(machines)]
    bad = [
        machine("one-gpu-0", 90, *failing("DependencyFailed", NO_FLAVOR, since=ago(hours=2)), state=""),
        machine(
            "one-workers-x7",
            91,
            *failing("QuotaExceeded", FULL.format(name="one-workers-x7"), since=since, by_itself=True),
            state="",
        ),
        machine(
            "one-workers-x8",
            92,
            *failing("QuotaExceeded", FULL.format(name="one-workers-x8"), since=since, by_itself=True),
            state="",
        ),
        machine("one-workers-old", 93, **GOING),
    ]
    cluster = tree(
        OpenStackCluster,
        "one",
        namespace="prod",
        meta={"labels": {"cluster.x-k8s.io/cluster-name": "one"}},
        spec={
            "identityRef": {"name": "cloud", "cloudName": "demo"},
            "controlPlaneEndpoint": {"host": "203.0.113.237", "port": 6443},
        },
        status={
            "network": {"name": "k8s-clusterapi-cluster-prod-one", "id": "690c8230-3dfc-4ce2-8f00-af20b4dbca04"},
            "bastion": {"floatingIP": "203.0.113.94"},
            "failureDomains": [{"name": "nova"}],
            "conditions": [condition("Ready", "True"), condition("BastionReady", "True")],
        },
    )
    pool = tree(
        OpenStackFloatingIPPool,
        "edge",
        namespace="prod",
        spec={"identityRef": {"name": "cloud", "cloudName": "demo"}, "reclaimPolicy": "Delete", "maxIPs": 8},
        status={
            "claimedIPs": ["203.0.113.7"],
            "availableIPs": ["203.0.113.8"],
            "conditions": [condition("Ready", "True")],
        },
    )
    served = tree(
        mapi.Machine,
        "two-worker-a",
        namespace="openshift-machine-api",
        meta={"annotations": {"machine.openshift.io/instance-state": "ACTIVE"}},
        spec={},
        status={"conditions": [*READY], "addresses": [{"type": "InternalIP", "address": "10.7.0.4"}]},
    )
    bastion = tree(
        OpenStackServer,
        "one-bastion",
        namespace="prod",
        meta={
            "labels": {"cluster.x-k8s.io/cluster-name": "one"},
            "ownerReferences": [
                {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                    "kind": "OpenStackCluster",
                    "name": "one",
                    "uid": "1",
                }
            ],
        },
        spec={"identityRef": {"name": "cloud", "cloudName": "demo"}, "flavor": "m1.small"},
        status={
            "conditions": [*READY],
            "instanceState": "ACTIVE",
            "addresses": [{"type": "InternalIP", "address": "10.6.0.87"}],
        },
    )
    return [cluster, pool, served, bastion, *good, *bad, *map(server_of, (*good, *bad))]


def clouds_document(objects: Iterable[Mapping[str, Any]] | None = None, *, alive: Alive = RUNNING) -> dict[str, Any]:
    found = kept(clouds.kinds(), clouds_objects() if objects is None else objects, alive=alive)
    return framed(of_clouds(found), found.alive, [])


# Images of the OS


def pool(name: str, *conditions: Any, nodes: tuple[int, int] = (3, 3), **annotations: str) -> dict[str, Any]:
    given = {f"{GROUP}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return tree(
        MachineConfigPool,
        name,
        meta={"annotations": given},
        spec={"configuration": {"name": f"rendered-{name}-5c1f"}},
        status={"machineCount": nodes[1], "updatedMachineCount": nodes[0], "conditions": [*conditions]},
    )


def vector(true: str, reason: str, message: str, *, since: str) -> list[dict[str, Any]]:
    """The four conditions of the image of a pool."""
    names = ("BuildPending", "Building", "BuildSuccess", "BuildFailed")
    return [condition(name, str(name == true), reason, message if name == true else "", since=since) for name in names]


DIGEST = "registry.example.com/machines/os@sha256:89886e8d1532bc3be77ca4111abc9f481a746f375f740c922a4003ec1af950e4"


def pools_objects() -> list[dict[str, Any]]:
    built = {"layering_enabled": "", "desired_os_image": DIGEST, "desired_os_image_config": "rendered-worker-5c1f"}
    older = {**built, "desired_os_image_config": "rendered-infra-91ab"}
    running = "Build windlass-gpu-7c2d of rendered-gpu-5c1f is running, attempt 2 of 4"
    return [
        pool("master"),
        pool(
            "worker",
            *vector(
                "BuildSuccess", "BuildSucceeded", f"{DIGEST} is built from rendered-worker-5c1f", since=ago(hours=9)
            ),
            nodes=(11, 12),
            **built,
        ),
        pool("infra", *vector("BuildFailed", "StepFailed", FAILED, since=ago(minutes=12)), nodes=(0, 3), **older),
        pool(
            "gpu", *vector("Building", "BuildRunning", running, since=ago(minutes=4)), nodes=(0, 2), layering_enabled=""
        ),
        pool("edge", condition("ImageBuildDegraded", "False", "Building", "Build started for pool edge"), nodes=(0, 4)),
        tree(
            MachineOSConfig,
            "edge",
            meta={"annotations": {f"{GROUP}/current-machine-os-build": "edge-1a"}},
            spec={
                "machineConfigPool": {"name": "edge"},
                "renderedImagePushSpec": "registry.example.com/edge/os:latest",
            },
            status={"machineOSBuild": {"group": GROUP, "resource": "machineosbuilds", "name": "edge-1a"}},
        ),
        tree(
            MachineOSBuild,
            "edge-1a",
            meta={"creationTimestamp": ago(minutes=6)},
            spec={
                "machineConfig": {"name": "rendered-edge-5c1f"},
                "machineOSConfig": {"name": "edge"},
                "renderedImagePushSpec": "registry.example.com/edge/os:edge-1a",
            },
            status={
                "buildStart": ago(minutes=5),
                "builder": {
                    "imageBuilderType": "Job",
                    "job": {
                        "group": "batch",
                        "resource": "jobs",
                        "namespace": "openshift-machine-config-operator",
                        "name": "build-edge-1a",
                    },
                },
                "conditions": [
                    condition("Prepared", "False", "Prepared", "Build Prepared and Pending"),
                    condition("Building", "True", "Building", "Image Build In Progress", since=ago(minutes=5)),
                ],
            },
        ),
    ]


def pools_document(objects: Iterable[Mapping[str, Any]] | None = None, *, alive: Alive = RUNNING) -> dict[str, Any]:
    found = kept(pools.KINDS, pools_objects() if objects is None else objects, alive=alive)
    return framed(of_pools(found), found.alive, [])
