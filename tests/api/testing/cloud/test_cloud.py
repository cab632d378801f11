"""The shared cloud: services that answer as OpenStack's do, and what tests of providers rely on."""

import pytest
from openstack.exceptions import BadRequestException, ConflictException, ForbiddenException

from tests.api.testing.cloud.conftest import Boot
from tests.waiting import wait_until
from windlass.testing.cloud import CloudAccess, Project, clouds

pytestmark = pytest.mark.sampled


def test_a_server_boots_on_a_port_and_the_port_follows_it(project: Project, boot: Boot) -> None:
    network = project.sdk.network
    port = network.create_port(
        network_id=project.network_id,
        fixed_ips=[{"ip_address": "10.6.1.20"}],
        allowed_address_pairs=[{"ip_address": "10.6.255.254"}],
    )
    assert port.status == "DOWN"
    server = boot(networks=[{"port": port.id}], availability_zone="az2", metadata={"owner": "test"}, tags=["test"])
    assert server.availability_zone == "az2"
    [addresses] = server.addresses.values()
    assert [address["addr"] for address in addresses] == ["10.6.1.20"]
    bound = network.get_port(port.id)
    assert (bound.status, bound.device_id) == ("ACTIVE", server.id)

    project.sdk.compute.delete_server(server.id)
    wait_until("the server is gone", lambda: project.sdk.compute.find_server(server.id) is None)
    kept = network.get_port(port.id)
    assert (kept.status, kept.device_id) == ("DOWN", "")
    network.delete_port(port.id)


def test_tags_in_the_post_of_a_port_are_kept(project: Project) -> None:
    network = project.sdk.network
    port = network.create_port(network_id=project.network_id, tags=["mark", "cluster"], description="made by us")
    [found] = network.ports(tags="mark")
    assert found.id == port.id
    assert sorted(found.tags) == ["cluster", "mark"]
    assert found.description == "made by us"
    network.set_tags(found, ["mark"])
    assert network.get_port(port.id).tags == ["mark"]
    network.delete_port(port.id)


def test_a_trunk_is_active_with_its_subports(project: Project, boot: Boot) -> None:
    network = project.sdk.network
    parent = network.create_port(network_id=project.network_id)
    child = network.create_port(network_id=project.network_id)
    trunk = network.create_trunk(
        port_id=parent.id, sub_ports=[{"port_id": child.id, "segmentation_type": "vlan", "segmentation_id": 101}]
    )
    assert network.get_trunk(trunk.id).status == "ACTIVE"
    boot(networks=[{"port": parent.id}])
    found = network.get_port(parent.id)
    assert (found.status, [sub["port_id"] for sub in found.trunk_details["sub_ports"]]) == ("ACTIVE", [child.id])
    project.may_leave()


def test_a_server_boots_from_a_volume_and_has_others(project: Project, boot: Boot) -> None:
    storage = project.sdk.block_storage
    image = project.sdk.image.find_image("cirros", ignore_missing=False)
    volume = {"destination_type": "volume", "delete_on_termination": True}
    server = boot(
        image_id="",
        block_device_mapping_v2=[
            {"boot_index": 0, "source_type": "image", "uuid": image.id, "volume_size": 3, **volume},
            {"boot_index": -1, "source_type": "blank", "volume_size": 2, "tag": "etcd", **volume},
        ],
    )
    assert sorted(found.size for found in storage.volumes()) == [2, 3]
    extra = storage.create_volume(size=1)
    wait_until("the volume is available", lambda: storage.get_volume(extra.id).status == "available")
    project.sdk.compute.create_volume_attachment(server.id, volume=extra.id)
    wait_until("the volume is attached", lambda: storage.get_volume(extra.id).status == "in-use")
    project.sdk.compute.delete_server(server.id)
    wait_until("volumes of the server are gone", lambda: [found.id for found in storage.volumes()] == [extra.id])
    project.may_leave("volume")


def test_a_floating_ip_is_active_while_it_is_associated(project: Project) -> None:
    network = project.sdk.network
    external = network.find_network("public", ignore_missing=False)
    router = network.create_router(external_gateway_info={"network_id": external.id})
    network.add_interface_to_router(router, project.subnet_id)
    port = network.create_port(network_id=project.network_id)
    address = network.create_ip(floating_network_id=external.id, port_id=port.id)
    assert network.get_ip(address.id).status == "ACTIVE"
    network.update_ip(address, port_id=None)
    assert network.get_ip(address.id).status == "DOWN"
    project.may_leave()


