"""Reports what `ports` of a provider spec ask for and a port of an OpenStackMachine cannot express.

`windlass.openstack.provider_spec_reading` makes the ports, one to one.
"""

from typing import Final

from windlass.api import mapi_openstack
from windlass.machine_sync.conversion.field_errors import Findings, invalid, invalid_json
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.openstack.profile import CAPABILITIES, TRUSTED, examine_profile
from windlass.openstack.provider_spec_reading import Addresses

_ADDED: Final = "these and those of securityGroups, which Cluster API adds: name all of them here"
_ALONE: Final = "none, as in the Machine API: a load balancer of the user has the virtual addresses"


def examine_ports(config: mapi_openstack.OpenstackProviderSpec, found: Findings, *, cluster: Addresses) -> None:
    """Add to `found` what is lost of the `ports`, in order."""
    of_machine = {group.uuid or group.filter.id or group.name or group.filter.name for group in config.security_groups}
    for index, port in enumerate(config.ports):
        path = f"{PATH}.ports[{index}]"
        _examine_port(path, port, found)
        if port.security_groups and port.port_security is not False and not of_machine <= set(port.security_groups):
            found.lose(f"{path}.securityGroups", port.security_groups, becomes=_ADDED)
        if port.allowed_address_pairs and cluster.alone:
            found.lose(f"{path}.allowedAddressPairs", port.allowed_address_pairs, becomes=_ALONE)


def _examine_port(path: str, port: mapi_openstack.Port, found: Findings) -> None:
    unsupported = [key for key in port.profile if key not in (CAPABILITIES, TRUSTED)]
    if unsupported:
        detail = "profile contains an unsupported key"
        found.errors.append(invalid_json(f"{path}.profile", port.profile, detail))
    if port.host_id:
        found.warnings.append(invalid(f"{path}.hostID", port.host_id, "hostID is ignored by MAPO, ignoring"))
    for field, value in (("projectID", port.project_id), ("tenantID", port.tenant_id)):
        if value:
            found.lose(f"{path}.{field}", value)
    if port.security_groups == []:
        # An empty list means no security groups; an absent list means those of the machine.
        found.lose(f"{path}.securityGroups", port.security_groups)
    examine_profile(f"{path}.profile", port.profile, found)
