"""OpenStackFloatingIPPool: floating IPs for IPAddressClaims, `infrastructure.cluster.x-k8s.io/v1alpha1`.

Source: `sigs.k8s.io/cluster-api-provider-openstack/api/v1alpha1`. Ours in the status: `claims`. Constraints are
`on_write` only, as in `windlass.api.capo`.
"""

from typing import Annotated, ClassVar

from msgspec import Struct, field

from windlass.api.capo import IdentityReference, Network
from windlass.api.integers import Int64
from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import REQUIRED, list_map, on_write

RETAIN = "Retain"


class OpenStackFloatingIPPoolSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`pre_allocated_floating_ips` belong to the user: they are given first, and never deleted. `max_ips`: no further
    one is created when so many are claimed; None: no limit. `reclaim_policy`: what becomes of created ones."""

    pre_allocated_floating_ips: list[str] = field(default_factory=list, name="preAllocatedFloatingIPs")
    max_ips: Int64 | None = field(default=None, name="maxIPs")
    identity_ref: Annotated[IdentityReference, REQUIRED] = always(IdentityReference)
    floating_ip_network: Network | None = field(default=None, name="floatingIPNetwork")
    reclaim_policy: Annotated[str, on_write(enum=["Retain", "Delete"]), REQUIRED] = always(str)


class PoolClaim(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The address that is kept for an IPAddressClaim, from before there is an IPAddress."""

    name: Annotated[str, REQUIRED] = always(str)
    address: Annotated[str, REQUIRED] = always(str)


class PoolNetwork(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = ""
    id: str = ""
    tags: list[str] = field(default_factory=list)


class OpenStackFloatingIPPoolStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`failed_ips` cannot be given: they do not exist in the project, or lead to something else."""

    claims: Annotated[list[PoolClaim], list_map("name")] = field(default_factory=list)
    claimed_ips: list[str] = field(default_factory=list, name="claimedIPs")
    available_ips: list[str] = field(default_factory=list, name="availableIPs")
    failed_ips: list[str] = field(default_factory=list, name="failedIPs")
    floating_ip_network: PoolNetwork | None = field(default=None, name="floatingIPNetwork")
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


class OpenStackFloatingIPPool(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Floating IPs for IPAddressClaims."""

    RESOURCE: ClassVar[Resource] = Resource(
        "infrastructure.cluster.x-k8s.io", "v1alpha1", "OpenStackFloatingIPPool", "openstackfloatingippools"
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: OpenStackFloatingIPPoolSpec = always(OpenStackFloatingIPPoolSpec)
    status: OpenStackFloatingIPPoolStatus = always(OpenStackFloatingIPPoolStatus)
