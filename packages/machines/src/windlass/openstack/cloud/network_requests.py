"""The requests that change networks, routers, security groups and floating IPs.

Each is a value that plans hold, as those in `windlass.openstack.cloud.requests`. Sources: the API reference of
Networking.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from windlass.kube.control.merge import FieldChange
from windlass.openstack.cloud.failures import CloudFailure, InConflict, Missing
from windlass.openstack.cloud.requests import Creation, DeletePort, Deletion, Describe, Intent, Naming, SetTags
from windlass.openstack.cloud.resources import FloatingIp, Network, Router, SecurityGroup, Subnet
from windlass.openstack.cloud.wire import Http

RULES: Final = "/v2.0/security-group-rules"


class CreateNetwork(Creation, frozen=True):
    OF = Network


class CreateSubnet(Creation, frozen=True):
    OF = Subnet


class ChangeNameservers(Naming, frozen=True, kw_only=True):
    """Replace the DNS servers of a subnet, which are in the order in which they are asked."""

    before: Sequence[str] = ()
    nameservers: Sequence[str]

    @property
    def http(self) -> Http:
        body = {"subnet": {"dns_nameservers": list(self.nameservers)}}
        return self._http("PUT", f"/v2.0/subnets/{self.id}", body)

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("dns_nameservers", list(self.before), list(self.nameservers)),)


class CreateRouter(Creation, frozen=True):
    OF = Router


class SetGateway(Naming, frozen=True, kw_only=True):
    """Connect a router with an external network; `gateway` is its `external_gateway_info`."""

    before: Mapping[str, Any] | None = None
    gateway: Mapping[str, Any]

    @property
    def http(self) -> Http:
        return self._http("PUT", f"/v2.0/routers/{self.id}", {"router": {"external_gateway_info": self.gateway}})

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("external_gateway_info", self.before, self.gateway),)


class _Interface(Naming, frozen=True, kw_only=True):
    """`id` of the router; the interface is a port of it on `network`, with an address of `subnet`."""

    network: str = ""
    subnet: str


class AddInterface(_Interface, frozen=True, kw_only=True):
    """Connect a router with a subnet."""

    @property
    def http(self) -> Http:
        return self._http("PUT", f"/v2.0/routers/{self.id}/add_router_interface", {"subnet_id": self.subnet})

    def is_done(self, failure: CloudFailure) -> bool:
        return "already has a port on subnet" in str(failure)

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("interface", None, self.subnet),)


class RemoveInterface(_Interface, frozen=True, kw_only=True):
    @property
    def http(self) -> Http:
        return self._http("PUT", f"/v2.0/routers/{self.id}/remove_router_interface", {"subnet_id": self.subnet})

    def is_done(self, failure: CloudFailure) -> bool:
        return isinstance(failure, Missing)

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("interface", self.subnet, None),)


class CreateSecurityGroup(Creation, frozen=True):
    """Neutron makes two rules with it, which let everything out."""

    OF = SecurityGroup


class CreateRules(Naming, frozen=True, kw_only=True):
    """Add rules to the security group `id`, all or none. One that exists already makes Neutron refuse all of them with
    409; a single one that exists counts as added."""

    CREATES = True

    intent: Intent
    rules: Sequence[Mapping[str, Any]]

    @property
    def http(self) -> Http:
        whole = [{"security_group_id": self.id, **rule} for rule in self.rules]
        body: Mapping[str, Any] = (
            {"security_group_rule": whole[0]} if len(whole) == 1 else {"security_group_rules": whole}
        )
        return self._http("POST", RULES, body)

    def is_done(self, failure: CloudFailure) -> bool:
        return len(self.rules) == 1 and isinstance(failure, InConflict) and "already exists" in str(failure)

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("security_group_rules", None, [dict(each) for each in self.rules]),)


class DeleteRule(Naming, frozen=True, kw_only=True):
    """`group` is the ID of its security group; `rule` says for people what it allows."""

    group: str
    rule: Mapping[str, Any] = {}

    @property
    def http(self) -> Http:
        return self._http("DELETE", f"{RULES}/{self.id}")

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("security_group_rules", dict(self.rule), None),)


class CreateFloatingIp(Creation, frozen=True):
    """A floating IP has no name: it is found by its description, which says its purpose."""

    OF = FloatingIp


class AssociateFloatingIp(Naming, frozen=True, kw_only=True):
    """Lead a floating IP to `port`, or nowhere (None)."""

    before: str | None = None
    port: str | None

    @property
    def http(self) -> Http:
        return self._http("PUT", f"/v2.0/floatingips/{self.id}", {"floatingip": {"port_id": self.port}})

    def diff(self) -> tuple[FieldChange, ...]:
        return (FieldChange("port_id", self.before, self.port),)


class DeleteNetwork(Deletion, frozen=True):
    """Its subnets go with it."""

    OF = Network


class DeleteRouter(Deletion, frozen=True):
    OF = Router


class DeleteSecurityGroup(Deletion, frozen=True):
    OF = SecurityGroup


class DeleteFloatingIp(Deletion, frozen=True):
    OF = FloatingIp


OF_FLOATING_IPS: Final = (CreateFloatingIp, AssociateFloatingIp, DeleteFloatingIp, Describe, SetTags)
OF_NETWORKS: Final = (
    CreateNetwork,
    CreateSubnet,
    ChangeNameservers,
    CreateRouter,
    SetGateway,
    AddInterface,
    RemoveInterface,
    CreateSecurityGroup,
    CreateRules,
    DeleteRule,
    DeletePort,
    DeleteNetwork,
    DeleteRouter,
    DeleteSecurityGroup,
)
"""For permissions of controllers."""
