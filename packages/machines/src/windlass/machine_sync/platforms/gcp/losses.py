"""Warns about fields of Google Cloud's machines that the other API cannot express and that conversion drops."""

from typing import Final

from windlass.api import capg, mapi_gcp
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.conversion.provider_spec import PATH
from windlass.machine_sync.platforms.gcp.labels_and_tags import OWNED, cluster_label
from windlass.machine_sync.platforms.gcp.words import DISABLED, SPOT

_BY: Final = "the Machine API"


def lose_of_machine(config: mapi_gcp.GCPMachineProviderSpec, found: Findings, *, region: str) -> None:
    """Add a loss for each field of `config` that Cluster API's provider ignores. `region` is Infrastructure's."""
    may_stop = config.preemptible or config.provisioning_model == SPOT
    if config.restart_policy == "Never" and not may_stop:
        found.lose(f"{PATH}.restartPolicy", config.restart_policy, becomes="Always")
    if config.region and not region:
        found.lose(f"{PATH}.region", config.region)
    # The provider leaves false values out of what it sends, and Google's defaults are true.
    shielded, path = config.shielded_instance_config, f"{PATH}.shieldedInstanceConfig"
    for field, value in (
        ("virtualizedTrustedPlatformModule", shielded.virtualized_trusted_platform_module),
        ("integrityMonitoring", shielded.integrity_monitoring),
    ):
        if value == DISABLED:
            becomes = "Enabled on a new instance, if its image can"
            found.lose(f"{path}.{field}", value, by="Cluster API's provider", becomes=becomes)


def lose_of_infra_machine(
    spec: capg.GCPMachineSpec, cluster: capg.GCPClusterSpec, found: Findings, *, name: str
) -> None:
    """Add a loss for each field of a GCPMachine and its cluster, of this `name`, that is set and dropped."""
    label = cluster_label(name)
    if spec.additional_labels.get(label, OWNED) != OWNED:
        found.lose("spec.additionalLabels", {label: spec.additional_labels[label]}, by=_BY, becomes=OWNED)
    if spec.image and spec.image_family:
        found.lose("spec.imageFamily", spec.image_family, by=f"{_BY} beside an image")
    if spec.preemptible and spec.provisioning_model == SPOT:
        found.lose("spec.preemptible", spec.preemptible, by=f"{_BY} beside {SPOT}")
    if cluster.service_endpoints is not None and cluster.service_endpoints != capg.ServiceEndpoints():
        found.lose("GCPCluster.spec.serviceEndpoints", cluster.service_endpoints, by=_BY)
