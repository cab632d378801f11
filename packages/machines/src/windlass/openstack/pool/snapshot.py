"""The input of a decision about an OpenStackFloatingIPPool."""

from typing import Final, TypeAlias

from msgspec import Struct

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim, PoolReference
from windlass.kube.control.plan import Outcome
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present, Seen
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import Blockers
from windlass.openstack.cloud.network_inventory import NetworkInventory
from windlass.openstack.cloud.resources import Network
from windlass.openstack.identity.find import IdentityTrouble
from windlass.openstack.ownership import Facts

TAG: Final = "cluster-api-provider-openstack-fip-pool-{}"
"""The tag of the floating IPs of a pool, as Cluster API's own provider gives it."""

External: TypeAlias = "tuple[Network, ...] | CloudFailure"


class FloatingIPPoolCloudFacts(Struct, frozen=True, kw_only=True):
    """`inventory` has the floating IPs of the pool. `external`: the networks that its spec names. `extensions` are
    those of Neutron, by alias. `where`: the credentials, for people. `formers`: the marks in the cloud that the pool
    replaces by its own; `facts`: who else has what."""

    project: str
    where: str = ""
    inventory: NetworkInventory
    external: External = ()
    extensions: frozenset[str] = frozenset()
    blockers: Blockers = Blockers()
    formers: frozenset[str] = frozenset()
    facts: Facts = Facts()


class FloatingIPPoolSnapshot(Asking, frozen=True, kw_only=True):
    """`claims` and `addresses` of the pool. `unknown`: claims that have an IPAddress, or may have one, which cannot be
    read.

    What the decision asks for: `fresh_mark`, a new mark, in case the pool has none; `facts`, who else has the mark of
    its annotation; `cloud`, or why there is no access to it."""

    pool: Seen[OpenStackFloatingIPPool]
    claims: tuple[Present[IPAddressClaim], ...] = ()
    addresses: tuple[Present[IPAddress], ...] = ()
    unknown: frozenset[str] = frozenset()
    cloud: FloatingIPPoolCloudFacts | IdentityTrouble | CloudFailure | None = None
    fresh_mark: str = ""
    facts: Facts = Facts()
    last: Outcome = Outcome()


def reference(found: Present[OpenStackFloatingIPPool]) -> PoolReference:
    """How claims name the pool."""
    resource = OpenStackFloatingIPPool.RESOURCE
    return PoolReference(api_group=resource.group, kind=resource.kind, name=found.metadata.name)
