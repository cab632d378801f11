"""Machines to decide about, as trees that tests change where a case differs."""

import copy
from datetime import UTC, datetime
from typing import Any

from windlass.api import capi, capo, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.kube.seen import Absent, Seen, seen
from windlass.machine_sync.machine.snapshot import MachineSnapshot
from windlass.machine_sync.platforms import PLATFORMS

Tree = dict[str, Any]

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
EARLIER = "2026-01-01T00:00:00Z"
GONE = {"deletionTimestamp": "2026-05-01T11:59:00Z"}
SYNC = "sync.machine.openshift.io/finalizer"
MACHINE_API_FINALIZER = "machine.machine.openshift.io"
CLUSTER_API_FINALIZER = "machine.cluster.x-k8s.io"
INFRA_FINALIZER = "openstackmachine.infrastructure.cluster.x-k8s.io"

SOURCE: Tree = {
    "metadata": {
        "name": "w-0",
        "namespace": "openshift-cluster-api",
        "uid": "capi-uid",
        "resourceVersion": "70",
        "generation": 7,
        "labels": {"cluster.x-k8s.io/cluster-name": "c", "node-role.kubernetes.io/worker": ""},
        "finalizers": [CLUSTER_API_FINALIZER, SYNC],
        "ownerReferences": [
            {
                "apiVersion": "cluster.x-k8s.io/v1beta2",
                "kind": "MachineSet",
                "name": "ms",
                "uid": "capi-ms-uid",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    },
    "spec": {
        "clusterName": "c",
        "bootstrap": {"dataSecretName": "worker-user-data"},
        "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "OpenStackMachine",
            "name": "w-0-infra",
        },
        "providerID": "openstack:///1",
    },
    "status": {"phase": "Running", "nodeRef": {"name": "node-0"}},
}
INFRA: Tree = {
    "metadata": {
        "name": "w-0-infra",
        "namespace": "openshift-cluster-api",
        "uid": "infra-uid",
        "resourceVersion": "20",
        "generation": 2,
        "finalizers": [INFRA_FINALIZER, SYNC],
    },
    "spec": {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}},
    "status": {"ready": True},
}
INFRA_CLUSTER: Tree = {"metadata": {"name": "c", "namespace": "openshift-cluster-api", "uid": "cluster-uid"}}
SOURCE_SET: Tree = {"metadata": {"name": "ms", "namespace": "openshift-cluster-api", "uid": "capi-ms-uid"}}
MIRROR_SET: Tree = {"metadata": {"name": "ms", "namespace": "openshift-machine-api", "uid": "mapi-ms-uid"}}


def changed(tree: Tree, **fields: Any) -> Tree:
    """A copy with `a__b=value` set at path a.b; None removes the field."""
    result = copy.deepcopy(tree)
    for path, value in fields.items():
        *parents, leaf = path.split("__")
        place = result
        for parent in parents:
            place = place.setdefault(parent, {})
        if value is None:
            place.pop(leaf, None)
        else:
            place[leaf] = value
    return result


def look(kind: type[KubernetesObject], tree: Tree | None) -> Seen[Any]:
    """As a reader would report it; an absence is confirmed."""
    return Absent(confirmed=True) if tree is None else seen(Object.of(kind, tree))


def snapshot(
    *,
    source: Tree | None = SOURCE,
    mirror: Tree | None = None,
    infra: Tree | None = INFRA,
    infra_cluster: Tree | None = INFRA_CLUSTER,
    mirror_set: Tree | None = MIRROR_SET,
    source_set: Tree | None = SOURCE_SET,
) -> MachineSnapshot:
    return MachineSnapshot(
        name="w-0",
        platform=PLATFORMS["OpenStack"],
        source=look(capi.Machine, source),
        mirror=look(mapi.Machine, mirror),
        infra=look(capo.OpenStackMachine, infra),
        infra_cluster=look(capo.OpenStackCluster, infra_cluster),
        mirror_set=look(mapi.MachineSet, mirror_set),
        source_set=look(capi.MachineSet, source_set),
    )


def carried_out(mirror: Tree, plan: Any) -> Tree:
    """`mirror` as it is after the writes of `plan` to it."""
    result = copy.deepcopy(mirror)
    for action in plan.needed:
        if action.target.kind is not mapi.Machine:
            continue
        if hasattr(action, "patch"):
            _patch(result, action.patch)
        elif hasattr(action, "body"):
            result = copy.deepcopy(dict(action.body))
            result["metadata"].update(
                name="w-0", namespace="openshift-machine-api", uid="mapi-uid", resourceVersion="1"
            )
        elif hasattr(action, "desired"):
            result["metadata"]["finalizers"] = action.desired
    return result


def _patch(tree: Tree, patch: Tree) -> None:
    for key, value in patch.items():
        if value is None:
            tree.pop(key, None)
        elif isinstance(value, dict):
            _patch(tree.setdefault(key, {}), value)
        else:
            tree[key] = value
