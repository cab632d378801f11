"""MachineSets to decide about, as trees that tests change where a case differs."""

from collections.abc import Mapping
from typing import Any

from windlass.api import capi, config, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube.control.plan import Outcome
from windlass.kube.control.seen import Present, Seen, Unreadable
from windlass.kube.object import Object
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot, Template
from windlass.machine_sync.platforms import OPENSTACK, Platform

# Tests have these from here, like the rest.
from ..trees import AUTHORITY as AUTHORITY
from ..trees import CLUSTER as CLUSTER
from ..trees import EARLIER as EARLIER
from ..trees import GONE as GONE
from ..trees import INFRA_CLUSTER as INFRA_CLUSTER
from ..trees import INFRASTRUCTURE as INFRASTRUCTURE
from ..trees import NOW as NOW
from ..trees import OURS as OURS
from ..trees import PAUSED as PAUSED
from ..trees import PROVIDER_SPEC as PROVIDER_SPEC
from ..trees import SYNC as SYNC
from ..trees import THEIRS as THEIRS
from ..trees import Tree as Tree
from ..trees import changed as changed
from ..trees import look as look
from ..trees import told

NAME = "ms"
CLUSTER_API_FINALIZER = "cluster.x-k8s.io/machineset"
MACHINE_SET_LABEL = "machine.openshift.io/cluster-api-machineset"

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
                "providerSpec": {"value": PROVIDER_SPEC},
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


def template(name: str, *, made_for: str | None = NAME, **metadata: Any) -> Tree:
    """An infra template called `name`, with the label of the set it was made for."""
    labels = {MACHINE_SET_LABEL: made_for} if made_for else {}
    return changed(TEMPLATE, metadata={**TEMPLATE["metadata"], "name": name, "uid": name, "labels": labels, **metadata})


def snapshot(
    *,
    machine_api: Tree | None = MAPI_SET,
    cluster_api: Tree | None = None,
    template: Tree | None = TEMPLATE,
    templates: tuple[Tree, ...] = (),
    users: Mapping[str, tuple[str, ...]] | None = None,
    acting: tuple[Tree, ...] = (),
    owned: tuple[str, ...] = (),
    disowned: bool = False,
    infra_cluster: Tree | None = INFRA_CLUSTER,
    cluster: Tree | None = CLUSTER,
    infrastructure: Tree | None = INFRASTRUCTURE,
    platform: Platform = OPENSTACK,
    last: Outcome | None = None,
) -> MachineSetSnapshot:
    looked = ((tree, look(platform.infra_template, tree)) for tree in templates)
    sides: dict[type[KubernetesObject], Seen[Any]] = {
        mapi.MachineSet: look(mapi.MachineSet, machine_api),
        capi.MachineSet: look(capi.MachineSet, cluster_api),
    }
    return MachineSetSnapshot(
        name=NAME,
        platform=platform,
        machine_api=sides[mapi.MachineSet],
        cluster_api=sides[capi.MachineSet],
        template=look(platform.infra_template, template),
        templates=tuple(
            Template(found, (users or {}).get(tree["metadata"]["name"], ()))
            for tree, found in looked
            if isinstance(found, Present | Unreadable)
        ),
        acting=tuple(Object.of(capi.Machine, tree).metadata for tree in acting),
        owned=owned,
        disowned=disowned,
        infra_cluster=look(platform.infra_cluster, infra_cluster),
        cluster=look(capi.Cluster, cluster),
        infrastructure=look(config.Infrastructure, infrastructure),
        last=last or Outcome(),
        answers=told({kind: (NAME, side) for kind, side in sides.items()}),
    )
