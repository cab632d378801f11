"""What options and keys of the ConfigMap say of builder Pods, and what is refused."""

from typing import Any

import pytest

from windlass.os_build.placement import Placement, Toleration, label, placement_of, quantity, toleration


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("build", {"key": "build", "operator": "Exists"}),
        ("build:NoSchedule", {"key": "build", "operator": "Exists", "effect": "NoSchedule"}),
        (
            "example.com/build=os:NoExecute",
            {"key": "example.com/build", "operator": "Equal", "value": "os", "effect": "NoExecute"},
        ),
        ("build=os", {"key": "build", "operator": "Equal", "value": "os"}),
    ],
)
def test_a_toleration_is_written_as_a_taint(text: str, tree: dict[str, str]) -> None:
    assert toleration(text).tree == tree


@pytest.mark.parametrize("text", ["", ":NoSchedule", "a b", "a=b:Never", "a=:NoSchedule", "a:b:NoSchedule", "=b"])
def test_what_is_no_taint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"taint|effect"):
        toleration(text)


@pytest.mark.parametrize("text", ["memory", "memory=", "memory=4GB", "=4", "memory=-1", "memory=4 Gi"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="amount"):
        quantity(text)


@pytest.mark.parametrize("text", ["build", "=x", "a=b=c", "a/b/c=d", "a=b c"])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="label"):
        label(text)


def test_the_config_map_has_each_field_but_the_account() -> None:
    found = placement_of(
        {
            "builderImage": "mirror.example.com/buildah@sha256:" + "a" * 64,
            "builderPriorityClass": "builds",
            "builderNodeSelector": "node-role.kubernetes.io/infra=, zone=a",
            "builderTolerations": "infra:NoSchedule,build",
            "builderRequests": "cpu=500m, memory=2Gi, ephemeral-storage=20Gi",
            "builderLimits": "memory=8Gi",
            "builderServiceAccount": "machine-config-daemon",
        }
    )
    assert found == Placement(
        image="mirror.example.com/buildah@sha256:" + "a" * 64,
        priority_class="builds",
        node_selector=(("node-role.kubernetes.io/infra", ""), ("zone", "a")),
        tolerations=(Toleration("infra", "", "NoSchedule"), Toleration("build")),
        requests=(("cpu", "500m"), ("memory", "2Gi"), ("ephemeral-storage", "20Gi")),
        limits=(("memory", "8Gi"),),
    )
    assert found.resources == {"requests": dict(found.requests), "limits": {"memory": "8Gi"}}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"builderRequests": "cpu=1,memory"}, "builderRequests: 'memory' is no amount"),
        ({"builderImage": "a image"}, "builderImage: 'a image' is no pullspec"),
        ({"builderPriorityClass": "No"}, "builderPriorityClass: 'No' is no name"),
    ],
)
def test_a_wrong_key_is_named(data: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        placement_of(data)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({}, {"image": "option", "limits": (("memory", "1Gi"),)}),
        ({"limits": (("cpu", "1"),)}, {"image": "option", "limits": (("cpu", "1"),)}),
        (
            {"image": "key", "priority_class": "p"},
            {"image": "key", "priority_class": "p", "limits": (("memory", "1Gi"),)},
        ),
    ],
)
def test_a_key_counts_instead_of_its_option(own: dict[str, Any], expected: dict[str, Any]) -> None:
    assert Placement(**own).over(Placement(image="option", limits=(("memory", "1Gi"),))) == Placement(**expected)
