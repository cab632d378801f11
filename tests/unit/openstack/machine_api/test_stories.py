"""Stories of one Machine on models of an API server and of a cloud: what people do, and what the Machine says of it."""

from typing import Any

import pytest

from tests.unit.kube.client.tls import AUTHORITY
from tests.unit.openstack.clouded import MARK, NAMESPACE, PROJECT, attached, secret
from tests.unit.openstack.machine_api.cases import (
    LABELS,
    NAME,
    OF_CLUSTER_API,
    Fleet,
    MachineProcess,
    built,
    floating_ip,
    machine,
    machine_of_the_other_side,
    node,
    pod,
)
from windlass.api.core import Node, Pod, Secret
from windlass.kube.verbs import PatchType
from windlass.model.refusals import unevictable
from windlass.openstack.cloud.wire import Http
from windlass.openstack.constants import MACHINE_API_FINALIZER, MACHINE_MARK_ANNOTATION

QUOTA = b'{"forbidden": {"code": 403, "message": "Quota exceeded for instances: Requested 1"}}'
LINKED = {"status": {"nodeRef": {"kind": "Node", "name": "node-0"}}}


def server_id(world: Fleet) -> str:
    return next(iter(world.cloud.services.servers))


async def linked(world: Fleet, *pods: dict[str, Any], **spec: Any) -> MachineProcess:
    """A Machine that runs, with its Node and the Pods on it."""
    process = await built(world)
    world.api.load(node(**spec), *pods)
    await world.change(LINKED, part="status")
    await process.settle()
    return process


def there(name: str, namespace: str) -> dict[str, Any]:
    """A Secret with all that a Machine may want of one."""
    data = {**secret()["data"], "userData": "e30="}
    return {**secret(), "metadata": {"name": name, "namespace": namespace}, "data": data}


async def begun(world: Fleet, **value: Any) -> MachineProcess:
    """A process that has done what can be done at once."""
    world.api.load(machine(world, **value))
    process = MachineProcess(world)
    for _ in range(3):
        await process.step()
    return process


async def test_a_machine_gets_its_server_and_says_so_as_the_machine_api_does() -> None:
    world = Fleet()
    await built(world)
    assert world.status["phase"] == "Provisioned"
    assert [f"{each['type']} {each['address']}" for each in world.status["addresses"]][1:] == [
        "Hostname worker-0",
        "InternalDNS worker-0",
    ]
    found, server = world.machine, server_id(world)
    assert found["spec"]["providerID"] == f"openstack:///{server}"
    assert found["metadata"]["annotations"]["openstack-resourceId"] == server
    assert found["metadata"]["annotations"]["machine.openshift.io/instance-state"] == "ACTIVE"
    labels = found["metadata"]["labels"]
    assert (labels["machine.openshift.io/zone"], labels["machine.openshift.io/instance-type"]) == ("az1", "m1.small")
    assert world.says("InstanceExists") == "True"
    assert world.says("Paused") == "False AuthoritativeAPIMachineAPI"
    assert world.says("Ready") == "True Ready"
    assert world.events() == ["Created", "Updated"]


async def test_with_a_node_it_runs_and_at_rest_nothing_is_written_or_asked() -> None:
    world = Fleet()
    process = await linked(world)
    assert world.status["phase"] == "Running"
    before, asked = world.machine, len(world.cloud.requests)
    for _ in range(5):
        await process.step()
    assert (world.machine, len(world.cloud.requests)) == (before, asked)
    again = MachineProcess(world)
    await again.settle()
    assert sum(ending.writes for ending in again.endings) == 0


async def test_a_deletion_drains_the_node_then_takes_server_node_and_machine() -> None:
    world = Fleet()
    process = await linked(world, pod("p"), pod("other", on="node-1"))
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert world.held() == {}
    assert world.api.listing(Node) == []
    assert [each.name for each in world.api.listing(Pod)] == ["other"]
    assert {"DrainProceeds", "DrainSucceeded", "Deleted"} <= set(world.events())


async def test_a_server_that_nova_lists_without_its_metadata_while_it_goes_gets_no_mark() -> None:
    world = Fleet()
    process = await built(world)
    await world.delete()
    server = world.cloud.services.servers[server_id(world)]
    while server["gone"] is None:
        await process.step()
    server["metadata"].clear()
    server["gone"] += 10.0
    await process.settle()
    assert world.is_gone
    assert world.held() == {}
    assert not [each for each in world.cloud.requests if each.path.endswith("/metadata")]


