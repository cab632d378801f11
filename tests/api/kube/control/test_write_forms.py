"""Each form of write on a real API server: what its rule is for, and what goes wrong without it.

Tests named `without_...` do it the wrong way, to show that the rule is needed on the server of today.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

import pytest
from msgspec import Struct, field

from windlass.api.core import Event
from windlass.api.meta import ObjectMeta, Resource
from windlass.api.schema import list_map
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.executor import Executor, event_name
from windlass.kube.control.item_patch import item_patch
from windlass.kube.control.plan import (
    AddFinalizer,
    Create,
    Delete,
    Done,
    Emit,
    Merge,
    MergeItems,
    Outcome,
    Plan,
    RemoveFinalizers,
    Target,
)
from windlass.kube.control.rounds import Ending, reconcile
from windlass.kube.crd import custom_resource_definition
from windlass.kube.errors import AlreadyExists, BadRequest, Conflict, Invalid, OutcomeUnknown
from windlass.kube.object import Object
from windlass.kube.verbs import PatchType
from windlass.testing.plane.facade import PlaneAccess

pytestmark = pytest.mark.plane


class FormSpec(Struct, kw_only=True, omit_defaults=True):
    size: int = 0
    color: str = ""


class FormCondition(Struct, kw_only=True, rename="camel"):
    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str


class FormStatus(Struct, kw_only=True, omit_defaults=True):
    phase: str = ""
    conditions: Annotated[list[FormCondition], list_map("type")] = field(default_factory=list)


class Form(Struct, kw_only=True, omit_defaults=True):
    """A kind that is written in every form."""

    RESOURCE: ClassVar[Resource] = Resource("forms.windlass.test", "v1", "Form", "forms")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: FormSpec = field(default_factory=FormSpec)
    status: FormStatus = field(default_factory=FormStatus)


class Place:
    """A namespace with a form `f` in it, somebody else who writes, and our executor."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.executor = Executor(client, now=lambda: datetime.now(UTC))

    async def create(self, **spec: Any) -> Object[Form]:
        return await self.client.create(
            Form, {**_identity("f"), "spec": spec}, namespace=self.namespace, field_manager="kubectl"
        )

    async def get(self) -> dict[str, Any]:
        return (await self.client.get(Form, "f", namespace=self.namespace)).tree()

    async def other_writes(self, body: dict[str, Any], *, subresource: str = "") -> Object[Form]:
        return await self.client.patch(
            Form,
            "f",
            body,
            type=PatchType.MERGE,
            namespace=self.namespace,
            subresource=subresource,
            field_manager="kubectl",
        )

    async def delete(self) -> None:
        await self.client.delete(Form, "f", namespace=self.namespace)

    async def do(self, *actions: Any) -> Outcome:
        return await self.executor.apply(Plan.of(*actions))

    async def raw_apply(self, body: dict[str, Any], *, subresource: str = "") -> Object[Form]:
        return await self.client.patch(
            Form,
            "f",
            {**_identity("f"), **body},
            type=PatchType.APPLY,
            namespace=self.namespace,
            subresource=subresource,
            field_manager="windlass-raw",
            force=True,
        )


@pytest.fixture
async def place(windlass_plane: PlaneAccess, windlass_namespace: str) -> AsyncIterator[Place]:
    await windlass_plane.apply_crds(custom_resource_definition(Form))
    async with Client(config.load(kubeconfig=windlass_plane.kubeconfig())) as client:
        yield Place(client, windlass_namespace)


def _identity(name: str) -> dict[str, Any]:
    resource = Form.RESOURCE
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}


def at(found: Object[Form]) -> Target:
    return Target(Form, found.name, found.namespace, found.uid, found.resource_version)


class TestCreate:
    async def test_an_answer_that_never_came_is_looked_for_and_not_repeated(self, place: Place) -> None:
        class LosesAnswers(Client):
            async def create(self, *args: Any, **kwargs: Any) -> Any:
                await super().create(*args, **kwargs)
                raise OutcomeUnknown("the connection went away")

        async with LosesAnswers(place.client.config) as client:
            create = Create(target=Target(Form, "f", place.namespace), body={"spec": {"size": 1}})
            outcome = await Executor(client).apply(Plan.of(create))
        assert outcome.error is not None
        assert outcome.error.unknown_outcome
        assert (await place.get())["spec"] == {"size": 1}
        again = await place.do(create)
        assert isinstance(again.error, AlreadyExists)

    async def test_a_field_that_the_schema_does_not_know_is_refused_and_not_dropped(self, place: Place) -> None:
        outcome = await place.do(Create(target=Target(Form, "f", place.namespace), body={"spec": {"sise": 1}}))
        assert isinstance(outcome.error, BadRequest)
        assert "spec.sise" in str(outcome.error)


