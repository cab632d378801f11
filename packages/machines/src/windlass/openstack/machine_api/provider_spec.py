"""Reads the provider spec of a Machine of the Machine API as the spec of a server.

    spec = instance_spec(machine, infrastructure)      # InstanceSpec, or all that is wrong with it

It goes by way of an OpenStackServer, with the fields that `windlass.openstack.provider_spec_reading` reads, as
conversion to Cluster API does. A server group that does not exist by name is created; Cluster API does not do that.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from windlass.api import capo, mapi
from windlass.api.capo_server import OpenStackServer, OpenStackServerSpec
from windlass.api.config import Infrastructure
from windlass.api.mapi_openstack import OpenstackProviderSpec, SecretReference
from windlass.api.meta import ObjectMeta
from windlass.kube import decoding
from windlass.openstack import provider_spec_reading as reading
from windlass.openstack.constants import CLUSTER_LABEL
from windlass.openstack.instance.spec import InstanceSpec, Problem
from windlass.openstack.server.spec import NO_TAG, is_tag
from windlass.openstack.server.spec import instance_spec as spec_of_server

KIND: Final = "OpenstackProviderSpec"
_PATH: Final = "spec.providerSpec.value"
_NO_GROUP: Final = capo.SecurityGroup(filter=capo.SecurityGroupFilter())


def is_ours(machine: mapi.Machine) -> bool:
    """Whether the provider spec is one of OpenStack, as far as it says."""
    value = machine.spec.provider_spec.value
    return not isinstance(value, dict) or value.get("kind", KIND) in ("", KIND)


def provider_spec(machine: mapi.Machine) -> OpenstackProviderSpec | Problem:
    """The provider spec, or why it cannot be read. A null is an absent field, as Go has it."""
    try:
        return decoding.convert(_without_nulls(machine.spec.provider_spec.value), OpenstackProviderSpec)
    except msgspec.ValidationError as error:
        return Problem("Invalid", _PATH, f"{_PATH} cannot be read: {error}")


def instance_spec(machine: mapi.Machine, infrastructure: Infrastructure | None) -> InstanceSpec | tuple[Problem, ...]:
    """The spec, or all that is wrong with it. `infrastructure` None: the cluster has no virtual addresses."""
    given = provider_spec(machine)
    if isinstance(given, Problem):
        return (given,)
    if problems := tuple(_problems(given, home=machine.metadata.namespace)):
        return problems
    cluster = reading.cluster_tag(machine, infrastructure, home=machine.metadata.namespace)
    server = OpenStackServer(
        metadata=ObjectMeta(name=machine.metadata.name, labels={CLUSTER_LABEL: cluster}),
        spec=_server_spec(given, infrastructure, cluster=cluster),
    )
    return spec_of_server(server)


def _server_spec(
    given: OpenstackProviderSpec, infrastructure: Infrastructure | None, *, cluster: str
) -> OpenStackServerSpec:
    return OpenStackServerSpec(
        image=capo.Image(filter=capo.ImageFilter(name=reading.image(given))),
        flavor=given.flavor,
        ssh_key_name=given.key_name,
        ports=reading.ports(given, reading.addresses_of(infrastructure)),
        security_groups=[reading.security_group(each) for each in given.security_groups],
        availability_zone=given.availability_zone or None,
        config_drive=given.config_drive,
        root_volume=reading.root_volume(given),
        additional_block_devices=[reading.block_device(given, each) for each in given.additional_block_devices],
        server_group=reading.server_group(given),
        server_metadata=reading.server_metadata(given),
        tags=reading.tags(given, cluster),
        trunk=given.trunk,
    )


def foreign_secret(field: str, named: SecretReference | None, *, home: str) -> Problem | None:
    """Why the Secret that a field names is not read, if it is not in `home`, the namespace of the Machine: otherwise
    Machines would lend Secrets to people who may not read them."""
    if named is None or not named.name or named.namespace in ("", home):
        return None
    said = f"is {named.namespace!r}, but a Machine may only use Secrets of its own namespace, {home!r}"
    remedy = f"copy Secret {named.namespace}/{named.name} there, and leave namespace out"
    return _wrong(f"{field}.namespace", f"{said}: {remedy}")


def _problems(given: OpenstackProviderSpec, *, home: str) -> Iterator[Problem]:
    """What is wrong whatever the cloud says."""
    for field, named in (("cloudsSecret", given.clouds_secret), ("userDataSecret", given.user_data_secret)):
        if (foreign := foreign_secret(field, named, home=home)) is not None:
            yield foreign
    if not given.flavor:
        yield _wrong("flavor", "is empty: name a flavor")
    if not reading.image(given):
        yield _wrong("image", "is empty: name an image there, or in rootVolume.sourceUUID")
    if not given.networks and not given.ports:
        yield _wrong("networks", "is empty, and so is ports: name a network")
    for at, network in enumerate(given.networks):
        if reading.network_of(network) is None and not network.subnets:
            yield _wrong(f"networks[{at}]", "names neither a network nor a subnet: set uuid, filter or subnets")
        for place, subnet in enumerate(network.subnets):
            if reading.subnet_of(subnet) is None:
                yield _wrong(f"networks[{at}].subnets[{place}]", "names no subnet: set uuid or filter")
    for at, port in enumerate(given.ports):
        if not port.network_id:
            yield _wrong(f"ports[{at}].networkID", "is empty: name a network by its ID")
    for at, group in enumerate(given.security_groups):
        if reading.security_group(group) == _NO_GROUP:
            yield _wrong(f"securityGroups[{at}]", "names no security group: set uuid, name or filter")
    for at, tag in enumerate(given.tags):
        if not is_tag(tag):
            yield _wrong(f"tags[{at}]", f"is {tag!r}, {NO_TAG}")
    for at, device in enumerate(given.additional_block_devices):
        if device.storage.type not in ("Volume", "Local"):
            field = f"additionalBlockDevices[{at}].storage.type"
            yield _wrong(field, f"is {device.storage.type!r}: set it to Volume or Local")


def _wrong(field: str, text: str) -> Problem:
    return Problem("Invalid", field, f"{_PATH}.{field} {text}")


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value
