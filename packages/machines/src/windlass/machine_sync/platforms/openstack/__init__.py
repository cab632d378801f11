"""OpenStack: OpenStackMachine and OpenStackCluster of Cluster API, OpenstackProviderSpec of the Machine API."""

from windlass.api import capo, capo_cluster, mapi_openstack
from windlass.machine_sync.platforms.openstack import provider_spec, to_cluster_api, to_machine_api
from windlass.machine_sync.platforms.openstack.samples import SAMPLES
from windlass.machine_sync.platforms.platform import Platform

OPENSTACK = Platform(
    name="OpenStack",
    infra_machine=capo.OpenStackMachine,
    infra_template=capo.OpenStackMachineTemplate,
    infra_cluster=capo_cluster.OpenStackCluster,
    provider_spec=mapi_openstack.OpenstackProviderSpec,
    go_names=provider_spec.GO_NAMES,
    provider_part=to_machine_api.provider_part,
    infra_machine_part=to_cluster_api.infra_machine_part,
    samples=SAMPLES,
    infra_machine_leftovers={
        "providerID": None,
        "instanceID": None,
        "identityRef.type": "Secret",
        "floatingIPPoolRef": None,  # the machine keeps its address while the Machine API has it, and finds it again
    },
    infra_machine_mutable=frozenset({"identityRef"}),
    comparable_infra_machine=provider_spec.comparable_infra_machine,
    infra_machine_reports_pause=None,  # Windlass's own controllers do, Cluster API's provider does not
    conversion=2,
)