class TestMerge:
    async def test_what_is_no_longer_desired_is_removed(self, place: Place) -> None:
        found = await place.create(size=1, color="red")
        await place.do(Merge(target=at(found), observed={"spec": found.tree()["spec"]}, desired={"spec": {"size": 1}}))
        assert (await place.get())["spec"] == {"size": 1}

    async def test_without_a_null_a_field_stays_for_ever(self, place: Place) -> None:
        await place.create(size=1, color="red")
        await place.other_writes({"spec": {"size": 1}})
        assert (await place.get())["spec"] == {"size": 1, "color": "red"}

    async def test_a_change_decided_on_an_old_state_is_a_conflict(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.other_writes({"spec": {"size": 7}})
        decided = Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}})
        assert isinstance((await place.do(decided)).error, Conflict)
        assert (await place.get())["spec"] == {"size": 7}

    async def test_without_a_resource_version_the_other_write_is_lost(self, place: Place) -> None:
        await place.create(size=1)
        await place.other_writes({"spec": {"size": 7}})
        await place.other_writes({"spec": {"size": 2}})
        assert (await place.get())["spec"] == {"size": 2}

    async def test_an_object_made_anew_is_not_taken_for_the_old_one(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.delete()
        await place.create(size=1)
        decided = Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}})
        assert isinstance((await place.do(decided)).error, Conflict)

    async def test_status_is_written_at_its_own_endpoint(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.do(Merge(target=at(found), observed={}, desired={"status": {"phase": "Ready"}}, part="status"))
        assert (await place.get())["status"] == {"phase": "Ready"}

    async def test_without_the_endpoint_status_is_dropped_in_silence(self, place: Place) -> None:
        await place.create(size=1)
        await place.other_writes({"status": {"phase": "Ready"}})
        assert "status" not in await place.get()

    async def test_several_writes_to_one_object_go_through_in_one_plan(self, place: Place) -> None:
        found = await place.create(size=1)
        outcome = await place.do(
            AddFinalizer(target=at(found), observed=(), finalizer="windlass.test/f"),
            Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}}),
            Merge(target=at(found), observed={}, desired={"status": {"phase": "Ready"}}, part="status"),
            RemoveFinalizers(target=at(found), observed=("windlass.test/f",), finalizers=("windlass.test/f",)),
        )
        assert outcome.error is None
        tree = await place.get()
        assert (tree["spec"], tree["status"]) == ({"size": 2}, {"phase": "Ready"})
        assert "finalizers" not in tree["metadata"]

    async def test_an_apply_never_removes_what_an_update_wrote(self, place: Place) -> None:
        await place.create(size=1, color="red")
        await place.raw_apply({"spec": {"size": 1}})
        assert (await place.get())["spec"] == {"size": 1, "color": "red"}


def condition(kind: str, message: str = "") -> dict[str, Any]:
    """One of the items of a list."""
    time = "2026-05-01T12:00:00Z"
    return {"type": kind, "status": "True", "reason": "R", "message": message, "lastTransitionTime": time}


A, B, C = map(condition, "ABC")


