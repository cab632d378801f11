"""From an OpenStackMachine to a provisioned one: its OpenStackServer, what is told of it, and what is in the way."""

from typing import Any

import pytest

from windlass.api.capi import Cluster, Machine
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.kube.errors import Invalid, Status
from windlass.openstack.cloud.marks import mark_for
from windlass.openstack.status import INSTANCE

from .cases import (
    ADDRESSES,
    FINALIZER,
    ID,
    MARK,
    OTHER_ID,
    PAUSED,
    SERVER_FINALIZER,
    Tree,
    World,
    all_of_it,
    cluster,
    held,
    infra,
    machine,
    owned_by,
    owner,
    says,
    server,
)

WAITING = "Waiting for instance to be created"
LEFT: Tree = {
    "ownerReferences": [],
    "annotations": {"openstack.windlass.dev/mark": MARK, PAUSED: "OpenStackMachine"},
}
"""The metadata of an OpenStackServer whose machine paused it and was recreated."""


async def test_a_new_machine_gets_finalizer_and_mark_and_one_openstackserver() -> None:
    world = World(*all_of_it())
    assert await world.rest() == 3
    own, child = world.tree(), world.tree(OpenStackServer)
    assert own["metadata"]["finalizers"] == [FINALIZER]
    mark = own["metadata"]["annotations"]["openstack.windlass.dev/mark"]
    assert mark in world.born
    assert child["metadata"]["annotations"] == {"openstack.windlass.dev/mark": mark}
    assert child["metadata"]["finalizers"] == [SERVER_FINALIZER]
    assert child["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "one"}
    assert child["metadata"]["ownerReferences"] == owned_by(OpenStackMachine, "w-0")
    assert await world.rest() == 0


async def test_finalizer_and_mark_are_stored_before_the_openstackserver_exists() -> None:
    world = World(*all_of_it())
    held_before: list[bool] = []

    def look(_: Any) -> None:
        if world.exists(OpenStackServer) and not held_before:
            held_before.append(world.tree()["metadata"].get("finalizers") == [FINALIZER])

    world.api.subscribe(look)
    await world.rest()
    assert held_before == [True]


async def test_a_mark_that_is_stored_already_is_the_one_that_the_openstackserver_gets() -> None:
    world = World(*all_of_it(machine=machine(**held())))
    await world.rest()
    assert world.tree(OpenStackServer)["metadata"]["annotations"] == {"openstack.windlass.dev/mark": MARK}
    assert world.born == []


async def test_a_machine_that_wants_a_floating_ip_is_provisioned_when_its_server_has_it() -> None:
    ref = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackFloatingIPPool", "name": "p"}
    world = World(*all_of_it(machine=machine({"floatingIPPoolRef": ref})))
    await world.rest()
    assert world.tree(OpenStackServer)["spec"]["floatingIPPoolRef"] == ref
    active = [says("OpenStackAuthenticationSucceeded", "True", "Ready"), says("InstanceReady", "True", "Ready")]
    for status, reason, told in (
        (None, "", ("False", "InstanceNotReady", "Waiting for the floating IP of the server")),
        ("False", "FloatingIPError", ("False", "FloatingIPError", "it is gone")),
        ("True", "Ready", ("True", "Ready", "")),
    ):
        floating = [says("FloatingAddressFromPoolReady", status, reason, told[2])] if status else []
        known: Tree = {"instanceID": ID, "instanceState": "ACTIVE", "addresses": ADDRESSES, "ready": True}
        world.status(OpenStackServer, conditions=[*active, *floating], **known)
        await world.rest()
        assert world.condition("InstanceReady") == told
        assert ("initialization" in world.tree()["status"]) == (status == "True")


async def test_a_machine_costs_six_writes_until_it_is_provisioned_and_none_at_rest() -> None:
    world = World(*all_of_it())
    writes = await world.rest()
    unseen = [says(each, "Unknown", "NotYetObserved", "Waiting for the credentials") for each in INSTANCE]
    going = [
        says("OpenStackAuthenticationSucceeded", "True", "Ready"),
        says("InstanceReady", "Unknown", "InstanceNotReady", WAITING),
        says("Progressing", "True", "Progressing", WAITING),
    ]
    building = [*going[:1], says("InstanceReady", "False", "InstanceNotReady", "Instance is building"), going[2]]
    active = [*going[:1], says("InstanceReady", "True", "Ready"), says("Progressing", "False", "Success")]
    for told in (
        {"conditions": unseen},
        {"conditions": going, "resolved": {"imageID": ID}},
        {"conditions": building, "instanceID": ID, "instanceState": "BUILD"},
        {"conditions": active, "instanceID": ID, "instanceState": "ACTIVE", "addresses": ADDRESSES, "ready": True},
    ):
        world.status(OpenStackServer, **told)
        writes += await world.rest()
    assert writes == 6
    own = world.tree()
    assert own["spec"]["providerID"] == f"openstack:///{ID}"
    assert own["status"]["initialization"] == {"provisioned": True}
    assert own["status"]["addresses"] == ADDRESSES
    assert (own["status"]["instanceID"], own["status"]["instanceState"]) == (ID, "ACTIVE")
    assert world.condition("Ready") == ("True", "Ready", "")
    assert await world.rest() == 0


async def test_the_provider_id_is_stored_before_the_machine_is_said_to_be_provisioned() -> None:
    world = World(*all_of_it(machine=machine(**held())), server("ACTIVE"))
    seen: list[tuple[bool, bool]] = []

    def look(_: Any) -> None:
        own = world.tree()
        seen.append(("providerID" in own["spec"], "initialization" in own.get("status", {})))

    world.api.subscribe(look)
    await world.rest()
    assert seen == [(True, False), (True, True)]


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"region": "one"}, f"openstack://one/{ID}"),
        ({}, f"openstack:///{ID}"),
    ],
    ids=["region of identityRef", "no region"],
)
async def test_the_provider_id_has_the_region_of_the_machine(ref: Tree, expected: str) -> None:
    identity = {"type": "Secret", "name": "cloud", "cloudName": "prod", **ref}
    world = World(*all_of_it(machine=machine({"identityRef": identity}, **held())), server("ACTIVE"))
    await world.rest()
    assert world.tree()["spec"]["providerID"] == expected


