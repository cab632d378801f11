"""What holds for any machine: a decision about whatever is stored, rest after a few rounds, no lie about being in sync.

Machines are `drawn` from the examples of `cases`: anything JSON can hold in any place of their spec and status, and
metadata as the API server admits it.
"""

import asyncio
import copy
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explore import examples
from windlass.api import capi, capo, capo_cluster, config, mapi
from windlass.api.meta import tree as plain
from windlass.kube.control.merge import changes
from windlass.kube.control.plan import Plan
from windlass.kube.control.seen import NotServedKind, Present
from windlass.kube.errors import Invalid
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import MIRRORED_ANNOTATIONS_ANNOTATION, MIRRORED_LABELS_ANNOTATION, SYNC_FINALIZER
from windlass.machine_sync.machine.decide import decide
from windlass.machine_sync.mirroring.infra_machine_spec import differing
from windlass.machine_sync.platforms import OPENSTACK
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..drawn import disturbed, dressed, or_none, owned
from ..properties import (
    comes_to_rest_and_stays_there,
    events_are_said_once,
    reconciled_beside_another,
    settled,
    two_at_once_come_to_rest,
)
from .cases import (
    CAPI_MACHINE,
    CAPI_SET,
    CLUSTER_API_FINALIZER,
    GONE,
    INFRA,
    INFRA_CLUSTER,
    INFRA_FINALIZER,
    INFRASTRUCTURE,
    MACHINE_API_FINALIZER,
    MAPI_MACHINE,
    MAPI_SET,
    NOW,
    PAUSED,
    Tree,
    changed,
    look,
    snapshot,
)
from .world import MIRROR, NAME, OURS, THEIRS, mapi_of, reconciled, synchronized, tree_of, world

CAPI_MACHINES = owned(dressed(disturbed(CAPI_MACHINE), CLUSTER_API_FINALIZER))
INFRAS = dressed(disturbed(INFRA), INFRA_FINALIZER)
MOVING = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="Migrating")
MAPI_MACHINES = owned(
    dressed(
        disturbed(MIRROR)
        | disturbed(MAPI_MACHINE)
        | disturbed(changed(MOVING, status__synchronizedAPI="MachineAPI"))
        | disturbed(MOVING),
        MACHINE_API_FINALIZER,
    )
)
"""Of either authority, and between them."""
OTHERS = "others.example.com/finalizer"
SETS = st.sampled_from([{}, GONE, {"uid": "made-anew"}])


def twin(example: Tree) -> st.SearchStrategy[Tree | None]:
    return or_none(SETS.map(lambda said: {**example, "metadata": {**example["metadata"], **said}}))


CASES = st.fixed_dictionaries(
    {
        "cluster_api": or_none(CAPI_MACHINES),
        "machine_api": or_none(MAPI_MACHINES),
        "infra_machine": or_none(INFRAS),
        "infra_cluster": or_none(disturbed(INFRA_CLUSTER)),
        "machine_api_set": twin(MAPI_SET),
        "cluster_api_set": twin(CAPI_SET),
    }
)

MANAGED: dict[str, Any] = {
    "cluster_api": disturbed(CAPI_MACHINE),
    "infra_machine": disturbed(INFRA),
    "infra_cluster": st.just(INFRA_CLUSTER),
}
"""Machines that are mirrored, unless they cannot be."""

FOLLOWED = ("clusterName", "infrastructureRef", "providerID", "failureDomain")
FOLLOWED_WITHOUT_A_SET = ("bootstrap.dataSecretName", "deletion.nodeDeletionTimeoutSeconds")
"""Of the spec of a mirror in Cluster API, the fields that follow the Machine API; others may hold anything."""


@pytest.mark.slow
@given(CASES)
@examples(200)
def test_whatever_is_stored_there_is_a_decision(case: dict[str, Any]) -> None:
    plan = decide(snapshot(**case), now=NOW)
    assert isinstance(plan, Plan)
    assert str(plan)


@given(
    CASES,
    st.sampled_from(
        ["infra_machine", "infra_cluster", "machine_api_set", "cluster_api_set", "cluster_api", "machine_api"]
    ),
)
@examples(50)
def test_a_kind_that_is_not_served_is_no_reason_to_fail(case: dict[str, Any], missing: str) -> None:
    seen = replace(snapshot(**case), **{missing: NotServedKind("no CRD")})
    assert isinstance(decide(seen, now=NOW), Plan)