async def test_drain_a_budget_holds_the_deletion_and_is_named() -> None:
    world = Fleet()
    process = await linked(world, pod("p"), pod("q"))
    world.api.fail_next("evict", Pod, unevictable("shop"), name="p", times=3)
    await world.delete()
    for _ in range(2):
        await process.step()
    assert world.says("Drained") == "False DrainError"
    assert "Pod shop/p cannot be evicted" in world.message("Drained")
    assert "disruption budget shop" in world.message("Drained")
    assert [each.name for each in world.api.listing(Pod)] == ["p"], "others are evicted meanwhile"
    assert world.held() == {"servers": 1, "ports": 1}
    await process.settle()
    assert world.is_gone


@pytest.mark.parametrize(
    ("hook", "kind", "drained"), [("preDrain", "Drainable", False), ("preTerminate", "Terminable", True)]
)
async def test_drain_a_hook_holds_the_deletion(hook: str, kind: str, drained: bool) -> None:
    world = Fleet()
    process = await linked(world, pod("p"))
    await world.change({"spec": {"lifecycleHooks": {hook: [{"name": "backup", "owner": "me"}]}}})
    await world.delete()
    await process.settle()
    assert world.says(kind) == "False HookPresent"
    assert world.message(kind).endswith("operation currently blocked by: [{Name:backup Owner:me}]")
    assert (world.status["phase"], world.held()) == ("Deleting", {"servers": 1, "ports": 1})
    assert world.api.listing(Pod) == [] if drained else world.api.listing(Pod)
    await world.change({"spec": {"lifecycleHooks": {hook: None}}})
    await process.settle()
    assert world.is_gone


async def test_a_wrong_provider_spec_fails_for_ever_and_asks_no_cloud() -> None:
    world = Fleet()
    process = await built(world, networks=[{}])
    assert (world.status["phase"], world.status["errorReason"]) == ("Failed", "InvalidConfiguration")
    assert "networks[0] names neither" in world.status["errorMessage"]
    assert world.machine["metadata"]["annotations"]["machine.openshift.io/instance-state"] == "Unknown"
    assert world.cloud.requests == []
    await world.delete()
    await process.settle()
    assert world.is_gone


@pytest.mark.parametrize(
    ("fault", "reason", "exists"),
    [
        ({"status": 503}, "OpenStackError", "Unknown ErrorCheckingProvider"),
        ({"status": 429}, "OpenStackError", "Unknown ErrorCheckingProvider"),
        ({"status": 403, "body": QUOTA}, "QuotaExceeded", "False InstanceNotCreated"),
    ],
)
async def test_what_a_cloud_cannot_do_now_is_told_and_never_fails_a_machine(
    fault: dict[str, Any], reason: str, exists: str
) -> None:
    world = Fleet()
    world.cloud.fault(method="POST", path="^/servers$", count=2, **fault)
    world.api.load(machine(world))
    process = MachineProcess(world)
    await process.step()
    assert world.says("InstanceReady") == f"False {reason}"
    assert "Next attempt at" in world.message("Progressing")
    assert world.says("InstanceExists") == exists
    assert world.status["phase"] == "Provisioning"
    assert "FailedCreate" in world.events()
    await process.settle()
    assert (world.status["phase"], world.held()) == ("Provisioned", {"servers": 1, "ports": 1})


async def test_something_that_does_not_exist_is_looked_for_again() -> None:
    world = Fleet()
    process = await begun(world, image="rhcos-9")
    assert world.says("InstanceReady") == "False DependencyFailed"
    assert world.status["phase"] == "Provisioning"
    world.cloud.services.image("rhcos-9")
    await process.settle()
    world.cloud.pass_time(600)
    await process.settle()
    assert world.status["phase"] == "Provisioned"