FAILED = says("InstanceReady", "False", "DependencyFailed", "image rhcos does not exist")
NOT_READY = says("InstanceReady", "False", "InstanceNotReady", "waits for a port")
LOCKED_OUT = says("OpenStackAuthenticationSucceeded", "False", "OpenStackAuthenticationFailed", "wrong password")


@pytest.mark.parametrize(
    ("state", "conditions", "status", "reason", "message"),
    [
        pytest.param("", [FAILED], "False", "DependencyFailed", "image rhcos does not exist", id="none, failed"),
        pytest.param("", [NOT_READY], "False", "InstanceNotReady", "waits for a port", id="none, not ready"),
        pytest.param("", [], "False", "InstanceNotReady", WAITING, id="none, nothing said"),
        pytest.param("ACTIVE", [], "True", "Ready", "", id="ACTIVE"),
        pytest.param("ERROR", [], "False", "InstanceStateError", "Instance is in ERROR state", id="ERROR"),
        pytest.param(
            "ERROR",
            [says("InstanceReady", "False", "InstanceStateError", "No valid host")],
            "False",
            "InstanceStateError",
            "No valid host",
            id="ERROR with message",
        ),
        pytest.param(
            "ERROR",
            [says("InstanceReady", "True", "Ready")],
            "False",
            "InstanceStateError",
            "Instance is in ERROR state",
            id="ready, then ERROR",
        ),
        pytest.param("DELETED", [], "False", "InstanceDeleted", "Instance has been deleted", id="DELETED"),
        pytest.param("BUILD", [], "False", "InstanceNotReady", "Instance is building", id="BUILD"),
        pytest.param(
            "SHUTOFF", [], "Unknown", "InstanceNotReady", "Instance state is not handled: SHUTOFF", id="SHUTOFF"
        ),
        pytest.param(
            "ACTIVE",
            [says("InstanceReady", "False", "InstanceNotFound", "The server was unexpectedly deleted")],
            "False",
            "InstanceNotFound",
            "The server was unexpectedly deleted",
            id="deleted by hand",
        ),
        pytest.param("", [LOCKED_OUT], "False", "InstanceNotReady", WAITING, id="credentials"),
    ],
)
async def test_the_machine_says_what_its_openstackserver_says(
    state: str, conditions: list[Tree], status: str, reason: str, message: str
) -> None:
    world = World(*all_of_it(machine=machine(**held())), server(state, conditions))
    await world.rest()
    assert world.condition("InstanceReady") == (status, reason, message)
    assert world.condition("Ready")[0] == status
    assert await world.rest() == 0


