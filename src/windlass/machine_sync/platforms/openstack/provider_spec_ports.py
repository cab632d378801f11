"""Converts the `ports` of a provider spec to ports of an OpenStackMachine, one to one."""

from typing import Final

from windlass.api import capo, mapi_openstack
from windlass.machine_sync.conversion.field_errors import Findings, invalid, invalid_json
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.openstack.profile import CAPABILITIES, TRUSTED, binding_profile

DEFAULT_SECURITY: Final = "what OpenStack has for the network"
"""The value that replaces port security `true`: Cluster API has only the opposite switch, `disablePortSecurity`."""


def ports(source: list[mapi_openstack.Port], found: Findings) -> list[capo.Port]:
    """`source` converted, in order. Adds to `found`."""
    return [_port(f"{PATH}.ports[{index}]", port, found) for index, port in enumerate(source)]


def _port(path: str, port: mapi_openstack.Port, found: Findings) -> capo.Port:
    unsupported = [key for key in port.profile if key not in (CAPABILITIES, TRUSTED)]
    if unsupported:
        detail = "profile contains an unsupported key"
        found.errors.append(invalid_json(f"{path}.profile", port.profile, detail))
    if port.host_id:
        found.warnings.append(invalid(f"{path}.hostID", port.host_id, "hostID is ignored by MAPO, ignoring"))
    _lost(path, port, found)
    return capo.Port(
        network=capo.Network(id=port.network_id),
        description=port.description,
        name_suffix=port.name_suffix,
        fixed_ips=[_fixed_ip(one) for one in port.fixed_ips],
        security_groups=[capo.SecurityGroup(id=one) for one in port.security_groups or ()],
        tags=port.tags,
        trunk=port.trunk,
        admin_state_up=port.admin_state_up,
        mac_address=port.mac_address or None,
        allowed_address_pairs=[
            capo.AddressPair(ip_address=pair.ip_address, mac_address=pair.mac_address or None)
            for pair in port.allowed_address_pairs
        ]
        or None,
        vnic_type=port.vnic_type or None,
        profile=binding_profile(f"{path}.profile", port.profile, found),
        disable_port_security=True if port.port_security is False else None,
    )


def _fixed_ip(fixed_ip: mapi_openstack.FixedIP) -> capo.FixedIP:
    """The fixed IP with its subnet. OpenShift drops the subnet, and writes an empty address if there is none."""
    return capo.FixedIP(
        subnet=capo.Subnet(id=fixed_ip.subnet_id) if fixed_ip.subnet_id else None,
        ip_address=fixed_ip.ip_address or None,
    )


def _lost(path: str, port: mapi_openstack.Port, found: Findings) -> None:
    for field, value in (("projectID", port.project_id), ("tenantID", port.tenant_id)):
        if value:
            found.lose(f"{path}.{field}", value)
    if port.port_security:
        found.lose(f"{path}.portSecurity", True, becomes=DEFAULT_SECURITY)
    if port.security_groups == []:
        # An empty list means no security groups; an absent list means those of the machine.
        found.lose(f"{path}.securityGroups", port.security_groups)