async def test_a_lost_server_fails_the_machine_when_it_was_missing_twice() -> None:
    world = Fleet()
    process = await built(world)
    world.cloud.services.handle(PROJECT, Http("compute", "DELETE", f"/servers/{server_id(world)}"))
    world.cloud.pass_time(5)
    await process.clouds._members[next(iter(process.clouds._members))].account.refresh(volumes=False)
    await process.step()
    assert world.status["phase"] == "Provisioned", "once may be a mistake of the cloud"
    await process.settle()
    assert (world.status["phase"], world.status["errorMessage"]) == ("Failed", "can't find created instance")
    assert world.says("InstanceExists") == "False InstanceMissing"
    assert world.posts("/servers") == 1
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert world.held() == {}


async def test_while_cluster_api_is_authoritative_nothing_is_done_and_paused_says_so() -> None:
    world = Fleet()
    process = await built(world)
    asked, spoke = len(world.cloud.requests), world.machine["metadata"]["annotations"]
    await world.change({"status": {"authoritativeAPI": "Migrating"}}, part="status")
    await world.delete()
    for _ in range(3):
        await process.step()
    assert world.says("Paused") == "True AuthoritativeAPINotMachineAPI"
    assert world.message("Paused") == "The AuthoritativeAPI status is set to 'Migrating'"
    assert (len(world.cloud.requests), world.machine["metadata"]["annotations"]) == (asked, spoke)
    await world.change({"status": {"authoritativeAPI": "MachineAPI"}}, part="status")
    await process.settle()
    assert world.is_gone
    assert world.held() == {}


async def test_it_is_paused_only_when_no_request_can_be_under_way() -> None:
    world = Fleet()
    world.cloud.fault(method="POST", path="^/servers$", drop=True, after=True)
    world.api.load(machine(world))
    process = MachineProcess(world)
    for _ in range(2):
        await process.step()
    await world.change({"status": {"authoritativeAPI": "Migrating"}}, part="status")
    await process.step()
    assert world.says("Paused") == "Unknown Pausing"
    await process.settle()
    assert world.says("Paused") == "True AuthoritativeAPINotMachineAPI"


@pytest.mark.parametrize("going", [False, True], ids=["at rest", "being deleted"])
async def test_a_machine_of_the_other_provider_is_taken_over_with_its_ports_and_volumes(going: bool) -> None:
    world = Fleet()

    def make(service: Any, path: str, envelope: str, body: dict[str, Any]) -> str:
        _, made = world.cloud.services.handle(PROJECT, Http(service, "POST", path, body={envelope: body}))
        return str(made[envelope]["id"])

    port = make("network", "/v2.0/ports", "port", {"network_id": world.network, "name": "worker-0-0"})
    volume = make("block-storage", "/volumes", "volume", {"name": "worker-0-root", "size": 5})
    world.cloud.pass_time(5)
    disk = {"source_type": "volume", "uuid": volume}
    body = {"name": NAME, "flavorRef": world.flavor, "networks": [{"port": port}], "block_device_mapping_v2": [disk]}
    server = make("compute", "/servers", "server", body)
    world.cloud.pass_time(5)
    tree = machine(world)
    tree["spec"]["providerID"] = f"openstack:///{server}"
    tree["metadata"]["finalizers"] = ["machine.machine.openshift.io"]
    world.api.load(tree)
    process = MachineProcess(world)
    posts = world.posts("/servers")
    if not going:
        await process.settle()
        assert world.machine["metadata"]["annotations"][MACHINE_MARK_ANNOTATION].startswith(f"{MARK}/")
        assert world.posts("/servers") == posts
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert world.held() == {}


def ours(world: Fleet) -> str:
    return str(world.machine["metadata"]["annotations"][MACHINE_MARK_ANNOTATION])


async def test_a_server_that_cluster_api_had_gets_the_mark_of_the_machine_on_all_that_it_has() -> None:
    world, theirs = Fleet(), OF_CLUSTER_API
    world.api.load(machine_of_the_other_side())
    await built(world, trunk=True, rootVolume={"diskSize": 1, "sourceUUID": "rhcos"})
    services = world.cloud.services
    for each in (*services.servers.values(), *services.volumes.values()):
        each["metadata"]["windlass-owner"] = theirs
    for each in (*services.ports.values(), *services.trunks.values()):
        each["description"] = f"windlass-owner={theirs}"
    process = MachineProcess(world)
    asked = len(world.cloud.requests)
    await process.settle()
    of_nova = (*services.servers.values(), *services.volumes.values())
    assert {each["metadata"]["windlass-owner"] for each in of_nova} == {
        world.machine["metadata"]["annotations"][MACHINE_MARK_ANNOTATION]
    }
    described = (*services.ports.values(), *services.trunks.values())
    assert {each["description"] for each in described} == {f"windlass-owner={ours(world)}"}
    assert sum(each.method != "GET" for each in world.cloud.requests[asked:]) == 4
    await world.delete()
    await process.settle()
    assert world.held() == {}