async def test_wrong_credentials_are_told_by_the_machine() -> None:
    world = World(*all_of_it(machine=machine(**held())), server("", [LOCKED_OUT]))
    await world.rest()
    told = ("False", "OpenStackAuthenticationFailed", "wrong password")
    assert world.condition("OpenStackAuthenticationSucceeded") == told
    assert "wrong password" in world.condition("Ready")[2]


async def test_a_machine_that_was_ready_follows_its_server_through_error_and_back() -> None:
    world = World(*all_of_it(machine=machine(**held())), server("ACTIVE"))
    for state, expected in (("ACTIVE", "True"), ("ERROR", "False"), ("ACTIVE", "True")):
        world.status(OpenStackServer, instanceState=state)
        await world.rest()
        assert world.condition("InstanceReady")[0] == expected
        assert world.condition("Ready")[0] == expected
        assert world.tree()["status"]["initialization"] == {"provisioned": True}


async def test_a_machine_is_provisioned_only_when_its_addresses_are_known() -> None:
    world = World(*all_of_it(machine=machine(**held())), server("ACTIVE", status={"addresses": []}))
    await world.rest()
    assert "initialization" not in world.tree()["status"]
    assert world.condition("Ready") == ("False", "InstanceNotReady", "Waiting for the addresses of the server")
    world.status(OpenStackServer, addresses=ADDRESSES)
    await world.rest()
    assert world.tree()["status"]["initialization"] == {"provisioned": True}


async def test_a_server_whose_status_was_dropped_does_not_undo_what_was_known() -> None:
    done = {"initialization": {"provisioned": True}, "instanceID": ID, "addresses": ADDRESSES}
    bare = {**server(), "status": {"ready": False}}
    world = World(*all_of_it(machine=machine({"providerID": f"openstack:///{ID}"}, done, **held())), bare)
    await world.rest()
    assert done.items() <= world.tree()["status"].items()