@given(CASES)
@example(
    {
        "cluster_api": CAPI_MACHINE,
        "machine_api": changed(MAPI_MACHINE, metadata__ownerReferences=None),
        "infra_machine": changed(INFRA, metadata={**INFRA["metadata"], **GONE, "finalizers": [INFRA_FINALIZER]}),
        "infra_cluster": INFRA_CLUSTER,
        "machine_api_set": MAPI_SET,
        "cluster_api_set": CAPI_SET,
    }
)  # the infra machine goes with the finalizers that we take off it
@example(
    {
        "cluster_api": changed(
            CAPI_MACHINE,
            metadata={
                **CAPI_MACHINE["metadata"],
                **GONE,
                "finalizers": [CLUSTER_API_FINALIZER, SYNC_FINALIZER, OTHERS],
            },
        ),
        "machine_api": changed(
            MAPI_MACHINE, spec__authoritativeAPI="MachineAPI", status__authoritativeAPI="MachineAPI"
        ),
        "infra_machine": INFRA,
        "infra_cluster": INFRA_CLUSTER,
        "machine_api_set": MAPI_SET,
        "cluster_api_set": None,
    }
)  # the mirror waits for a finalizer of others, and its infra machine has no owner any more
@examples(100)
def test_every_machine_comes_to_rest_and_stays_there(case: dict[str, Any]) -> None:
    asyncio.run(comes_to_rest_and_stays_there(world(**case), reconciled))


@given(CASES)
@example(
    {
        "cluster_api": CAPI_MACHINE,
        "machine_api": MAPI_MACHINE,
        "infra_machine": None,
        "infra_cluster": INFRA_CLUSTER,
        "machine_api_set": None,
        "cluster_api_set": CAPI_SET,
    }
)  # the mirror of a set that acts, from whose template it has no spec.deletion
@example(
    {
        "cluster_api": changed(CAPI_MACHINE, metadata__ownerReferences=None),
        "machine_api": MAPI_MACHINE,
        "infra_machine": None,
        "infra_cluster": INFRA_CLUSTER,
        "machine_api_set": None,
        "cluster_api_set": changed(CAPI_SET, metadata={**CAPI_SET["metadata"], **GONE}),
    }
)  # the set acts and goes, and the mirror is none of its machines
@examples(100)
def test_synchronized_is_true_only_if_the_mirror_is_what_conversion_says(case: dict[str, Any]) -> None:
    async def scenario() -> None:
        api = world(**case)
        began = api.version
        rest = await reconciled(api, MemoryReader(api))
        said = [
            change.tree
            for change in api.changes_since(began)
            if change.kind is mapi.Machine and synchronized(change.tree).get("status") == "True"
        ]
        for tree in said[-1:]:
            if rest.failed or "deletionTimestamp" in tree["metadata"] or mapi_of(api) is None:
                continue
            match tree["status"].get("authoritativeAPI"):
                case "ClusterAPI":
                    assert differences(api) == []
                case "MachineAPI":
                    assert differences_of_cluster_api(api) == []

    asyncio.run(scenario())


@given(
    st.fixed_dictionaries(MANAGED),
    st.lists(
        st.tuples(
            st.sampled_from([(capi.Machine, "phase"), (capo.OpenStackMachine, "flavor"), (mapi.Machine, "phase")]),
            st.sampled_from(["a", "b"]),
        ),
        max_size=4,
    ),
    st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6),
)
@examples(100)
def test_two_of_us_at_once_do_not_undo_each_others_work(
    trees: dict[str, Any], events: list[tuple[tuple[Any, str], str]], turns: list[int]
) -> None:
    """Two processes with caches that stand still at different moments, while somebody changes the machine."""

    async def scenario() -> None:
        api = world(**trees)
        meanwhile = [partial(happen, api, *event) for event in events]
        frozen = (mapi.Machine, capi.Machine, capo.OpenStackMachine)
        rests = await two_at_once_come_to_rest(api, reconciled, frozen=frozen, turns=turns, meanwhile=meanwhile)
        if not any(rest.failed for rest in rests) and synchronized(mapi_of(api)).get("status") == "True":
            assert differences(api) == []

    asyncio.run(scenario())


@given(st.fixed_dictionaries(MANAGED), st.integers(1, 5))
@examples(60)
def test_one_of_us_between_any_decision_and_write_of_the_other_is_harmless(trees: dict[str, Any], write: int) -> None:
    async def scenario() -> None:
        api = world(**trees)
        alone = world(**trees)
        await reconciled(alone, MemoryReader(alone))
        await reconciled_beside_another(api, reconciled, write=write)
        assert settled(api) == settled(alone)

    asyncio.run(scenario())


@given(st.fixed_dictionaries(MANAGED))
@examples(60)
def test_an_event_says_everything_once(trees: dict[str, Any]) -> None:
    events_are_said_once(lambda: decide(snapshot(**trees), now=NOW))


async def happen(api: MemoryApi, what: tuple[Any, str], value: str) -> None:
    """Somebody else changes a field; nothing if the object is not there or refuses."""
    kind, field = what
    namespace = OURS if kind is mapi.Machine else THEIRS
    name = "w-0-infra" if kind is capo.OpenStackMachine else NAME
    part = "spec" if field == "flavor" else "status"
    found = tree_of(api, kind, name, namespace)
    if found is None or not isinstance(found.get(part) or {}, dict):
        return
    with suppress(Invalid):
        await api.patch(
            kind,
            name,
            {part: {field: value}},
            type=PatchType.MERGE,
            namespace=namespace,
            subresource="status" if part == "status" else "",
        )


