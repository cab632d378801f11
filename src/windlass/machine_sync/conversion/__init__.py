"""Machines converted from Cluster API to the Machine API: pure functions, for controllers and notebooks alike.

A Machine of Cluster API is two objects, the Machine and the infrastructure machine of its platform, in a cluster that
is two objects again. In the Machine API it is one Machine that holds the platform's part as a provider spec. Conversion
takes the Machine, its infrastructure machine and the infrastructure cluster, and gives the Machine API's Machine:

>>> from windlass.api import capi, capo
>>> from windlass.api.meta import ObjectMeta
>>> machine = capi.Machine(metadata=ObjectMeta(name="worker-0"), spec=capi.MachineSpec(failure_domain="az1"))
>>> image = capo.Image(filter=capo.ImageFilter(name="rhcos"))
>>> infra = capo.OpenStackMachine(spec=capo.OpenStackMachineSpec(flavor="m1.large", image=image))
>>> converted = to_machine_api(machine, infra, capo.OpenStackCluster())
>>> converted.machine.metadata.labels
{'machine.openshift.io/instance-type': 'm1.large', 'machine.openshift.io/zone': 'az1'}

What the Machine API cannot express is an error, and then there is no machine; all errors are reported, in the order of
the fields. What it loses without harm is a warning:

>>> drain = capi.MachineSpec(deletion=capi.MachineDeletion(node_drain_timeout_seconds=300))
>>> to_machine_api(capi.Machine(spec=drain), infra, capo.OpenStackCluster()).error
'spec.deletion.nodeDrainTimeoutSeconds: Invalid value: 300: nodeDrainTimeoutSeconds is not supported'

Results and texts are those of OpenShift's cluster-capi-operator, to the letter, so that conditions read the same
whoever writes them. Where its result depends on the order of a map, ours does not: hooks are sorted by name, and of
several roles the one with the smallest label key is taken. Where it crashes (a volume without an availability zone),
ours has none.

| module | holds |
|---|---|
| `field_errors` | what is wrong with a field, as a value with the text of Kubernetes' `field.Error` |
| `gojson` | strings and JSON as Go prints them |
| `machine` | the part of the conversion that all platforms share |

What a platform contributes is in its folder of `windlass.machine_sync.platforms`.
"""

# `platforms` imports submodules of this package: imported as a module, not for its names, either can be the first.
import windlass.machine_sync.platforms as _platforms
from windlass.api import capa, capi, capibm, capo
from windlass.machine_sync.conversion.field_errors import aggregate
from windlass.machine_sync.conversion.machine import Converted

InfraMachine = capa.AWSMachine | capo.OpenStackMachine | capibm.IBMPowerVSMachine
InfraCluster = capa.AWSCluster | capo.OpenStackCluster | capibm.IBMPowerVSCluster

__all__ = ["Converted", "InfraCluster", "InfraMachine", "aggregate", "to_machine_api"]


def to_machine_api(
    machine: capi.Machine | None, infra_machine: InfraMachine | None, infra_cluster: InfraCluster | None
) -> Converted:
    """The Machine API Machine for `machine`; never raises.

    The platform is that of the infrastructure machine, else of the cluster, else what the Machine refers to. If any of
    the three is None there is one error, which says so.
    """
    platform = None
    if infra_machine is not None:
        platform = _platforms.platform_of_type(type(infra_machine))
    elif infra_cluster is not None:
        platform = _platforms.platform_of_type(type(infra_cluster))
    elif machine is not None:
        platform = _platforms.platform_of_kind(machine.spec.infrastructure_ref.kind)
    if platform is None:
        return Converted(errors=("error determining InfraMachine type, platform not supported",))
    if infra_machine is not None and not isinstance(infra_machine, platform.infra_machine):
        return _unexpected("InfraMachine", platform.infra_machine, infra_machine)
    if infra_cluster is not None and not isinstance(infra_cluster, platform.infra_cluster):
        return _unexpected("InfraCluster", platform.infra_cluster, infra_cluster)
    return platform.to_machine_api(machine, infra_machine, infra_cluster)


def _unexpected(what: str, expected: type, got: object) -> Converted:
    return Converted(errors=(f"unexpected {what} type, expected {expected.__name__}, got {type(got).__name__}",))