@pytest.mark.parametrize(
    ("trees", "reason", "message"),
    [
        pytest.param(
            {"machine": machine(ownerReferences=[])},
            "WaitingForClusterInfrastructure",
            "Waiting for Cluster API to set the Machine as owner of this object",
            id="no owner",
        ),
        pytest.param(
            {"owner": None},
            "WaitingForClusterInfrastructure",
            "Waiting for the Machine that owns this object",
            id="no Machine",
        ),
        pytest.param(
            {"cluster": None}, "WaitingForClusterInfrastructure", "Waiting for Cluster ns/one", id="no Cluster"
        ),
        pytest.param(
            {"infra": None},
            "WaitingForClusterInfrastructure",
            "Waiting for OpenStackCluster ns/one-infra",
            id="no OpenStackCluster",
        ),
        pytest.param(
            {"cluster": cluster(provisioned=False)},
            "WaitingForClusterInfrastructure",
            "Waiting for the infrastructure of Cluster one: OpenStackCluster one-infra is not provisioned",
            id="row 4",
        ),
        pytest.param(
            {"owner": owner(bootstrap=None)},
            "WaitingForBootstrapData",
            "Waiting for bootstrap data: spec.bootstrap.dataSecretName of Machine m-0 is not set",
            id="row 5",
        ),
        pytest.param(
            {"infra": infra(status={})},
            "InvalidMachineSpec",
            "no network configured: set spec.network of the OpenStackCluster, or network in each of spec.ports",
            id="no network",
        ),
        pytest.param(
            {"machine": machine({"providerID": f"aws:///eu-1/{ID}"})},
            "InvalidConfiguration",
            f"spec.providerID is 'aws:///eu-1/{ID}', which names no server in OpenStack: remove it, or correct the ID",
            id="foreign providerID",
        ),
        pytest.param(
            {"owner": owner(providerID="garbage")},
            "InvalidConfiguration",
            "spec.providerID of its Machine is 'garbage', which names no server in OpenStack: remove it, or correct "
            "the ID",
            id="garbage in the Machine",
        ),
        pytest.param(
            {
                "machine": machine({"providerID": f"openstack:///{ID}"}),
                "owner": owner(providerID=f"openstack:///{OTHER_ID}"),
            },
            "InvalidConfiguration",
            f"spec.providerID names server {ID} and spec.providerID of its Machine names server {OTHER_ID}: correct "
            "spec.providerID",
            id="two servers",
        ),
        pytest.param(
            {
                "machine": machine({"providerID": f"openstack://two/{ID}", "identityRef": None}),
                "infra": infra({"identityRef": {"name": "c", "cloudName": "prod", "region": "one"}}),
            },
            "InvalidConfiguration",
            "spec.providerID names a server in region two, but identityRef.region is one",
            id="another region",
        ),
        pytest.param(
            {"server": server(ownerReferences=[])},
            "InvalidConfiguration",
            "OpenStackServer ns/w-0 belongs to no OpenStackMachine: delete it, or give the machine another name",
            id="an OpenStackServer of that name",
        ),
        pytest.param(
            {"server": server("ACTIVE", ownerReferences=[]), "owner": owner(providerID=f"openstack:///{ID}")},
            "InvalidConfiguration",
            "OpenStackServer ns/w-0 belongs to no OpenStackMachine: delete it, or give the machine another name",
            id="one that its machine had not paused",
        ),
        pytest.param(
            {"server": server("ACTIVE", **LEFT), "owner": owner(providerID=f"openstack:///{OTHER_ID}")},
            "InvalidConfiguration",
            "OpenStackServer ns/w-0 belongs to no OpenStackMachine: delete it, or give the machine another name",
            id="one that has another server",
        ),
    ],
)
async def test_a_sentence_says_what_is_in_the_way_and_nothing_is_created(
    trees: dict[str, Tree | None], reason: str, message: str
) -> None:
    world = World(*all_of_it(**trees))
    assert await world.rest() == 1
    assert world.condition("InstanceReady") == ("False", reason, message)
    assert world.condition("Ready") == ("False", reason, message)
    expected = ("False", "InvalidConfiguration") if "Invalid" in reason else ("True", "Progressing")
    assert world.condition("Progressing")[:2] == expected
    assert world.exists(OpenStackServer) == ("server" in trees)
    assert "finalizers" not in world.tree()["metadata"]
    assert await world.rest() == 0


@pytest.mark.parametrize("trees", [{}, {"cluster": None}, {"machine": machine(ownerReferences=[])}])
async def test_every_condition_is_there_after_the_first_visit_with_reason_and_message(trees: Any) -> None:
    world = World(*all_of_it(**trees))
    await world.rest()
    conditions = world.tree()["status"]["conditions"]
    assert sorted(each["type"] for each in conditions) == sorted(INSTANCE)
    assert all(each["reason"] for each in conditions)
    absent = ("NotPaused", "NotDeleting")  # nothing to say
    assert all(each["message"] for each in conditions if each["status"] != "True" and each["reason"] not in absent)


async def test_the_first_write_of_a_machine_has_every_condition() -> None:
    world = World(*all_of_it())
    first: list[list[str]] = []
    world.api.subscribe(lambda _: first.append([e["type"] for e in world.tree().get("status", {})["conditions"]]))
    await world.rest()
    assert sorted(first[0]) == sorted(INSTANCE)


GIVEN: Tree = {"disableExternalNetwork": True, "disableAPIServerFloatingIP": True}
MANAGED = {"cluster.x-k8s.io/managed-by": ""}
BALANCED: Tree = {**GIVEN, "apiServerLoadBalancer": {"enabled": True}}
LED: Tree = {"openstack.windlass.dev/ingress": "lb1"}