async def test_a_port_that_the_last_list_did_not_have_yet_gets_the_mark_of_the_machine_too() -> None:
    world, theirs = Fleet(), OF_CLUSTER_API
    world.api.load(machine_of_the_other_side())
    process = await built(world)
    services = world.cloud.services
    for server in services.servers.values():
        server["metadata"]["windlass-owner"] = theirs
    for port in services.ports.values():
        port["description"] = f"windlass-owner={theirs}"
    world.cloud.pass_time(1)
    await process.clouds._members[next(iter(process.clouds._members))].account.refresh(volumes=False)
    attached(world, mark=theirs)
    world.cloud.pass_time(1)
    await process.step()
    assert [each["description"] for each in services.ports.values()] == [f"windlass-owner={ours(world)}"] * 2


async def test_a_server_group_is_made_once_and_found_again_after_a_lost_answer() -> None:
    world = Fleet()
    world.cloud.fault(method="POST", path="^/os-server-groups$", drop=True, after=True)
    await built(world, serverGroupName="workers")
    assert [each["name"] for each in world.cloud.services.server_groups.values()] == ["workers"]
    (server,) = world.cloud.services.servers.values()
    assert server["body"]["os:scheduler_hints"] == {"group": next(iter(world.cloud.services.server_groups))}


async def test_a_machine_of_another_platform_is_left_alone() -> None:
    world = Fleet()
    world.api.load(machine(world, kind="AWSMachineProviderConfig"))
    before = world.machine
    await MachineProcess(world).settle()
    assert world.machine == before
    assert (world.events(), world.cloud.requests) == ([], [])


async def test_a_machine_that_failed_stays_failed_although_its_server_is_there() -> None:
    world = Fleet()
    process = await built(world)
    await world.change({"status": {"phase": "Failed"}}, part="status")
    asked = len(world.cloud.requests)
    await process.settle()
    assert world.status["phase"] == "Failed"
    assert len(world.cloud.requests) == asked


async def test_a_machine_with_a_mark_and_without_the_finalizer_gets_it_before_its_server() -> None:
    world = Fleet()
    world.api.load(machine(world, meta={"annotations": {MACHINE_MARK_ANNOTATION: MARK}}))
    await MachineProcess(world).settle()
    assert world.status["phase"] == "Provisioned"
    assert world.machine["metadata"]["finalizers"] == [MACHINE_API_FINALIZER]


async def test_a_finalizer_that_somebody_removes_from_a_running_machine_is_added_again() -> None:
    world = Fleet()
    process = await built(world)
    (server,) = world.cloud.services.servers
    await world.change({"metadata": {"finalizers": None}})
    await process.settle()
    assert world.machine["metadata"]["finalizers"] == [MACHINE_API_FINALIZER]
    assert list(world.cloud.services.servers) == [server]
    await world.delete()
    await process.settle()
    assert (world.is_gone, list(world.cloud.services.servers)) == (True, [])


async def test_a_server_that_nobody_can_ask_for_is_unknown_after_five_minutes() -> None:
    world = Fleet()
    await built(world)
    world.cloud.fault(service="compute", status=503, count=1000)
    process = MachineProcess(world)
    await process.step()
    assert world.says("Progressing") == "True TransientError"
    assert world.says("InstanceReady") == "True Ready"
    for _ in range(7):
        world.cloud.pass_time(60.0)
        await process.step()
    assert world.says("InstanceReady").startswith("Unknown")
    assert world.says("InstanceExists") == "Unknown ErrorCheckingProvider"


async def test_a_server_group_is_not_made_for_a_machine_that_cannot_be_built() -> None:
    world = Fleet()
    await begun(world, serverGroupName="workers", flavor="m9.huge")
    assert "m9.huge" in world.message("InstanceReady")
    assert world.posts("/os-server-groups") == 0


