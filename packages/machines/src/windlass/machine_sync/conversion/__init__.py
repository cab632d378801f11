"""Converts Machines and MachineSets between Cluster API and the Machine API: pure functions.

In Cluster API a machine is two objects, the Machine and the infra machine of its platform, and so is the
cluster. In the Machine API it is one Machine that holds the platform's part as a provider spec. Conversion to the
Machine API takes the Machine, its infra machine and the infra cluster:

>>> from windlass.api import capi, capo, capo_cluster
>>> from windlass.api.meta import ObjectMeta
>>> machine = capi.Machine(metadata=ObjectMeta(name="worker-0"), spec=capi.MachineSpec(failure_domain="az1"))
>>> image = capo.Image(filter=capo.ImageFilter(name="rhcos"))
>>> infra = capo.OpenStackMachine(spec=capo.OpenStackMachineSpec(flavor="m1.large", image=image))
>>> converted = to_machine_api(machine, infra, capo_cluster.OpenStackCluster())
>>> converted.machine.metadata.labels
{'machine.openshift.io/instance-type': 'm1.large', 'machine.openshift.io/zone': 'az1'}

Conversion to Cluster API takes the Machine and the cluster's Infrastructure, which names the platform:

>>> from windlass.api import config, mapi
>>> status = config.InfrastructureStatus(
...     infrastructure_name="c-x7k2p", platform_status=config.PlatformStatus(type="OpenStack")
... )
>>> spec = mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value={"flavor": "m1.large", "image": "rhcos"}))
>>> back = to_cluster_api(mapi.Machine(spec=spec), config.Infrastructure(status=status))
>>> back.infra_machine.spec.flavor, back.infra_machine.spec.tags
('m1.large', ['cluster-api-provider-openstack', 'openshift-machine-api-c-x7k2p'])

MachineSets are converted in the same way, with an infra template (named by the hash of its spec) instead of
the infra machine.

A field that the other API cannot express is an error: there is no result, and all errors are reported in the order of
the fields. A field that can be dropped without harm is a warning:

>>> drain = capi.MachineSpec(deletion=capi.MachineDeletion(node_drain_timeout_seconds=300))
>>> to_machine_api(capi.Machine(spec=drain), infra, capo_cluster.OpenStackCluster()).error
'spec.deletion.nodeDrainTimeoutSeconds: Invalid value: 300: nodeDrainTimeoutSeconds is not supported'

Results and texts equal those of OpenShift's cluster-capi-operator, to the letter: both programs write the same
conditions. Ours differ where those of the operator are wrong:

* The operator's result may depend on the order of a map. Ours does not: hooks are sorted by name, and of several roles
  the one with the smallest label key is taken. Where the operator crashes, we report an error or leave the field out.
* An OpenStackMachine asks for the server that the Machine API makes: its image, order of network interfaces, address
  pairs, zones of volumes, tags and security groups. `windlass.openstack.provider_spec_reading` reads them for both.
* We convert the options of an OpenStack network and the subnet of a fixed IP, which the operator drops. Each tag of a
  port appears once. An AWSMachine whose Machine has no root device gets no root volume, instead of one of 0 GiB.
* We keep the only security group of an OpenStack port, which the operator drops.
* Fields that the operator drops or changes silently are `losses`: `... has no equivalent in Cluster API and is
  dropped`, or `becomes ...`. They are reported after the `warnings`, which the operator reports too.

| module | holds |
|---|---|
| `machine_to_machine_api`, `machine_to_cluster_api` | the part of a Machine that all platforms share |
| `machine_set_to_machine_api`, `machine_set_to_cluster_api` | MachineSets |
| `metadata` | labels, annotations and hooks in both directions |
| `taints` | taints in both directions |
| `machine_status` | addresses and times, the same in both directions |
| `template_name`, `selector` | names of infra templates; selectors as text |
| `provider_spec`, `unmarshal` | provider specs read as OpenShift reads them |
| `result` | errors, warnings and losses of a conversion |
| `field_errors` | an error about one field, with the text of Kubernetes' `field.Error` |
| `gojson` | JSON as Go prints it |

Each platform converts its own part, in its folder of `windlass.machine_sync.platforms`.
"""

from msgspec import UNSET, UnsetType

# A module import, not `from ... import`: `platforms` imports submodules of this package, and either can be first.
import windlass.machine_sync.platforms as _platforms
from windlass.api import capi, mapi
from windlass.api.config import Infrastructure
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.conversion.field_errors import aggregate
from windlass.machine_sync.conversion.machine_set_to_cluster_api import (
    ConvertedSetToClusterAPI,
    cluster_api_machine_set,
)
from windlass.machine_sync.conversion.machine_set_to_machine_api import (
    ConvertedSetToMachineAPI,
    machine_api_machine_set,
)
from windlass.machine_sync.conversion.machine_to_cluster_api import ConvertedToClusterAPI
from windlass.machine_sync.conversion.machine_to_machine_api import ConvertedToMachineAPI

