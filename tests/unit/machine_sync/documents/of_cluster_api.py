"""Documents of Cluster API that belong together, as a user would write them."""

import json
from typing import Any

from windlass.capability.documents import Document, read


def machine(name: str = "w-0", *, cluster: str = "c", namespace: str = "ns", **changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": meta(name, namespace),
        "spec": {
            "clusterName": cluster,
            "infrastructureRef": {"kind": "OpenStackMachine", "name": f"{name}-infra"},
            **changes,
        },
    }


def infra(name: str = "w-0-infra", namespace: str = "ns", *, flavor: Any = "m1") -> dict[str, Any]:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": "OpenStackMachine",
        "metadata": meta(name, namespace),
        "spec": {"flavor": flavor, "image": {"filter": {"name": "rhcos"}}},
    }


def infra_cluster(name: str = "c", namespace: str = "ns", kind: str = "OpenStackCluster") -> dict[str, Any]:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": meta(name, namespace),
        "spec": {},
    }


def cluster(
    reference: dict[str, Any], name: str = "c", api_version: str = "cluster.x-k8s.io/v1beta2"
) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": "Cluster",
        "metadata": meta(name, "ns"),
        "spec": {"infrastructureRef": reference},
    }


def meta(name: str, namespace: str) -> dict[str, str]:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


def documents(*trees: dict[str, Any], source: str = "input") -> list[Document]:
    return list(read(source, "\n".join(map(json.dumps, trees)).encode()))
