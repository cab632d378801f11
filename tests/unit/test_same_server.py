"""One provider spec, two ways to a server: by the Machine API's controllers, and by conversion and Cluster API's.

Both servers are the same, for drawn specs and for recorded ones, in both directions. They differ only where no field
can say the same: in the cluster's name in default descriptions of ports and, coming from Cluster API, in the two tags
that the Machine API adds to every server.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explore import examples
from windlass.api import capi, capo, capo_cluster, mapi
from windlass.api.capo_server import OpenStackServer
from windlass.api.config import Infrastructure
from windlass.api.meta import ObjectMeta
from windlass.machine_sync.conversion import (
    ConvertedToClusterAPI,
    ConvertedToMachineAPI,
    to_cluster_api,
    to_machine_api,
)
from windlass.openstack.instance.spec import InstanceSpec, Problem, VolumeSpec
from windlass.openstack.machine.server_of import server_spec
from windlass.openstack.machine_api import provider_spec
from windlass.openstack.provider_spec_reading import without_added_tags
from windlass.openstack.server.spec import instance_spec as of_server

from .machine_sync.conversion.vectors import TO_CLUSTER_API, TO_MACHINE_API, decode, row_id, rows

Tree = dict[str, Any]
VIRTUAL = {"apiServerInternalIPs": ["10.0.0.5"], "ingressIPs": ["10.0.0.7"]}
CLUSTERS = [VIRTUAL, {}, {**VIRTUAL, "loadBalancer": {"type": "UserManaged"}}]
CREDENTIALS = capo.IdentityReference(type="Secret", name="credentials", cloud_name="openstack")
LABELS = {"machine.openshift.io/cluster-api-cluster": "shop-x7"}


def infrastructure(openstack: Tree) -> Infrastructure:
    platform = {"type": "OpenStack", "openstack": openstack}
    return msgspec.convert({"status": {"infrastructureName": "shop-x7", "platformStatus": platform}}, Infrastructure)


def machine(value: Tree) -> mapi.Machine:
    meta = ObjectMeta(name="w-0", namespace="openshift-machine-api", labels=LABELS)
    return mapi.Machine(metadata=meta, spec=mapi.MachineSpec(provider_spec=mapi.ProviderSpec(value=value)))


def by_machine_api(found: mapi.Machine, cluster: Infrastructure) -> InstanceSpec | tuple[Problem, ...]:
    """The server that the Machine API's controllers make."""
    tree = msgspec.to_builtins(found.spec.provider_spec.value)
    spec = replace(found.spec, provider_spec=mapi.ProviderSpec(value=tree))
    return provider_spec.instance_spec(replace(found, spec=spec), cluster)


def by_cluster_api(owner: capi.Machine, found: capo.OpenStackMachine) -> InstanceSpec | tuple[Problem, ...]:
    """The server that the controllers of OpenStackMachines and OpenStackServers make."""
    with_identity = replace(found.spec, identity_ref=found.spec.identity_ref or CREDENTIALS)
    spec = server_spec(replace(found, spec=with_identity), owner=owner, infra=None, control_plane=False)
    if isinstance(spec, Problem):
        return (spec,)
    return of_server(OpenStackServer(metadata=ObjectMeta(name="w-0"), spec=spec))


def what_is_made(spec: InstanceSpec | tuple[Problem, ...]) -> InstanceSpec:
    """The spec without the ways in which the same server can be said."""
    assert isinstance(spec, InstanceSpec), spec
    ports = tuple(
        replace(port, groups=() if port.port_security is False else tuple(dict.fromkeys(port.groups or spec.groups)))
        for port in spec.ports
    )
    disks = tuple(placed(disk, spec) if isinstance(disk, VolumeSpec) else disk for disk in spec.disks)
    root = placed(spec.root, spec) if spec.root is not None else None
    return replace(spec, ports=ports, groups=(), disks=disks, root=root, cluster="")


def placed(volume: VolumeSpec, spec: InstanceSpec) -> VolumeSpec:
    return replace(volume, zone_of_server=False, zone=spec.zone if volume.zone_of_server else volume.zone)


