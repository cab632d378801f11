"""A trivial kind for tests of the runtime."""

from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource

NAMESPACE = "shop"


class WidgetSpec(Struct, kw_only=True, frozen=True):
    size: int = 0
    color: str = ""


class WidgetStatus(Struct, kw_only=True, frozen=True):
    phase: str = ""


class Widget(Struct, kw_only=True, frozen=True):
    RESOURCE: ClassVar[Resource] = Resource("example.com", "v1", "Widget", "widgets")

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: WidgetSpec = field(default_factory=WidgetSpec)
    status: WidgetStatus = field(default_factory=WidgetStatus)


def widget(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
