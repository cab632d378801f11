"""route.openshift.io/v1: Routes, of which Windlass reads the hosts. Source: `github.com/openshift/api/route/v1`."""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always


class RouteIngress(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Where one router serves the Route."""

    host: str = ""


class RouteStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    ingress: list[RouteIngress] = field(default_factory=list)


class Route(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(group="route.openshift.io", version="v1", kind="Route", plural="routes")

    metadata: ObjectMeta = always(ObjectMeta)
    status: RouteStatus = always(RouteStatus)