def test_a_load_balancer_gets_active_with_its_listener(project: Project) -> None:
    balancers = project.sdk.load_balancer
    made = balancers.create_load_balancer(name="api", vip_subnet_id=project.subnet_id)

    def active() -> bool:
        status: str = balancers.get_load_balancer(made.id).provisioning_status
        return status == "ACTIVE"

    wait_until("the load balancer is active", active)
    balancers.create_listener(load_balancer_id=made.id, protocol="TCP", protocol_port=6443)
    wait_until("the listener is active", active)
    balancers.delete_load_balancer(made.id, cascade=True)
    wait_until("the load balancer is gone", lambda: balancers.find_load_balancer(made.id) is None)


def test_servers_beyond_the_quota_are_refused_with_403_and_ports_with_409(project: Project, boot: Boot) -> None:
    project.set_quota(instances=0)
    with pytest.raises(ForbiddenException, match="Quota exceeded for instances"):
        boot()
    project.set_quota(port=0)
    with pytest.raises(ConflictException, match="Quota exceeded for resources"):
        project.sdk.network.create_port(network_id=project.network_id)


def test_a_flavor_larger_than_any_host_ends_in_no_valid_host(
    windlass_cloud: CloudAccess, project: Project, boot: Boot
) -> None:
    project.set_quota(ram=99_999_999)
    flavors = windlass_cloud.admin.compute
    flavor = flavors.create_flavor(name=project.name, vcpus=1, ram=9_999_999, disk=1)
    server = boot(flavor_id=flavor.id, until="ERROR")
    assert "No valid host was found" in server.fault["message"]
    flavors.delete_flavor(flavor)
    project.may_leave("server")


@pytest.mark.parametrize(("error", "status"), [("abort", "ERROR"), ("reschedule", "ERROR"), ("once", "ACTIVE")])
def test_a_boot_fails_on_demand(project: Project, boot: Boot, error: str, status: str) -> None:
    boot(metadata={"windlass:spawn_error": error}, until=status)
    project.may_leave("server", "port")


def test_a_port_that_cannot_be_bound_fails_its_server(project: Project, boot: Boot) -> None:
    port = project.sdk.network.create_port(
        network_id=project.network_id, description="windlass:fail-binding"
    )  # fmt: skip
    boot(networks=[{"port": port.id}], until="ERROR")
    project.may_leave()


def test_wrong_requests_are_refused_as_in_a_real_cloud(project: Project, boot: Boot) -> None:
    with pytest.raises(BadRequestException, match="zone"):
        boot(availability_zone="nowhere")
    port = project.sdk.network.create_port(network_id=project.network_id)
    with pytest.raises(ConflictException, match="already allocated"):
        project.sdk.network.create_port(network_id=project.network_id, fixed_ips=port.fixed_ips)
    project.sdk.network.delete_port(port.id)


def test_a_token_is_refused_when_its_life_is_over(windlass_cloud: CloudAccess, project: Project) -> None:
    session = clouds.connect(project.application_credential(seconds=8)).session
    headers = {"X-Auth-Token": session.get_token()}

    def status() -> int:
        url = f"{windlass_cloud.urls['neutron']}/v2.0/networks"
        answer = session.get(url, headers=headers, authenticated=False, raise_exc=False)
        code: int = answer.status_code
        return code

    # Not asserted to be 200 first: a machine that stands still may have used up the seconds.
    wait_until("the token is refused", lambda: status() == 401)
    # Requests with an expired token are known to be the project's.
    assert 401 in [request.status for request in project.requests("neutron")]


def test_an_application_credential_stands_for_the_user(windlass_cloud: CloudAccess, project: Project) -> None:
    """Also when the user of an earlier one has been deleted."""
    earlier = windlass_cloud.new_project()
    earlier.application_credential()
    earlier.delete()
    entry = project.application_credential()
    assert set(entry["auth"]) == {"auth_url", "application_credential_id", "application_credential_secret"}
    found = clouds.connect(entry).network.networks(name=project.name)
    assert [network.id for network in found] == [project.network_id]
