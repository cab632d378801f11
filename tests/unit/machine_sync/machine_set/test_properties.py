"""What holds for any MachineSet: a decision about whatever is stored, rest after a few rounds, no lie about being in
sync.

Sets are drawn by taking the examples of `cases` and putting anything JSON can hold in any place of their spec and
status, and metadata as the API server admits it.
"""

import asyncio
import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.api import capi, capo, mapi
from windlass.kube.errors import Invalid
from windlass.kube.plan import Emit, Plan
from windlass.kube.rounds import Rest
from windlass.kube.seen import NotServedKind
from windlass.kube.verbs import PatchType
from windlass.machine_sync.machine_set.decide import decide
from windlass.testing.memory import MemoryApi
from windlass.testing.memory.reader import LaggingReader, MemoryReader

from .cases import (
    BEHIND_CLUSTER_API,
    CAPI_SET,
    CLUSTER,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA_CLUSTER,
    INFRASTRUCTURE,
    MACHINE_SET_LABEL,
    MAPI_SET,
    NAME,
    NOW,
    OURS,
    SYNC,
    TEMPLATE,
    THEIRS,
    Tree,
    changed,
    snapshot,
    template,
)
from .world import capi_of, mapi_of, reconciled, synchronized, tree_of, world

ROUNDS = 8
"""Within which any set comes to rest."""

