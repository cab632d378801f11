"""What holds for any MachineSet: a decision about whatever is stored, rest after a few rounds, no lie about being in
sync.

Sets are `drawn` from the examples of `cases`: anything JSON can hold in any place of their spec and status, and
metadata as the API server admits it.
"""

import asyncio
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explore import examples
from windlass.api import capi, capo, mapi
from windlass.kube.control.plan import Plan
from windlass.kube.control.seen import NotServedKind
from windlass.kube.errors import Invalid
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.machine_sync.machine_set.decide import decide
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..drawn import TEXT, disturbed, dressed, or_none, owned
from ..properties import (
    comes_to_rest_and_stays_there,
    events_are_said_once,
    reconciled_beside_another,
    settled,
    two_at_once_come_to_rest,
)
from .cases import (
    BEHIND_CLUSTER_API,
    CAPI_SET,
    CLUSTER,
    CLUSTER_API_FINALIZER,
    INFRA_CLUSTER,
    INFRASTRUCTURE,
    MACHINE_SET_LABEL,
    MAPI_SET,
    NAME,
    NOW,
    OURS,
    PAUSED,
    TEMPLATE,
    THEIRS,
    Tree,
    changed,
    snapshot,
    template,
)
from .world import capi_of, mapi_of, reconciled, synchronized, tree_of, world

CONDITION = st.fixed_dictionaries(
    {"type": st.sampled_from(["Synchronized", "Paused"]), "status": st.sampled_from(["True", "False"])},
    optional={"reason": TEXT, "message": TEXT, "lastTransitionTime": st.just("2026-01-01T00:00:00Z")},
)
AUTHORITIES = st.sampled_from(["MachineAPI", "ClusterAPI"])


@st.composite
def with_authority(draw: st.DrawFn, trees: st.SearchStrategy[Tree]) -> Tree:
    """On some way from one authority to the other, or on none."""
    tree = draw(trees)
    if not isinstance(tree.get("status"), dict) or not isinstance(tree.get("spec"), dict):
        return tree
    tree["spec"]["authoritativeAPI"] = draw(AUTHORITIES)
    tree["status"]["authoritativeAPI"] = draw(st.sampled_from(["MachineAPI", "ClusterAPI", "Migrating"]))
    tree["status"]["synchronizedGeneration"] = draw(st.sampled_from([0, 4, 7]))
    tree["status"]["conditions"] = draw(st.lists(CONDITION, max_size=2, unique_by=lambda one: one["type"]))
    if draw(st.booleans()):
        tree["status"]["synchronizedAPI"] = draw(AUTHORITIES)
    return tree


@st.composite
def as_it_may_come(draw: st.DrawFn, trees: st.SearchStrategy[Tree], *finalizers: str) -> Tree:
    """`dressed` and `owned`, and paused at times."""
    tree = draw(owned(dressed(trees, *finalizers)))
    if not draw(st.integers(0, 2)):
        tree["metadata"]["annotations"][PAUSED] = ""
    return tree


MAPI_SETS = as_it_may_come(with_authority(disturbed(MAPI_SET)))
CAPI_SETS = as_it_may_come(disturbed(CAPI_SET), CLUSTER_API_FINALIZER)
TEMPLATES = st.tuples(
    as_it_may_come(disturbed(TEMPLATE)),
    as_it_may_come(disturbed(template("ms-47015b3e"))),
    as_it_may_come(st.just(template("ms-00000000"))),
).map(lambda drawn: tuple(labelled(one) for one in drawn))


def labelled(tree: Tree) -> Tree:
    name = tree["metadata"]["name"]
    return changed(tree, metadata__labels={MACHINE_SET_LABEL: NAME}) if name.startswith("ms-") else tree


CASES = st.fixed_dictionaries(
    {
        "machine_api": or_none(MAPI_SETS),
        "cluster_api": or_none(CAPI_SETS),
        "templates": TEMPLATES,
        "infra_cluster": or_none(disturbed(INFRA_CLUSTER)),
        "cluster": or_none(st.just(CLUSTER)),
        "infrastructure": or_none(disturbed(INFRASTRUCTURE, times=1)),
    }
)
MANAGED: dict[str, Any] = {
    "machine_api": disturbed(MAPI_SET) | disturbed(BEHIND_CLUSTER_API),
    "cluster_api": disturbed(CAPI_SET),
    "templates": st.tuples(st.just(TEMPLATE)),
}
"""Sets that are mirrored, unless they cannot be."""


