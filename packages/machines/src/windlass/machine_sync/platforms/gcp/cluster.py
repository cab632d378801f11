"""Checks that a Machine fits the GCPCluster, of which all machines have network, projects and instance groups."""

from typing import Final

from windlass.api import capg, mapi, mapi_gcp
from windlass.machine_sync.conversion.field_errors import FieldError, invalid, invalid_json
from windlass.machine_sync.conversion.metadata import ROLE_LABEL, is_control_plane
from windlass.machine_sync.conversion.provider_spec import PATH

INSTANCE_GROUP_TAG: Final = "master"
"""What the instance groups of the Machine API's control plane are named by."""
_DEFAULT_NETWORK: Final = "default"
_NETWORK: Final = f"{PATH}.networkInterfaces[0]"


def network(cluster: capg.GCPClusterSpec) -> tuple[str, str]:
    """The network of the machines, and its project."""
    return cluster.network.name or _DEFAULT_NETWORK, cluster.network.host_project or cluster.project


def cluster_errors(
    machine: mapi.Machine, config: mapi_gcp.GCPMachineProviderSpec, cluster: capg.GCPCluster | None
) -> list[FieldError]:
    """Why this provider spec of `machine` does not fit the cluster, which is None if it does not exist."""
    errors = [*_network_errors(config, cluster)]
    if is_control_plane(machine) and (cluster is None or _tag(cluster.spec) != INSTANCE_GROUP_TAG):
        detail = (
            "a control plane machine needs GCPCluster.spec.loadBalancer.apiServerInstanceGroupTagOverride "
            f'"{INSTANCE_GROUP_TAG}"'
        )
        errors.append(invalid_json("metadata.labels", {ROLE_LABEL: INSTANCE_GROUP_TAG}, detail))
    return errors


def _network_errors(config: mapi_gcp.GCPMachineProviderSpec, cluster: capg.GCPCluster | None) -> list[FieldError]:
    if not config.network_interfaces:
        # Conversion says so.
        return []
    interface = config.network_interfaces[0]
    if cluster is None:
        detail = "there is no GCPCluster, whose network all machines have"
        return [invalid(f"{_NETWORK}.network", interface.network, detail)]
    name, project = network(cluster.spec)
    given = interface.project_id or config.project_id or cluster.spec.project
    errors: list[FieldError] = []
    if interface.network != name:
        detail = f'must be "{name}", as GCPCluster has it in spec.network.name'
        errors.append(invalid(f"{_NETWORK}.network", interface.network, detail))
    if given != project:
        detail = f'must be "{project}", as GCPCluster has it: for a shared VPC set its spec.network.hostProject'
        errors.append(invalid(f"{_NETWORK}.projectID", given, detail))
    return errors


def instance_group_errors(cluster: capg.GCPClusterSpec) -> list[FieldError]:
    """Why a control-plane machine of this cluster cannot be one of the Machine API."""
    if _tag(cluster) == INSTANCE_GROUP_TAG:
        return []
    detail = f'must be "{INSTANCE_GROUP_TAG}": the Machine API\'s instance groups are called so'
    path = "GCPCluster.spec.loadBalancer.apiServerInstanceGroupTagOverride"
    return [invalid(path, _tag(cluster), detail)]


def _tag(cluster: capg.GCPClusterSpec) -> str:
    return cluster.load_balancer.api_server_instance_group_tag_override or ""
