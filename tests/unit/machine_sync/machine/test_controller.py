"""What wakes a machine."""

from typing import Any

import pytest

from windlass.api import capi, capo, capo_cluster, config, mapi
from windlass.kube.control.controller import Watch
from windlass.kube.object import Object
from windlass.machine_sync.machine.controller import machine_controller
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model.reader import MemoryReader

from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER,
    INFRA,
    INFRA_CLUSTER,
    INFRASTRUCTURE,
    MAPI_MACHINE,
    MAPI_SET,
    Tree,
    changed,
)
from .world import NAMESPACES, world


def woken(kind: type[Any], tree: Tree, **trees: Any) -> list[str]:
    """The machines that an object of `kind` concerns."""
    reader = MemoryReader(world(**trees))
    controller = machine_controller(reader, platform=OPENSTACK, namespaces=NAMESPACES)
    reader.only(controller)
    watches: list[Watch[str]] = [*controller.watches]
    (watch,) = [watch for watch in watches if watch.kind is kind]
    return sorted(watch.map(Object.of(kind, tree)))


@pytest.mark.parametrize(("kind", "tree"), [(mapi.Machine, MAPI_MACHINE), (capi.Machine, CAPI_MACHINE)])
def test_a_machine_wakes_itself(kind: type[Any], tree: Tree) -> None:
    assert woken(kind, tree) == ["w-0"]


def test_an_infra_machine_wakes_the_machine_that_refers_to_it_and_that_of_its_own_name() -> None:
    assert woken(capo.OpenStackMachine, INFRA) == ["w-0", "w-0-infra"]


def test_an_infra_machine_wakes_the_machine_that_owns_it() -> None:
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": "owner", "uid": "u"}
    others = {**owner, "kind": "MachinePool", "name": "pool"}
    owned = changed(INFRA, metadata__name="alone", metadata__ownerReferences=[owner, others])
    assert woken(capo.OpenStackMachine, owned) == ["alone", "owner"]


def test_an_infra_cluster_wakes_the_machines_in_it_and_those_that_are_to_be_converted() -> None:
    other = changed(INFRA_CLUSTER, metadata__name="other")
    assert woken(capo_cluster.OpenStackCluster, INFRA_CLUSTER) == ["w-0"]
    assert woken(capo_cluster.OpenStackCluster, other) == []
    assert woken(capo_cluster.OpenStackCluster, other, machine_api=MAPI_MACHINE, cluster_api=None) == ["w-0"]


@pytest.mark.parametrize(("kind", "tree"), [(capi.MachineSet, CAPI_SET), (mapi.MachineSet, MAPI_SET)])
def test_a_set_wakes_its_machines_on_either_side(kind: type[Any], tree: Tree) -> None:
    assert woken(kind, tree) == ["w-0"]
    assert woken(kind, tree, machine_api=MAPI_MACHINE, cluster_api=None) == ["w-0"]
    assert woken(kind, changed(tree, metadata__name="other")) == []


@pytest.mark.parametrize(("kind", "tree"), [(capi.Cluster, CLUSTER), (config.Infrastructure, INFRASTRUCTURE)])
def test_what_describes_this_cluster_wakes_the_machines_that_are_to_be_converted(kind: type[Any], tree: Tree) -> None:
    assert woken(kind, tree, machine_api=MAPI_MACHINE) == ["w-0"]
    assert woken(kind, tree) == []
