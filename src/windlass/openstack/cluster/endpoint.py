"""The API endpoint of an OpenStackCluster, and its failure domains.

| spec | endpoint |
|---|---|
| `controlPlaneEndpoint` | that one |
| `apiServerFloatingIP`, or an external network and no `disableAPIServerFloatingIP` | a floating IP: not supported yet |
| `apiServerFixedIP` | that address |
"""

from collections.abc import Sequence
from typing import Any, Final

from windlass.api.capo_cluster import OpenStackClusterSpec
from windlass.openstack.cluster.network import Found, Obstacle
from windlass.openstack.status import ENDPOINT_READY, Reason

PORT: Final = 6443
_REMEDY: Final = "set spec.controlPlaneEndpoint, or spec.apiServerFixedIP and spec.disableAPIServerFloatingIP to true"


def endpoint(spec: OpenStackClusterSpec, found: Found) -> tuple[str, int] | Obstacle:
    """Host and port, or why there is none."""
    given = spec.control_plane_endpoint
    if given is not None and given.host:
        return given.host, given.port
    floats = found.external is not None and not spec.disable_api_server_floating_ip
    if spec.api_server_floating_ip or floats:
        text = f"a floating IP for the API server is not supported yet: {_REMEDY}"
        return Obstacle(ENDPOINT_READY, Reason.INVALID_CONFIGURATION, text)
    if not spec.api_server_fixed_ip:
        text = f"unable to determine control plane endpoint: {_REMEDY}"
        return Obstacle(ENDPOINT_READY, Reason.API_ENDPOINT_CONFIG_FAILED, text)
    return spec.api_server_fixed_ip, (given.port if given is not None else 0) or spec.api_server_port or PORT


def failure_domains(spec: OpenStackClusterSpec, zones: Sequence[str]) -> list[dict[str, Any]]:
    """The tree of `status.failureDomains`: the zones of Nova, and which are for the control plane."""
    chosen = spec.control_plane_availability_zones
    by_default = not spec.control_plane_omit_availability_zone
    return [{"name": zone, "controlPlane": zone in chosen if chosen else by_default} for zone in sorted(zones)]