class TestMergeItems:
    async def with_conditions(self, place: Place, *conditions: dict[str, Any]) -> Object[Form]:
        if not (await place.client.list(Form, namespace=place.namespace)).items:
            await place.create(size=1)
        return await place.other_writes({"status": {"conditions": [*conditions]}}, subresource="status")

    def change(self, found: Object[Form], *conditions: dict[str, Any]) -> MergeItems:
        return MergeItems(
            target=at(found),
            observed={"status": found.tree()["status"]},
            desired={"status": {"conditions": [*conditions]}},
            part="status",
        )

    async def test_one_item_is_sent_and_the_others_stay(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        change = self.change(found, A, condition("B", "changed"), C)
        assert change.operations == [{"op": "add", "path": "/status/conditions/1/message", "value": "changed"}]
        outcome = await place.do(change)
        assert outcome.error is None
        assert (await place.get())["status"]["conditions"] == [A, condition("B", "changed"), C]

    async def test_items_come_and_go_in_one_write(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        outcome = await place.do(self.change(found, condition("New"), B, condition("C", "changed"), condition("D")))
        assert outcome.error is None
        written = (await place.get())["status"]["conditions"]
        assert written == [condition("New"), B, condition("C", "changed"), condition("D")]

    async def test_keys_with_slashes_are_keys(self, place: Place) -> None:
        await place.create(size=1)
        marks = {"metadata": {"annotations": {"a/b": "1", "c.d/e": "2", "kept": "x" * 200}}}
        found = await place.other_writes(marks)
        observed = {"metadata": {"annotations": found.tree()["metadata"]["annotations"]}}
        desired = {"metadata": {"annotations": {"c.d/e": "3", "kept": "x" * 200, "more": "y"}}}
        change = MergeItems(target=at(found), observed=observed, desired=desired)
        assert (await place.do(change)).error is None
        assert (await place.get())["metadata"]["annotations"] == desired["metadata"]["annotations"]

    async def test_a_change_decided_on_an_old_state_is_a_conflict(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        await self.with_conditions(place, condition("New"), A, B, C)
        outcome = await place.do(self.change(found, A, condition("B", "changed"), C))
        assert isinstance(outcome.error, Conflict)
        assert (await place.get())["status"]["conditions"] == [condition("New"), A, B, C]

    async def test_a_change_of_items_that_are_gone_is_a_conflict(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        await self.with_conditions(place, A)
        assert isinstance((await place.do(self.change(found, A, B, condition("C", "changed")))).error, Conflict)

    async def test_without_a_test_of_the_version_another_item_is_changed(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        await self.with_conditions(place, condition("New"), A, B, C)
        change = self.change(found, A, condition("B", "changed"), C)
        await place.client.patch(
            Form,
            "f",
            item_patch(change.observed, change.desired),
            type=PatchType.JSON,
            namespace=place.namespace,
            subresource="status",
        )
        written = (await place.get())["status"]["conditions"]
        assert [item["type"] for item in written if item["message"]] == ["A"]

    async def test_what_does_not_fit_the_object_that_was_observed_is_invalid_and_no_conflict(
        self, place: Place
    ) -> None:
        found = await self.with_conditions(place, A)
        outcome = await place.do(
            MergeItems(
                target=at(found),
                observed={"status": {"conditions": [A, B, C]}},
                desired={"status": {"conditions": [A, B, condition("C", "changed")]}},
                part="status",
            )
        )
        assert isinstance(outcome.error, Invalid)

    async def test_an_item_that_breaks_the_schema_is_invalid_and_named(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        outcome = await place.do(self.change(found, A, {**B, "reason": None}, C))
        assert isinstance(outcome.error, Invalid)
        assert "status.conditions[1].reason" in str(outcome.error)

    async def test_two_writes_go_through_in_one_plan(self, place: Place) -> None:
        found = await self.with_conditions(place, A, B, C)
        outcome = await place.do(
            Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}}),
            self.change(found, A, condition("B", "changed"), C),
        )
        assert outcome.error is None
        assert (await place.get())["status"]["conditions"] == [A, condition("B", "changed"), C]

    async def test_after_a_conflict_the_next_attempt_writes_it(self, place: Place) -> None:
        await self.with_conditions(place, A, B, C)
        first = True

        async def observe(key: str, last: Outcome) -> Object[Form]:
            nonlocal first
            found = await place.client.get(Form, key, namespace=place.namespace)
            if first:
                first = False
                await self.with_conditions(place, condition("New"), A, B, C)
            return found

        def decide(found: Object[Form], /, *, now: datetime) -> Plan:
            desired = [{**item, "message": "seen"} for item in found.tree()["status"]["conditions"]]
            return Plan.of(self.change(found, *desired))

        async def attempt() -> Ending:
            return await reconcile(
                "f", observe=observe, decide=decide, executor=place.executor, now=lambda: datetime.now(UTC)
            )

        assert isinstance((await attempt()).error, Conflict)
        assert (await attempt()).next == Done()
        written = (await place.get())["status"]["conditions"]
        assert [(item["type"], item["message"]) for item in written] == [(kind, "seen") for kind in ("New", *"ABC")]


class TestFinalizers:
    async def test_both_ways_on_what_was_observed(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.other_writes({"metadata": {"finalizers": ["windlass.test/theirs"]}})
        added = AddFinalizer(target=at(found), observed=(), finalizer="windlass.test/ours")
        assert isinstance((await place.do(added)).error, Conflict)
        assert (await place.get())["metadata"]["finalizers"] == ["windlass.test/theirs"]

    async def test_without_a_resource_version_the_finalizer_of_another_is_lost(self, place: Place) -> None:
        await place.create(size=1)
        await place.other_writes({"metadata": {"finalizers": ["windlass.test/theirs"]}})
        await place.other_writes({"metadata": {"finalizers": ["windlass.test/ours"]}})
        assert (await place.get())["metadata"]["finalizers"] == ["windlass.test/ours"]

    async def test_an_apply_cannot_drop_a_finalizer_that_an_update_owns_too(self, place: Place) -> None:
        await place.create(size=1)
        await place.other_writes({"metadata": {"finalizers": ["windlass.test/ours"]}})
        await place.raw_apply({"metadata": {"name": "f", "finalizers": ["windlass.test/ours"]}})
        await place.raw_apply({"metadata": {"name": "f"}})
        assert (await place.get())["metadata"]["finalizers"] == ["windlass.test/ours"]
        found = await place.client.get(Form, "f", namespace=place.namespace)
        off = RemoveFinalizers(target=at(found), observed=("windlass.test/ours",), finalizers=("windlass.test/ours",))
        await place.do(off)
        assert "finalizers" not in (await place.get())["metadata"]


class TestDelete:
    async def test_an_object_made_anew_is_not_deleted_in_place_of_the_old_one(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.delete()
        await place.create(size=2)
        assert isinstance((await place.do(Delete(target=at(found)))).error, Conflict)
        assert (await place.get())["spec"] == {"size": 2}

    async def test_a_decision_on_the_content_holds_for_that_content_only(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.other_writes({"spec": {"size": 7}})
        assert isinstance((await place.do(Delete(target=at(found), pin=True))).error, Conflict)
        assert (await place.do(Delete(target=at(found)))).error is None


class TestEmit:
    def event(self, found: Object[Form], note: str) -> Emit:
        return Emit(target=at(found), type="Warning", reason="Broken", note=note, source="windlass-test")

    async def events(self, place: Place) -> list[dict[str, Any]]:
        return [event.tree() for event in (await place.client.list(Event, namespace=place.namespace)).items]

    async def test_an_event_stands_under_its_object_and_is_sent_once_by_anybody(self, place: Place) -> None:
        found = await place.create(size=1)
        event = self.event(found, "it broke")
        await place.do(event)
        await Executor(place.client).apply(Plan.of(event))
        (stored,) = await self.events(place)
        assert stored["metadata"]["name"] == event_name(event)
        assert stored["involvedObject"]["uid"] == found.uid
        assert (stored["message"], stored["source"]) == ("it broke", {"component": "windlass-test"})

    async def test_a_long_note_is_cut_to_what_the_server_takes(self, place: Place) -> None:
        found = await place.create(size=1)
        await place.do(self.event(found, "x" * 3000))
        (stored,) = await self.events(place)
        assert len(stored["message"]) == 1024

    async def test_an_event_that_is_refused_does_not_stop_the_plan(self, place: Place) -> None:
        found = await place.create(size=1)
        elsewhere = Target(Form, "f", "no-such-namespace", found.uid, found.resource_version)
        refused = Emit(target=elsewhere, type="Normal", reason="R", note="n", source="windlass-test")
        change = Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}})
        assert (await place.do(refused, change)).error is None
        assert (await place.get())["spec"] == {"size": 2}


async def test_an_update_of_a_whole_object_needs_a_resource_version(place: Place) -> None:
    """One more reason for patches: the server takes no unconditional PUT of a custom resource."""
    found = await place.create(size=1)
    tree = found.tree()
    del tree["metadata"]["resourceVersion"]
    with pytest.raises(Invalid):
        await place.client.request("PUT", Form.RESOURCE.path("f", namespace=place.namespace), body=tree)
