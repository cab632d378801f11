"""Addresses that providers of Cluster API give: `ipam.cluster.x-k8s.io/v1beta2` IPAddressClaim and IPAddress.

Source: `sigs.k8s.io/cluster-api/api/ipam/v1beta2`. Who wants an address creates a claim that names a pool; the provider
of the pool creates an IPAddress for it, and names that in the status of the claim.
"""

from typing import ClassVar

from msgspec import Struct

from windlass.api.integers import Int32
from windlass.api.meta import NamedReference, ObjectMeta, Resource, always

GROUP = "ipam.cluster.x-k8s.io"


class PoolReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A pool in the same namespace, of any provider."""

    api_group: str = always(str)
    kind: str = always(str)
    name: str = always(str)


class IPAddressClaimSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`cluster_name`: of the Cluster that it is for; the provider stands still while that is paused."""

    cluster_name: str = ""
    pool_ref: PoolReference = always(PoolReference)


class IPAddressClaimStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`address_ref`: the IPAddress, once there is one."""

    address_ref: NamedReference | None = None


class IPAddressClaim(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Asks a pool for an address."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1beta2", "IPAddressClaim", "ipaddressclaims")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: IPAddressClaimSpec = always(IPAddressClaimSpec)
    status: IPAddressClaimStatus = always(IPAddressClaimStatus)


class IPAddressSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`prefix`: the length of the network's prefix."""

    claim_ref: NamedReference = always(NamedReference)
    pool_ref: PoolReference = always(PoolReference)
    address: str = always(str)
    prefix: Int32 = always(int)
    gateway: str = ""


class IPAddress(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The address that a claim was given."""

    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1beta2", "IPAddress", "ipaddresses")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: IPAddressSpec = always(IPAddressSpec)
