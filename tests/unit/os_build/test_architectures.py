"""For which architectures the image of a pool is: the table of `windlass.os_build.architectures`."""

from typing import Any

import msgspec
import pytest

from tests.unit.os_build.world import pool as pool_tree
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.os_build.architectures import LABEL, Machines, chosen, machines
from windlass.os_build.constants import ARCHITECTURES
from windlass.os_build.request import Problem

MASTER, WORKER, INFRA = (f"node-role.kubernetes.io/{each}" for each in ("master", "worker", "infra"))


def node(architecture: str, *roles: str) -> dict[str, str]:
    return {LABEL: architecture, **dict.fromkeys(roles, "")}


def pool(name: str, asked: str = "", **selector: Any) -> MachineConfigPool:
    tree = pool_tree(name, f"rendered-{name}-1", annotations={ARCHITECTURES: asked} if asked else {})
    if selector:
        tree["spec"]["nodeSelector"] = selector
    return msgspec.convert(tree, MachineConfigPool)


POOLS = [pool(name) for name in ("worker", "infra", "master")]
AMD, ARM = node("amd64", WORKER), node("arm64", WORKER)


@pytest.mark.parametrize(
    ("nodes", "asked", "expected"),
    [
        pytest.param([], "", (), id="no Node"),
        pytest.param([AMD, AMD], "", (), id="all of one architecture"),
        pytest.param([ARM], "", (), id="all of one other architecture"),
        pytest.param([{WORKER: ""}, AMD], "", (), id="a Node that does not say says nothing"),
        pytest.param([AMD, ARM], "", ("amd64", "arm64"), id="the pool has both"),
        pytest.param([AMD, node("arm64", INFRA, WORKER)], "", ("amd64",), id="another pool has the other"),
        pytest.param([AMD, node("arm64", MASTER, WORKER)], "", ("amd64",), id="the control plane has the other"),
        pytest.param([node("amd64", MASTER), node("arm64", INFRA)], "", (), id="the pool has no Node"),
        pytest.param([AMD], "arm64", ("amd64", "arm64"), id="a Node is to come"),
        pytest.param([], "arm64", ("arm64",), id="the first Node is to come"),
        pytest.param([AMD, ARM], " s390x , arm64,", ("amd64", "arm64", "s390x"), id="beside those that are there"),
    ],
)
def test_the_image_is_for_the_architectures_of_the_pools_nodes(
    nodes: list[dict[str, str]], asked: str, expected: tuple[str, ...]
) -> None:
    assert chosen(pool("worker", asked), machines("worker", nodes=nodes, pools=POOLS)) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}, ("amd64",)),
        ({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, ("amd64", "arm64")),
        ({"matchExpressions": [{"key": "zone", "operator": "None of them"}]}, ()),
    ],
)
def test_a_pool_has_the_nodes_that_its_selector_selects(selector: dict[str, Any], expected: tuple[str, ...]) -> None:
    nodes = [{**AMD, "zone": "a"}, {**ARM, "zone": "b"}]
    pools = [pool("edge", **selector), pool("worker")]
    assert machines("edge", nodes=nodes, pools=pools) == Machines(("amd64", "arm64"), expected)


@pytest.mark.parametrize("asked", ["AMD64", "x86-64", "arm64 amd64", "a" * 200])
def test_what_is_no_architecture_is_refused_with_the_annotation_that_names_it(asked: str) -> None:
    found = chosen(pool("worker", asked), Machines())
    assert isinstance(found, Problem)
    assert found.text.startswith(f"MachineConfigPool worker: annotation {ARCHITECTURES}: '")
    assert found.text.endswith("is no architecture: write such as amd64,arm64")