def of_control_plane(status: Tree | None = None, **annotations: str) -> Tree:
    labels = {"cluster.x-k8s.io/cluster-name": "one", "cluster.x-k8s.io/control-plane": ""}
    return machine(status=status, labels=labels, **held(**annotations))


@pytest.mark.parametrize(
    "found", [infra(GIVEN), {**infra(BALANCED), "metadata": {**infra()["metadata"], "annotations": MANAGED}}]
)
async def test_a_machine_of_the_control_plane_is_reached_where_the_endpoint_is_given(found: Tree) -> None:
    world = World(*all_of_it(machine=of_control_plane(), infra=found), server("ACTIVE"))
    await world.rest()
    assert world.condition("APIServerIngressReady")[:2] == ("True", "Ready")
    assert world.condition("Ready")[0] == "True"


@pytest.mark.parametrize("spec", [BALANCED, {}, {**GIVEN, "apiServerFloatingIP": "203.0.113.9"}])
async def test_a_machine_of_the_control_plane_is_provisioned_when_the_endpoint_leads_to_it(spec: Tree) -> None:
    world = World(*all_of_it(machine=of_control_plane(), infra=infra(spec)), server("ACTIVE"))
    await world.rest()
    text = "Waiting for OpenStackCluster one-infra to lead its API endpoint to the machine"
    assert "initialization" not in world.tree()["status"]
    assert world.tree()["status"]["addresses"] == ADDRESSES
    for type_ in ("APIServerIngressReady", "Ready"):
        assert world.condition(type_) == ("False", "WaitingForClusterInfrastructure", text)
    assert world.condition("Progressing")[:2] == ("True", "Progressing")
    assert await world.rest() == 0
    world.load(of_control_plane(world.tree()["status"], **LED))
    await world.rest()
    assert world.condition("Ready")[0] == "True"
    assert world.tree()["status"]["initialization"] == {"provisioned": True}


async def test_a_member_that_fails_is_the_cause_that_the_machine_tells() -> None:
    said = [says("APIEndpointReady", "False", "LoadBalancerMemberError", "Failed to create member: no")]
    troubled = infra(BALANCED, {"network": {"id": "n1"}, "conditions": said})
    world = World(*all_of_it(machine=of_control_plane(), infra=troubled), server("ACTIVE"))
    await world.rest()
    assert world.condition("Ready") == ("False", "LoadBalancerMemberError", "Failed to create member: no")
    assert "initialization" not in world.tree()["status"]


async def test_a_machine_that_was_reached_before_stays_ready() -> None:
    status = {"conditions": [says("APIServerIngressReady", "True", "Ready", "by an earlier provider")]}
    world = World(*all_of_it(machine=of_control_plane(status), infra=infra(BALANCED)), server("ACTIVE"))
    await world.rest()
    assert world.condition("Ready")[0] == "True"


@pytest.mark.parametrize(
    ("own", "of_owner"),
    [
        pytest.param(machine({"providerID": f"openstack:///{ID}"}), {}, id="its own providerID"),
        pytest.param(machine(), {"providerID": f"openstack://one/{ID}"}, id="that of its Machine"),
        pytest.param(machine(status={"instanceID": ID}, finalizers=[FINALIZER]), {}, id="recorded by a provider"),
    ],
)
async def test_a_server_that_exists_is_adopted_and_none_is_made(own: Tree, of_owner: Tree) -> None:
    world = World(*all_of_it(machine=own, owner=owner(bootstrap=None, **of_owner), infra=infra(status={})))
    await world.rest()
    annotations = world.tree(OpenStackServer)["metadata"]["annotations"]
    assert annotations["openstack.windlass.dev/adopt"] == ID
    assert annotations["openstack.windlass.dev/mark"]
    assert world.born == [], "the server exists: it has to be looked for"
    assert world.events() == [
        f"AdoptingServer: Server {ID} is adopted: it has its OpenStackServer, and no other server is created"
    ]
    assert await world.rest() == 0


