"""What a store shows and what it announces."""

from collections.abc import Iterable
from typing import Any

import pytest

from windlass.kube.cache.store import STEP, Change, Store
from windlass.kube.object import NamespacedName, Object
from windlass.testing.scripted import Widget


def widget(name: str, version: int | str, *, uid: str = "", spec: Any = None, **metadata: Any) -> Object[Widget]:
    identity = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return Object.of(Widget, {"metadata": {**identity, **metadata}, "spec": spec or {}})


def listed(*items: Object[Widget]) -> dict[NamespacedName, Object[Widget]]:
    return {item.key: item for item in items}


def a(name: str) -> NamespacedName:
    return "default", name


@pytest.fixture
def store() -> Store[Widget]:
    return Store()


def sizes(item: Object[Widget]) -> Iterable[str]:
    return [str(value) for value in item.decode().spec.values()]


def test_a_list_announces_only_what_differs_from_the_one_before(store: Store[Widget]) -> None:
    same, old, gone = widget("same", 1), widget("changed", 2), widget("gone", 3)
    store.replace(listed(same, old, gone), "10")
    new, added = widget("changed", 15), widget("added", 16)
    changes = store.replace(listed(widget("same", 1), new, added), "20")
    assert changes == [Change(old, new), Change(None, added), Change(gone, None)]
    assert store.get(a("same")) is same, "what did not change is not kept twice"


def test_an_object_recreated_while_nobody_watched_is_a_deletion_and_a_creation(store: Store[Widget]) -> None:
    old, new = widget("x", 1, uid="A"), widget("x", 15, uid="B")
    store.replace(listed(old), "10")
    assert store.replace(listed(new), "20") == [Change(old, None), Change(None, new)]


def test_events_that_come_late_or_twice_change_nothing(store: Store[Widget]) -> None:
    store.replace(listed(widget("x", 10)), "10")
    newer = widget("x", 12)
    assert store.put(newer)
    assert store.put(widget("x", 12)) == []
    assert store.put(widget("x", 11)) == []
    assert store.put(widget("y", 9)) == []
    assert store.delete(widget("x", 11)) == []
    assert list(store.items()) == [newer]


def test_a_deletion_that_carries_the_version_of_the_last_change_is_believed(store: Store[Widget]) -> None:
    last = widget("x", 12)
    store.replace(listed(last), "20")
    assert store.delete(widget("x", 12)) == [Change(last, None)]
    assert store.get(a("x")) is None


def test_an_object_listed_ahead_of_the_list_does_not_go_back(store: Store[Widget]) -> None:
    ahead = widget("x", 15)
    store.replace(listed(ahead), "10")
    assert store.put(widget("x", 12)) == []
    assert store.get(a("x")) is ahead


def test_opaque_versions_are_taken_in_the_order_they_come(store: Store[Widget]) -> None:
    store.replace(listed(widget("x", "rev-b")), "rev-c")
    assert len(store.put(widget("x", "rev-a"))) == 1
    found = store.get(a("x"))
    assert found is not None
    assert found.resource_version == "rev-a"


def test_own_writes_are_seen_but_not_announced_until_their_echo_comes(store: Store[Widget]) -> None:
    old = widget("x", 10)
    store.replace(listed(old), "10")
    store.wrote(widget("x", 12, spec={"size": 2}))
    found = store.get(a("x"))
    assert found is not None
    assert found.resource_version == "12"
    assert store.pending == 1
    echo = widget("x", 12, spec={"size": 2})
    assert store.put(echo) == [Change(old, echo)]
    assert store.pending == 0


def test_a_list_begun_before_the_write_does_not_erase_it(store: Store[Widget]) -> None:
    store.replace({}, "10")
    store.wrote(widget("x", 13))
    store.replace({}, "12")
    assert store.get(a("x")) is not None
    store.replace({}, "14")
    assert store.get(a("x")) is None
    assert store.pending == 0


def test_a_list_without_a_removed_object_ends_its_tombstone(store: Store[Widget]) -> None:
    store.replace(listed(widget("x", 5)), "10")
    store.removed(a("x"), uid="uid-x", resource_version="5")
    store.replace(listed(widget("x", 5)), "11")
    assert store.get(a("x")) is None
    store.replace({}, "12")
    assert store.pending == 0


def test_a_bookmark_ends_what_the_stream_has_passed(store: Store[Widget]) -> None:
    store.replace({}, "10")
    store.wrote(widget("outside-the-selection", 13))
    store.reach("14")
    assert store.get(a("outside-the-selection")) is None
    store.reach("12")
    assert store.position == 14


def test_after_history_went_back_own_writes_are_void(store: Store[Widget]) -> None:
    store.replace({}, "10")
    store.wrote(widget("x", 13))
    store.rewind({}, "5")
    assert store.position == 5
    assert list(store.items()) == []


def test_items_are_those_of_the_moment_own_writes_included(store: Store[Widget]) -> None:
    store.replace(listed(widget("kept", 1), widget("removed", 2)), "10")
    store.wrote(widget("created", 12))
    store.removed(a("removed"), uid="uid-removed", resource_version="2")
    assert [item.name for item in store.items()] == ["kept", "created"]
    assert [item.name for item in store.items("default")] == ["kept", "created"]
    assert list(store.items("elsewhere")) == []


