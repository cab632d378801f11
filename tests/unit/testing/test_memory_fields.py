"""The algebra of field ownership, as properties."""

from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource
from windlass.testing.memory.apply import Writer, apply, owners_of, update
from windlass.testing.memory.fields import compared, from_fields_v1, merged, paths, to_fields_v1
from windlass.testing.memory.patch import merge_patched
from windlass.testing.memory.schema import OPEN, Rules, Shape, by, unique


class Thing(Struct):
    RESOURCE: ClassVar[Resource] = Resource("fields.windlass.dev", "v1", "Thing", "things")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


RULES = Rules(Thing, fields={"spec.ports": by("name"), "spec.tags": unique(), "spec.size": Shape(type="integer")})
SPEC = RULES.whole.fields["spec"]

scalars = st.integers(0, 3) | st.sampled_from(["a", "b"]) | st.booleans()
open_values = st.recursive(
    scalars, lambda inner: st.dictionaries(st.sampled_from("xyz"), inner, min_size=1, max_size=2)
)
ports = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("pqr")}, optional={"port": scalars}),
    min_size=1,
    unique_by=lambda port: port["name"],
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "size": st.integers(0, 3),
        "open": open_values,
        "ports": ports,
        "tags": st.lists(st.sampled_from("abc"), min_size=1, unique=True),
        "lines": st.lists(scalars, max_size=2),
    },
)


def thing(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "t"}, **({"spec": spec} if spec else {})}


def writer(name: str) -> Writer:
    return Writer(RULES, name, "2026-01-01T00:00:00Z")


def spec_of(tree: dict[str, Any]) -> dict[str, Any]:
    return tree.get("spec") or {}


@given(specs)
def test_fields_v1_is_read_as_it_was_written(spec: dict[str, Any]) -> None:
    owned = paths(spec, SPEC)
    assert from_fields_v1(to_fields_v1(owned)) == owned


@given(specs, specs)
def test_after_a_merge_everything_of_the_config_is_there(live: dict[str, Any], config: dict[str, Any]) -> None:
    result = merged(live, config, SPEC)
    assert merged(result, config, SPEC) == result
    assert paths(config, SPEC) <= paths(result, SPEC) | compared(live, config, SPEC).removed


@given(specs, specs)
def test_a_comparison_is_empty_exactly_for_equal_values(old: dict[str, Any], new: dict[str, Any]) -> None:
    change = compared(old, new, SPEC)
    assert bool(change.changed | change.removed) is bool(compared(new, old, SPEC).changed | change.changed)
    if old == new and repr(old) == repr(new):
        assert not change.changed | change.removed


@given(specs)
def test_a_second_apply_of_the_same_changes_nothing(spec: dict[str, Any]) -> None:
    once = apply({}, thing(spec), writer("a"), force=False)
    assert apply(once, thing(spec), writer("a"), force=False) == once


@given(specs, specs)
def test_the_only_owner_who_gives_up_everything_leaves_nothing(first: dict[str, Any], second: dict[str, Any]) -> None:
    tree = apply({}, thing(first), writer("a"), force=False)
    tree = apply(tree, thing(second), writer("a"), force=False)
    assert spec_of(tree) == spec_of(apply({}, thing(second), writer("a"), force=False))
    assert spec_of(apply(tree, thing({}), writer("a"), force=False)) == {}


@given(specs, specs)
def test_what_another_owner_forces_in_stays_when_the_first_leaves(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    tree = apply({}, thing(first), writer("a"), force=False)
    tree = apply(tree, thing(second), writer("b"), force=True)
    left = apply(tree, thing({}), writer("a"), force=False)
    assert merged(spec_of(left), second, SPEC) == spec_of(left)


@given(specs.filter(bool), specs)
def test_an_update_owns_what_it_changed_and_nobody_else_does(first: dict[str, Any], second: dict[str, Any]) -> None:
    tree = apply({}, thing(first), writer("a"), force=False)
    owners = owners_of(update(tree, {**tree, "spec": second}, writer("u")))
    changed = {("f:spec", *path) for path in compared(first, second, SPEC).changed}
    for who, owned in owners.items():
        assert changed <= owned.paths if who.name == "u" else not changed & owned.paths
    assert not changed or "u" in {who.name for who in owners}


@given(open_values, open_values)
def test_a_merge_patch_of_a_map_is_idempotent(tree: Any, patch: Any) -> None:
    once = merge_patched(tree, patch)
    assert merge_patched(once, patch) == once


def test_an_open_value_that_changes_its_type_is_taken_whole() -> None:
    change = compared({"a": {"b": 1}}, {"a": [1]}, OPEN)
    assert change.modified == {("f:a",)}
    assert change.removed == {("f:a", "f:b")}
