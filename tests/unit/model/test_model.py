"""The in-memory API server by itself: examples, direct set-up, faults. That its rules are the real ones is tested in
tests/api/test_memory_honesty.py."""

from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from windlass.api.core import Event
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube.errors import AlreadyExists, Busy, Conflict, Invalid, NotFound, NotServed, OutcomeUnknown
from windlass.kube.verbs import Api, PatchType
from windlass.machine_sync.crd_rules import machine_api
from windlass.model import MemoryApi
from windlass.model import refusals as refuse
from windlass.model.checks import EVENT
from windlass.model.garbage import collect_garbage
from windlass.model.patch import merge_patched
from windlass.model.schema import Rules, by


class Machine(Struct):
    RESOURCE: ClassVar[Resource] = Resource("machine.openshift.io", "v1beta1", "Machine", "machines")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


def machine(name: str = "m", *, meta: dict[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
    identity = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine"}
    return {**identity, "metadata": {"name": name, "namespace": "ns", **(meta or {})}, **rest}


@pytest.fixture
def api() -> MemoryApi:
    return MemoryApi(Machine, clock=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


async def merge(api: Api, body: Any, *, subresource: str = "", name: str = "m") -> dict[str, Any]:
    done = await api.patch(Machine, name, body, type=PatchType.MERGE, namespace="ns", subresource=subresource)
    return done.tree()


async def test_a_created_object_has_identity_and_no_status(api: MemoryApi) -> None:
    made = (await api.create(Machine, machine(spec={"a": 1}, status={"phase": "x"}), namespace="ns")).tree()
    assert "status" not in made
    assert made["metadata"] == {
        "name": "m",
        "namespace": "ns",
        "uid": "00000000-0000-4000-8000-000000000001",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-02T03:04:05Z",
    }
    with pytest.raises(AlreadyExists, match=r'machines.machine.openshift.io "m" already exists'):
        await api.create(Machine, machine(), namespace="ns")


async def test_generated_names_differ(api: MemoryApi) -> None:
    body = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": {"generateName": "m-"}}
    names = {(await api.create(Machine, body, namespace="ns")).name for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("m-") for name in names)


async def test_answers_are_copies_that_do_not_reach_the_store(api: MemoryApi) -> None:
    spec = {"list": [{"a": 1}]}
    made = await api.create(Machine, machine(spec=spec), namespace="ns")
    spec["list"][0]["a"] = 2
    made.tree()["spec"]["list"][0]["a"] = 3
    api.dump()[0]["spec"]["list"][0]["a"] = 4
    assert (await api.get(Machine, "m", namespace="ns")).tree()["spec"] == {"list": [{"a": 1}]}


async def test_a_kind_that_is_not_registered_is_not_served(api: MemoryApi) -> None:
    with pytest.raises(NotServed):
        await api.get(Event, "e", namespace="ns")
    await api.create(Machine, machine(), namespace="ns")
    api.uninstall(Machine)
    with pytest.raises(NotServed):
        await api.get(Machine, "m", namespace="ns")
    api.install(Machine)
    with pytest.raises(NotFound):
        await api.get(Machine, "m", namespace="ns")


async def test_a_namespaced_kind_needs_a_namespace(api: MemoryApi) -> None:
    with pytest.raises(ValueError, match="say in which namespace"):
        await api.get(Machine, "m")


def test_what_was_recorded_is_loaded_and_dumped_as_it_was(api: MemoryApi) -> None:
    recorded = machine(
        meta={"uid": "u", "resourceVersion": "77", "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z"},
        status={"phase": "Deleting"},
    )
    api.load(recorded)
    assert api.dump() == [recorded]
    assert api.version == 77
    api.load(machine("other"))
    assert api.dump()[1]["metadata"]["resourceVersion"] == "78"
    assert api.dump()[1]["metadata"]["uid"]


def test_loading_an_unknown_kind_says_what_is_registered(api: MemoryApi) -> None:
    with pytest.raises(ValueError, match=r"Pod.v1 is not registered; registered: Machine.machine.openshift.io/v1beta1"):
        api.load({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})


async def test_a_loaded_object_without_generation_counts_from_its_first_change(api: MemoryApi) -> None:
    api.load(machine(meta={"uid": "u"}, spec={"a": 1}))
    assert "generation" not in (await merge(api, {"metadata": {"labels": {"a": "b"}}}))["metadata"]
    assert (await merge(api, {"spec": {"a": 2}}))["metadata"]["generation"] == 1


async def test_changes_are_told_as_they_happen(api: MemoryApi) -> None:
    told: list[str] = []
    stop = api.subscribe(lambda change: told.append(str(change)))
    await api.create(Machine, machine(), namespace="ns")
    mark = api.version
    await merge(api, {"spec": {"a": 1}})
    await merge(api, {"spec": {"a": 1}})
    await api.delete(Machine, "m", namespace="ns")
    stop()
    await api.create(Machine, machine(), namespace="ns")
    assert told == ["1 ADDED Machine ns/m", "2 MODIFIED Machine ns/m", "3 DELETED Machine ns/m"]
    assert [change.version for change in api.changes_since(mark)] == [2, 3, 4]


async def test_an_ordered_failure_happens_as_often_as_ordered_and_does_nothing(api: MemoryApi) -> None:
    api.fail_next("create", Machine, refuse.internal("etcd is slow"), times=2)
    for _ in range(2):
        with pytest.raises(Busy, match="etcd is slow"):
            await api.create(Machine, machine(), namespace="ns")
    assert api.dump() == []
    await api.create(Machine, machine(), namespace="ns")
    assert api.pending_faults == []


async def test_a_failure_can_be_ordered_for_one_object_only(api: MemoryApi) -> None:
    api.fail_next("", None, refuse.internal("no"), name="b")
    await api.create(Machine, machine("a"), namespace="ns")
    with pytest.raises(Busy):
        await api.create(Machine, machine("b"), namespace="ns")


@pytest.mark.parametrize("stored", [True, False])
async def test_a_lost_answer_does_not_say_whether_the_write_happened(api: MemoryApi, stored: bool) -> None:
    api.lose_answer_next("create", stored=stored)
    with pytest.raises(OutcomeUnknown):
        await api.create(Machine, machine(), namespace="ns")
    assert (len(api.dump()) == 1) is stored


async def test_a_second_writer_comes_between_observation_and_write(api: MemoryApi) -> None:
    made = await api.create(Machine, machine(), namespace="ns")

    async def somebody() -> None:
        await merge(api, {"metadata": {"labels": {"by": "somebody"}}})

    api.conflict_by(somebody, "patch", Machine, times=2)
    mine = {"metadata": {"resourceVersion": made.resource_version}, "spec": {"a": 1}}
    with pytest.raises(Conflict, match="the object has been modified"):
        await merge(api, mine)
    assert len(api.pending_faults) == 1


async def test_rules_of_a_kind_are_checked_in_the_words_of_the_server() -> None:
    api = MemoryApi(machine_api(Machine))
    made = await api.create(Machine, machine(spec={}), namespace="ns")
    assert made.tree()["spec"] == {"authoritativeAPI": "MachineAPI"}
    await merge(api, {"status": {"authoritativeAPI": "MachineAPI"}}, subresource="status")
    with pytest.raises(Invalid, match="It must transition through Migrating") as refused:
        await merge(api, {"status": {"authoritativeAPI": "ClusterAPI"}}, subresource="status")
    assert refused.value.status.details.causes[0].field == "status.authoritativeAPI"
    with pytest.raises(Invalid, match='supported values: "MachineAPI", "ClusterAPI"'):
        await merge(api, {"spec": {"authoritativeAPI": "Both"}})


async def test_a_check_of_ones_own_refuses_in_the_same_way() -> None:
    def small(old: dict[str, Any] | None, new: dict[str, Any]) -> list[str]:
        return [] if new["spec"]["size"] < 5 else ["spec.size: Invalid value: 9: must be less than 5"]

    api = MemoryApi(Rules(Machine, checks=(small,)))
    with pytest.raises(Invalid) as refused:
        await api.create(Machine, machine(spec={"size": 9}), namespace="ns")
    text = 'Machine.machine.openshift.io "m" is invalid: spec.size: Invalid value: 9: must be less than 5'
    assert str(refused.value) == text
    cause = refused.value.status.details.causes[0]
    assert (cause.reason, cause.field) == ("FieldValueInvalid", "spec.size")


async def test_items_of_a_keyed_list_differ_in_their_keys() -> None:
    api = MemoryApi(Rules(Machine, fields={"spec.ports": by("name")}))
    ports = [{"name": "x", "to": 1}, {"name": "y", "to": 1}, {"name": "x", "to": 2}]
    with pytest.raises(Invalid, match=r'spec.ports\[2\]: Duplicate value: {"name":"x"}'):
        await api.create(Machine, machine(spec={"ports": ports}), namespace="ns")


async def test_server_side_apply_is_refused_because_it_is_not_modelled(api: MemoryApi) -> None:
    with pytest.raises(NotImplementedError, match="use a control plane"):
        await api.patch(Machine, "m", machine(), type=PatchType.APPLY, namespace="ns")


open_values = st.recursive(
    st.integers(0, 3) | st.booleans(),
    lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, min_size=1, max_size=2),
)


@given(open_values, open_values)
def test_a_merge_patch_of_a_map_is_idempotent(tree: Any, patch: Any) -> None:
    once = merge_patched(tree, patch)
    assert merge_patched(once, patch) == once


async def test_events_stand_in_the_namespace_of_their_object() -> None:
    api = MemoryApi(Rules(Event, status=False, checks=(EVENT,)))
    body = {"metadata": {"name": "e"}, "involvedObject": {"name": "m", "namespace": "elsewhere"}}
    with pytest.raises(Invalid, match=r"does not match event.namespace"):
        await api.create(Event, body, namespace="ns")
    made = await api.create(Event, body | {"involvedObject": {"name": "m", "namespace": "ns"}}, namespace="ns")
    assert "generation" not in made.tree()["metadata"]


async def test_garbage_is_collected_through_generations(api: MemoryApi) -> None:
    above = await api.create(Machine, machine("grandparent"), namespace="ns")
    for name in ("parent", "child"):
        owner = {"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "name": above.name, "uid": above.uid}
        above = await api.create(Machine, machine(name, meta={"ownerReferences": [owner]}), namespace="ns")
    assert await collect_garbage(api) == 0
    await api.delete(Machine, "grandparent", namespace="ns")
    assert await collect_garbage(api) == 2
    assert api.dump() == []
