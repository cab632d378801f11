"""What a reader of the in-memory API server refuses, as a real one does for lack of a right."""

from collections.abc import Callable
from typing import Any

import pytest

from windlass.api.core import Secret
from windlass.kube.control.controller import Controller, Watch
from windlass.kube.control.permissions import permission
from windlass.kube.control.plan import Outcome, Plan
from windlass.kube.control.population import Population
from windlass.kube.control.seen import Absent, Present
from windlass.kube.errors import Undeclared
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.testing.scripted import Widget

SHOP: dict[str, Any] = {"namespace": "shop"}


async def observe(key: str, last: Outcome) -> str:
    return key


@pytest.fixture
def api() -> MemoryApi:
    api = MemoryApi(Widget, Secret)
    api.load({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", **SHOP}, "spec": {}})
    return api


def controller(**declared: Any) -> Controller[str, str]:
    watch: Watch[str] = Watch(Widget, lambda found: [found.name], **declared.pop("watch", SHOP))
    usual: dict[str, Any] = {"name": "c", "watches": (watch,), "observe": observe}
    return Controller(**usual, decide=lambda snapshot, *, now: Plan.nothing(), **declared)


@pytest.fixture
def reader(api: MemoryApi) -> Callable[..., MemoryReader]:
    def make(**declared: Any) -> MemoryReader:
        reader = MemoryReader(api)
        reader.only(controller(**declared))
        return reader

    return make


async def test_what_is_watched_may_be_seen_and_asked_for_where_it_is_watched(
    reader: Callable[..., MemoryReader],
) -> None:
    assert isinstance(await reader().see(Widget, "a", **SHOP), Present)
    assert await reader().see(Widget, "b", confirm=True, **SHOP) == Absent(confirmed=True)
    with pytest.raises(Undeclared, match=r"may get widgets.example.com 'a' in mill"):
        await reader().see(Widget, "a", namespace="mill")


async def test_what_is_only_cached_may_not_be_asked_for(reader: Callable[..., MemoryReader]) -> None:
    cached = reader(watch={**SHOP, "cache_only": True})
    assert isinstance(await cached.see(Widget, "a", **SHOP), Present)
    with pytest.raises(Undeclared):
        await cached.see(Widget, "a", confirm=True, **SHOP)
    with pytest.raises(Undeclared):
        await cached.see(Widget, "a", live=True, **SHOP)


async def test_what_a_selector_may_leave_out_has_to_be_asked_for(reader: Callable[..., MemoryReader]) -> None:
    selected = reader(watch={**SHOP, "label_selector": "size=1", "cache_only": True})
    with pytest.raises(Undeclared):
        await selected.see(Widget, "a", **SHOP)


async def test_what_is_not_watched_needs_a_permission_of_its_own(reader: Callable[..., MemoryReader]) -> None:
    with pytest.raises(Undeclared, match=r"may get secrets 'pull' in shop"):
        await reader().see(Secret, "pull", **SHOP)
    permitted = reader(permissions=(permission(Secret, "get", namespace="shop", names=("pull",)),))
    assert isinstance(await permitted.see(Secret, "pull", **SHOP), Absent)
    with pytest.raises(Undeclared):
        await permitted.see(Secret, "push", **SHOP)


async def test_all_objects_of_a_kind_are_looked_at_only_with_a_watch_of_them(
    reader: Callable[..., MemoryReader],
) -> None:
    found = await reader().see_all(Widget)
    assert isinstance(found, Population)
    assert [each.metadata.name for each in found] == ["a"]
    permitted = reader(permissions=(permission(Secret, "get", "list"),))
    with pytest.raises(Undeclared, match="controller c looks at all secrets, which it does not watch: add a Watch"):
        await permitted.see_all(Secret)


async def test_content_is_not_looked_at_where_only_metadata_is_watched(reader: Callable[..., MemoryReader]) -> None:
    metadata = reader(watch={**SHOP, "metadata_only": True})
    assert isinstance(await metadata.see_all(Widget, metadata_only=True), Population)
    with pytest.raises(Undeclared, match=r"looks at all widgets\.example\.com, which it does not watch"):
        await metadata.see_all(Widget)
    with pytest.raises(Undeclared, match=r"the metadata of all .* add a Watch of them with metadata_only"):
        await reader().see_all(Widget, metadata_only=True)


@pytest.mark.parametrize("watch", [{"namespace": "mill"}, {**SHOP, "label_selector": "size=1"}])
async def test_all_objects_are_those_that_a_watch_selects(
    reader: Callable[..., MemoryReader], watch: dict[str, str]
) -> None:
    selected = reader(watch={**watch, "indexes": {"name": lambda found: [found.name]}})
    found = await selected.see_all(Widget)
    assert isinstance(found, Population)
    assert [*found] == []
    assert selected.indexed(Widget, "name", "a") == []


async def test_objects_are_found_by_the_indexes_of_watches_and_by_no_other(
    reader: Callable[..., MemoryReader],
) -> None:
    indexed = reader(watch={**SHOP, "indexes": {"name": lambda found: [found.name]}})
    assert [each.name for each in indexed.indexed(Widget, "name", "a")] == ["a"]
    for kind, index in ((Widget, "size"), (Secret, "name")):
        with pytest.raises(Undeclared, match=f"controller c looks {kind.RESOURCE.name} up by '{index}', which none"):
            indexed.indexed(kind, index, "a")


def test_a_reader_has_the_indexes_of_its_last_controller_alone(api: MemoryApi) -> None:
    reader = MemoryReader(api)
    reader.only(controller(watch={**SHOP, "indexes": {"name": lambda found: [found.name]}}))
    reader.only(controller(watch=SHOP))
    with pytest.raises(Undeclared):
        reader.known(Widget, "name", "a")
