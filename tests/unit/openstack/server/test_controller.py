"""What wakes OpenStackServers that did not change themselves."""

from typing import Any

import pytest

from tests.unit.openstack.clouded import World, server
from windlass.api.capi import Cluster
from windlass.kube.object import Object
from windlass.model.reader import MemoryReader
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.server.controller import server_controller

Tree = dict[str, Any]


def cluster(name: str, **meta: Any) -> Object[Cluster]:
    metadata = {"name": name, "namespace": "shop", "uid": name, "generation": 1, **meta}
    return Object.of(Cluster, {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata})


ONE = cluster("one")
GONE = cluster("one", deletionTimestamp="2026-11-22T11:00:00Z", finalizers=["example.com/keep"])


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        pytest.param(None, ONE, ["a", "b"], id="one that was made"),
        pytest.param(ONE, cluster("one", generation=2), ["a", "b"], id="one that was paused"),
        pytest.param(ONE, GONE, ["a", "b"], id="one whose deletion began"),
        pytest.param(ONE, ONE, [], id="only its status changed"),
        pytest.param(None, cluster("none"), [], id="one without servers"),
    ],
)
def test_a_cluster_wakes_the_servers_with_its_label_in_its_namespace(
    old: Object[Cluster] | None, new: Object[Cluster], woken: list[str]
) -> None:
    world = World()
    for name, namespace, label in (
        ("a", "shop", "one"), ("b", "shop", "one"), ("c", "shop", "two"), ("d", "farm", "one"), ("e", "shop", ""),
    ):  # fmt: skip
        labels = {CLUSTER_LABEL: label} if label else {}
        world.api.load({**server(world), "metadata": {"name": name, "namespace": namespace, "labels": labels}})
    reader = MemoryReader(world.api)
    controller = server_controller(reader, world.clouds())
    reader.only(controller)
    (watch,) = (each for each in controller.watches if each.kind is Cluster)
    found = sorted(watch.map(new)) if watch.when(old, new) else []
    assert found == [("shop", name) for name in woken]
