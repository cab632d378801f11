"""Converts labels, resource manager tags and network tags: to what an instance gets in the other API.

| | Machine API | Cluster API's provider |
|---|---|---|
| labels | the Machine's, Infrastructure's, one of the cluster | the machine's, the GCPCluster's, two of the provider |
| resource manager tags | the Machine's, Infrastructure's | the machine's, the GCPCluster's |
| network tags | the Machine's | the machine's, one of its role, one of the cluster |

Of a repeated key the first one counts.

Sources: `util/gcp_tags_labels.go` of openshift/machine-api-provider-gcp, `cloud/scope/machine.go` of Cluster API's
provider.
"""

from collections.abc import Iterable
from typing import Any, Final

from windlass.api import capg, mapi_gcp
from windlass.api.config import GCPPlatformStatus
from windlass.machine_sync.conversion.field_errors import FieldError, invalid_json
from windlass.machine_sync.conversion.provider_spec import PATH

OWNED: Final = "owned"
_OF_PROVIDER: Final = ("capg-cluster-", "capg-role")
_USER_DATA: Final = "user-data"


def cluster_label(cluster: str) -> str:
    """The label, with the value `owned`, by which the installer finds what it is to destroy."""
    return f"kubernetes-io-cluster-{cluster}"


def additional_labels(
    labels: dict[str, str], *, platform: GCPPlatformStatus, cluster: str, infra_cluster: capg.GCPCluster | None
) -> dict[str, str]:
    """The labels of a GCPMachine, without those that it gets from its GCPCluster anyway."""
    merged = {**{one.key: one.value for one in platform.resource_labels}, **labels}
    inherited = infra_cluster.spec.additional_labels if infra_cluster is not None else {}
    if inherited:
        merged = {key: value for key, value in merged.items() if inherited.get(key) != value}
    return {**merged, cluster_label(cluster): OWNED} if cluster else merged


def machine_labels(spec: capg.GCPMachineSpec, *, cluster: str, infra_cluster: capg.GCPClusterSpec) -> dict[str, str]:
    """The labels of a Machine, without those that either API adds by itself."""
    own = cluster_label(cluster)
    return {
        key: value
        for key, value in {**infra_cluster.additional_labels, **spec.additional_labels}.items()
        if not (key == own and value == OWNED) and not key.startswith(_OF_PROVIDER)
    }


def infra_resource_tags(
    tags: list[mapi_gcp.ResourceManagerTag], platform: GCPPlatformStatus
) -> list[capg.ResourceManagerTag]:
    """The Machine's tags, then those of Infrastructure with another key."""
    own = {(tag.parent_id, tag.key) for tag in tags}
    added = (tag for tag in platform.resource_tags if (tag.parent_id, tag.key) not in own)
    merged: Iterable[Any] = (*tags, *added)
    return [capg.ResourceManagerTag(parent_id=tag.parent_id, key=tag.key, value=tag.value) for tag in merged]


def machine_resource_tags(
    spec: capg.GCPMachineSpec, infra_cluster: capg.GCPClusterSpec
) -> list[mapi_gcp.ResourceManagerTag]:
    """The machine's tags, then those of the GCPCluster with another key."""
    tags = spec.resource_manager_tags
    own = {(tag.parent_id, tag.key) for tag in tags}
    added = (tag for tag in infra_cluster.resource_manager_tags if (tag.parent_id, tag.key) not in own)
    return [
        mapi_gcp.ResourceManagerTag(parent_id=tag.parent_id, key=tag.key, value=tag.value) for tag in (*tags, *added)
    ]


def _implied_network_tags(cluster: str, *, control_plane: bool) -> tuple[str, ...]:
    return (f"{cluster}-{'control-plane' if control_plane else 'node'}", cluster) if cluster else ()


def additional_network_tags(tags: list[str], *, cluster: str, control_plane: bool) -> list[str]:
    """The tags without those that the provider adds: Google refuses a tag that is there twice."""
    implied = _implied_network_tags(cluster, control_plane=control_plane)
    return [tag for tag in dict.fromkeys(tags) if tag not in implied]


def network_tags(tags: list[str], *, cluster: str, control_plane: bool) -> list[str]:
    """The tags and those that the provider adds. Never empty: the webhook would invent others."""
    return list(dict.fromkeys((*tags, *_implied_network_tags(cluster, control_plane=control_plane))))


def infra_metadata(items: Iterable[mapi_gcp.Metadata], errors: list[FieldError]) -> list[capg.MetadataItem]:
    """The metadata items of a GCPMachine."""
    converted: list[capg.MetadataItem] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        path = f"{PATH}.gcpMetadata[{index}].key"
        if item.key == _USER_DATA:
            errors.append(invalid_json(path, item.key, "user data can only come from userDataSecret"))
        if item.key in seen:
            errors.append(invalid_json(path, item.key, "repeated key"))
        seen.add(item.key)
        converted.append(capg.MetadataItem(key=item.key, value=item.value))
    return converted


def machine_metadata(items: Iterable[capg.MetadataItem], errors: list[FieldError]) -> list[mapi_gcp.Metadata]:
    """The metadata items of a Machine."""
    converted: list[mapi_gcp.Metadata] = []
    for index, item in enumerate(items):
        if item.key == _USER_DATA:
            detail = "user data can only come from bootstrap.dataSecretName"
            errors.append(invalid_json(f"spec.additionalMetadata[{index}].key", item.key, detail))
        converted.append(mapi_gcp.Metadata(key=item.key, value=item.value))
    return converted