async def test_labels_of_the_place_are_set_together_and_stay_once_all_are_there() -> None:
    world = Fleet()
    zone, kind = "machine.openshift.io/zone", "machine.openshift.io/instance-type"
    world.api.load(machine(world, meta={"labels": {**LABELS, zone: "old"}}))
    process = MachineProcess(world)
    await process.settle()
    labels = world.machine["metadata"]["labels"]
    assert (labels[zone], labels[kind]) == ("az1", "m1.small")
    region = "machine.openshift.io/region"
    await world.change({"metadata": {"labels": {region: "r", zone: "z", kind: "k"}}})
    await process.settle()
    labels = world.machine["metadata"]["labels"]
    assert (labels[region], labels[zone], labels[kind]) == ("r", "z", "k")


async def test_a_server_that_shows_no_addresses_does_not_undo_what_was_known() -> None:
    world = Fleet()
    await built(world)
    before = world.status["addresses"]
    world.cloud.services.servers[server_id(world)]["status"] = "SHUTOFF"
    await MachineProcess(world).settle()
    assert world.says("InstanceReady").startswith("Unknown")
    assert world.status["addresses"] == before


async def test_user_data_is_waited_for_before_the_server_is_made() -> None:
    world = Fleet()
    process = await begun(world, userDataSecret={"name": "worker-user-data"})
    assert "Secret machines/worker-user-data" in world.message("InstanceReady")
    assert world.held() == {"ports": 1}
    world.api.load(there("worker-user-data", NAMESPACE))
    world.cloud.pass_time(600)
    await process.settle()
    (server,) = world.cloud.services.servers.values()
    assert server["body"]["server"]["user_data"] == "e30="


async def test_without_credentials_it_says_who_has_to_correct_what_and_keeps_the_machine() -> None:
    world = Fleet()
    process = await built(world)
    await world.api.delete(Secret, "credentials", namespace=NAMESPACE)
    await world.delete()
    await process.settle()
    assert world.says("OpenStackAuthenticationSucceeded") == "False OpenStackAuthenticationFailed"
    assert "Secret machines/credentials does not exist" in world.message("OpenStackAuthenticationSucceeded")
    assert world.says("InstanceExists") == "Unknown ErrorCheckingProvider"
    assert not world.is_gone


@pytest.mark.parametrize("field", ["cloudsSecret", "userDataSecret"])
async def test_a_machine_that_names_a_secret_of_another_namespace_fails_and_gets_no_server(field: str) -> None:
    world = Fleet()
    # Also a Secret of that name beside the Machine is not what it asks for.
    world.api.load(*(there("credentials", namespace) for namespace in ("creds", NAMESPACE)))
    await built(world, **{field: {"name": "credentials", "namespace": "creds"}})
    assert (world.status["phase"], world.status["errorReason"]) == ("Failed", "InvalidConfiguration")
    assert world.says("InstanceReady") == "False InvalidConfiguration"
    assert world.message("InstanceReady") == (
        f"spec.providerSpec.value.{field}.namespace is 'creds', but a Machine may only use Secrets of its own "
        f"namespace, '{NAMESPACE}': copy Secret creds/credentials there, and leave namespace out"
    )
    assert world.cloud.requests == []


async def test_a_server_stays_while_its_machine_names_credentials_of_another_namespace() -> None:
    world = Fleet()
    process = await built(world)
    world.api.load(there("credentials", "creds"))
    theirs = {"spec": {"providerSpec": {"value": {"cloudsSecret": {"namespace": "creds"}}}}}
    await world.change(theirs)
    asked = len(world.cloud.requests)
    await process.settle()
    assert world.status["phase"] == "Provisioned"
    assert world.says("OpenStackAuthenticationSucceeded") == "False OpenStackAuthenticationFailed"
    assert "cloudsSecret.namespace is 'creds'" in world.message("OpenStackAuthenticationSucceeded")
    await world.delete()
    await process.settle()
    assert {each.method for each in world.cloud.requests[asked:]} == {"GET"}
    await world.change({"spec": {"providerSpec": {"value": {"cloudsSecret": {"namespace": NAMESPACE}}}}})
    await process.settle()
    assert world.is_gone
    assert world.held() == {}