def differences(api: MemoryApi) -> list[str]:
    """In what the mirror differs from what conversion makes of the machine as it is stored; read independently."""
    mirror, source = mapi_of(api), look(capi.Machine, tree_of(api, capi.Machine, NAME, THEIRS))
    assert mirror is not None
    assert isinstance(source, Present)
    spec = source.object.spec
    infra = look(capo.OpenStackMachine, tree_of(api, capo.OpenStackMachine, spec.infrastructure_ref.name, THEIRS))
    cluster = look(
        capo_cluster.OpenStackCluster, tree_of(api, capo_cluster.OpenStackCluster, spec.cluster_name, THEIRS)
    )
    assert isinstance(infra, Present)
    assert isinstance(cluster, Present)
    converted = OPENSTACK.to_machine_api(source.object, infra.object, cluster.object).machine
    assert converted is not None
    wanted = plain(converted)
    found = copy.deepcopy(mirror)
    for key in ("conditions", "lastOperation", "authoritativeAPI", "synchronizedAPI", "synchronizedGeneration"):
        found["status"].pop(key, None)
    if converted.status.provider_status is None:
        found["status"].pop("providerStatus", None)
    found["spec"].pop("authoritativeAPI", None)
    wanted["spec"].pop("authoritativeAPI", None)
    for side in (found, wanted):
        value = (side["spec"].pop("providerSpec", None) or {}).get("value")
        side["providerSpec"] = OPENSTACK.canonical_provider_spec(value)
    pairs = {
        "labels": (
            put_there(found, wanted, "labels", MIRRORED_LABELS_ANNOTATION),
            wanted["metadata"].get("labels", {}),
        ),
        "annotations": (
            put_there(found, wanted, "annotations", MIRRORED_ANNOTATIONS_ANNOTATION),
            wanted["metadata"].get("annotations", {}),
        ),
        "spec": (found["spec"], wanted["spec"]),
        "providerSpec": (found["providerSpec"], wanted["providerSpec"]),
        "status": (found["status"], wanted.get("status") or {}),
    }
    return [str(change) for part, (one, other) in pairs.items() for change in changes(one, other, path=part)]


def differences_of_cluster_api(api: MemoryApi) -> list[str]:
    """The other direction: in what the Cluster API objects differ from what conversion makes of the Machine.

    What a set of Cluster API writes to its machines is its own while it acts.
    """
    source = look(mapi.Machine, mapi_of(api))
    described = look(config.Infrastructure, INFRASTRUCTURE)
    assert isinstance(source, Present)
    assert isinstance(described, Present)
    converted = OPENSTACK.to_cluster_api(source.object, described.object)
    mirror = tree_of(api, capi.Machine, NAME, THEIRS)
    assert converted.machine is not None
    assert mirror is not None
    wanted = plain(converted.machine.spec)
    wanted["infrastructureRef"]["name"] = name = mirror["spec"]["infrastructureRef"]["name"]
    infra = tree_of(api, capo.OpenStackMachine, name, THEIRS)
    assert infra is not None
    differ = differing(OPENSTACK, infra["spec"], plain(converted.infra_machine.spec))
    acting = tree_of(api, capi.MachineSet, "ms", THEIRS)
    acts = acting and not paused(acting) and belongs_to(mirror, acting)
    followed = FOLLOWED if acts else FOLLOWED + FOLLOWED_WITHOUT_A_SET
    pairs = [(path, value_at(mirror["spec"], path), value_at(wanted, path)) for path in followed]
    return [*(str(change) for path, one, other in pairs for change in changes(one, other, path=path)), *differ]


def belongs_to(mirror: Tree, machine_set: Tree) -> bool:
    uid = machine_set["metadata"]["uid"]
    return any(owner["uid"] == uid for owner in mirror["metadata"].get("ownerReferences", []))


def paused(tree: Tree) -> bool:
    return PAUSED in (tree["metadata"].get("annotations") or {})


def value_at(spec: Tree, path: str) -> Any:
    value: Any = spec
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put_there(found: Tree, wanted: Tree, part: str, memory: str) -> Tree:
    """The labels or annotations of a mirror less those of others: neither wanted nor remembered as ours."""
    metadata = found["metadata"]
    remembered = (metadata.get("annotations") or {}).get(memory, "").split(",")
    ours = {*wanted["metadata"].get(part, {}), *(one.partition("=")[0] for one in remembered)}
    return {key: value for key, value in (metadata.get(part) or {}).items() if key in ours}


def test_the_examples_are_mirrored() -> None:
    """What the properties above are drawn from is a machine in sync, so that they are about something."""

    async def scenario() -> None:
        api = world(machine_api=changed(MIRROR))
        await reconciled(api, MemoryReader(api))
        assert synchronized(mapi_of(api))["status"] == "True"
        assert differences(api) == []

    asyncio.run(scenario())
