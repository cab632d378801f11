"""MachineSets to decide about, as trees that tests change where a case differs."""

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.object import Object
from windlass.kube.plan import Outcome
from windlass.kube.seen import Absent, Present, Seen, Unreadable, seen
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot, Template
from windlass.machine_sync.platforms import OPENSTACK, Platform

Tree = dict[str, Any]

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
EARLIER = "2026-01-01T00:00:00Z"
GONE = {"deletionTimestamp": "2026-05-01T11:59:00Z"}
NAME = "ms"
OURS, THEIRS = "openshift-machine-api", "openshift-cluster-api"
SYNC = "sync.machine.openshift.io/finalizer"
CLUSTER_API_FINALIZER = "cluster.x-k8s.io/machineset"
MACHINE_SET_LABEL = "machine.openshift.io/cluster-api-machineset"
PAUSED = "cluster.x-k8s.io/paused"
AUTHORITY = "sync.machine.openshift.io/authoritative-api"

CLUSTER: Tree = {"metadata": {"name": "c", "namespace": THEIRS, "uid": "cluster-uid"}}
INFRA_CLUSTER: Tree = {"metadata": {"name": "c", "namespace": THEIRS, "uid": "infra-cluster-uid"}}
INFRASTRUCTURE: Tree = {
    "metadata": {"name": "cluster", "uid": "infrastructure-uid"},
    "status": {"infrastructureName": "c", "platformStatus": {"type": "OpenStack"}},
}
OF_CLUSTER = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Cluster",
    "name": "c",
    "uid": "cluster-uid",
    "controller": False,
    "blockOwnerDeletion": True,
}
MAPI_SET: Tree = {
    "metadata": {
        "name": NAME,
        "namespace": OURS,
        "uid": "mapi-uid",
        "resourceVersion": "50",
        "generation": 4,
        "labels": {"team": "a"},
        "finalizers": [SYNC],
    },
    "spec": {
        "authoritativeAPI": "MachineAPI",
        "replicas": 2,
        "deletePolicy": "Newest",
        "selector": {"matchLabels": {MACHINE_SET_LABEL: NAME}},
        "template": {
            "metadata": {
                "labels": {MACHINE_SET_LABEL: NAME, "machine.openshift.io/cluster-api-machine-role": "worker"},
            },
            "spec": {
                "authoritativeAPI": "MachineAPI",
                "providerSpec": {
                    "value": {
                        "apiVersion": "machine.openshift.io/v1alpha1",
                        "kind": "OpenstackProviderSpec",
                        "flavor": "m1.large",
                        "image": "rhcos",
                        "cloudsSecret": {"name": "openstack-cloud-credentials"},
                        "cloudName": "openstack",
                        "userDataSecret": {"name": "worker-user-data"},
                    }
                },
            },
        },
    },
    "status": {
        "authoritativeAPI": "MachineAPI",
        "replicas": 2,
        "readyReplicas": 1,
        "observedGeneration": 4,
        "conditions": [{"type": "Paused", "status": "False", "lastTransitionTime": EARLIER}],
    },
}
"""A MachineSet of the Machine API that is authoritative."""

CAPI_SET: Tree = {
    "metadata": {
        "name": NAME,
        "namespace": THEIRS,
        "uid": "capi-uid",
        "resourceVersion": "70",
        "generation": 7,
        "labels": {"cluster.x-k8s.io/cluster-name": "c", "team": "a"},
        "finalizers": [CLUSTER_API_FINALIZER, SYNC],
        "ownerReferences": [OF_CLUSTER],
    },
    "spec": {
        "clusterName": "c",
        "replicas": 2,
        "selector": {"matchLabels": {MACHINE_SET_LABEL: NAME}},
        "deletion": {"order": "Newest"},
        "template": {
            "metadata": {
                "labels": {
                    MACHINE_SET_LABEL: NAME,
                    "cluster.x-k8s.io/cluster-name": "c",
                    "node-role.kubernetes.io/worker": "",
                }
            },
            "spec": {
                "clusterName": "c",
                "bootstrap": {"dataSecretName": "worker-user-data"},
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "OpenStackMachineTemplate",
                    "name": "made-by-a-user",
                },
            },
        },
    },
    "status": {
        "observedGeneration": 7,
        "replicas": 2,
        "deprecated": {"v1beta1": {"fullyLabeledReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}},
    },
}
"""A MachineSet of Cluster API that is authoritative."""

TEMPLATE: Tree = {
    "metadata": {
        "name": "made-by-a-user",
        "namespace": THEIRS,
        "uid": "template-uid",
        "resourceVersion": "20",
        "generation": 1,
    },
    "spec": {
        "template": {
            "spec": {
                "flavor": "m1.large",
                "image": {"filter": {"name": "rhcos"}},
                "identityRef": {"type": "Secret", "name": "openstack-cloud-credentials", "cloudName": "openstack"},
            }
        }
    },
}
"""What `CAPI_SET` refers to."""

BEHIND_CLUSTER_API: Tree = {
    **MAPI_SET,
    "spec": {**MAPI_SET["spec"], "authoritativeAPI": "ClusterAPI"},
    "status": {**MAPI_SET["status"], "authoritativeAPI": "ClusterAPI"},
}
"""The MachineSet of the Machine API as it is where Cluster API is authoritative, not brought up to date yet."""


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


def template(name: str, *, made_for: str | None = NAME, **metadata: Any) -> Tree:
    """An infra template called `name`, with the label of the set it was made for."""
    labels = {MACHINE_SET_LABEL: made_for} if made_for else {}
    return changed(TEMPLATE, metadata={**TEMPLATE["metadata"], "name": name, "uid": name, "labels": labels, **metadata})


def look(kind: type[KubernetesObject], tree: Tree | None) -> Seen[Any]:
    """As a reader would report it; an absence is confirmed."""
    return Absent(confirmed=True) if tree is None else seen(Object.of(kind, tree))


def snapshot(
    *,
    machine_api: Tree | None = MAPI_SET,
    cluster_api: Tree | None = None,
    template: Tree | None = TEMPLATE,
    templates: tuple[Tree, ...] = (),
    users: Mapping[str, tuple[str, ...]] | None = None,
    acting: tuple[str, ...] = (),
    infra_cluster: Tree | None = INFRA_CLUSTER,
    cluster: Tree | None = CLUSTER,
    infrastructure: Tree | None = INFRASTRUCTURE,
    platform: Platform = OPENSTACK,
    last: Outcome | None = None,
) -> MachineSetSnapshot:
    looked = ((tree, look(platform.infra_template, tree)) for tree in templates)
    return MachineSetSnapshot(
        name=NAME,
        platform=platform,
        machine_api=look(mapi.MachineSet, machine_api),
        cluster_api=look(capi.MachineSet, cluster_api),
        template=look(platform.infra_template, template),
        templates=tuple(
            Template(found, (users or {}).get(tree["metadata"]["name"], ()))
            for tree, found in looked
            if isinstance(found, Present | Unreadable)
        ),
        acting=acting,
        infra_cluster=look(platform.infra_cluster, infra_cluster),
        cluster=look(capi.Cluster, cluster),
        infrastructure=look(config.Infrastructure, infrastructure),
        last=last or Outcome(),
    )
