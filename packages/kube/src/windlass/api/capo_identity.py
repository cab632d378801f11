"""OpenStackClusterIdentity: credentials for OpenStack that several namespaces may use.

Source: `sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1`.
"""

from typing import Annotated, ClassVar

from msgspec import Struct

from windlass.api.meta import LabelSelector, ObjectMeta, Resource, always
from windlass.api.schema import REQUIRED


class CredentialSecretReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A Secret with the key `clouds.yaml`, and `cacert` if the cloud needs it."""

    name: Annotated[str, REQUIRED] = always(str)
    namespace: Annotated[str, REQUIRED] = always(str)


class OpenStackClusterIdentitySpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`namespace_selector` None: every namespace may use it."""

    secret_ref: Annotated[CredentialSecretReference, REQUIRED] = always(CredentialSecretReference)
    namespace_selector: LabelSelector | None = None


class OpenStackClusterIdentity(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Credentials for OpenStack that several namespaces may use."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io",
        "v1alpha1",
        "OpenStackClusterIdentity",
        "openstackclusteridentities",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackClusterIdentitySpec = always(OpenStackClusterIdentitySpec)
