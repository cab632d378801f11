"""PowerVS: IBMPowerVSMachine and IBMPowerVSCluster of Cluster API, PowerVSMachineProviderConfig of the Machine API."""

from windlass.api import capibm, mapi_powervs
from windlass.machine_sync.platforms.platform import Platform
from windlass.machine_sync.platforms.powervs import provider_spec, to_cluster_api, to_machine_api

POWERVS = Platform(
    name="PowerVS",
    infra_machine=capibm.IBMPowerVSMachine,
    infra_template=capibm.IBMPowerVSMachineTemplate,
    infra_cluster=capibm.IBMPowerVSCluster,
    provider_spec=mapi_powervs.PowerVSMachineProviderConfig,
    go_names=provider_spec.GO_NAMES,
    provider_part=to_machine_api.provider_part,
    infra_machine_part=to_cluster_api.infra_machine_part,
    infra_machine_leftovers={"providerID": None},
    infra_machine_mutable=frozenset({"providerID"}),
)