def same_server_in_cluster_api(found: mapi.Machine, cluster: Infrastructure) -> bool:
    """Asserts it; False if the Machine API refuses the spec, or if conversion says that the groups differ."""
    here = by_machine_api(found, cluster)
    there = to_cluster_api(found, cluster)
    if not isinstance(here, InstanceSpec) or there.machine is None or there.infra_machine is None:
        return False
    assert isinstance(there.infra_machine, capo.OpenStackMachine)
    if any(".securityGroups: " in loss for loss in there.losses):
        return False
    assert what_is_made(by_cluster_api(there.machine, there.infra_machine)) == what_is_made(here)
    return True


def same_server_in_machine_api(owner: capi.Machine, found: capo.OpenStackMachine, cluster: Infrastructure) -> bool:
    """Asserts it; False if Cluster API refuses the spec, or if conversion says that something is lost."""
    there = by_cluster_api(owner, found)
    converted = to_machine_api(owner, found, capo_cluster.OpenStackCluster(), infrastructure=cluster)
    if not isinstance(there, InstanceSpec) or converted.machine is None or lost(converted):
        return False
    meta = replace(converted.machine.metadata, name="w-0", namespace="openshift-machine-api", labels=LABELS)
    here = what_is_made(by_machine_api(replace(converted.machine, metadata=meta), cluster))
    assert replace(here, tags=()) == replace(what_is_made(there), tags=())
    assert without_added_tags([*here.tags]) == [tag for tag in there.tags if tag not in here.tags[-2:]]
    return True


def lost(converted: ConvertedToClusterAPI | ConvertedToMachineAPI) -> bool:
    """Whether conversion said that the server differs; credentials are no part of the server."""
    return any(not text.startswith("spec.identityRef") for text in converted.remarks)


# Provider specs

NAMES = st.sampled_from(["a", "b"])
IDS = st.sampled_from([f"{digit}" * 8 + "-1111-1111-1111-111111111111" for digit in "123"])
SWITCH = st.none() | st.booleans()
TAG_LISTS = st.lists(NAMES, max_size=2, unique=True)


def fields(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Tree]:
    return st.fixed_dictionaries({}, optional=optional)