async def test_a_server_that_is_named_after_the_first_visit_is_looked_for() -> None:
    world = World(*all_of_it(owner=None))
    process = world.process()
    await world.rest(process=process)
    world.load(owner(providerID=f"openstack:///{ID}"))
    await world.rest(process=process)
    annotations = world.tree(OpenStackServer)["metadata"]["annotations"]
    assert annotations["openstack.windlass.dev/adopt"] == ID
    assert annotations["openstack.windlass.dev/mark"] not in world.born


async def test_a_lost_openstackserver_comes_back_for_the_same_server_with_the_same_mark() -> None:
    own = machine({"providerID": f"openstack:///{ID}"}, {"instanceID": ID}, **held())
    world = World(*all_of_it(machine=own))
    await world.rest()
    annotations = world.tree(OpenStackServer)["metadata"]["annotations"]
    assert annotations == {"openstack.windlass.dev/mark": MARK, "openstack.windlass.dev/adopt": ID}


async def test_an_openstackserver_of_a_provider_is_taken_over_and_its_mark_kept() -> None:
    done = {"initialization": {"provisioned": True}, "instanceID": ID, "addresses": ADDRESSES}
    own = machine({"providerID": f"openstack:///{ID}"}, done, finalizers=[FINALIZER])
    theirs = server("ACTIVE", [says("InstanceReady", "True", "Ready")], {"addresses": []})
    mark = mark_for(MARK, theirs["metadata"]["uid"], "server/ns/w-0")
    theirs["metadata"]["annotations"] = {"openstack.windlass.dev/mark": mark}
    world = World(*all_of_it(machine=own), theirs)
    await world.rest()
    assert world.tree()["metadata"]["annotations"] == {"openstack.windlass.dev/mark": mark}
    assert world.tree()["status"]["addresses"] == ADDRESSES
    assert world.condition("Ready")[0] == "True"
    assert await world.rest() == 0


async def test_a_refused_openstackserver_is_told_and_tried_again() -> None:
    world = World(*all_of_it())
    refusal = Invalid(Status("Failure", "spec.ports: too long", "Invalid", 422))
    world.api.fail_next("create", OpenStackServer, refusal, times=2)
    assert (await world.attempt()).failed
    told = world.tree()
    assert (await world.attempt()).failed
    assert world.tree() == told  # it is told once
    assert world.condition("InstanceReady")[:2] == ("False", "InstanceCreateFailed")
    assert "spec.ports: too long" in world.condition("InstanceReady")[2]
    await world.rest()
    assert world.exists(OpenStackServer)


async def test_other_credentials_reach_the_openstackserver_but_another_region_does_not() -> None:
    world = World(*all_of_it(machine=machine(**held())), server("ACTIVE"))
    await world.rest()
    for ref, expected in (({"name": "new"}, "new"), ({"name": "newer", "region": "two"}, "new")):
        own = world.tree()
        own["spec"]["identityRef"] = {"type": "Secret", "cloudName": "prod", **ref}
        own["metadata"].pop("resourceVersion")
        world.load(own)
        await world.rest()
        assert world.tree(OpenStackServer)["spec"]["identityRef"]["name"] == expected