@pytest.mark.parametrize(
    ("bundle", "authenticated"),
    [
        pytest.param("\n", "True Ready", id="blank"),
        pytest.param("# none\n", "True Ready", id="comments only"),
        pytest.param(AUTHORITY.decode(), "True Ready", id="a certificate"),
        pytest.param("nonsense", "False OpenStackAuthenticationFailed", id="no certificate"),
    ],
)
async def test_the_ca_of_the_cluster_is_read_as_that_of_a_secret(bundle: str, authenticated: str) -> None:
    world = Fleet()
    world.api.load(machine(world))
    metadata = {"name": "cloud-provider-config", "namespace": "openshift-config"}
    data = {"ca-bundle.pem": bundle}
    world.api.load({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    process = MachineProcess(world)
    await process.settle()
    assert world.says("OpenStackAuthenticationSucceeded") == authenticated
    if bundle == "nonsense":
        text = "the key ca-bundle.pem of ConfigMap openshift-config/cloud-provider-config holds no certificate"
        assert text in world.message("OpenStackAuthenticationSucceeded")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metadata": {"labels": None}}, "FailedValidate"),
        ({"spec": {"providerSpec": {"value": None}}}, "FailedValidate"),
    ],
)
async def test_what_the_machine_api_does_not_accept_is_an_event(change: dict[str, Any], reason: str) -> None:
    world = Fleet()
    world.api.load(machine(world))
    await world.change(change)
    await MachineProcess(world).settle()
    assert world.events() == ["FailedValidate"]
    assert "phase" not in world.status


async def test_a_machine_that_was_never_looked_at_goes_at_once() -> None:
    world = Fleet()
    world.api.load(machine(world, meta={"finalizers": ["machine.machine.openshift.io"]}))
    await world.delete()
    await MachineProcess(world).settle()
    assert world.is_gone
    assert world.cloud.requests == []


async def test_only_one_node_of_the_control_plane_is_drained_at_a_time() -> None:
    world = Fleet()
    process = await linked(world, pod("p"), labels={"node-role.kubernetes.io/master": ""})
    world.api.load(node("node-1", labels={"node-role.kubernetes.io/control-plane": ""}, unschedulable=True))
    await world.delete()
    for _ in range(3):
        await process.step()
    assert "Node node-1 of the control plane is being drained" in world.message("Drained")
    assert [each.name for each in world.api.listing(Pod)] == ["p"]
    await world.api.patch(Node, "node-1", {"spec": {"unschedulable": None}}, type=PatchType.MERGE)
    await process.settle()
    assert world.is_gone


async def test_a_floating_ip_of_the_project_is_led_to_the_server_and_stays() -> None:
    world = Fleet()
    floating = floating_ip(world)
    address = floating["floating_ip_address"]
    process = await begun(world, floatingIP="203.0.113.250")
    world.cloud.pass_time(5)
    await process.settle()
    assert "FailedUpdate" in world.events(), "the project does not have this address"
    assert world.says("InstanceReady") == "True Ready"
    await world.change({"spec": {"providerSpec": {"value": {"floatingIP": address}}}})
    await process.settle()
    assert world.cloud.services.floatingips[floating["id"]]["port_id"]
    assert f"ExternalIP {address}" in [f"{each['type']} {each['address']}" for each in world.status["addresses"]]
    assert sum("/floatingips/" in each.path for each in world.cloud.requests) == 1, "nobody asks for it twice"
    await world.delete()
    await process.settle()
    assert world.is_gone
    assert floating["id"] in world.cloud.services.floatingips


async def test_a_floating_ip_that_leads_elsewhere_is_not_taken_from_there() -> None:
    world = Fleet()
    floating = floating_ip(world)
    port = {"port": {"network_id": world.network}}
    _, made = world.cloud.services.handle(PROJECT, Http("network", "POST", "/v2.0/ports", body=port))
    world.cloud.services.floatingips[floating["id"]]["port_id"] = made["port"]["id"]
    process = await begun(world, floatingIP=floating["floating_ip_address"])
    world.cloud.pass_time(5.0)
    await process.settle()
    assert "FailedUpdate" in world.events()
    assert world.says("InstanceReady") == "True Ready"
    assert world.cloud.services.floatingips[floating["id"]]["port_id"] == made["port"]["id"]
