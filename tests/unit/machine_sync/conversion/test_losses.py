"""What infrastructure machines can say and the Machine API has no place for: warnings of conversion."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from windlass.api import capa, capibm, capo
from windlass.api.meta import LocalReference
from windlass.machine_sync.conversion.field_errors import Findings
from windlass.machine_sync.platforms.aws import losses as aws
from windlass.machine_sync.platforms.openstack import losses as openstack
from windlass.machine_sync.platforms.powervs import losses as powervs
from windlass.openstack.provider_spec_reading import Addresses


def lost(find_losses: Callable[[Any, Findings], None], spec: Any) -> list[str]:
    found = Findings()
    find_losses(spec, found)
    assert all(
        re.search(" has no equivalent in the Machine API and (is dropped$|becomes )", loss.detail)
        for loss in found.losses
    )
    return [loss.path.removeprefix("spec.") for loss in found.losses]


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({}, []),
        ({"ignition": capa.Ignition(storage_type="UnencryptedUserData")}, []),
        (
            {"private_dns_name": capa.PrivateDNSName(hostname_type="resource-name"), "assign_primary_ipv6": "enabled"},
            ["privateDnsName", "assignPrimaryIPv6"],
        ),
        ({"host_id": "h-01234567"}, ["hostID"]),
        ({"host_id": "h-01234567", "host_affinity": "default"}, []),
        ({"root_volume": capa.Volume(device_name="/dev/xvda", size=120)}, ["rootVolume.deviceName"]),
        ({"root_volume": capa.Volume(size=120), "non_root_volumes": [capa.Volume(device_name="/dev/sdb")]}, []),
        ({"non_root_volumes": [capa.Volume(size=120)]}, ["nonRootVolumes[0]"]),
        ({"instance_id": "i-1", "provider_id": "aws:///z/i-1"}, []),
        ({"cpu_options": capa.CPUOptions(confidential_compute="Disabled")}, []),
        ({"cpu_options": capa.CPUOptions(confidential_compute="odd")}, ["cpuOptions.confidentialCompute"]),
        ({"cpu_options": capa.CPUOptions(nested_virtualization="Enabled")}, ["cpuOptions.nestedVirtualization"]),
        ({"elastic_ip_pool": capa.ElasticIPPool()}, ["elasticIpPool"]),
        ({"capacity_reservation_preference": "Open"}, ["capacityReservationPreference"]),
        (
            {"ignition": capa.Ignition(version="3.4", storage_type="ClusterObjectStore")},
            ["ignition.version", "ignition.storageType"],
        ),
    ],
    ids=str,
)
def test_on_aws(fields: dict[str, Any], paths: list[str]) -> None:
    assert lost(aws.find_losses, capa.AWSMachineSpec(**fields)) == paths


ZONE = capo.VolumeAvailabilityZone(from_="Machine")


def device(kind: str, zone: capo.VolumeAvailabilityZone | None) -> dict[str, Any]:
    volume = capo.BlockDeviceVolume(type="t", availability_zone=zone)
    return {
        "additional_block_devices": [
            capo.AdditionalBlockDevice(storage=capo.BlockDeviceStorage(type=kind, volume=volume))
        ]
    }


def port(**fields: Any) -> dict[str, Any]:
    """A port of a network by filter, which becomes one of `networks`."""
    return {"ports": [capo.Port(network=capo.Network(filter=capo.NetworkFilter()), **fields)]}


def port_by_id(**fields: Any) -> dict[str, Any]:
    return {"ports": [capo.Port(network=capo.Network(id="n"), **fields)]}


FILTERED = capo.Subnet(id="s", filter=capo.SubnetFilter(cidr="c"))


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({}, []),
        ({"provider_id": "openstack:///1"}, []),
        ({"identity_ref": capo.IdentityReference(name="s", cloud_name="c")}, []),
        ({"identity_ref": capo.IdentityReference(type="Secret", name="s", cloud_name="c")}, []),
        (
            {"identity_ref": capo.IdentityReference(type="ClusterIdentity", name="s", cloud_name="c")},
            ["identityRef.type"],
        ),
        ({"server_group": capo.ServerGroup(id="g")}, []),
        (
            {"server_group": capo.ServerGroup(id="g", filter=capo.ServerGroupFilter(name="n"))},
            ["serverGroup.filter"],
        ),
        ({"identity_ref": capo.IdentityReference(name="s", region="r")}, ["identityRef.region"]),
        ({"identity_ref": capo.IdentityReference(cloud_name="c")}, ["identityRef.cloudName"]),
        ({"floating_ip_pool_ref": capo.TypedReference()}, ["floatingIPPoolRef"]),
        ({"scheduler_hint_additional_properties": [capo.SchedulerHint()]}, ["schedulerHintAdditionalProperties"]),
        ({"root_volume": capo.RootVolume(availability_zone=ZONE)}, []),
        (device("Local", None), ["additionalBlockDevices[0].storage.volume"]),
        (device("Volume", None), []),
        (device("Volume", ZONE), []),
        (port(), []),
        (port(description="d", name_suffix="s"), ["ports[0].description", "ports[0].nameSuffix"]),
        (port(trunk=False, admin_state_up=True), ["ports[0].trunk", "ports[0].adminStateUp"]),
        (port(allowed_address_pairs=[]), []),
        (port(allowed_address_pairs=[capo.AddressPair()]), ["ports[0].allowedAddressPairs"]),
        (port(fixed_ips=[capo.FixedIP(), capo.FixedIP(ip_address="i")]), ["ports[0].fixedIPs[1].ipAddress"]),
        (port(host_id="h", value_specs=[capo.ValueSpec()]), ["ports[0].hostID", "ports[0].valueSpecs"]),
        (port_by_id(description="d", trunk=True, fixed_ips=[capo.FixedIP(ip_address="i")]), []),
        (
            {"ports": [capo.Port(network=capo.Network(id="n", filter=capo.NetworkFilter(name="m")))]},
            ["ports[0].network.filter"],
        ),
        (port_by_id(allowed_address_pairs=[capo.AddressPair()]), []),
        (port_by_id(allowed_address_pairs=[]), ["ports[0].allowedAddressPairs"]),
        (port_by_id(fixed_ips=[capo.FixedIP(subnet=FILTERED)]), ["ports[0].fixedIPs[0].subnet.filter"]),
    ],
    ids=str,
)
def test_on_openstack(fields: dict[str, Any], paths: list[str]) -> None:
    assert lost(openstack.find_losses, capo.OpenStackMachineSpec(**fields)) == paths


VIRTUAL = Addresses(("10.0.0.5", "10.0.0.7"))
PAIRS = [capo.AddressPair(ip_address=each) for each in VIRTUAL.virtual]
OTHERS = [capo.AddressPair(ip_address="10.9.9.9")]
BY_NAME = capo.Port(network=capo.Network(filter=capo.NetworkFilter(name="n")))


@pytest.mark.parametrize(
    ("fields", "cluster", "told"),
    [
        pytest.param(port(allowed_address_pairs=PAIRS), VIRTUAL, {}, id="virtual addresses"),
        pytest.param(
            port(allowed_address_pairs=PAIRS),
            None,
            {"ports[0].allowedAddressPairs": "add the Infrastructure"},
            id="not known",
        ),
        pytest.param(
            port(allowed_address_pairs=OTHERS), VIRTUAL, {"ports[0].allowedAddressPairs": "is dropped"}, id="others"
        ),
        pytest.param(port_by_id(allowed_address_pairs=OTHERS), VIRTUAL, {}, id="others of a port by ID"),
        pytest.param(
            port_by_id(allowed_address_pairs=OTHERS),
            Addresses(alone=True),
            {"ports[0].allowedAddressPairs": "a load balancer of the user has the virtual addresses"},
            id="a user's load balancer",
        ),
        pytest.param({"ports": [*port_by_id()["ports"], BY_NAME]}, VIRTUAL, {}, id="a port that can be a network"),
        pytest.param(
            {"ports": [*port_by_id(trunk=False)["ports"], BY_NAME]},
            VIRTUAL,
            {"ports[0]": "only a port by ID can have"},
            id="the order of interfaces",
        ),
        pytest.param(
            {
                **port_by_id(security_groups=[capo.SecurityGroup(id="p")]),
                "security_groups": [capo.SecurityGroup(id="m")],
            },
            VIRTUAL,
            {"ports[0].securityGroups": "name those of spec.securityGroups here too"},
            id="security groups of the machine",
        ),
        pytest.param(
            {"root_volume": capo.RootVolume()},
            VIRTUAL,
            {"rootVolume.availabilityZone": "leave failureDomain of the Machine empty"},
            id="a root volume without a zone",
        ),
        pytest.param({"root_volume": capo.RootVolume(availability_zone=ZONE)}, VIRTUAL, {}, id="in that of the server"),
        pytest.param(
            device("Volume", None),
            VIRTUAL,
            {"additionalBlockDevices[0].storage.volume.availabilityZone": "leave failureDomain of the Machine empty"},
            id="a volume without a zone",
        ),
    ],
)
def test_on_openstack_what_would_be_another_server_is_told_with_the_remedy(
    fields: dict[str, Any], cluster: Addresses | None, told: dict[str, str]
) -> None:
    found = Findings()
    openstack.find_losses(capo.OpenStackMachineSpec(**fields), found, zone="z", cluster=cluster)
    assert [loss.path.removeprefix("spec.") for loss in found.losses] == [*told]
    assert all(loss.detail.endswith(remedy) for loss, remedy in zip(found.losses, told.values(), strict=True))


def test_on_powervs() -> None:
    reference = capibm.PowerVSReference(id="i")
    assert lost(powervs.find_losses, capibm.IBMPowerVSMachineSpec(service_instance=reference, image=reference)) == []
    both = capibm.IBMPowerVSMachineSpec(
        service_instance_id="i", service_instance=reference, image=reference, image_ref=LocalReference(name="r")
    )
    assert lost(powervs.find_losses, both) == ["serviceInstance", "imageRef"]


def test_credentials_that_become_others_are_told_what_they_become() -> None:
    found = Findings()
    identity = capo.IdentityReference(type="ClusterIdentity", name="shared", cloud_name="c")
    openstack.find_losses(capo.OpenStackMachineSpec(identity_ref=identity), found)
    assert list(map(str, found.losses)) == [
        'spec.identityRef.type: Invalid value: "ClusterIdentity": type has no equivalent in the Machine API and '
        "becomes Secret: by this name it refers to other credentials, or to none"
    ]


@pytest.mark.parametrize(
    ("reference", "lost_fields"),
    [
        (capibm.PowerVSReference(id="i", name="n", regex="r"), ["name", "regex"]),
        (capibm.PowerVSReference(name="n", regex="r"), ["regex"]),
        (capibm.PowerVSReference(regex="r"), []),
    ],
    ids=str,
)
def test_on_powervs_a_reference_counts_by_the_first_of_its_fields(
    reference: capibm.PowerVSReference, lost_fields: list[str]
) -> None:
    spec = capibm.IBMPowerVSMachineSpec(service_instance=reference, image=reference, network=reference)
    assert lost(powervs.find_losses, spec) == [
        f"{field}.{one}" for field in ("serviceInstance", "image", "network") for one in lost_fields
    ]
