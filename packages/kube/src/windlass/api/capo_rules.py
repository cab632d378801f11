"""What of OpenStack's kinds may be changed after creation, as CEL for their CRDs.

The rules are those of the provider's webhooks, which Windlass does not have. A field that is added or removed is a
changed field. Templates are not here: a dry run that plans a new topology may change them, and a CRD cannot tell it
from another request. An admission policy has their rules.
"""

from collections.abc import Collection

from msgspec import Meta, Struct, structs

MOST_PORTS = 30
"""Rules compare ports one by one, and the API server multiplies their cost by the most that there can be."""

_Rule = dict[str, str]

PORT_FIELDS = (
    "network",
    "description",
    "nameSuffix",
    "fixedIPs",
    "securityGroups",
    "tags",
    "trunk",
    "adminStateUp",
    "macAddress",
    "hostID",
    "vnicType",
    "profile",
    "disablePortSecurity",
    "propagateUplinkStatus",
    "valueSpecs",
)
"""All fields of a port that cannot be changed."""


_FIXED_OF_CLUSTER = (
    "router",
    "networkMTU",
    "externalRouterIPs",
    "externalNetwork",
    "disableExternalNetwork",
    "disableAPIServerFloatingIP",
    "disablePortSecurity",
    "tags",
)
_USED = [0, 1, 2, 3]
"""Places of subnets in the status: where the spec names subnets, there are as many, two at most."""
_FIXED_OF_BALANCER = ("enabled", "additionalPorts", "provider", "network", "subnets", "availabilityZone", "flavor")


def rules(*each: _Rule) -> Meta:
    """All of these, on one field: of several `rule` on a field only the last would count."""
    return Meta(extra_json_schema={"x-kubernetes-validations": list(each)})


def same(field: str, new: str = "self", old: str = "oldSelf") -> str:
    """CEL: the field is absent in both or equal. Not by optionals: the API server takes their size for infinite."""
    return f"has({new}.{field}) == has({old}.{field}) && (!has({new}.{field}) || {new}.{field} == {old}.{field})"


def same_in_ports(field: str, new: str = "self", old: str = "oldSelf") -> str:
    """CEL: the field is the same in the ports of both, port by port; also if there are no ports, or not as many."""
    return (
        f"!has({new}.ports) || !has({old}.ports) || size({new}.ports) != size({old}.ports) || "
        f"{list(range(MOST_PORTS))}.all(i, i >= size({new}.ports) || "
        f"({same(field, f'{new}.ports[i]', f'{old}.ports[i]')}))"
    )


def as_many_ports(new: str = "self", old: str = "oldSelf") -> str:
    """CEL: no port is added or removed."""
    return f"has({new}.ports) == has({old}.ports) && (!has({new}.ports) || size({new}.ports) == size({old}.ports))"


def fixed(spec: type[Struct], *, but: Collection[str] = ()) -> tuple[_Rule, ...]:
    """Rules for a spec whose fields (JSON names) may not change, `but` these."""
    names = [field.encode_name for field in structs.fields(spec) if field.encode_name not in but]
    return tuple(_forbidden(same(name), name) for name in names)


def fixed_ports() -> tuple[_Rule, ...]:
    """Rules for a spec whose ports may not change, but for their `allowedAddressPairs`.

    A rule for each field: one rule for all would cost more than the API server allows to a rule.
    """
    message = "only allowedAddressPairs of a port can be changed"
    each = (same_in_ports(field) for field in PORT_FIELDS)
    return tuple(_forbidden(one, "ports", message) for one in (as_many_ports(), *each))


def once(field: str) -> _Rule:
    """Rule: the field is set once, and then stays as it is."""
    return _forbidden(
        f"!has(oldSelf.{field}) || oldSelf.{field} == '' || {same(field)}",
        field,
        f"{field} cannot be changed once it is set",
    )


def kind_of_credentials_stays() -> _Rule:
    """Rule for a spec that has an `identityRef`."""
    return _forbidden(same("type", "self.identityRef", "oldSelf.identityRef"), "identityRef", "type cannot be changed")


