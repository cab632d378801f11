"""What holds for any input: never an exception, the same result twice, and results that survive being written down."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.api import capi, mapi
from windlass.machine_sync.platforms import PLATFORMS, Platform

from .vectors import plain

# Strings that rules look at, among any others.
WORDS = st.sampled_from(
    [
        "",
        "host",
        "default",
        "Name",
        "Volume",
        "nlb",
        "running",
        "Running",
        "InternalIP",
        "cluster.x-k8s.io/control-plane",
        "cluster.x-k8s.io/delete-machine",
        "node-role.kubernetes.io/worker",
        "pre-drain.delete.hook.machine.cluster.x-k8s.io/h",
        "h-0123456789abcdef0",
        "arn:aws:kms",
        '\u2028<>&\x00\x7f\\"',
    ]
)
TEXT = WORDS | st.text(max_size=8)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """JSON trees that decode as `kind`, with every field now present and now absent."""
    info = msgspec.inspect.type_info(kind)
    return _of(info)


def _of(info: Any) -> st.SearchStrategy[Any]:
    inspect = msgspec.inspect
    if isinstance(info, inspect.Metadata):
        return _of(info.type)
    if isinstance(info, inspect.StructType):
        return st.deferred(
            lambda: st.fixed_dictionaries({}, optional={field.encode_name: _of(field.type) for field in info.fields})
        )
    if isinstance(info, inspect.UnionType):
        return st.one_of(*map(_of, info.types))
    if isinstance(info, inspect.ListType):
        return st.lists(_of(info.item_type), max_size=2)
    if isinstance(info, inspect.DictType):
        return st.dictionaries(TEXT, _of(info.value_type), max_size=3)
    if isinstance(info, inspect.IntType):
        return st.sampled_from([0, 1, 10]) | st.integers(info.ge, info.le)
    if isinstance(info, inspect.BoolType):
        return st.booleans()
    if isinstance(info, inspect.StrType):
        return TEXT
    assert isinstance(info, inspect.NoneType | inspect.AnyType), info
    return st.none()


@pytest.mark.parametrize("platform", PLATFORMS.values(), ids=list(PLATFORMS))
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_decodable_input_converts_or_says_why_not(platform: Platform, data: st.DataObject) -> None:
    trees = [
        data.draw(st.none() | values(kind), label=kind.__name__)
        for kind in (capi.Machine, platform.infra_machine, platform.infra_cluster)
    ]
    parts = [
        None if tree is None else msgspec.convert(tree, kind)
        for tree, kind in zip(trees, (capi.Machine, platform.infra_machine, platform.infra_cluster), strict=True)
    ]
    converted = platform.to_machine_api(*parts)

    assert platform.to_machine_api(*parts) == converted
    assert (converted.machine is None) == bool(converted.errors)
    assert bool(converted.error) == bool(converted.errors)
    if converted.machine is None:
        return

    encoded = msgspec.json.encode(converted.machine)
    decoded = msgspec.json.decode(encoded, type=mapi.Machine)
    assert plain(decoded) == msgspec.json.decode(encoded)
    assert msgspec.json.encode(decoded) == encoded

    spec = msgspec.convert(decoded.spec.provider_spec.value, platform.provider_spec)
    assert spec == converted.machine.spec.provider_spec.value
    canonical = platform.canonical_provider_spec(decoded.spec.provider_spec.value)
    assert platform.canonical_provider_spec(canonical) == canonical
    if platform.provider_status is not None:
        status = msgspec.convert(decoded.status.provider_status, platform.provider_status)
        assert status == converted.machine.status.provider_status
