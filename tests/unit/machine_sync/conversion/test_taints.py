"""Taints of Machines: what each becomes in the other API, what is refused, and what is lost with a warning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.api import capi
from windlass.api.core import Taint
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.conversion.taints import cluster_api_taints, machine_api_taints

GPU = Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule")
ALWAYS_GPU = capi.Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule", propagation="Always")

KEYS = st.from_regex(r"([a-z0-9]{1,5}(\.[a-z]{1,3})?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,5}[A-Za-z0-9])?", fullmatch=True)
VALUES = st.just("") | st.from_regex(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,5}[A-Za-z0-9])?", fullmatch=True)
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
TAINTS = st.lists(
    st.builds(Taint, key=KEYS, value=VALUES, effect=EFFECTS),
    max_size=5,
    unique_by=lambda taint: (taint.key, taint.effect),
)


def to_cluster_api(*taints: Taint) -> tuple[list[capi.Taint], list[str], list[str]]:
    made, errors, losses = cluster_api_taints(taints)
    return made, [*map(str, errors)], [*map(str, losses)]


def test_a_taint_of_the_machine_api_is_put_back_on_the_node_by_cluster_api_too() -> None:
    assert to_cluster_api(GPU) == ([ALWAYS_GPU], [], [])


def test_one_that_cluster_api_always_puts_back_is_the_same_in_the_machine_api() -> None:
    found = Findings()
    assert machine_api_taints([ALWAYS_GPU], found) == [GPU]
    assert found.losses == []


def test_one_that_cluster_api_puts_on_once_comes_back_in_the_machine_api_with_a_warning() -> None:
    once = capi.Taint(key="k", effect="NoExecute", propagation="OnInitialization")
    found = Findings(losses=[])
    assert machine_api_taints([ALWAYS_GPU, once], found) == [GPU, Taint(key="k", effect="NoExecute")]
    assert [str(loss) for loss in found.losses] == [
        'spec.taints[1].propagation: Invalid value: "OnInitialization": propagation has no equivalent in the Machine '
        "API and becomes Always: a taint that is removed from the Node comes back"
    ]


def test_the_time_of_a_taint_is_a_loss() -> None:
    made, errors, losses = to_cluster_api(
        Taint(key="k", effect="NoExecute", time_added="2026-05-01T12:00:00Z"),
    )
    assert made == [capi.Taint(key="k", effect="NoExecute", propagation="Always")]
    assert errors == []
    assert losses == [
        'spec.taints[0].timeAdded: Invalid value: "2026-05-01T12:00:00Z": timeAdded has no equivalent in Cluster API '
        "and is dropped"
    ]


def test_of_two_with_one_key_and_effect_the_first_counts_as_on_the_node() -> None:
    other = Taint(key=GPU.key, value="absent", effect=GPU.effect)
    made, errors, losses = to_cluster_api(GPU, GPU, other)
    assert (made, errors) == ([ALWAYS_GPU], [])
    assert losses == [
        'spec.taints[2].value: Invalid value: "absent": value has no equivalent in Cluster API and becomes that of '
        "nvidia.com/gpu above"
    ]


def test_one_key_may_have_several_effects() -> None:
    made, errors, losses = to_cluster_api(GPU, Taint(key=GPU.key, value="present", effect="NoExecute"))
    assert [taint.effect for taint in made] == ["NoSchedule", "NoExecute"]
    assert errors == losses == []


@pytest.mark.parametrize(
    ("taint", "error"),
    [
        (Taint(effect="NoSchedule"), 'spec.taints[0].key: Invalid value: ""'),
        (Taint(key="a b", effect="NoSchedule"), 'spec.taints[0].key: Invalid value: "a b"'),
        (Taint(key="A.io/k", effect="NoSchedule"), 'spec.taints[0].key: Invalid value: "A.io/k"'),
        (Taint(key="k\n", effect="NoSchedule"), r'spec.taints[0].key: Invalid value: "k\n"'),
        (Taint(key="k" * 318, effect="NoSchedule"), "spec.taints[0].key: Invalid value: "),
        (Taint(key="k", value="<v>", effect="NoSchedule"), 'spec.taints[0].value: Invalid value: "<v>"'),
        (Taint(key="k", value="v" * 64, effect="NoSchedule"), "spec.taints[0].value: Invalid value: "),
        (Taint(key="k", effect="Evict"), 'spec.taints[0].effect: Invalid value: "Evict": must be one of '),
        (Taint(key="k"), 'spec.taints[0].effect: Invalid value: "": must be one of '),
    ],
)
def test_what_the_crds_of_cluster_api_refuse_is_an_error_that_names_the_field(taint: Taint, error: str) -> None:
    _, (found,), _ = to_cluster_api(taint)
    assert found.startswith(error)


def test_the_longest_key_and_value_are_taken() -> None:
    longest = Taint(key="k" * 317, value="v" * 63, effect="NoSchedule")
    assert to_cluster_api(longest)[1] == []


@pytest.mark.parametrize(
    ("number", "errors"), [(64, []), (65, ["spec.taints: Too many: 65: must have at most 64 items"])]
)
def test_cluster_api_takes_sixty_four(number: int, errors: list[str]) -> None:
    assert to_cluster_api(*(Taint(key=f"k{n}", effect="NoSchedule") for n in range(number)))[1] == errors


@given(TAINTS)
@examples(200)
def test_what_both_apis_can_say_comes_back_as_it_was(taints: list[Taint]) -> None:
    made, errors, losses = to_cluster_api(*taints)
    found = Findings(losses=[])
    assert machine_api_taints(made, found) == taints
    assert (errors, losses, found.losses) == ([], [], [])