def ports_name_networks() -> _Rule:
    """Rule for a spec whose ports can take no network from a cluster. Only the first fixed IPs are looked at."""
    return {
        "rule": "self.ports.all(p, has(p.network) || has(p.fixedIPs) && "
        "[0, 1, 2, 3, 4, 5, 6, 7].exists(i, i < size(p.fixedIPs) && has(p.fixedIPs[i].subnet)))",
        "message": "a port needs a network, or a fixed IP with a subnet: a server has no cluster to take one from",
        "fieldPath": ".ports",
    }


def region_stays() -> _Rule:
    """Rule for a spec: neither by its identityRef nor by the absence of one does it move to another region."""
    old, new = (f"has({side}.identityRef) && has({side}.identityRef.region)" for side in ("oldSelf", "self"))
    return _forbidden(
        f"({new}) == ({old}) && (!({new}) || self.identityRef.region == oldSelf.identityRef.region)",
        "identityRef",
        "identityRef.region is immutable",
    )


def no_device_named_root() -> _Rule:
    """Rule for a spec with `rootVolume` and `additionalBlockDevices`."""
    return _forbidden(
        "!has(self.rootVolume) || !has(self.additionalBlockDevices) || "
        "self.additionalBlockDevices.all(d, d.name != 'root')",
        "additionalBlockDevices",
        'cannot contain a device named "root" when rootVolume is set',
    )


def groups_need_port_security() -> _Rule:
    """Rule for a port."""
    return _forbidden(
        "!has(self.disablePortSecurity) || !self.disablePortSecurity || !has(self.securityGroups) || "
        "size(self.securityGroups) == 0",
        "securityGroups",
        "cannot have security groups when disablePortSecurity is set to true",
    )


def of_machine(spec: type[Struct]) -> Meta:
    """What is fixed in the `spec` of an OpenStackMachine."""
    free = ("providerID", "identityRef", "ports")
    return rules(*fixed(spec, but=free), *fixed_ports(), once("providerID"), region_stays())


def of_server(spec: type[Struct]) -> Meta:
    """What is fixed in the `spec` of an OpenStackServer."""
    free = ("identityRef", "ports")
    return rules(*fixed(spec, but=free), *fixed_ports(), kind_of_credentials_stays(), region_stays())


