"""Writes that the API server refuses are told by the object that they were for, as long as they are refused.

A webhook that cannot be called is in front of all controllers, on models of an API server and of a cloud. It lets the
status through, as the provider's webhooks do: their rules name no subresource.
"""

from typing import Any

import pytest

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_cluster import OpenStackCluster
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Event, Secret
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.mapi import Machine
from windlass.api.meta import KubernetesObject
from windlass.capability.manifests.rights import Unread
from windlass.kube.control.plan import Retry
from windlass.kube.errors import KubeError, Status, api_error
from windlass.kube.verbs import Api, ApiRequest, CreateRequest, PatchRequest
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.controllers import makers
from windlass.openstack.identity.controller import USERS, identity_controller
from windlass.openstack.machine.controller import machine_controller
from windlass.openstack.refused import REPORTERS, with_refusals
from windlass.openstack.server.controller import NAME as SERVER

from . import clouded
from .cluster import cases as clusters
from .machine import cases as machines
from .machine_api import cases as of_machine_api
from .pool import cases as pools
from .process import to_rest

HOOK = "validation.openstackserver.infrastructure.cluster.x-k8s.io"
WHY = f'Internal error occurred: failed calling webhook "{HOOK}": no endpoints for "capo-webhook-service"'
NOT_CALLED = api_error(Status("Failure", WHY, "InternalError", 500))


class Hooked(Api):
    """An API server that refuses to create, and to change, objects of the kinds in `refused`; but not their status."""

    def __init__(self, api: MemoryApi, *kinds: type[KubernetesObject], error: KubeError = NOT_CALLED) -> None:
        self._api = api
        self.refused = set(kinds)
        self.error = error

    async def send(self, request: ApiRequest[Any], /) -> Any:
        changes = isinstance(request, CreateRequest) or (isinstance(request, PatchRequest) and not request.subresource)
        if changes and request.kind in self.refused:
            raise self.error
        return await self._api.send(request)


def said(tree: Any, kind: str) -> tuple[str, str, str]:
    (one,) = [each for each in tree["status"]["conditions"] if each["type"] == kind]
    return one["status"], one["reason"], one["message"]


class Servers(clouded.Process):
    def make(self, reader: MemoryReader) -> Any:
        return with_refusals(super().make(reader))


class Clusters(clusters.Process):
    def make(self, reader: MemoryReader) -> Any:
        return with_refusals(super().make(reader))


class Pools(pools.Pools):
    def make(self, reader: MemoryReader) -> Any:
        return with_refusals(super().make(reader))


class Floating(pools.Floating):
    def make(self, reader: MemoryReader) -> Any:
        return with_refusals(super().make(reader))


class MachinesOfMachineApi(of_machine_api.MachineProcess):
    def make(self, reader: Any) -> Any:
        return with_refusals(super().make(reader))


def test_every_controller_tells() -> None:
    made = [make(Unread()).name for make in makers(Clouds(), machine_api="openshift-machine-api")]
    assert sorted(made) == sorted(REPORTERS)


@pytest.mark.parametrize("namespaces", [(), (clouded.NAMESPACE,)])
async def test_those_of_the_process_tell_in_all_namespaces_and_in_one(namespaces: tuple[str, ...]) -> None:
    class Shipped(clouded.Process):
        def make(self, reader: MemoryReader) -> Any:
            return next(
                each for each in (make(reader) for make in makers(self.clouds, namespaces)) if each.name == SERVER
            )

    world = clouded.World()
    world.api.load(clouded.server(world))
    await Shipped(world, api=Hooked(world.api, OpenStackServer)).step()
    assert said(world.server, "Ready")[1] == "WriteRefused"


async def test_a_server_says_which_webhook_stops_it_instead_of_waiting_for_credentials() -> None:
    world = clouded.World()
    world.api.load(clouded.server(world))
    process = Servers(world, api=Hooked(world.api, OpenStackServer))
    ending = await process.step()
    status, reason, message = said(world.server, "Ready")
    assert (status, reason) == ("Unknown", "WriteRefused")
    assert message.startswith("The API server refuses to change OpenStackServer.infrastructure.cluster.x-k8s.io ")
    assert f"{WHY}. Start what serves this webhook; if it was removed, save and delete the" in message
    assert said(world.server, "Progressing") == ("False", "WriteRefused", message)
    assert isinstance(ending.next, Retry)
    assert world.posts("") == 0, "nothing is created whose mark is not stored"


