"""Trouble with a real cloud: told while it lasts, and gone by itself when its cause is."""

import pytest

from tests.api.openstack.server.stage import CLUSTER, Stage, at_work, held, message, says
from tests.waiting import eventually
from windlass.api.capi import Cluster
from windlass.api.capo_server import OpenStackServer
from windlass.openstack.constants import ADOPT_ANNOTATION, CLUSTER_LABEL

pytestmark = pytest.mark.sampled


async def test_a_quota_that_is_reached_is_told_with_numbers_and_goes_on_when_it_is_raised(stage: Stage) -> None:
    stage.project.set_quota(instances=0)
    await stage.secret()
    await stage.server()
    text = await stage.until_told("InstanceReady", "QuotaExceeded")
    assert "0 of 0 instances" in text
    stage.project.set_quota(instances=5)
    await stage.until_ready()
    await stage.delete()
    await stage.until_gone()


@pytest.mark.parametrize("quota", ["cores", "ram"])
async def test_of_servers_that_are_wanted_together_those_that_fit_are_made_and_none_ends_in_error(
    stage: Stage, quota: str
) -> None:
    tiny = stage.project.sdk.compute.find_flavor("m1.tiny", ignore_missing=False)
    of_one = {"cores": tiny.vcpus, "ram": tiny.ram}[quota]
    stage.project.set_quota(**{quota: 2 * of_one})
    names = [f"s{number}" for number in range(6)]
    for name in names:
        await stage.server(name)
    await stage.secret()
    for name in names:
        await stage.until(
            lambda server: (
                says(server, "Ready") == "True Ready" or says(server, "InstanceReady").endswith("QuotaExceeded")
            ),
            name=name,
            what="made or waiting",
        )
    assert {each.status for each in stage.project.sdk.compute.servers()} <= {"ACTIVE", "BUILD"}
    stage.project.set_quota(**{quota: 6 * of_one})
    for name in names:
        await stage.until_ready(name)
    assert [each.status for each in stage.project.sdk.compute.servers()] == ["ACTIVE"] * 6
    for name in names:
        await stage.delete(name)
    for name in names:
        await stage.until_gone(name)


async def test_a_wrong_password_is_told_and_the_right_one_is_used_by_itself(stage: Stage) -> None:
    right = stage.project.clouds_yaml
    await stage.secret(clouds_yaml=right.replace(stage.project.password, "wrong"))
    await stage.server()
    text = await stage.until_told("OpenStackAuthenticationSucceeded", "OpenStackAuthenticationFailed")
    assert "Keystone refuses the credentials" in text
    assert says(await stage.get(), "Ready").startswith("False")
    await stage.secret(clouds_yaml=right)
    await stage.until_ready()
    await stage.delete()
    await stage.until_gone()


@pytest.mark.parametrize(
    ("service", "name"),
    [
        ("keystone", "identity"),
        ("nova", "compute"),
        ("neutron", "network"),
        ("glance", "image"),
        ("cinder", "block-storage"),
    ],
    ids=lambda text: text,
)
async def test_a_service_that_is_down_for_a_while_is_told_of_and_awaited(stage: Stage, service: str, name: str) -> None:
    answers = stage.project.fault(service, status=503)
    await stage.secret()
    await stage.server(rootVolume={"sizeGiB": 1})
    text = await stage.until_told("Progressing", "TransientError")
    assert f"{name} (503)" in text
    assert "Next attempt at " in text
    closes = stage.project.fault(service, drop=True)
    answers.clear()
    found = await stage.until(lambda server: f"{name}: " in message(server, "Progressing"), what="no answer at all")
    assert says(found, "Progressing") == "True TransientError"
    assert "Next attempt at " in message(found, "Progressing")
    assert says(found, "Ready").split()[0] != "True"
    closes.clear()
    await stage.until_ready()
    assert held(stage.project) == {"servers": 1, "ports": 1, "trunks": 0, "volumes": 1}
    await stage.delete()
    await stage.until_gone()


async def test_servers_of_the_same_name_and_servers_deleted_by_hand(stage: Stage) -> None:
    stage.project.may_leave("server", "port")
    compute = stage.project.sdk.compute
    flavor = compute.find_flavor("m1.tiny", ignore_missing=False).id
    networks = [{"uuid": stage.project.network_id}]
    foreign = compute.create_server(name="a", flavor_id=flavor, image_id=stage.image, networks=networks)
    await stage.secret()
    await stage.server()
    text = await stage.until_told("InstanceReady", "OwnedByAnother")
    assert foreign.id in text
    await stage.patch(OpenStackServer, "a", {"metadata": {"annotations": {ADOPT_ANNOTATION: "none"}}})
    made = await stage.until_ready()
    assert made.status.instance_id not in (None, foreign.id)
    compute.delete_server(made.status.instance_id)
    text = await stage.until_told("InstanceReady", "InstanceNotFound")
    assert text.startswith("The server was unexpectedly deleted")
    assert says(await stage.get(), "Ready").startswith("False")
    await stage.delete()
    await stage.until_gone()
    assert [each.id for each in compute.servers()] == [foreign.id]
    assert not stage.asked("nova", method="POST", path="/servers$")[1:], "it was made once"


async def test_a_port_removed_and_a_status_dropped_as_a_move_does(stage: Stage) -> None:
    stage.project.set_quota(instances=0)
    await stage.secret()
    await stage.server()
    await stage.until_told("InstanceReady", "QuotaExceeded")
    network = stage.project.sdk.network
    [port] = network.ports(project_id=stage.project.id)
    network.delete_port(port)

    async def ports() -> list[str]:
        return [each.id for each in network.ports(project_id=stage.project.id)]

    [other] = await eventually(ports, lambda found: found and port.id not in found, what="another port")
    stage.project.set_quota(instances=5)
    made = await stage.until_ready()
    assert made.status.resources is not None
    assert [each.id for each in made.status.resources.ports] == [other]

    await stage.patch(OpenStackServer, "a", {"status": None}, part="status")
    again = await stage.until_ready()
    assert again.status.instance_id == made.status.instance_id
    assert await ports() == [other]
    await stage.delete()
    await stage.until_gone()


async def test_a_paused_cluster_stops_a_build_and_goes_on(stage: Stage) -> None:
    stage.project.set_quota(instances=0)
    await stage.secret()
    await stage.cluster()
    await stage.server(metadata={"labels": {CLUSTER_LABEL: CLUSTER}})
    await stage.until_told("InstanceReady", "QuotaExceeded")
    await stage.patch(Cluster, CLUSTER, {"spec": {"paused": True}})
    await stage.until_told("Paused", "Paused")
    stage.project.set_quota(instances=5)
    posts = len(stage.asked(method="POST"))
    async with at_work(stage):  # another process, which finds it paused
        await stage.until(lambda server: says(server, "Paused") == "True Paused")
    assert len(stage.asked(method="POST")) == posts
    await stage.patch(Cluster, CLUSTER, {"spec": {"paused": False}})
    made = await stage.until_ready()
    assert says(made, "Paused") == "False NotPaused"
    await stage.delete()
    await stage.until_gone()