def of_cluster() -> tuple[_Rule, ...]:
    """Rules for a whole OpenStackCluster: what is fixed in its spec, and what its status allows to be pinned."""
    no_floating_ip = "has(oldSelf.spec.disableAPIServerFloatingIP) && oldSelf.spec.disableAPIServerFloatingIP"
    return (
        *(_forbidden(_same_in_spec(field), f"spec.{field}") for field in _FIXED_OF_CLUSTER),
        _forbidden(
            "size(self.spec.?managedSubnets.orValue([])) == size(oldSelf.spec.?managedSubnets.orValue([]))",
            "spec.managedSubnets",
            "managed subnets cannot be added or removed",
        ),
        *(
            _forbidden(
                "!has(self.spec.managedSubnets) || !has(oldSelf.spec.managedSubnets) || "
                "size(self.spec.managedSubnets) != 1 || size(oldSelf.spec.managedSubnets) != 1 || "
                + same(field, "self.spec.managedSubnets[0]", "oldSelf.spec.managedSubnets[0]"),
                "spec.managedSubnets",
                "only dnsNameservers of a managed subnet can be changed",
            )
            for field in ("cidr", "allocationPools")
        ),
        _forbidden(
            f"{_same_in_spec('network')} || has(self.spec.network) && has(self.spec.network.id) && "
            f"{_in_use('network.id')} && self.spec.network.id == oldSelf.status.network.id",
            "spec.network",
            "network can only be changed to the ID of the network in use",
        ),
        _forbidden(
            f"{_same_in_spec('subnets')} || has(self.spec.subnets) && has(oldSelf.spec.subnets) && "
            "size(self.spec.subnets) == size(oldSelf.spec.subnets) && "
            "[0, 1].all(i, i >= size(self.spec.subnets) || self.spec.subnets[i] == oldSelf.spec.subnets[i] || "
            "has(self.spec.subnets[i].id) && has(oldSelf.spec.subnets[i].filter) && "
            f"has(oldSelf.spec.subnets[i].filter.name) && {_in_use('network.subnets')} && "
            f"{_USED}.exists(k, k < size(oldSelf.status.network.subnets) && "
            "has(oldSelf.status.network.subnets[k].id) && has(oldSelf.status.network.subnets[k].name) && "
            "oldSelf.status.network.subnets[k].id == self.spec.subnets[i].id && "
            "oldSelf.status.network.subnets[k].name == oldSelf.spec.subnets[i].filter.name))",
            "spec.subnets",
            "a subnet can only be changed from a filter by name to the ID of the subnet in use",
        ),
        _forbidden(
            f"{_same_in_spec('apiServerFloatingIP')} || has(self.spec.apiServerFloatingIP) && "
            f"{_in_use('apiServerLoadBalancer.ip')} && "
            "self.spec.apiServerFloatingIP == oldSelf.status.apiServerLoadBalancer.ip",
            "spec.apiServerFloatingIP",
            "apiServerFloatingIP can only be changed to the address in use",
        ),
        _forbidden(
            f"{_same_in_spec('apiServerFixedIP')} || {no_floating_ip} && "
            "(!has(oldSelf.spec.apiServerFixedIP) || oldSelf.spec.apiServerFixedIP == '')",
            "spec.apiServerFixedIP",
            "apiServerFixedIP can only be set once, and with disableAPIServerFloatingIP",
        ),
        _forbidden(
            f"{_same_in_spec('apiServerPort')} || {no_floating_ip} && !has(oldSelf.spec.apiServerPort)",
            "spec.apiServerPort",
            "apiServerPort can only be set once, and with disableAPIServerFloatingIP",
        ),
        _forbidden(
            "has(self.spec.apiServerLoadBalancer) == has(oldSelf.spec.apiServerLoadBalancer)",
            "spec.apiServerLoadBalancer",
            "apiServerLoadBalancer cannot be added or removed",
        ),
        *(
            _forbidden(
                "!has(self.spec.apiServerLoadBalancer) || !has(oldSelf.spec.apiServerLoadBalancer) || "
                + same(field, "self.spec.apiServerLoadBalancer", "oldSelf.spec.apiServerLoadBalancer"),
                "spec.apiServerLoadBalancer",
                "only allowedCIDRs and monitor of apiServerLoadBalancer can be changed",
            )
            for field in _FIXED_OF_BALANCER
        ),
        _forbidden(
            "!has(oldSelf.spec.managedSecurityGroups) || has(self.spec.managedSecurityGroups)",
            "spec.managedSecurityGroups",
            "managedSecurityGroups cannot be removed",
        ),
        _forbidden(
            "!has(oldSelf.spec.controlPlaneEndpoint) || oldSelf.spec.controlPlaneEndpoint.host == '' || "
            + _same_in_spec("controlPlaneEndpoint"),
            "spec.controlPlaneEndpoint",
            "controlPlaneEndpoint cannot be changed once it is set",
        ),
        _forbidden(
            "has(self.spec.bastion) || !has(oldSelf.spec.bastion) || !oldSelf.spec.bastion.enabled",
            "spec.bastion",
            "bastion cannot be removed before disabling it",
        ),
    )


def _same_in_spec(field: str) -> str:
    return same(field, "self.spec", "oldSelf.spec")


def _in_use(path: str) -> str:
    """CEL: the status has something at `path`."""
    parts = path.split(".")
    return " && ".join(f"has(oldSelf.status{'.' if n else ''}{'.'.join(parts[:n])})" for n in range(len(parts) + 1))


def one_remote() -> _Rule:
    """Rule for a rule of a security group."""
    remotes = ("remoteManagedGroups", "remoteGroupID", "remoteIPPrefix")
    counted = " + ".join(f"(has(self.{field}) ? 1 : 0)" for field in remotes)
    return {"rule": f"{counted} <= 1", "message": f"only one of {', '.join(remotes)} can be set"}


def _forbidden(rule: str, field: str, message: str = "") -> _Rule:
    message = message or f"{field.rpartition('.')[2]} cannot be changed"
    return {"rule": rule, "message": message, "reason": "FieldValueForbidden", "fieldPath": f".{field}"}