async def test_it_is_told_once_and_costs_no_write_at_later_attempts() -> None:
    world = clouded.World()
    world.api.load(clouded.server(world))
    process = Servers(world, api=Hooked(world.api, OpenStackServer))
    await process.step()
    version = world.api.version
    for _ in range(3):
        await process.step()
    assert world.api.version == version


async def test_when_the_write_passes_the_server_is_made_and_nothing_of_it_is_told() -> None:
    world = clouded.World()
    world.api.load(clouded.server(world))
    hooked = Hooked(world.api, OpenStackServer)
    process = Servers(world, api=hooked)
    await process.step()
    hooked.refused.clear()
    await process.settle()
    assert said(world.server, "Ready")[:2] == ("True", "Ready")
    assert said(world.server, "Progressing")[:2] == ("False", "Success")
    assert len(world.cloud.services.servers) == 1


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (
            api_error(Status("Failure", f'admission webhook "{HOOK}" denied the request: no', "", 403)),
            "what the webhook",
        ),
        (
            api_error(Status("Failure", f'admission webhook "{HOOK}" denied the request: no', "", 500)),
            "what the webhook",
        ),
        (api_error(Status("Failure", "a is forbidden: exceeded quota: q", "Forbidden", 403)), "ResourceQuota"),
        (
            api_error(Status("Failure", "x: forbidden: ValidatingAdmissionPolicy 'p' denied", "", 422)),
            "what the policy",
        ),
        (api_error(Status("Failure", 'User "x" cannot patch', "Forbidden", 403)), "Grant the right"),
        (api_error(Status("Failure", "metadata.annotations: Too long", "Invalid", 422)), "Correct what"),
    ],
    ids=["a webhook says no", "with another code", "a quota", "a policy", "RBAC", "invalid"],
)
async def test_whatever_refuses_the_write_is_told_with_its_remedy(error: KubeError, remedy: str) -> None:
    world = clouded.World()
    world.api.load(clouded.server(world))
    await Servers(world, api=Hooked(world.api, OpenStackServer, error=error)).step()
    _, reason, message = said(world.server, "Ready")
    assert reason == "WriteRefused"
    assert str(error) in message
    assert remedy in message


async def test_a_deletion_says_why_it_does_not_end_and_ends_when_it_may() -> None:
    world = clouded.World()
    world.api.load(clouded.server(world))
    hooked = Hooked(world.api)
    process = Servers(world, api=hooked)
    await process.settle()
    hooked.refused = {OpenStackServer}
    await world.api.delete(OpenStackServer, clouded.KEY[1], namespace=clouded.NAMESPACE)
    for _ in range(20):
        await process.step()
        world.cloud.pass_time(2)
        for member in process.clouds._members.values():
            await member.account.refresh(volumes=True)
    assert world.held() == {}
    assert said(world.server, "Deleting")[:2] == ("True", "WriteRefused")
    assert said(world.server, "Ready")[:2] == ("False", "WriteRefused")
    assert HOOK in said(world.server, "Ready")[2]
    hooked.refused.clear()
    await process.settle()
    assert world.api.peek(OpenStackServer, clouded.KEY[1], namespace=clouded.NAMESPACE) is None


async def test_a_machine_that_runs_runs_on_and_tells_what_is_refused() -> None:
    running = machines.server("ACTIVE", [machines.says("InstanceReady", "True", "Ready")])
    world = machines.World(*machines.all_of_it(), running)
    reader = MemoryReader(world.api)
    hooked = Hooked(world.api, OpenStackMachine)
    made = with_refusals(machine_controller(reader))
    await to_rest(made, machines.KEY, api=hooked, reader=reader)
    assert world.condition("Progressing")[:2] == ("False", "WriteRefused")
    hooked.refused.clear()
    ending = await to_rest(made, machines.KEY, api=hooked, reader=reader)
    assert not ending.failed
    assert world.condition("Progressing")[1] != "WriteRefused"
    before = world.condition("Ready")
    hooked.refused = {OpenStackMachine}
    await to_rest(made, machines.KEY, api=hooked, reader=reader)
    assert world.condition("Ready") == before


