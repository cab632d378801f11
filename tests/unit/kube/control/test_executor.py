"""What the executor sends, what it drops, and what it tells others."""

import asyncio
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.patience import PATIENCE
from tests.unit.kube.widgets import NAMESPACE, Widget, widget
from windlass.api.core import Event
from windlass.api.meta import ObjectMeta, Resource
from windlass.capability.planning.fields import field_changes
from windlass.kube.control.executor import NOTE_LIMIT, Executor, event_name
from windlass.kube.control.permissions import Declared, Permission, emits_events, evicts_pods, permission, writes
from windlass.kube.control.plan import (
    Action,
    AddFinalizer,
    Create,
    Delete,
    Emit,
    Evict,
    Merge,
    MergeItems,
    Outcome,
    Plan,
    RemoveFinalizers,
    Target,
)
from windlass.kube.errors import (
    Conflict,
    Invalid,
    NotFound,
    NotServed,
    OutcomeUnknown,
    Status,
    Unconditional,
    Undeclared,
    Unevictable,
    api_error,
)
from windlass.kube.object import Object
from windlass.kube.verbs import PatchRequest, PatchType
from windlass.model import MemoryApi
from windlass.model.refusals import not_served, unevictable
from windlass.testing.logs import captured

NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Recorder:
    """A ledger that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.latest: dict[str, Object[Any]] = {}

    def wrote(self, written: Object[Any]) -> None:
        self.told.append(("wrote", written.name))
        self.latest[written.name] = written

    def removed(self, target: Target) -> None:
        self.told.append(("removed", target.name))

    def doubt(self, target: Target) -> None:
        self.told.append(("doubt", target.name))


@pytest.fixture
def api() -> MemoryApi:
    return MemoryApi(Widget, Event)


@pytest.fixture
def ledger() -> Recorder:
    return Recorder()


@pytest.fixture
def executor(api: MemoryApi, ledger: Recorder) -> Executor:
    return Executor(api, ledger=ledger, now=lambda: NOW)


async def stored(api: MemoryApi, **spec: Any) -> Object[Widget]:
    return await api.create(Widget, widget("w", **spec), namespace=NAMESPACE)


def at(found: Object[Widget]) -> Target:
    return Target(Widget, found.name, found.namespace, found.uid, found.resource_version)


async def apply(executor: Executor, *actions: Action) -> Outcome:
    return await executor.apply(Plan.of(*actions))


def tree(api: MemoryApi, name: str = "w") -> dict[str, Any]:
    found = api.peek(Widget, name, namespace=NAMESPACE)
    assert found is not None
    return found.tree()


async def test_a_create_fills_in_what_the_target_says(executor: Executor, api: MemoryApi) -> None:
    await apply(executor, Create(target=Target(Widget, "new", NAMESPACE), body={"spec": {"size": 1}}))
    assert tree(api, "new")["spec"] == {"size": 1}


async def test_a_merge_changes_what_differs_and_leaves_the_rest(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, size=1, color="red", other="kept")
    observed, desired = {"spec": {"size": 1, "color": "red"}}, {"spec": {"size": 2}}
    await apply(executor, Merge(target=at(found), observed=observed, desired=desired))
    assert tree(api)["spec"] == {"size": 2, "other": "kept"}


async def test_a_merge_of_what_somebody_else_changed_is_a_conflict(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    found = await stored(api, size=1)
    newer = await api.patch(Widget, "w", {"spec": {"size": 5}}, type=PatchType.MERGE, namespace=NAMESPACE)
    outcome = await apply(
        executor, Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}})
    )
    assert isinstance(outcome.error, Conflict)
    assert tree(api)["spec"] == {"size": 5}
    assert ledger.latest["w"].resource_version == newer.resource_version


ITEMS = [{"name": name, "text": "x" * 50} for name in "abc"]


def with_items(found: Object[Widget], *items: dict[str, Any], observed: list[Any] | None = None) -> MergeItems:
    spec = found.tree()["spec"] if observed is None else {"items": observed}
    return MergeItems(target=at(found), observed={"spec": spec}, desired={"spec": {"items": [*items]}})


class Listening(MemoryApi):
    """Notes how patches are sent, and their bodies."""

    def __init__(self) -> None:
        super().__init__(Widget, Event)
        self.sent: list[tuple[PatchType, Any]] = []

    async def send(self, request: Any, /) -> Any:
        if isinstance(request, PatchRequest):
            self.sent.append((request.type, request.body))
        return await super().send(request)


async def test_of_a_list_only_the_changed_items_are_sent_for_the_version_that_was_observed() -> None:
    api = Listening()
    found = await stored(api, items=ITEMS)
    outcome = await apply(Executor(api), with_items(found, ITEMS[0], {**ITEMS[1], "text": "y"}, ITEMS[2]))
    assert outcome.error is None
    assert api.sent == [
        (
            PatchType.JSON,
            [
                {"op": "test", "path": "/metadata/resourceVersion", "value": found.resource_version},
                {"op": "add", "path": "/spec/items/1/text", "value": "y"},
            ],
        )
    ]
    assert [item["text"][:1] for item in tree(api)["spec"]["items"]] == ["x", "y", "x"]


async def test_a_merge_patch_is_sent_where_it_is_smaller_or_no_parent_was_observed() -> None:
    api = Listening()
    found = await stored(api, items=ITEMS)
    short = with_items(found, {"name": "a"})
    new = MergeItems(target=at(found), observed={}, desired={"status": {"phase": "Ready"}}, part="status")
    assert (await apply(Executor(api), short, new)).error is None
    assert [how for how, _ in api.sent] == [PatchType.MERGE, PatchType.MERGE]
    assert tree(api)["spec"] == {"items": [{"name": "a"}]}
    assert tree(api)["status"] == {"phase": "Ready"}


async def test_items_that_are_as_desired_are_not_sent() -> None:
    api = Listening()
    found = await stored(api, items=ITEMS)
    assert (await apply(Executor(api), with_items(found, *ITEMS))).results == ()
    assert api.sent == []


async def test_items_of_a_list_that_somebody_else_changed_are_a_conflict(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    found = await stored(api, items=ITEMS)
    newer = await api.patch(Widget, "w", {"spec": {"items": []}}, type=PatchType.MERGE, namespace=NAMESPACE)
    outcome = await apply(executor, with_items(found, *ITEMS[:2], {"name": "c"}))
    assert isinstance(outcome.error, Conflict)
    assert tree(api)["spec"] == {"items": []}
    assert ledger.latest["w"].resource_version == newer.resource_version


async def test_items_of_a_list_that_was_never_so_are_invalid(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, items=[])
    outcome = await apply(executor, with_items(found, *ITEMS[:2], {"name": "c"}, observed=ITEMS))
    assert isinstance(outcome.error, Invalid)


async def test_a_change_of_items_needs_the_right_to_tell_a_conflict(api: MemoryApi) -> None:
    found = await stored(api, items=ITEMS)
    permits = Declared([writes(Widget, "patch", namespace=NAMESPACE)])
    outcome = await apply(Executor(api, permits=permits), with_items(found, ITEMS[0]))
    assert isinstance(outcome.error, Undeclared)
    assert "may get" in str(outcome.error)


def test_a_change_of_items_is_shown_as_a_merge_is() -> None:
    aim = Target(Widget, "w", NAMESPACE, "u", "1")
    observed, desired = {"spec": {"items": ITEMS}}, {"spec": {"items": ITEMS[:2]}}
    merge, items = (kind(target=aim, observed=observed, desired=desired) for kind in (Merge, MergeItems))
    assert str(items) == str(merge)
    assert items.diff() == merge.diff()
    assert field_changes(items) == field_changes(merge) != ()


async def test_writes_to_one_object_build_on_each_other(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, size=1)
    outcome = await apply(
        executor,
        AddFinalizer(target=at(found), observed=(), finalizer="example.com/f"),
        Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}}),
        Merge(target=at(found), part="status", observed={}, desired={"status": {"phase": "Ready"}}),
    )
    assert outcome.error is None
    assert tree(api)["metadata"]["finalizers"] == ["example.com/f"]
    assert (tree(api)["spec"], tree(api)["status"]) == ({"size": 2}, {"phase": "Ready"})


class Meeting(MemoryApi):
    """Answers patches only when `expected` of them are under way."""

    def __init__(self, expected: int) -> None:
        super().__init__(Widget, Event)
        self._together = asyncio.Barrier(expected)

    async def patch(self, *arguments: Any, **options: Any) -> Any:
        await self._together.wait()
        return await super().patch(*arguments, **options)


async def test_finalizers_of_several_objects_are_added_at_the_same_time() -> None:
    api = Meeting(2)
    targets = [at(await api.create(Widget, widget(name), namespace=NAMESPACE)) for name in ("a", "b")]
    adding = [AddFinalizer(target=aim, observed=(), finalizer="example.com/f") for aim in targets]
    async with asyncio.timeout(PATIENCE):
        outcome = await apply(Executor(api), *adding)
    assert [result.action for result in outcome.results] == adding
    assert [tree(api, name)["metadata"]["finalizers"] for name in ("a", "b")] == [["example.com/f"]] * 2


async def test_what_follows_finalizers_is_not_sent_unless_all_are_there(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, size=1)
    missing = Target(Widget, "missing", NAMESPACE, uid="u", resource_version="1")
    outcome = await apply(
        executor,
        AddFinalizer(target=missing, observed=(), finalizer="example.com/f"),
        AddFinalizer(target=at(found), observed=(), finalizer="example.com/f"),
        Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}}),
    )
    assert isinstance(outcome.error, NotFound)
    assert tree(api)["metadata"]["finalizers"] == ["example.com/f"]
    assert tree(api)["spec"] == {"size": 1}


async def test_a_finalizer_that_was_the_last_of_a_deleted_object_leaves_nothing_behind(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    held = widget("w")
    held["metadata"]["finalizers"] = ["example.com/f"]
    await api.create(Widget, held, namespace=NAMESPACE)
    going = await api.delete(Widget, "w", namespace=NAMESPACE)
    assert going is not None
    off = RemoveFinalizers(target=at(going), observed=("example.com/f",), finalizers=("example.com/f",))
    outcome = await apply(executor, off)
    assert outcome.results[0].changed
    assert outcome.results[0].object is None
    assert ledger.told == [("removed", "w")]


async def test_nothing_after_an_error_is_sent(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, size=1)
    missing = Target(Widget, "missing", NAMESPACE, uid="u", resource_version="1")
    outcome = await apply(
        executor,
        Merge(target=missing, observed={}, desired={"spec": {"size": 1}}),
        Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}}),
    )
    assert isinstance(outcome.error, NotFound)
    assert len(outcome.results) == 1
    assert tree(api)["spec"] == {"size": 1}


@pytest.mark.parametrize(
    "action",
    [
        Merge(target=Target(Widget, "w", NAMESPACE), observed={"a": 1}, desired={"a": 1, "b": None}),
        AddFinalizer(target=Target(Widget, "w", NAMESPACE), observed=("f",), finalizer="f"),
        RemoveFinalizers(target=Target(Widget, "w", NAMESPACE), observed=("f",), finalizers=("g",)),
        Delete(target=Target(Widget, "w", NAMESPACE, uid="u"), deleting=True),
    ],
)
async def test_what_is_so_already_is_not_sent(executor: Executor, api: MemoryApi, action: Action) -> None:
    before = api.version
    assert executor.pending(Plan.of(action)) == ()
    assert await apply(executor, action) == Outcome()
    assert api.version == before


async def test_a_delete_is_of_the_object_that_was_seen(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, size=1)
    await api.delete(Widget, "w", namespace=NAMESPACE)
    await stored(api, size=2)
    outcome = await apply(executor, Delete(target=at(found)))
    assert isinstance(outcome.error, Conflict)
    assert tree(api)["spec"] == {"size": 2}


async def test_a_pinned_delete_is_of_the_content_that_was_seen(executor: Executor, api: MemoryApi) -> None:
    found = await stored(api, size=1)
    await api.patch(Widget, "w", {"spec": {"size": 5}}, type=PatchType.MERGE, namespace=NAMESPACE)
    assert isinstance((await apply(executor, Delete(target=at(found), pin=True))).error, Conflict)
    assert (await apply(executor, Delete(target=at(found)))).error is None


async def test_deleting_what_is_gone_is_a_success(executor: Executor, ledger: Recorder) -> None:
    outcome = await apply(executor, Delete(target=Target(Widget, "gone", NAMESPACE, uid="u")))
    assert outcome.error is None
    assert ledger.told == [("removed", "gone")]


async def test_a_deletion_of_a_kind_that_is_not_served_did_not_happen(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    found = await stored(api)
    api.fail_next("delete", Widget, not_served())
    outcome = await apply(executor, Delete(target=at(found)))
    assert isinstance(outcome.error, NotServed)
    assert ledger.told == []


async def test_after_a_conflict_nobody_knows_what_a_kind_that_is_not_served_has(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    found = await stored(api)
    await api.patch(Widget, "w", {"spec": {"size": 5}}, type=PatchType.MERGE, namespace=NAMESPACE)
    api.fail_next("get", Widget, not_served())
    await apply(executor, Merge(target=at(found), observed={}, desired={"spec": {"size": 1}}))
    assert ledger.told == [("doubt", "w")]


async def test_an_object_that_is_missing_after_a_conflict_is_gone(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    found = await stored(api)
    await api.delete(Widget, "w", namespace=NAMESPACE)
    outcome = await apply(executor, Merge(target=at(found), observed={}, desired={"spec": {"size": 1}}))
    assert isinstance(outcome.error, NotFound)
    assert ledger.told == [("removed", "w")]


@pytest.mark.parametrize(
    ("action", "missing"),
    [
        (Delete(target=Target(Widget, "w", NAMESPACE)), "uid"),
        (Delete(target=Target(Widget, "w", NAMESPACE, uid="u"), pin=True), "resourceVersion"),
        (Merge(target=Target(Widget, "w", NAMESPACE, uid="u"), observed={}, desired={"a": 1}), "resourceVersion"),
        (Merge(target=Target(Widget, "w", NAMESPACE), observed={}, desired={"a": 1}), "uid and no resourceVersion"),
        (AddFinalizer(target=Target(Widget, "w", NAMESPACE), observed=(), finalizer="a/b"), "uid"),
        (RemoveFinalizers(target=Target(Widget, "w", NAMESPACE), observed=("a/b",), finalizers=("a/b",)), "uid"),
    ],
)
async def test_what_does_not_say_which_object_was_observed_is_not_sent(
    executor: Executor, api: MemoryApi, action: Action, missing: str
) -> None:
    await stored(api, size=1)
    before = api.version
    outcome = await apply(executor, action)
    assert isinstance(outcome.error, Unconditional)
    assert f"the target has no {missing}" in str(outcome.error)
    assert api.version == before


@pytest.mark.parametrize("adds", [True, False])
async def test_finalizers_are_written_only_to_the_object_that_was_observed(
    executor: Executor, api: MemoryApi, *, adds: bool
) -> None:
    held = widget("w")
    held["metadata"]["finalizers"] = ["example.com/f"]
    found = await api.create(Widget, held, namespace=NAMESPACE)
    theirs = {"metadata": {"finalizers": ["example.com/f", "example.com/theirs"]}}
    await api.patch(Widget, "w", theirs, type=PatchType.MERGE, namespace=NAMESPACE)
    action = (
        AddFinalizer(target=at(found), observed=("example.com/f",), finalizer="example.com/g")
        if adds
        else RemoveFinalizers(target=at(found), observed=("example.com/f",), finalizers=("example.com/f",))
    )
    outcome = await apply(executor, action)
    assert isinstance(outcome.error, Conflict)
    assert tree(api)["metadata"]["finalizers"] == ["example.com/f", "example.com/theirs"]


async def test_an_object_with_a_grace_period_is_not_gone_when_its_last_finalizer_is(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    going = widget("w")
    going["metadata"] |= {
        "finalizers": ["example.com/f"],
        "deletionTimestamp": "2026-05-01T00:00:30Z",
        "deletionGracePeriodSeconds": 30,
    }
    api.load(going)
    found = api.peek(Widget, "w", namespace=NAMESPACE)
    assert found is not None
    off = RemoveFinalizers(target=at(found), observed=("example.com/f",), finalizers=("example.com/f",))
    outcome = await apply(executor, off)
    assert outcome.results[0].object is not None
    assert ledger.told == [("wrote", "w")]


async def test_a_write_of_unknown_outcome_is_doubted_and_not_repeated(
    executor: Executor, api: MemoryApi, ledger: Recorder
) -> None:
    api.lose_answer_next("create", Widget)
    outcome = await apply(executor, Create(target=Target(Widget, "w", NAMESPACE), body=widget("w")))
    assert isinstance(outcome.error, OutcomeUnknown)
    assert ledger.told == [("doubt", "w")]
    assert api.peek(Widget, "w", namespace=NAMESPACE) is not None


async def test_what_the_controller_did_not_declare_is_not_sent(api: MemoryApi) -> None:
    found = await stored(api, size=1)
    executor = Executor(api, permits=Declared([writes(Widget, "patch", namespace=NAMESPACE)]))
    outcome = await apply(executor, Delete(target=at(found)))
    assert isinstance(outcome.error, Undeclared)
    assert f"may delete widgets.example.com '{found.name}' in {NAMESPACE}" in str(outcome.error)
    assert (await apply(executor, AddFinalizer(target=at(found), observed=(), finalizer="a/b"))).error is None


@pytest.mark.parametrize(
    "declared",
    [
        writes(Widget, "create", "patch", "delete", namespace="elsewhere"),
        writes(Widget, "create", "patch", "delete", namespace=NAMESPACE, names=("another",)),
        emits_events(namespace="elsewhere"),
    ],
)
async def test_what_is_declared_for_other_places_or_names_is_not_sent(api: MemoryApi, declared: Permission) -> None:
    found = await stored(api, size=1)
    executor = Executor(api, permits=Declared([declared]))
    for action in (
        Create(target=Target(Widget, "new", NAMESPACE), body=widget("new")),
        AddFinalizer(target=at(found), observed=(), finalizer="a/b"),
        Delete(target=at(found)),
    ):
        assert isinstance((await apply(executor, action)).error, Undeclared), action
    await apply(executor, Emit(target=at(found), type="Warning", reason="Broken", note="it broke", source="test"))
    assert list(api.listing(Event)) == []


async def test_after_a_conflict_an_object_that_may_not_be_read_is_doubted(api: MemoryApi, ledger: Recorder) -> None:
    found = await stored(api, size=1)
    await api.patch(Widget, "w", {"spec": {"size": 5}}, type=PatchType.MERGE, namespace=NAMESPACE)
    executor = Executor(api, ledger=ledger, permits=Declared([writes(Widget, "patch", namespace=NAMESPACE)]))
    outcome = await apply(executor, AddFinalizer(target=at(found), observed=(), finalizer="a/b"))
    assert isinstance(outcome.error, Conflict)
    assert ledger.told == [("doubt", found.name)]


class TestEvents:
    def event(self, found: Object[Widget], note: str = "it broke") -> Emit:
        return Emit(target=at(found), type="Warning", reason="Broken", note=note, source="test")

    async def test_an_event_is_about_its_object(self, executor: Executor, api: MemoryApi) -> None:
        found = await stored(api)
        await apply(executor, self.event(found))
        (event,) = (each.tree() for each in api.listing(Event))
        assert event["involvedObject"]["uid"] == found.uid
        assert (event["type"], event["reason"], event["message"]) == ("Warning", "Broken", "it broke")
        assert event["metadata"]["namespace"] == NAMESPACE

    async def test_the_same_event_is_sent_once(self, executor: Executor, api: MemoryApi) -> None:
        found = await stored(api)
        await apply(executor, self.event(found))
        assert executor.pending(Plan.of(self.event(found))) == ()
        assert len(executor.pending(Plan.of(self.event(found, "again")))) == 1

    async def test_a_successor_that_repeats_it_changes_nothing(self, executor: Executor, api: MemoryApi) -> None:
        found = await stored(api)
        await apply(executor, self.event(found))
        outcome = await Executor(api).apply(Plan.of(self.event(found)))
        assert outcome.error is None
        assert len(api.listing(Event)) == 1

    async def test_an_event_that_is_refused_stops_nothing(self, executor: Executor, api: MemoryApi) -> None:
        found = await stored(api, size=1)
        api.uninstall(Event)
        write = Merge(target=at(found), observed={"spec": {"size": 1}}, desired={"spec": {"size": 2}})
        outcome = await apply(executor, self.event(found), write)
        assert outcome.error is None
        assert tree(api)["spec"] == {"size": 2}

    async def test_a_refusal_is_told_once_until_events_arrive_again(self, executor: Executor, api: MemoryApi) -> None:
        found = await stored(api)
        refused = api_error(Status("Failure", "events is forbidden", "Forbidden", 403))
        api.fail_next("create", Event, refused, times=2)
        with captured() as logs:
            await apply(executor, self.event(found, "one"), self.event(found, "two"))
            await apply(executor, self.event(found, "three"))
            api.fail_next("create", Event, refused)
            await apply(executor, self.event(found, "four"))
        assert [line["level"] for line in logs] == ["warning", "debug", "warning"]
        assert logs[0]["error"] == "Forbidden: events is forbidden"
        assert logs[0]["about"] == "event Warning Broken on Widget.example.com shop/w: one"

    async def test_a_long_note_is_cut_to_what_the_api_admits(self, executor: Executor, api: MemoryApi) -> None:
        found = await stored(api)
        await apply(executor, self.event(found, "x" * 5000))
        (event,) = api.listing(Event)
        assert len(event.tree()["message"]) == NOTE_LIMIT

    async def test_a_long_name_leaves_room_for_the_hash(self, api: MemoryApi) -> None:
        aim = Target(Widget, "n" * 253, NAMESPACE, uid="u")
        names = {
            event_name(Emit(target=aim, type="Normal", reason="R", note=note, source="s", occasion=occasion))
            for note, occasion in (("a", ""), ("b", ""), ("a", "again"))
        }
        assert len(names) == 3
        assert max(map(len, names)) == 253


class Pod(Struct):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Pod", "pods")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class Evicting:
    """A Pod on a model, and an executor that may evict it."""

    def __init__(self, *rights: Permission) -> None:
        self.api = MemoryApi(Pod)
        self.api.load(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": NAMESPACE, "uid": "u"}}
        )
        self.ledger = Recorder()
        self.executor = Executor(self.api, ledger=self.ledger, permits=Declared(rights))

    def apply(self, *, uid: str = "u", **how: Any) -> Outcome:
        plan = Plan.of(Evict(target=Target(Pod, "p", NAMESPACE, uid=uid), **how))
        return asyncio.run(self.executor.apply(plan))


def test_an_eviction_leaves_in_doubt_whether_the_pod_is_still_there() -> None:
    evicting = Evicting(evicts_pods(namespace=NAMESPACE))
    outcome = evicting.apply()
    assert outcome.error is None
    assert outcome.results[0].object is None
    assert evicting.ledger.told == [("doubt", "p")]
    assert evicting.api.peek(Pod, "p", namespace=NAMESPACE) is None
    assert evicting.apply().error is None, "what is gone need not be evicted"


def test_a_disruption_budget_that_forbids_is_an_error_to_decide_on() -> None:
    evicting = Evicting(evicts_pods(namespace=NAMESPACE))
    evicting.api.fail_next("evict", Pod, unevictable("shop"))
    error = evicting.apply().error
    assert isinstance(error, Unevictable)
    assert not error.transient
    assert evicting.ledger.told == []


def test_a_pod_is_evicted_only_under_the_uid_that_was_seen_and_with_the_right_to() -> None:
    evicting = Evicting(evicts_pods(namespace=NAMESPACE))
    assert isinstance(evicting.apply(uid="another").error, Conflict)
    assert isinstance(evicting.apply(uid="").error, Unconditional)
    assert evicting.apply(deleting=True).results == ()
    for missing in ((), (permission(Pod, "create", "delete"),), (evicts_pods(namespace="elsewhere"),)):
        assert isinstance(Evicting(*missing).apply().error, Undeclared)