FILTERS = fields(id=IDS, name=NAMES, projectId=NAMES, tenantId=NAMES, tags=st.sampled_from(["x", "x,y", ""]))
NAMED_FILTERS = st.builds(lambda each, rest: {**rest, "name": each}, NAMES, FILTERS)
PROFILES = fields(
    capabilities=st.sampled_from(["switchdev", '["switchdev"]', ""]), trusted=st.sampled_from(["true", "false"])
)
SUBNETS = st.fixed_dictionaries(
    {"filter": NAMED_FILTERS}, optional={"uuid": IDS, "portTags": TAG_LISTS, "portSecurity": SWITCH}
)
OPTIONS = {
    "noAllowedAddressPairs": st.booleans(),
    "portTags": TAG_LISTS,
    "vnicType": st.sampled_from(["", "direct"]),
    "profile": PROFILES,
    "portSecurity": SWITCH,
}
NETWORKS = st.fixed_dictionaries(
    {"filter": NAMED_FILTERS}, optional={**OPTIONS, "uuid": IDS, "subnets": st.lists(SUBNETS, max_size=2)}
) | st.fixed_dictionaries({"subnets": st.lists(SUBNETS, min_size=1, max_size=2)}, optional=OPTIONS)
PAIRS = st.lists(
    st.sampled_from([{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.9.9.9", "macAddress": "fa:16"}]), max_size=2
)
MACHINE_API_PORTS = st.fixed_dictionaries(
    {"networkID": IDS},
    optional={
        "nameSuffix": NAMES,
        "fixedIPs": st.lists(fields(subnetID=IDS, ipAddress=st.just("10.0.0.9")), max_size=2),
        "securityGroups": st.lists(IDS, max_size=2),
        "allowedAddressPairs": PAIRS,
        "tags": TAG_LISTS,
        "profile": PROFILES,
        "portSecurity": SWITCH,
        "trunk": SWITCH,
    },
)
ZONES = st.sampled_from(["", "zone-a"])
MACHINE_API_DISKS = st.sampled_from(
    [
        {"name": "etcd", "sizeGiB": 10, "storage": {"type": "Volume", "volume": {"type": "ssd"}}},
        {"name": "etcd", "sizeGiB": 10, "storage": {"type": "Volume", "volume": {"availabilityZone": "zone-c"}}},
        {"name": "scratch", "sizeGiB": 5, "storage": {"type": "Local"}},
    ]
)
PROVIDER_SPECS = st.fixed_dictionaries(
    {
        "flavor": st.just("m1"),
        "image": NAMES,
        "networks": st.lists(NETWORKS, min_size=1, max_size=2),
        "cloudName": st.just("openstack"),
        "cloudsSecret": st.just({"name": "credentials"}),
    },
    optional={
        "ports": st.lists(MACHINE_API_PORTS, max_size=2),
        "availabilityZone": ZONES,
        "securityGroups": st.lists(
            st.fixed_dictionaries({"name": NAMES}, optional={"uuid": IDS, "filter": FILTERS}), max_size=2
        ),
        "trunk": st.booleans(),
        "tags": st.lists(st.sampled_from(["a", "b", "cluster-api-provider-openstack"]), max_size=2),
        "serverMetadata": st.just({"b": "2", "a": "1"}),
        "configDrive": SWITCH,
        "rootVolume": fields(
            diskSize=st.sampled_from([0, 9]), sourceUUID=NAMES, volumeType=NAMES, availabilityZone=ZONES
        ),
        "additionalBlockDevices": st.lists(MACHINE_API_DISKS, max_size=2),
        "serverGroupID": IDS,
        "serverGroupName": NAMES,
    },
)


@given(value=PROVIDER_SPECS, openstack=st.sampled_from(CLUSTERS))
@examples(200)
def test_a_drawn_provider_spec_asks_for_the_same_server_in_both_apis(value: Tree, openstack: Tree) -> None:
    same_server_in_cluster_api(machine(value), infrastructure(openstack))


INSTALLERS: Tree = {
    "flavor": "m1",
    "cloudName": "openstack",
    "cloudsSecret": {"name": "credentials"},
    "networks": [{"filter": {}, "subnets": [{"filter": {"name": "nodes", "tags": "openshiftClusterID=shop-x7"}}]}],
    "securityGroups": [{"filter": {}, "name": "worker"}],
    "serverMetadata": {"Name": "worker", "openshiftClusterID": "shop-x7"},
    "tags": ["openshiftClusterID=shop-x7"],
    "trunk": True,
}
ID = "11111111-1111-1111-1111-111111111111"
OF_USERS = {
    "a worker of the installer": {"image": "rhcos"},
    "with a root volume: the image is in sourceUUID": {"rootVolume": {"diskSize": 100, "sourceUUID": "rhcos"}},
    "both images": {"image": "old", "rootVolume": {"diskSize": 100, "sourceUUID": "rhcos"}},
    "a root volume without a zone": {"image": "i", "availabilityZone": "a", "rootVolume": {"diskSize": 100}},
    "a data disk without a zone": {
        "image": "i",
        "availabilityZone": "a",
        "additionalBlockDevices": [{"name": "d", "sizeGiB": 1, "storage": {"type": "Volume", "volume": {}}}],
    },
    "a security group by the ID in a filter": {"image": "i", "securityGroups": [{"filter": {"id": ID}}]},
    "port security of a network": {"image": "i", "networks": [{"uuid": ID, "portSecurity": True}]},
    "an interface with SR-IOV beside a network": {
        "image": "i",
        "ports": [{"networkID": ID, "vnicType": "direct", "portSecurity": False, "trunk": False}],
    },
    "a server group": {"image": "i", "serverGroupName": "worker"},
}


@pytest.mark.parametrize("more", OF_USERS.values(), ids=list(OF_USERS))
@pytest.mark.parametrize("openstack", CLUSTERS, ids=["its addresses", "none", "of a user's load balancer"])
def test_what_users_write_asks_for_the_same_server_in_both_apis_and_comes_back(more: Tree, openstack: Tree) -> None:
    cluster = infrastructure(openstack)
    found = machine({**INSTALLERS, **more})
    assert same_server_in_cluster_api(found, cluster)
    there = to_cluster_api(found, cluster)
    assert there.machine is not None
    assert isinstance(there.infra_machine, capo.OpenStackMachine)
    assert same_server_in_machine_api(there.machine, there.infra_machine, cluster)


IN_ANOTHER_CASE = "openstack-mapi2capi-t-providerspec-case-insensitive-key"
"""Conversion alone reads keys in another case, as Go does."""
RECORDED = [
    row
    for row in (*rows(TO_CLUSTER_API, "Machine"), *rows(TO_MACHINE_API, "Machine"))
    if row["provider"] == "openstack" and not row.get("panic") and row_id(row) != IN_ANOTHER_CASE
]


def test_recorded_specs_ask_for_the_same_server_in_both_apis() -> None:
    compared = {TO_CLUSTER_API: 0, TO_MACHINE_API: 0}
    for row in RECORDED:
        there, cluster = row["input"], infrastructure(VIRTUAL)
        try:
            if row["direction"] == TO_CLUSTER_API:
                value = there["machine"]["spec"]["providerSpec"].get("value")
                same = same_server_in_cluster_api(machine(value), cluster)
            else:
                infra = decode(capo.OpenStackMachine, there["infraMachine"])
                same = same_server_in_machine_api(decode(capi.Machine, there["machine"]), infra, cluster)
        except AssertionError as error:
            raise AssertionError(row_id(row)) from error
        compared[row["direction"]] += same
    assert min(compared.values()) >= 10, compared


# OpenStackMachines

TARGETS = st.builds(lambda each: {"id": each}, IDS) | st.builds(lambda each: {"filter": {"name": each}}, NAMES)
FIXED = st.fixed_dictionaries({"subnet": TARGETS}, optional={"ipAddress": st.just("10.0.0.9")})
VIRTUAL_PAIRS = [{"ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.7"}]
CLUSTER_API_PORTS = st.fixed_dictionaries(
    {"network": TARGETS},
    optional={
        "fixedIPs": st.lists(FIXED, max_size=2),
        "nameSuffix": NAMES,
        "tags": TAG_LISTS,
        "securityGroups": st.lists(TARGETS, max_size=1),
        "allowedAddressPairs": st.sampled_from([None, VIRTUAL_PAIRS, [{"ipAddress": "10.9.9.9"}], []]),
        "vnicType": st.just("direct"),
        "profile": fields(ovsHWOffload=st.booleans(), trustedVF=st.booleans()),
        "disablePortSecurity": SWITCH,
        "trunk": SWITCH,
    },
)
VOLUME_ZONES = st.sampled_from([None, {"from": "Machine"}, {"from": "Name", "name": "zone-c"}])
CLUSTER_API_SPECS = st.fixed_dictionaries(
    {"flavor": st.just("m1"), "image": st.just({"filter": {"name": "rhcos"}})},
    optional={
        "ports": st.lists(CLUSTER_API_PORTS, min_size=1, max_size=3),
        "securityGroups": st.lists(TARGETS, max_size=2),
        "tags": TAG_LISTS,
        "trunk": st.booleans(),
        "configDrive": SWITCH,
        "rootVolume": st.fixed_dictionaries({"sizeGiB": st.just(9)}, optional={"availabilityZone": VOLUME_ZONES}),
        "serverGroup": TARGETS,
    },
)


@given(spec=CLUSTER_API_SPECS, zone=ZONES, openstack=st.sampled_from(CLUSTERS))
@examples(200)
def test_a_drawn_infra_machine_is_the_same_server_in_the_machine_api(spec: Tree, zone: str, openstack: Tree) -> None:
    found = decode(capo.OpenStackMachine, {"metadata": {"name": "w-0"}, "spec": spec})
    owner = capi.Machine(spec=capi.MachineSpec(cluster_name="shop-x7", failure_domain=zone))
    same_server_in_machine_api(owner, found, infrastructure(openstack))
