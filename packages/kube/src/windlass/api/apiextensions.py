"""`apiextensions.k8s.io/v1`: whether a CustomResourceDefinition is being deleted."""

from typing import ClassVar

from msgspec import Struct

from windlass.api.meta import ObjectMeta, Resource, always


class CustomResourceDefinition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Read to see whether it exists or is being deleted; with it, the API server deletes all objects of its kind."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="apiextensions.k8s.io",
        version="v1",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
