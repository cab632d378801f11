"""apps/v1: Deployments, of which Windlass reads the images of containers. Source: `k8s.io/api/apps/v1`."""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always


class Container(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    image: str = ""


class PodSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    containers: list[Container] = field(default_factory=list)


class PodTemplate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    spec: PodSpec = always(PodSpec)


class DeploymentSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    template: PodTemplate = always(PodTemplate)


class Deployment(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(group="apps", version="v1", kind="Deployment", plural="deployments")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: DeploymentSpec = always(DeploymentSpec)
