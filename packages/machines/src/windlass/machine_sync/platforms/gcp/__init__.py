"""Google Cloud: GCPMachine and GCPCluster of Cluster API, GCPMachineProviderSpec of the Machine API."""

from typing import Final

from windlass.api import capg, mapi_gcp
from windlass.machine_sync.platforms.gcp import cluster, comparison, provider_spec, to_cluster_api, to_machine_api
from windlass.machine_sync.platforms.gcp.accounts import DEFAULT
from windlass.machine_sync.platforms.gcp.samples import SAMPLES
from windlass.machine_sync.platforms.platform import Platform

GCP: Final = Platform(
    name="GCP",
    infra_machine=capg.GCPMachine,
    infra_template=capg.GCPMachineTemplate,
    infra_cluster=capg.GCPCluster,
    provider_spec=mapi_gcp.GCPMachineProviderSpec,
    provider_status=mapi_gcp.GCPMachineProviderStatus,
    go_names=provider_spec.GO_NAMES,
    provider_part=to_machine_api.provider_part,
    infra_machine_part=to_cluster_api.infra_machine_part,
    cluster_errors=cluster.cluster_errors,
    canonical_provider_spec=comparison.canonical_provider_spec,
    samples=SAMPLES,
    # The Machine API's MachineSet controller writes shieldedInstanceConfig into sets by itself, whoever has authority.
    provider_spec_leftovers=("userDataSecret", "restartPolicy", "shieldedInstanceConfig"),
    infra_machine_leftovers={
        "providerID": None,
        "provisioningModel": "Standard",
        "publicIP": False,
        "rootDeviceType": "pd-standard",
        "ipForwarding": "Enabled",
        "serviceAccounts": {"email": DEFAULT.email, "scopes": DEFAULT.scopes},
    },
    infra_machine_mutable=frozenset({"providerID", "additionalLabels", "additionalNetworkTags"}),
    comparable_infra_machine=comparison.comparable_infra_machine,
    # A GCPMachine has no conditions. Its instance is found by name, so that a provider that still acts makes no second.
    infra_machine_reports_pause=False,
)
