"""The kinds of resources that can have the mark of an owner: their names for people, and their paths."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from msgspec import Struct

from windlass.openstack.cloud import resources


class Kind(Struct, frozen=True):
    """`name` is for people; `path` is below the endpoint of the service."""

    name: str
    path: str

    @property
    def collection(self) -> str:
        """The last part of the path: `security-groups`."""
        return self.path.rpartition("/")[2]

    @property
    def key(self) -> str:
        """The name of a list of them in an answer: `security_groups`."""
        return self.collection.replace("-", "_")

    @property
    def envelope(self) -> str:
        """The name of one of them in a body: `security_group`."""
        return self.key.removesuffix("s")


KINDS: Final[Mapping[type[Any], Kind]] = {
    resources.Server: Kind("server", "/servers"),
    resources.Volume: Kind("volume", "/volumes"),
    resources.Port: Kind("port", "/v2.0/ports"),
    resources.Trunk: Kind("trunk", "/v2.0/trunks"),
    resources.Network: Kind("network", "/v2.0/networks"),
    resources.Subnet: Kind("subnet", "/v2.0/subnets"),
    resources.Router: Kind("router", "/v2.0/routers"),
    resources.SecurityGroup: Kind("security group", "/v2.0/security-groups"),
    resources.FloatingIp: Kind("floating IP", "/v2.0/floatingips"),
    resources.LoadBalancer: Kind("load balancer", "/v2.0/lbaas/loadbalancers"),
}
NEUTRON: Final[Mapping[str, type[Any]]] = {KINDS[kind].collection: kind for kind in get_args(resources.InNeutron)}
"""Those of Neutron, by collection."""
