"""Scenes of demos, made of objects."""

from typing import Any, TypeVar

from msgspec.structs import replace

from windlass.api.meta import K, KubernetesObject
from windlass.demo.scene import Scene
from windlass.demo.story import Expectation, Missing, Moment, S
from windlass.kube.control.seen import Present, seen
from windlass.kube.object import Object

C = TypeVar("C", bound=Scene)


def present(kind: type[K], name: str, *conditions: dict[str, Any], **parts: Any) -> Present[K]:
    """An object with these conditions; `parts` are its other fields."""
    status = {**parts.pop("status", {}), "conditions": [*conditions]}
    found = seen(Object.of(kind, {"metadata": {"name": name, **parts.pop("metadata", {})}, "status": status, **parts}))
    assert isinstance(found, Present)
    return found


def having(scene: C, *found: Present[Any]) -> C:
    """The scene with these objects, in the place of those of their names."""
    objects = dict(scene.objects)
    for one in found:
        kind = type(one.object)
        objects[kind] = {**objects.get(kind, {}), one.metadata.name: one}
    return replace(scene, objects=objects)


def lacking(scene: C, *kinds: type[KubernetesObject]) -> C:
    """The scene without objects of these kinds."""
    return replace(scene, objects={kind: found for kind, found in scene.objects.items() if kind not in kinds})


def missing(expect: Expectation[S], scene: S, moment: Moment[S]) -> str:
    """What is still missing; empty if the expectation is met."""
    try:
        expect(scene, moment)
    except Missing as lack:
        return str(lack)
    return ""