async def test_a_machine_has_its_own_reason_for_a_server_that_may_not_be_created() -> None:
    world = machines.World(*machines.all_of_it())
    reader = MemoryReader(world.api)
    made = with_refusals(machine_controller(reader))
    await to_rest(made, machines.KEY, api=Hooked(world.api, OpenStackServer), reader=reader)
    assert world.condition("InstanceReady")[:2] == ("False", "InstanceCreateFailed")
    assert HOOK in world.condition("Ready")[2]


async def test_a_cluster_tells() -> None:
    world = clusters.World(clusters.infra(), clusters.cluster(), clusters.secret())
    hooked = Hooked(world.api, OpenStackCluster)
    process = Clusters(world, api=hooked)
    await process.step()
    assert world.condition("Ready")[:2] == ("Unknown", "WriteRefused")
    assert HOOK in world.condition("Progressing")[2]
    hooked.refused.clear()
    await process.settle()
    assert world.condition("Ready")[:2] == ("True", "Ready")
    assert world.condition("Progressing")[:2] == ("False", "Success")


async def test_a_pool_tells_and_its_conditions_do_not_flap_while_it_keeps_addresses() -> None:
    world = pools.World(pools.pool(), pools.tree(IPAddressClaim, "one", {"poolRef": pools.REF}))
    hooked = Hooked(world.api)
    process = Pools(world, api=hooked)
    hooked.refused = {IPAddress}
    for _ in range(30):
        await process.step()
        world.cloud.pass_time(2)
        for member in process.clouds._members.values():
            await member.account.refresh(volumes=True)
    assert world.given == {}
    assert world.condition(OpenStackFloatingIPPool, pools.POOL, "Progressing")[:2] == ("False", "WriteRefused")
    version = world.api.version
    for _ in range(3):
        await process.step()
    assert world.api.version == version, "the refusal is told, and no write says otherwise in between"
    hooked.refused.clear()
    await process.settle()
    assert len(world.given) == 1
    assert world.condition(OpenStackFloatingIPPool, pools.POOL, "Progressing")[:2] == ("False", "Success")


async def test_a_floating_ip_that_may_not_be_claimed_is_told_in_its_own_condition() -> None:
    world = pools.World(pools.pool())
    world.api.load(pools.wanting(world))
    await clouded.Process(world).settle()
    hooked = Hooked(world.api, IPAddressClaim)
    process = Floating(world, api=hooked)
    await process.step()
    part = "FloatingAddressFromPoolReady"
    assert world.condition(OpenStackServer, "worker-0", part)[:2] == ("False", "WriteRefused")
    version = world.api.version
    await process.step()
    assert world.api.version == version
    hooked.refused.clear()
    await process.step()
    assert world.condition(OpenStackServer, "worker-0", part)[:2] == ("False", "WaitingForIPAMProvider")


async def test_a_machine_of_the_machine_api_tells() -> None:
    fleet = of_machine_api.Fleet()
    fleet.api.load(of_machine_api.machine(fleet))
    hooked = Hooked(fleet.api, Machine)
    process = MachinesOfMachineApi(fleet, api=hooked)
    await process.step()
    assert fleet.says("Progressing") == "False WriteRefused"
    assert HOOK in fleet.message("Progressing")
    hooked.refused.clear()
    await process.settle()
    assert fleet.says("Progressing") == "False Success"


async def test_the_finalizer_of_a_secret_is_told_by_an_event() -> None:
    api = MemoryApi(Secret, OpenStackClusterIdentity, *USERS, Event)
    api.load(clusters.infra(), clusters.secret())
    reader = MemoryReader(api)
    controller = with_refusals(identity_controller(reader))
    await to_rest(controller, ("ns", "cloud"), api=Hooked(api, Secret), reader=reader)
    (event,) = [each.decode() for each in api.listing(Event)]
    assert event.reason == "WriteRefused"
    assert HOOK in event.message
