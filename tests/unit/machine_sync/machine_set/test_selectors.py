"""Whether two MachineSets select the same Machines."""

import pytest

from windlass.api import capi, mapi
from windlass.api.meta import LabelSelector, LabelSelectorRequirement
from windlass.machine_sync.machine_set.selectors import difference

ROLE, TYPE = "machine.openshift.io/cluster-api-machine-role", "machine.openshift.io/cluster-api-machine-type"
Labels = dict[str, str]


def differs(machine_api: Labels, cluster_api: Labels, *expressions: tuple[list[str], list[str]]) -> bool:
    """`expressions`: the values that `size` may have on either side."""
    ours = [LabelSelectorRequirement(key="size", operator="In", values=one) for one, _ in expressions]
    theirs = [LabelSelectorRequirement(key="size", operator="In", values=other) for _, other in expressions]
    one = mapi.MachineSet(
        spec=mapi.MachineSetSpec(selector=LabelSelector(match_labels=machine_api, match_expressions=ours))
    )
    other = capi.MachineSet(
        spec=capi.MachineSetSpec(selector=LabelSelector(match_labels=cluster_api, match_expressions=theirs))
    )
    return bool(difference(one, other))


@pytest.mark.parametrize(
    ("machine_api", "cluster_api"),
    [
        ({}, {}),
        ({"a": "b"}, {"a": "b"}),
        ({ROLE: "worker"}, {"node-role.kubernetes.io/worker": ""}),
        ({ROLE: "worker", TYPE: "worker"}, {"node-role.kubernetes.io/worker": ""}),
        ({}, {"cluster.x-k8s.io/set-name": "ms"}),
        ({"a": "b", "machine.openshift.io/zone": "z"}, {"a": "b"}),
    ],
)
def test_what_conversion_makes_of_one_is_the_other(machine_api: Labels, cluster_api: Labels) -> None:
    assert not differs(machine_api, cluster_api)


@pytest.mark.parametrize(
    ("machine_api", "cluster_api"),
    [
        ({"a": "b"}, {}),
        ({}, {"a": "b"}),
        ({"a": "b"}, {"a": "c"}),
        ({ROLE: "infra"}, {"node-role.kubernetes.io/w": ""}),
    ],
)
def test_other_labels_are_a_difference(machine_api: Labels, cluster_api: Labels) -> None:
    assert differs(machine_api, cluster_api)


def test_expressions_are_compared_whatever_the_order_of_their_values() -> None:
    assert not differs({}, {}, (["s", "m"], ["m", "s"]))
    assert differs({}, {}, (["s"], ["m"]))


def test_the_text_shows_both_and_says_what_to_do() -> None:
    one = mapi.MachineSet(spec=mapi.MachineSetSpec(selector=LabelSelector(match_labels={"a": "b"})))
    assert difference(one, capi.MachineSet()) == [
        'spec.selector of the MachineSets differs: "a=b" in the Machine API, "" in Cluster API. It cannot be changed '
        "on an existing MachineSet, and authority cannot move while it differs: recreate the mirror with the "
        "selector of the other"
    ]
