"""Widgets: trivial custom resources with a status, for the table that compares controller runtimes."""

from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource

GROUP = "bench.windlass.dev"


class Status(Struct, rename="camel", gc=False):
    phase: str = ""
    observed_generation: int = 0


class Widget(Struct, gc=False):
    RESOURCE: ClassVar = Resource(group=GROUP, version="v1", kind="Widget", plural="widgets")

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    status: Status = field(default_factory=Status)


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "format": "int64"}
_CONDITION = {
    "type": "object",
    "required": ["type", "status", "lastTransitionTime", "reason", "message"],
    "properties": {
        **dict.fromkeys(("type", "status", "reason", "message"), _TEXT),
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": _NUMBER,
    },
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": _NUMBER,
                "color": _TEXT,
                "parts": {"type": "object", "additionalProperties": _TEXT},
            },
        },
        "status": {
            "type": "object",
            "properties": {
                "phase": _TEXT,
                "observedGeneration": _NUMBER,
                "conditions": {
                    "type": "array",
                    "items": _CONDITION,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["type"],
                },
            },
        },
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


def body(number: int) -> dict[str, Any]:
    """The Widget `widget-<number>`, about 1 KB as the server stores it."""
    parts = {f"part-{part:02d}": f"vendor-{part % 3}/model-{number % 7}" for part in range(16)}
    return {
        "metadata": {"name": name(number), "labels": {"bench.windlass.dev/lot": str(number % 10)}},
        "spec": {"size": number, "color": ("red", "green", "blue")[number % 3], "parts": parts},
    }


def name(number: int) -> str:
    return f"widget-{number:05d}"