__all__ = [
    "ConvertedSetToClusterAPI",
    "ConvertedSetToMachineAPI",
    "ConvertedToClusterAPI",
    "ConvertedToMachineAPI",
    "aggregate",
    "machine_set_to_cluster_api",
    "machine_set_to_machine_api",
    "to_cluster_api",
    "to_machine_api",
]


def to_machine_api(
    machine: capi.Machine | None,
    infra_machine: KubernetesObject | None,
    infra_cluster: KubernetesObject | None,
    *,
    infrastructure: Infrastructure | None = None,
) -> ConvertedToMachineAPI:
    """The Machine API Machine for `machine`; never raises.

    The infra machine determines the platform, else the infra cluster, else the Machine's reference.
    If any of the three is None, there is one error, which says so. Without the `infrastructure`, what depends on it is
    reported as lost: OpenStack's address pairs.
    """
    kind = machine.spec.infrastructure_ref.kind if machine is not None else ""
    platform = _platform_of(infra_machine, infra_cluster, kind)
    if platform is None:
        return ConvertedToMachineAPI(errors=("error determining InfraMachine type, platform not supported",))
    if infra_machine is not None and not isinstance(infra_machine, platform.infra_machine):
        return ConvertedToMachineAPI(errors=(_unexpected("InfraMachine", platform.infra_machine, infra_machine),))
    if infra_cluster is not None and not isinstance(infra_cluster, platform.infra_cluster):
        return ConvertedToMachineAPI(errors=(_unexpected("InfraCluster", platform.infra_cluster, infra_cluster),))
    return platform.to_machine_api(machine, infra_machine, infra_cluster, infrastructure=infrastructure)


def machine_set_to_machine_api(
    machine_set: capi.MachineSet | None,
    infra_template: KubernetesObject | None,
    infra_cluster: KubernetesObject | None,
    *,
    infrastructure: Infrastructure | None = None,
) -> ConvertedSetToMachineAPI:
    """The Machine API MachineSet for `machine_set`; never raises. The platform is found as for a Machine."""
    kind = machine_set.spec.template.spec.infrastructure_ref.kind if machine_set is not None else ""
    platform = _platform_of(infra_template, infra_cluster, kind)
    if platform is None:
        return ConvertedSetToMachineAPI(errors=("error determining InfraMachineTemplate type, platform not supported",))
    if infra_template is not None and not isinstance(infra_template, platform.infra_template):
        return ConvertedSetToMachineAPI(
            errors=(_unexpected("InfraMachineTemplate", platform.infra_template, infra_template),)
        )
    if infra_cluster is not None and not isinstance(infra_cluster, platform.infra_cluster):
        return ConvertedSetToMachineAPI(errors=(_unexpected("InfraCluster", platform.infra_cluster, infra_cluster),))
    return machine_api_machine_set(
        platform, machine_set, infra_template, infra_cluster=infra_cluster, infrastructure=infrastructure
    )


def to_cluster_api(
    machine: mapi.Machine | None,
    infrastructure: Infrastructure | None,
    *,
    infra_cluster: KubernetesObject | UnsetType | None = UNSET,
) -> ConvertedToClusterAPI:
    """The Cluster API Machine and infra machine for `machine`; never raises.

    If `infra_cluster` is given, the Machine must fit it too (on AWS, its load balancers must match). None means that
    the infra cluster does not exist.
    """
    platform = platform_of_infrastructure(infrastructure)
    if platform is None:
        return ConvertedToClusterAPI(errors=("error determining InfraMachine type, platform not supported",))
    return platform.to_cluster_api(machine, infrastructure, infra_cluster=infra_cluster)


def machine_set_to_cluster_api(
    machine_set: mapi.MachineSet | None,
    infrastructure: Infrastructure | None,
    *,
    infra_cluster: KubernetesObject | UnsetType | None = UNSET,
) -> ConvertedSetToClusterAPI:
    """The Cluster API MachineSet and infra template for `machine_set`; never raises.

    `infra_cluster` is that of `to_cluster_api`.
    """
    platform = platform_of_infrastructure(infrastructure)
    if platform is None:
        return ConvertedSetToClusterAPI(errors=("error determining InfraMachineTemplate type, platform not supported",))
    return cluster_api_machine_set(platform, machine_set, infrastructure, infra_cluster=infra_cluster)


def platform_of_infrastructure(infrastructure: Infrastructure | None) -> "_platforms.Platform | None":
    """The platform that `infrastructure` names; None if it names none, or one without conversions."""
    status = infrastructure.status.platform_status if infrastructure is not None else None
    return None if status is None else _platforms.PLATFORMS.get(status.type)


def _platform_of(infra: object, infra_cluster: object, kind: str) -> "_platforms.Platform | None":
    if infra is not None:
        return _platforms.platform_of_type(type(infra))
    if infra_cluster is not None:
        return _platforms.platform_of_type(type(infra_cluster))
    return _platforms.platform_of_kind(kind)


def _unexpected(what: str, expected: type, got: object) -> str:
    return f"unexpected {what} type, expected {expected.__name__}, got {type(got).__name__}"
