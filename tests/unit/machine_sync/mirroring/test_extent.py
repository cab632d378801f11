"""The part of a spec that follows the authority, cut out of the whole."""

from typing import Any

from windlass.api import capi
from windlass.kube.control.merge import merge_patch
from windlass.kube.control.plan import Merge, target
from windlass.kube.control.seen import Present, seen
from windlass.kube.object import Object
from windlass.machine_sync.mirroring.extent import extent, generation_after

from ..machine_set.cases import CAPI_SET

OWNED = {"replicas": 1, "template.spec.name": None, "template.spec.deletion.seconds": None}


def patch(observed: Any, desired: Any) -> Any:
    return merge_patch(extent(observed, OWNED), extent(desired, OWNED))


def test_what_is_not_owned_is_neither_compared_nor_removed() -> None:
    observed = {"replicas": 1, "naming": "x", "template": {"spec": {"version": "v1", "deletion": {"drain": 5}}}}
    assert patch(observed, {"replicas": 1}) == {}


def test_a_field_that_is_no_longer_desired_is_removed_alone() -> None:
    observed = {"template": {"spec": {"name": "a", "deletion": {"seconds": 10, "drain": 5}}}}
    assert patch(observed, {}) == {"template": {"spec": {"name": None, "deletion": {"seconds": None}}}}


def test_an_absent_field_is_what_it_means() -> None:
    assert patch({}, {"replicas": 1}) == {}
    assert patch({"replicas": 1}, {}) == {}
    assert patch({"replicas": 3}, {}) == {"replicas": 1}


def test_what_has_another_shape_counts_as_absent() -> None:
    assert patch({"template": ["odd"]}, {"template": {"spec": {"name": "a"}}}) == {"template": {"spec": {"name": "a"}}}


def test_only_a_changed_spec_counts_as_a_generation() -> None:
    mirror = seen(Object.of(capi.MachineSet, CAPI_SET))
    assert isinstance(mirror, Present)
    for desired, generation in (({"metadata": {"labels": {"a": "b"}}}, 7), ({"spec": {"replicas": 9}}, 8)):
        assert generation_after(mirror, Merge(target=target(mirror), observed={}, desired=desired)) == generation