@pytest.mark.slow
@given(CASES, TEMPLATES)
@examples(200)
def test_whatever_is_stored_there_is_a_decision(case: dict[str, Any], used: tuple[Tree, ...]) -> None:
    plan = decide(snapshot(**case, template=used[0]), now=NOW)
    assert isinstance(plan, Plan)
    assert str(plan)


@given(
    CASES,
    st.sampled_from(["template", "infra_cluster", "cluster", "infrastructure", "cluster_api", "machine_api"]),
)
@examples(50)
def test_a_kind_that_is_not_served_is_no_reason_to_fail(case: dict[str, Any], missing: str) -> None:
    seen = replace(snapshot(**case), **{missing: NotServedKind("no CRD")})
    assert isinstance(decide(seen, now=NOW), Plan)


@given(CASES)
@examples(100)
def test_every_set_comes_to_rest_and_stays_there(case: dict[str, Any]) -> None:
    asyncio.run(comes_to_rest_and_stays_there(world(**case), reconciled))


@given(
    st.fixed_dictionaries(MANAGED),
    st.lists(
        st.tuples(st.sampled_from([mapi.MachineSet, capi.MachineSet]), st.integers(0, 9)),
        max_size=4,
    ),
    st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6),
)
@examples(100)
def test_two_of_us_at_once_do_not_undo_each_others_work(
    trees: dict[str, Any], events: list[tuple[Any, int]], turns: list[int]
) -> None:
    """Two processes with caches that stand still at different moments, while somebody scales the set."""

    async def scenario() -> None:
        api = world(**trees)
        meanwhile = [partial(scale, api, *event) for event in events]
        frozen = (mapi.MachineSet, capi.MachineSet, capo.OpenStackMachineTemplate)
        rests = await two_at_once_come_to_rest(api, reconciled, frozen=frozen, turns=turns, meanwhile=meanwhile)
        found, mirror = mapi_of(api), capi_of(api)
        if any(rest.failed for rest in rests) or synchronized(found).get("status") != "True":
            return
        assert found is not None
        assert mirror is not None
        # Between the two nobody is copied, and what is said of the last authority stays.
        if found["status"].get("authoritativeAPI") in (MACHINE_API, CLUSTER_API):
            assert wanted(found) == wanted(mirror)

    asyncio.run(scenario())


@given(st.fixed_dictionaries(MANAGED), st.integers(1, 5))
@examples(60)
def test_one_of_us_between_any_decision_and_write_of_the_other_is_harmless(trees: dict[str, Any], write: int) -> None:
    async def scenario() -> None:
        api = world(**trees)
        alone = world(**trees)
        for _ in range(3):  # what was refused is tried again
            await reconciled(alone, MemoryReader(alone))
        await reconciled_beside_another(api, reconciled, write=write)
        assert settled(api) == settled(alone)

    asyncio.run(scenario())


@given(st.fixed_dictionaries(MANAGED))
@examples(60)
def test_an_event_says_everything_once(trees: dict[str, Any]) -> None:
    events_are_said_once(lambda: decide(snapshot(**trees), now=NOW))


def wanted(tree: Tree) -> int:
    """How many machines the set is to have; one if it does not say."""
    replicas = tree["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


async def scale(api: MemoryApi, kind: type[Any], replicas: int) -> None:
    """Somebody scales one side; nothing if it is not there or refuses."""
    namespace = OURS if kind is mapi.MachineSet else THEIRS
    found = tree_of(api, kind, NAME, namespace)
    if found is None or not isinstance(found.get("spec"), dict):
        return
    with suppress(Invalid):
        await api.patch(kind, NAME, {"spec": {"replicas": replicas}}, type=PatchType.MERGE, namespace=namespace)


def test_the_examples_are_mirrored() -> None:
    """What the properties above are drawn from is in sync, so that they are about something."""

    async def scenario() -> None:
        for machine_api, cluster_api in ((MAPI_SET, None), (BEHIND_CLUSTER_API, CAPI_SET)):
            api = world(machine_api=machine_api, cluster_api=cluster_api)
            await reconciled(api, MemoryReader(api))
            assert synchronized(mapi_of(api))["status"] == "True"

    asyncio.run(scenario())
