"""Drawn specs of OpenStack's kinds: the provider's CRDs and ours admit the same, but for what ours alone forbid."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from windlass.testing.plane.facade import PlaneAccess

from .both import LEAST, OSC, OSM, OSS, OURS, Kinds, kinds_of, theirs

pytestmark = pytest.mark.plane

Tree = dict[str, Any]

OURS_ALONE = (
    'cannot contain a device named "root"',
    "cannot have security groups when disablePortSecurity",
    "a port needs a network",
    "spec.ports: Invalid value: 0: spec.ports in body should have at least 1 items",
    "only one of remoteManagedGroups, remoteGroupID, remoteIPPrefix can be set",
)
"""What ours refuse and the provider's CRDs do not: see DIFFERENCES in test_admission."""
TEXT = st.sampled_from(["a", "b", "root", "10.0.0.1", "x y", "", ","])
LENGTHS = {"ports": 3}
NEWER = {"primarySubnet"}
"""Fields of the provider's next version, which its CRDs do not have yet."""


def drawn(schema: Tree, name: str = "") -> st.SearchStrategy[Any]:
    """Values that a schema admits for the most part: now and then a bound is crossed."""
    if "enum" in schema:
        return st.sampled_from([*schema["enum"]] * 8 + ["x"])
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _array(schema, name)
        case "boolean":
            return st.booleans()
        case "integer":
            least, most = schema.get("minimum", -5), schema.get("maximum", 70_000)
            return st.integers(least, most) | st.sampled_from([least, most, least - 1])
        case "string":
            return _string(schema)
    return st.just({})


def _string(schema: Tree) -> st.SearchStrategy[str]:
    if schema.get("format") == "uuid":
        return st.uuids().map(str) | st.uuids().map(lambda one: one.hex)
    if schema.get("format") == "ipv4":
        return st.ip_addresses(v=4).map(str)
    usual = st.sampled_from(["a", "b", "c", "root", "10.0.0.1"])
    return usual | usual | usual | TEXT


def _array(schema: Tree, name: str) -> st.SearchStrategy[list[Any]]:
    keys = schema.get("x-kubernetes-list-map-keys")
    unique: Any = None
    if keys:
        unique = lambda item: tuple(item.get(key) for key in keys)  # noqa: E731
    elif schema.get("x-kubernetes-list-type") == "set":
        unique = str
    return st.lists(
        drawn(schema["items"]),
        min_size=schema.get("minItems", 0),
        max_size=min(schema.get("maxItems", 2), LENGTHS.get(name, 2)),
        unique_by=unique,
    )


@st.composite
def _object(draw: st.DrawFn, schema: Tree) -> Tree:
    properties = {name: field for name, field in schema.get("properties", {}).items() if name not in NEWER}
    required = schema.get("required", [])
    optional = [name for name in properties if name not in required]
    least = max(0, schema.get("minProperties", 0) - len(required))
    most = min(len(optional), schema.get("maxProperties", 4))
    chosen = draw(st.lists(st.sampled_from(optional), min_size=least, max_size=most, unique=True)) if optional else []
    made = {name: draw(drawn(properties[name], name)) for name in (*required, *chosen)}
    return _consistent(made, properties, draw)


def _consistent(made: Tree, properties: Tree, draw: st.DrawFn) -> Tree:
    """What the rules want of fields that go together, nearly always."""
    if draw(st.integers(0, 30)) == 0:
        return made
    if "flavor" in properties and "image" in properties and "flavorID" not in made:
        made.setdefault("flavor", "m1.large")
    if "from" in properties:
        made = {"from": "Machine"} if made.get("from") == "Machine" else {"name": "zone"}
    if {"bool", "number"} <= properties.keys():
        made = draw(st.sampled_from([{"type": "Bool", "bool": True}, {"type": "Number", "number": 1}]))
    if "floatingIP" in properties and "enabled" in properties and "spec" not in made:
        made["enabled"] = False
    if made.get("disableExternalNetwork"):
        made["disableAPIServerFloatingIP"] = True
        made.pop("bastion", None)
    return made


@pytest.fixture(scope="module")
def provider(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    yield from kinds_of(windlass_module_plane.blocking, theirs())


@pytest.fixture(scope="module")
def ours(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    yield from kinds_of(windlass_module_plane.blocking, {kind: OURS[kind] for kind in LEAST})


@pytest.mark.parametrize("kind", [OSM, OSS, OSC])
def test_both_admit_the_same_drawn_specs(provider: Kinds, ours: Kinds, kind: str) -> None:
    schema = OURS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    seen: Counter[str] = Counter()

    @examples(150)
    @given(drawn(schema))
    def same(spec: Tree) -> None:
        judged, refused = provider.refusal(kind, spec), ours.refusal(kind, spec)
        seen["refused" if judged else "admitted"] += 1
        if judged or not any(words in refused for words in OURS_ALONE):
            assert bool(judged) == bool(refused), (judged, refused)

    same()
    assert seen["admitted"] > sum(seen.values()) / 4, "draw more that is admitted"
    assert seen["refused"], "draw something that is refused"
