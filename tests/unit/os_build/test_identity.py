"""The names of builds: other inputs, another name; equal inputs, the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.api.machineconfiguration import Proxy
from windlass.os_build.environment import Egress
from windlass.os_build.identity import Inputs, build_name, inputs_of, is_named_by
from windlass.os_build.placement import Placement
from windlass.os_build.pullspec import Target
from windlass.os_build.request import BackendName, OsImages, Request

REQUEST = Request(
    pool="worker",
    config="rendered-worker-1",
    target=Target("r.example.com", "org/os"),
    pull_secret="pull",
    push_secret="push",
    containerfile="RUN true",
    rebuild="1",
)


def test_the_name_of_a_build_is_that_of_its_pool_and_a_hash() -> None:
    """Deviation: the first builder named builds by the rendered MachineConfig alone, so another Containerfile was
    not built."""
    name = build_name("worker", inputs_of(REQUEST, applied_by="tree"))
    assert name == "build-worker-6d416c59fa79da4afb67aa89babbd48e"
    assert build_name("worker", inputs_of(REQUEST, applied_by="tree"), 2) == f"{name}-2"


@pytest.mark.parametrize(
    "change",
    [
        {"config": "rendered-worker-2"},
        {"containerfile": "RUN false"},
        {"target": Target("r.example.com", "org/other")},
        {"rebuild": "2"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_the_image_stands_for_changes_the_name(change: dict[str, Any]) -> None:
    assert inputs_of(replace(REQUEST, **change), applied_by="tree") != inputs_of(REQUEST, applied_by="tree")


def test_a_trust_bundle_gets_into_the_image_so_it_changes_the_name() -> None:
    bundled = replace(REQUEST, egress=Egress(trust_bundle="one"))
    other = replace(REQUEST, egress=Egress(trust_bundle="other"))
    names = {str(inputs_of(each, applied_by="tree")) for each in (REQUEST, bundled, other)}
    assert len(names) == 3


@pytest.mark.parametrize(
    "egress",
    [
        Egress(proxy=Proxy(https_proxy="http://proxy:3128")),
        Egress(authorities="certificate"),
        Egress(registries=(("r", "certificate"),)),
    ],
    ids=["proxy", "CAs of registries", "CA of a registry"],
)
def test_the_way_to_the_outside_does_not_change_the_name(egress: Egress) -> None:
    placement = Placement(image="registry.example.com/builder:2", limits=(("memory", "1Gi"),))
    changed = replace(REQUEST, egress=egress, placement=placement)
    assert inputs_of(changed, applied_by="tree") == inputs_of(REQUEST, applied_by="tree")


def test_how_the_configuration_is_applied_changes_the_name() -> None:
    assert inputs_of(REQUEST, applied_by="ignition") != inputs_of(REQUEST, applied_by="tree")


@pytest.mark.parametrize(
    "change",
    [{"pull_secret": "other"}, {"push_secret": "other"}, {"backend": BackendName.JOB}, {"images": OsImages("base")}],
    ids=lambda change: next(iter(change)),
)
def test_how_it_is_built_does_not(change: dict[str, Any]) -> None:
    assert inputs_of(replace(REQUEST, **change), applied_by="tree") == inputs_of(REQUEST, applied_by="tree")


@pytest.mark.parametrize(
    ("wanted", "recorded", "expected"),
    [
        (Inputs("a"), "a", True),
        (Inputs("a"), "b", False),
        (Inputs("a"), "", False),
        (Inputs("a", "1"), "a.1", True),
        (Inputs("a", "1"), "a", False),
        (Inputs("a", "2"), "a.1", False),
        pytest.param(Inputs("a"), "a.1", True, id="a request that was withdrawn"),
        (Inputs("b"), "a.1", False),
    ],
)
def test_a_record_satisfies_what_asks_for_no_more(wanted: Inputs, recorded: str, expected: bool) -> None:
    assert wanted.satisfied_by(recorded) is expected


TEXT = st.text(max_size=8)
INPUTS = st.tuples(st.sampled_from(["worker", "infra"]), TEXT, TEXT, TEXT)


def named(drawn: tuple[str, str, str, str]) -> str:
    pool, config, containerfile, rebuild = drawn
    request = replace(REQUEST, pool=pool, config=config, containerfile=containerfile, rebuild=rebuild)
    return build_name(pool, inputs_of(request, applied_by="tree"))


@given(INPUTS, INPUTS)
def test_two_builds_have_one_name_only_if_they_are_one(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert (named(one) == named(other)) == (one == other)  # type: ignore[arg-type]


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True), st.integers(1, 9))
def test_a_name_is_a_label_whatever_the_pool_is_called(pool: str, attempt: int) -> None:
    name = build_name(pool, Inputs("0" * 32, "0" * 8), attempt)
    assert len(name) <= 63
    assert all(char.isalnum() or char == "-" for char in name)


@given(st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?", fullmatch=True), st.sampled_from(["amd64", "ppc64le"]))
def test_the_builders_of_a_list_have_names_of_their_own_that_are_those_of_its_inputs(pool: str, on: str) -> None:
    inputs, other = Inputs("a"), Inputs("b")
    names = [build_name(pool, inputs, attempt, architecture=each) for attempt in (1, 2) for each in ("", on, "s390x")]
    assert len(set(names)) == 6
    for name in names:
        assert len(name) <= 63
        assert is_named_by(name, pool, inputs)
        assert not is_named_by(name, pool, other)
