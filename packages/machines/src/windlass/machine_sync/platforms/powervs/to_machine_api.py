"""Converts an IBMPowerVSMachine and its IBMPowerVSCluster to a PowerVSMachineProviderConfig."""

from typing import Final

from windlass.api import capi, capibm, mapi_powervs
from windlass.api.config import Infrastructure
from windlass.api.meta import LocalReference, ObjectMeta
from windlass.machine_sync.conversion.field_errors import FieldError, Findings, invalid_json
from windlass.machine_sync.conversion.machine_to_machine_api import ProviderPart
from windlass.machine_sync.conversion.metadata import INSTANCE_TYPE_LABEL, REGION_LABEL, ZONE_LABEL
from windlass.machine_sync.platforms.powervs.losses import find_losses

_NO_METADATA: Final = ObjectMeta()
_NO_RESOURCE: Final = mapi_powervs.PowerVSResource()


def provider_part(
    machine: capi.Machine,
    infra_machine: capibm.IBMPowerVSMachine,
    infra_cluster: capibm.IBMPowerVSCluster,
    infrastructure: Infrastructure | None,
) -> ProviderPart:
    """The PowerVS-specific part of the Machine API Machine. The cluster must exist, but is not read."""
    spec, status, found = infra_machine.spec, infra_machine.status, Findings()
    find_losses(spec, found)
    return ProviderPart(
        spec=_provider_spec(machine.spec, spec, found.errors),
        labels=(
            (INSTANCE_TYPE_LABEL, spec.system_type),
            (REGION_LABEL, status.region or ""),
            (ZONE_LABEL, machine.spec.failure_domain),
        ),
        instance_state=status.instance_state,
        found=found,
    )


def _provider_spec(
    machine: capi.MachineSpec, spec: capibm.IBMPowerVSMachineSpec, errors: list[FieldError]
) -> mapi_powervs.PowerVSMachineProviderConfig:
    # The order of these calls is the order in which errors are reported.
    service_instance = _service_instance(spec, errors)
    image = _image(spec, errors)
    network = _resource(spec.network)
    if network is None:
        errors.append(invalid_json("spec.network", spec.network, "unable to convert network to MAPI"))
    user_data = machine.bootstrap.data_secret_name
    return mapi_powervs.PowerVSMachineProviderConfig(
        kind="PowerVSMachineProviderConfig",
        api_version="machine.openshift.io/v1",
        metadata=_NO_METADATA,
        user_data_secret=LocalReference(name=user_data) if user_data else None,
        service_instance=service_instance,
        image=image,
        network=network or _NO_RESOURCE,
        key_pair_name=spec.ssh_key,
        system_type=spec.system_type,
        processor_type=spec.processor_type,
        processors=spec.processors,
        memory_gib=spec.memory_gib,
    )


def _service_instance(spec: capibm.IBMPowerVSMachineSpec, errors: list[FieldError]) -> mapi_powervs.PowerVSResource:
    """The deprecated serviceInstanceID wins over serviceInstance."""
    if spec.service_instance_id:
        return mapi_powervs.PowerVSResource(type="ID", id=spec.service_instance_id)
    if spec.service_instance is None:
        detail = "unable to convert service instance, service instance is nil"
        errors.append(invalid_json("spec.serviceInstance", None, detail))
        return _NO_RESOURCE
    resource = _resource(spec.service_instance)
    if resource is None:
        detail = "unable to convert service instance to MAPI"
        errors.append(invalid_json("spec.serviceInstance", spec.service_instance, detail))
    return resource or _NO_RESOURCE


def _image(spec: capibm.IBMPowerVSMachineSpec, errors: list[FieldError]) -> mapi_powervs.PowerVSResource:
    """An image wins over an imageRef, which becomes an image by name."""
    if spec.image is None and spec.image_ref is not None:
        return mapi_powervs.PowerVSResource(type="Name", name=spec.image_ref.name)
    if spec.image is None:
        errors.append(invalid_json("spec.image", None, "unable to convert image, image and imageref is nil"))
        return _NO_RESOURCE
    resource = _resource(spec.image)
    if resource is None:
        detail = "unable to convert image, image id, name and regex all are nil"
        errors.append(invalid_json("spec.image", spec.image, detail))
    return resource or _NO_RESOURCE


def _resource(reference: capibm.PowerVSReference) -> mapi_powervs.PowerVSResource | None:
    """The first of ID, name and regular expression that is given; None if none is."""
    if reference.id is not None:
        return mapi_powervs.PowerVSResource(type="ID", id=reference.id)
    if reference.name is not None:
        return mapi_powervs.PowerVSResource(type="Name", name=reference.name)
    if reference.regex is not None:
        return mapi_powervs.PowerVSResource(type="RegEx", regex=reference.regex)
    return None
