"""`apiextensions.k8s.io/v1`: whether a CustomResourceDefinition is being deleted."""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always


class DefinitionStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`stored_versions`: those in which objects were ever stored."""

    stored_versions: list[str] = field(default_factory=list)


class CustomResourceDefinition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Read to see whether it exists, is being deleted, or can be replaced. With it, the API server deletes
    all objects of its kind."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="apiextensions.k8s.io",
        version="v1",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    status: DefinitionStatus = always(DefinitionStatus)
