"""What wakes a MachineSet, and what its controller declares."""

from typing import Any

import pytest

from windlass.api import capi, capo, capo_cluster, config, mapi
from windlass.kube.control.controller import Watch
from windlass.kube.object import Object
from windlass.machine_sync.machine_set.controller import machine_set_controller
from windlass.machine_sync.machine_set.infra_templates import sets_of
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model.reader import MemoryReader

from .cases import CAPI_SET, CLUSTER, INFRA_CLUSTER, INFRASTRUCTURE, MAPI_SET, TEMPLATE, Tree, changed, template
from .world import NAMESPACES, world


def watches(reader: MemoryReader) -> tuple[Watch[str], ...]:
    return machine_set_controller(reader, platform=OPENSTACK, namespaces=NAMESPACES).watches


def woken(kind: type[Any], tree: Tree, **trees: Any) -> list[str]:
    """The sets that an object of `kind` concerns."""
    reader = MemoryReader(world(**trees))
    for watch in watches(reader):
        for index, values in watch.indexes.items():
            reader.add_index(watch.kind, index, values)
    (watch,) = [watch for watch in watches(reader) if watch.kind is kind]
    return sorted(watch.map(Object.of(kind, tree)))


@pytest.mark.parametrize(("kind", "tree"), [(mapi.MachineSet, MAPI_SET), (capi.MachineSet, CAPI_SET)])
def test_a_set_wakes_itself(kind: type[Any], tree: Tree) -> None:
    assert woken(kind, tree) == ["ms"]


def test_a_template_wakes_the_set_it_was_made_for() -> None:
    assert woken(capo.OpenStackMachineTemplate, template("ms-00000000")) == ["ms"]


def test_a_template_wakes_the_set_that_refers_to_it() -> None:
    assert woken(capo.OpenStackMachineTemplate, TEMPLATE, cluster_api=CAPI_SET) == ["ms"]


def test_a_template_of_nobody_wakes_nobody() -> None:
    assert woken(capo.OpenStackMachineTemplate, template("mine", made_for=None)) == []


def test_an_infra_cluster_wakes_the_sets_in_it_and_those_that_may_have_no_mirror_because_of_it() -> None:
    alone = {"machine_api": None, "cluster_api": CAPI_SET}
    assert woken(capo_cluster.OpenStackCluster, INFRA_CLUSTER, **alone) == ["ms"]
    assert woken(capo_cluster.OpenStackCluster, changed(INFRA_CLUSTER, metadata__name="other"), **alone) == []
    assert woken(capo_cluster.OpenStackCluster, INFRA_CLUSTER) == ["ms"]


def test_the_end_of_a_machine_wakes_the_set_that_it_held_and_nothing_else_of_it_does() -> None:
    owner = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineSet",
        "name": "ms",
        "uid": "u",
        "controller": True,
    }
    tree: Tree = {"metadata": {"name": "w-0", "ownerReferences": [owner]}}
    assert woken(capi.Machine, tree) == ["ms"]
    machine: Object[Any] = Object.of(capi.Machine, tree)
    (watch,) = [watch for watch in watches(MemoryReader(world())) if watch.kind is capi.Machine]
    assert watch.when(machine, None)
    assert not watch.when(None, machine)
    assert not watch.when(machine, machine)


def test_a_cluster_wakes_all_sets_of_the_machine_api_which_wait_for_it() -> None:
    assert woken(capi.Cluster, CLUSTER) == ["ms"]


def test_the_infrastructure_is_read_and_wakes_nobody() -> None:
    assert woken(config.Infrastructure, INFRASTRUCTURE) == []


def test_a_set_whose_fields_cannot_be_read_is_found_by_its_cluster_all_the_same() -> None:
    unreadable = changed(CAPI_SET, spec__replicas="two")
    assert woken(capo_cluster.OpenStackCluster, INFRA_CLUSTER, cluster_api=unreadable) == ["ms"]


@pytest.mark.parametrize(
    ("tree", "sets"),
    [
        (template("ms-0123abcd"), {"ms"}),
        (template("ms-0123abcd", made_for=None), {"ms"}),
        (template("ms-0123abcd", made_for="other"), {"ms", "other"}),
        (template("mine", made_for=None), set()),
        (template("ms-0123ABCD", made_for=None), set()),
    ],
)
def test_a_template_is_found_by_its_label_and_by_the_name_that_conversion_would_give(
    tree: Tree, sets: set[str]
) -> None:
    assert sets_of(Object.of(capo.OpenStackMachineTemplate, tree)) == sets
