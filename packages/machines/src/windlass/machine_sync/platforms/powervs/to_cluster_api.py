"""Converts a PowerVSMachineProviderConfig to an IBMPowerVSMachine."""

from typing import Final

from windlass.api import capibm, mapi, mapi_powervs
from windlass.api.config import Infrastructure
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion.field_errors import Findings, invalid_json
from windlass.machine_sync.conversion.machine_to_cluster_api import InfraMachinePart
from windlass.machine_sync.conversion.provider_spec import PATH

_FIELD_OF_TYPE: Final = {"ID": "id", "Name": "name", "RegEx": "regex"}
_NO_METADATA: Final = ObjectMeta()


def infra_machine_part(
    machine: mapi.Machine,
    config: mapi_powervs.PowerVSMachineProviderConfig,
    infrastructure: Infrastructure | None,
    infra_cluster: capibm.IBMPowerVSCluster | None,
) -> InfraMachinePart:
    """The IBMPowerVSMachine, and the PowerVS-specific fields of the Cluster API Machine."""
    found = Findings()
    secret = config.user_data_secret
    return InfraMachinePart(
        spec=_spec(machine, config, found),
        found=found,
        user_data_secret=secret.name if secret is not None else "",
    )


def _spec(
    machine: mapi.Machine, config: mapi_powervs.PowerVSMachineProviderConfig, found: Findings
) -> capibm.IBMPowerVSMachineSpec:
    # The order of these calls is the order in which errors are reported.
    service_instance = _reference("serviceInstance", config.service_instance, found)
    image = _reference("image", config.image, found)
    network = _reference("network", config.network, found)
    if config.metadata != _NO_METADATA:
        found.errors.append(invalid_json(f"{PATH}.metadata", config.metadata, "metadata is not supported"))
    if config.load_balancers:
        detail = "loadBalancers are not supported"
        found.errors.append(invalid_json(f"{PATH}.loadBalancers", config.load_balancers, detail))
    if config.credentials_secret is not None and config.credentials_secret.name:
        found.lose(f"{PATH}.credentialsSecret", config.credentials_secret)
    return capibm.IBMPowerVSMachineSpec(
        service_instance=service_instance,
        ssh_key=config.key_pair_name,
        image=image,
        system_type=config.system_type,
        processor_type=config.processor_type,
        processors=config.processors,
        memory_gib=config.memory_gib,
        network=network,
        provider_id=machine.spec.provider_id or None,
    )


def _reference(field: str, resource: mapi_powervs.PowerVSResource, found: Findings) -> capibm.PowerVSReference:
    """The ID, name or regular expression, as the resource's type says."""
    path = f"{PATH}.{field}"
    chosen = _FIELD_OF_TYPE.get(resource.type)
    if chosen is None:
        found.errors.append(invalid_json(f"{path}.type", resource.type, "unknown type"))
        return capibm.PowerVSReference()
    values = {"id": resource.id, "name": resource.name, "regex": resource.regex}
    for other, value in values.items():
        if other != chosen and value:
            found.lose(f"{path}.{other}", value)
    return capibm.PowerVSReference(**{chosen: values[chosen]})