def test_an_index_follows_the_stream_and_own_writes(store: Store[Widget]) -> None:
    store.replace(listed(widget("x", 1, spec={"size": 1})), "10")
    store.add_index("size", sizes)
    assert [item.name for item in store.indexed("size", "1")] == ["x"]
    store.wrote(widget("x", 12, spec={"size": 2}))
    store.wrote(widget("y", 13, spec={"size": 2, "depth": 2}))
    assert store.indexed("size", "1") == []
    assert [item.name for item in store.indexed("size", "2")] == ["x", "y"]
    store.put(widget("x", 14, spec={"size": 3}))
    store.delete(widget("y", 15))
    assert store.indexed("size", "2") == []
    store.replace({}, "20")
    assert store.indexed("size", "3") == []


def test_an_own_write_that_a_list_disproves_leaves_the_index(store: Store[Widget]) -> None:
    store.add_index("size", sizes)
    store.replace({}, "10")
    store.wrote(widget("x", 12, spec={"size": 2}))
    store.replace({}, "20")
    assert store.indexed("size", "2") == []


def test_an_index_looks_once_into_an_object_and_its_echo(store: Store[Widget]) -> None:
    looks: list[str] = []

    def terms(item: Object[Widget]) -> Iterable[str]:
        looks.append(item.resource_version)
        return ()

    store.add_index("looks", terms)
    store.replace({}, "10")
    store.wrote(widget("x", 12))
    store.put(widget("x", 12))
    assert looks == ["12"]


def test_an_object_that_an_index_cannot_read_is_left_out_and_the_others_go_on(store: Store[Widget]) -> None:
    store.add_index("size", sizes)
    poisoned = widget("poisoned", 1, spec={"size": "not a number"})
    store.replace(listed(poisoned, widget("x", 2, spec={"size": 1})), "10")
    assert [item.name for item in store.indexed("size", "1")] == ["x"]
    assert store.get(a("poisoned")) is poisoned


def test_asking_for_an_unknown_index_names_those_there_are(store: Store[Widget]) -> None:
    store.add_index("size", sizes)
    with pytest.raises(KeyError, match="no index 'sise'; there is: size"):
        store.indexed("sise", "1")
    with pytest.raises(ValueError, match="'size' already"):
        store.add_index("size", sizes)


def test_a_list_begun_after_an_object_was_called_deleted_shows_it_if_it_is_there(store: Store[Widget]) -> None:
    store.add_index("size", sizes)
    store.replace(listed(widget("x", 5, spec={"w": 1})), "10")
    store.removed(a("x"), uid="uid-x", resource_version="5")
    assert store.indexed("size", "1") == []
    store.asking()
    store.replace(listed(widget("x", 5, spec={"w": 1})), "20")
    assert store.get(a("x")) is not None
    assert len(store.indexed("size", "1")) == 1
    assert store.pending == 0


def test_a_list_begun_before_an_object_was_deleted_does_not_bring_it_back(store: Store[Widget]) -> None:
    store.replace(listed(widget("x", 5)), "10")
    store.asking()
    store.removed(a("x"), uid="uid-x", resource_version="5")
    store.replace(listed(widget("x", 5)), "12")
    assert store.get(a("x")) is None


def test_between_the_steps_of_a_list_the_state_before_it_is_shown_with_own_writes(store: Store[Widget]) -> None:
    store.add_index("size", sizes)
    store.replace(listed(widget("x", 5, spec={"w": 1})), "10")
    new = [widget(f"n{number}", 11, spec={"w": 1}) for number in range(3 * STEP)]
    steps = store.replacing(listed(widget("x", 6, spec={"w": 2}), *new), "20")
    for number, _ in enumerate(steps):
        shown = 1 + number
        assert len(store) == 1
        assert [item.resource_version for item in store.items()][:1] == ["5"]
        assert len(store.indexed("size", "1")) == shown, "nothing of the list yet, all of our own"
        store.wrote(widget(f"own-{number}", 30 + number, spec={"w": 1}))
    assert number == 5, "three for the differences, three for the index"
    assert len(store) == 3 * STEP + 1
    assert len(store.indexed("size", "1")) == 3 * STEP + number + 1
    assert [item.name for item in store.indexed("size", "2")] == ["x"]


def test_an_index_added_between_the_steps_of_a_list_is_filled_from_it(store: Store[Widget]) -> None:
    steps = store.replacing(listed(*(widget(f"n{number}", 11, spec={"w": 1}) for number in range(2 * STEP))), "20")
    next(steps)
    store.add_index("size", sizes)
    for _ in steps:
        assert store.indexed("size", "1") == []
    assert len(store.indexed("size", "1")) == 2 * STEP


def test_an_index_that_is_taken_away_is_gone(store: Store[Widget]) -> None:
    store.add_index("size", sizes)
    store.remove_index("size")
    with pytest.raises(KeyError, match="no index 'size'; there is: none"):
        store.indexed("size", "1")
    store.put(widget("x", 11, spec={"w": 1}))
    store.add_index("size", sizes)
    assert [item.name for item in store.indexed("size", "1")] == ["x"]