async def test_allowed_address_pairs_reach_the_openstackserver_and_nothing_else_of_its_ports_does() -> None:
    ports: list[Tree] = [
        {"network": {"id": "n"}, "allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]},
        {"network": {"id": "n"}},
    ]
    made = server("ACTIVE")
    made["spec"]["ports"] = ports
    world = World(*all_of_it(machine=machine({"ports": ports}, **held())), made)
    await world.rest()
    for changed, expected in (
        ([{**ports[0], "allowedAddressPairs": [{"ipAddress": "10.0.0.2"}]}, ports[1]], [["10.0.0.2"], []]),
        ([{"network": {"id": "n"}, "description": "x"}, ports[1]], [[], []]),
        ([ports[1], {**ports[1], "allowedAddressPairs": [{"ipAddress": "10.0.0.3"}]}], [[], ["10.0.0.3"]]),
        ([ports[0]], [[], ["10.0.0.3"]]),  # not as many ports
    ):
        own = world.tree()
        own["spec"]["ports"] = changed
        own["metadata"].pop("resourceVersion")
        world.load(own)
        await world.rest()
        found = world.tree(OpenStackServer)["spec"]["ports"]
        assert [[pair["ipAddress"] for pair in port.get("allowedAddressPairs", [])] for port in found] == expected
        assert all("description" not in port for port in found)


@pytest.mark.parametrize("kind", [Machine, Cluster])
async def test_what_a_machine_needs_may_be_malformed_and_it_waits(kind: type[Any]) -> None:
    world = World(*all_of_it())
    whole = world.tree(kind, "m-0" if kind is Machine else "one")
    whole["spec"] = {"clusterName": ["one"], "paused": "yes"}
    world.load(whole)
    await world.rest()
    assert not world.exists(OpenStackServer)


async def test_a_malformed_machine_is_left_alone() -> None:
    world = World(*all_of_it(machine=machine({"tags": "none"})))
    assert await world.rest() == 0


@pytest.mark.parametrize("paused", [True, False])
async def test_a_recreated_machine_takes_back_the_server_that_nobody_owns(paused: bool) -> None:
    trees = {"server": server("ACTIVE", **LEFT), "owner": owner(providerID=f"openstack:///{ID}")}
    world = World(*all_of_it(machine=machine(annotations={PAUSED: ""} if paused else {}), **trees))
    await world.rest()
    (by,) = world.tree(OpenStackServer)["metadata"]["ownerReferences"]
    assert by["uid"] == world.tree()["metadata"]["uid"]
    assert (PAUSED in world.tree(OpenStackServer)["metadata"]["annotations"]) == paused


@pytest.mark.parametrize("going", [{}, {"deletionTimestamp": "2026-11-22T11:00:00Z"}], ids=["stays", "goes"])
async def test_a_restored_openstackserver_is_told_the_server_of_its_machine(going: Tree) -> None:
    visited = {"conditions": [says("Paused", "False", "NotPaused")]}
    own = machine({"providerID": f"openstack:///{ID}"}, visited, **{**held(), **going})
    world = World(*all_of_it(machine=own), server(annotations={}))
    await world.rest()
    assert world.tree(OpenStackServer)["metadata"]["annotations"]["openstack.windlass.dev/adopt"] == ID
    assert world.tree(OpenStackServer)["metadata"].get("deletionTimestamp", "")[:4] == ("2026" if going else "")


MARK_OF = "openstack.windlass.dev/mark"
ROOT_OF_ANOTHER = "bbbbbbbb-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("own", "child", "taken"),
    [
        pytest.param(held(), server(ownerReferences=[]), True, id="both have the mark, and no status"),
        pytest.param(held(), server("ACTIVE", ownerReferences=[]), True, id="both have the mark"),
        pytest.param(
            held(),
            server(ownerReferences=[], annotations={MARK_OF: ROOT_OF_ANOTHER}),
            False,
            id="the mark is of another",
        ),
        pytest.param({}, server(ownerReferences=[]), False, id="the machine has no mark"),
        pytest.param({}, server(ownerReferences=[], annotations={}), True, id="neither has one"),
        pytest.param({}, server("ACTIVE", ownerReferences=[], annotations={}), True, id="and it has the server"),
        pytest.param(
            {},
            server("ACTIVE", status={"instanceID": OTHER_ID}, ownerReferences=[], annotations={}),
            False,
            id="it has another server",
        ),
        pytest.param({}, server(ownerReferences=[], annotations={}, labels={}), False, id="it belongs to no cluster"),
        pytest.param(
            {**held(), "deletionTimestamp": "2026-11-22T11:00:00Z"},
            server(ownerReferences=[]),
            False,
            id="the machine is being deleted",
        ),
    ],
)
async def test_a_restored_machine_takes_back_its_openstackserver_that_was_restored_without_an_owner(
    own: Tree, child: Tree, taken: bool
) -> None:
    world = World(*all_of_it(machine=machine({"providerID": f"openstack:///{ID}"}, **own), server=child))
    await world.rest()
    assert bool(world.tree(OpenStackServer)["metadata"].get("ownerReferences")) is taken
