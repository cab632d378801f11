"""The stored choices: written and read back, they are the same."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from windlass.api import capo_server
from windlass.openstack.cloud.query import Query
from windlass.openstack.instance.spec import (
    InstanceSpec,
    PortSpec,
    Resolved,
    ResolvedAddress,
    ResolvedPort,
    ResolvedVolume,
    VolumeSpec,
)
from windlass.openstack.server.resolved import from_status, to_status

SPEC = InstanceSpec(name="a", image=Query("image", id="i"), flavor=Query("flavor", id="f"))

texts = st.text("abc-", max_size=4)
names = st.text("abc-", min_size=1, max_size=4)
options = st.fixed_dictionaries(
    {},
    optional={
        "admin_state_up": st.booleans(),
        "mac_address": names,
        "binding:host_id": names,
        "binding:vnic_type": names,
        "propagate_uplink_status": st.booleans(),
        "qos_policy_id": names,
    },
)
pairs = st.fixed_dictionaries({"ip_address": names}, optional={"mac_address": names})
ports = st.builds(
    ResolvedPort,
    name=names,
    network_id=names,
    addresses=st.lists(st.builds(ResolvedAddress, texts, texts), max_size=2).map(tuple),
    groups=st.lists(names, max_size=2).map(tuple),
    description=texts,
    tags=st.lists(names, max_size=2).map(tuple),
    trunk=st.booleans(),
    port_security=st.none() | st.booleans(),
    address_pairs=st.lists(pairs, max_size=2).map(tuple),
    switchdev=st.booleans(),
    trusted=st.booleans(),
    options=options,
)
volumes = st.builds(ResolvedVolume, name=names, size=st.integers(1, 9), type=texts, zone=texts, tag=texts)


@given(
    resolved=st.builds(
        Resolved,
        image_id=names,
        flavor_id=names,
        server_group_id=texts,
        ports=st.lists(ports, min_size=1, max_size=3).map(tuple),
        volumes=st.lists(volumes, max_size=2).map(tuple),
    )
)
def test_choices_come_back_as_they_were_stored(resolved: Resolved) -> None:
    stored = msgspec.json.decode(msgspec.json.encode(to_status(resolved)), type=capo_server.ResolvedServer)
    spec = replace(SPEC, ports=tuple(PortSpec() for _ in resolved.ports))
    assert from_status(stored, spec) == resolved


def test_choices_that_are_not_complete_are_made_again() -> None:
    whole = capo_server.ResolvedServer(image_id="i", flavor_id="f", ports=[capo_server.ResolvedPort(name="a-0")])
    assert from_status(whole, SPEC) is not None
    assert from_status(None, SPEC) is None
    assert from_status(replace(whole, image_id=None), SPEC) is None
    assert from_status(replace(whole, flavor_id=None), SPEC) is None
    assert from_status(replace(whole, ports=[]), SPEC) is None
    assert from_status(whole, replace(SPEC, server_group=Query("server group", id="g"))) is None


def test_volumes_that_the_provider_did_not_store_follow_from_the_spec() -> None:
    stored = capo_server.ResolvedServer(image_id="i", flavor_id="f", ports=[capo_server.ResolvedPort(name="a-0")])
    spec = replace(
        SPEC,
        zone="az1",
        root=VolumeSpec(name="root", size=5, zone_of_server=True),
        disks=(VolumeSpec(name="etcd", size=7, zone="az2"),),
    )
    resolved = from_status(stored, spec)
    assert resolved is not None
    assert resolved.volumes == (
        ResolvedVolume(name="a-root", size=5, zone="az1"),
        ResolvedVolume(name="a-etcd", size=7, zone="az2", tag="etcd"),
    )