TEXT = st.sampled_from(["", "ClusterAPI", "MachineAPI", "Migrating", "True", "ms", "c", "made-by-a-user"]) | st.text(
    max_size=5
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
CONDITION = st.fixed_dictionaries(
    {"type": st.sampled_from(["Synchronized", "Paused"]), "status": st.sampled_from(["True", "False"])},
    optional={"reason": TEXT, "message": TEXT, "lastTransitionTime": st.just("2026-01-01T00:00:00Z")},
)
AUTHORITIES = st.sampled_from(["MachineAPI", "ClusterAPI"])


def places(tree: Any, *, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a tree."""
    yield at
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, at=(*at, key))


def put(tree: Tree, place: tuple[Any, ...], value: Any) -> None:
    *way, last = place
    for key in way:
        tree = tree[key]
    tree[last] = value


@st.composite
def disturbed(draw: st.DrawFn, example: Tree, *, times: int = 2) -> Tree:
    """`example` with anything in some places of its spec and status, or new fields there."""
    tree = copy.deepcopy(example)
    for _ in range(draw(st.integers(0, times))):
        part = draw(st.sampled_from(["spec", "status"]))
        content = tree.setdefault(part, {})
        if draw(st.booleans()) and isinstance(content, dict):
            content[draw(TEXT)] = draw(JSON)
        else:
            put(tree, (part, *draw(st.sampled_from(list(places(content))))), draw(JSON))
    return tree


@st.composite
def dressed(draw: st.DrawFn, trees: st.SearchStrategy[Tree], *finalizers: str) -> Tree:
    """With labels, annotations, owners, finalizers and a deletion as they may come."""
    tree = copy.deepcopy(draw(trees))
    metadata = tree["metadata"]
    labels = st.sampled_from(["a", "machine.openshift.io/zone", "cluster.x-k8s.io/set-name"])
    for key in ("labels", "annotations"):
        metadata[key] = {**metadata.get(key, {}), **draw(st.dictionaries(labels, TEXT, max_size=2))}
    if not draw(st.integers(0, 2)):
        metadata["annotations"]["cluster.x-k8s.io/paused"] = ""
    metadata["finalizers"] = draw(st.lists(st.sampled_from([*finalizers, SYNC, "others/finalizer"]), unique=True))
    if not draw(st.integers(0, 5)):
        kinds = st.sampled_from(["MachineSet", "Cluster", "Other"])
        owner = st.fixed_dictionaries(
            {"kind": kinds, "apiVersion": st.just("cluster.x-k8s.io/v1beta2"), "name": TEXT, "uid": TEXT}
        )
        metadata["ownerReferences"] = draw(st.lists(owner, max_size=2))
    if metadata["finalizers"] and not draw(st.integers(0, 3)):
        metadata.update(GONE)
    return tree


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


MAPI_SETS = dressed(with_authority(disturbed(MAPI_SET)))
CAPI_SETS = dressed(disturbed(CAPI_SET), CLUSTER_API_FINALIZER)
TEMPLATES = st.tuples(
    dressed(disturbed(TEMPLATE)),
    dressed(disturbed(template("ms-67cae42a"))),
    dressed(st.just(template("ms-00000000"))),
).map(lambda drawn: tuple(labelled(one) for one in drawn))


def labelled(tree: Tree) -> Tree:
    name = tree["metadata"]["name"]
    return changed(tree, metadata__labels={MACHINE_SET_LABEL: NAME}) if name.startswith("ms-") else tree


def or_none(trees: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree | None]:
    return st.one_of(trees, trees, trees, st.none())


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


@given(CASES, TEMPLATES)
@settings(max_examples=200, deadline=None)
def test_whatever_is_stored_there_is_a_decision(case: dict[str, Any], used: tuple[Tree, ...]) -> None:
    plan = decide(snapshot(**case, template=used[0]), now=NOW)
    assert isinstance(plan, Plan)
    assert str(plan)


@given(
    CASES,
    st.sampled_from(["template", "infra_cluster", "cluster", "infrastructure", "cluster_api", "machine_api"]),
)
@settings(max_examples=50, deadline=None)
def test_a_kind_that_is_not_served_is_no_reason_to_fail(case: dict[str, Any], missing: str) -> None:
    seen = snapshot(**case)
    fields = {name: getattr(seen, name) for name in seen.__struct_fields__}
    fields[missing] = NotServedKind("no CRD")
    assert isinstance(decide(type(seen)(**fields), now=NOW), Plan)


@given(CASES)
@settings(max_examples=100, deadline=None)
def test_every_set_comes_to_rest_and_stays_there(case: dict[str, Any]) -> None:
    async def scenario() -> None:
        api = world(**case)
        reader = MemoryReader(api)
        rest = await reconciled(api, reader, max_rounds=ROUNDS)
        if rest.failed:  # it comes back, and what the server refused before it may take after another write
            rest = await reconciled(api, reader, max_rounds=ROUNDS)
        assert "no rest" not in str(rest.next), rest.next
        version = api.version
        again = await reconciled(api, reader)
        assert api.version == version, [str(change) for change in api.changes_since(version)]
        assert (again.writes, type(again.next)) == (0, type(rest.next))

    asyncio.run(scenario())


@given(
    st.fixed_dictionaries(MANAGED),
    st.lists(
        st.tuples(st.sampled_from([mapi.MachineSet, capi.MachineSet]), st.integers(0, 9)),
        max_size=4,
    ),
    st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6),
)
@settings(max_examples=100, deadline=None)
def test_two_of_us_at_once_do_not_undo_each_others_work(
    trees: dict[str, Any], events: list[tuple[Any, int]], turns: list[int]
) -> None:
    """Two processes with caches that stand still at different moments, while somebody scales the set."""

    async def scenario() -> None:
        api = world(**trees)
        readers = [LaggingReader(api), LaggingReader(api)]
        for turn, who in enumerate(turns):
            readers[who].release()
            other = readers[1 - who]
            other.freeze(mapi.MachineSet, capi.MachineSet, capo.OpenStackMachineTemplate)
            if turn < len(events):
                await scale(api, *events[turn])
            await reconciled(api, readers[who])
            await reconciled(api, other)
        for reader in readers:
            reader.release()
        began = api.version
        rests = [await reconciled(api, reader) for reader in (*readers, *readers)]
        assert [rest.writes for rest in rests[1:]] == [0, 0, 0], [str(c) for c in api.changes_since(began)]
        found, mirror = mapi_of(api), capi_of(api)
        if not any(rest.failed for rest in rests) and synchronized(found).get("status") == "True":
            assert found is not None
            assert mirror is not None
            assert wanted(found) == wanted(mirror)

    asyncio.run(scenario())


@given(st.fixed_dictionaries(MANAGED), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_one_of_us_between_any_decision_and_write_of_the_other_is_harmless(trees: dict[str, Any], write: int) -> None:
    async def scenario() -> None:
        api = world(**trees)
        alone = world(**trees)
        for _ in range(3):  # what was refused is tried again
            await reconciled(alone, MemoryReader(alone))

        async def other() -> Rest:
            return await reconciled(api, MemoryReader(api))

        async def nothing() -> None: ...

        for _ in range(write - 1):
            api.conflict_by(nothing)
        api.conflict_by(other)
        for _ in range(3):
            await reconciled(api, MemoryReader(api))
        assert settled(api) == settled(alone)

    asyncio.run(scenario())


@given(st.fixed_dictionaries(MANAGED))
@settings(max_examples=60, deadline=None)
def test_an_event_says_everything_once(trees: dict[str, Any]) -> None:
    """A controller that starts anew plans the same Events, by the same names."""
    plans = [decide(snapshot(**trees), now=NOW) for _ in range(2)]
    notes = [[(e.target.uid, e.reason, e.note) for e in plan.actions if isinstance(e, Emit)] for plan in plans]
    assert notes[0] == notes[1]
    assert len(set(notes[0])) == len(notes[0])


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


def settled(api: MemoryApi) -> list[Any]:
    """What is stored, less what counts writes."""
    result = []
    for tree in api.dump():
        if tree["kind"] == "Event":
            continue
        metadata = {k: v for k, v in tree["metadata"].items() if k not in ("resourceVersion", "managedFields", "uid")}
        result.append({**tree, "metadata": metadata})
    return result


def test_the_examples_are_mirrored() -> None:
    """What the properties above are drawn from is in sync, so that they are about something."""

    async def scenario() -> None:
        for machine_api, cluster_api in ((MAPI_SET, None), (BEHIND_CLUSTER_API, CAPI_SET)):
            api = world(machine_api=machine_api, cluster_api=cluster_api)
            await reconciled(api, MemoryReader(api))
            assert synchronized(mapi_of(api))["status"] == "True"

    asyncio.run(scenario())
