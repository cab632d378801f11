"""Whatever there is of a machine: a decision is made, it comes to rest, and every condition says why."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from windlass.api.capo import OpenStackMachine
from windlass.kube.object import Object
from windlass.openstack.status import INSTANCE

from .cases import (
    ADDRESSES,
    FINALIZER,
    GONE,
    ID,
    OTHER_ID,
    PAUSED,
    Tree,
    World,
    cluster,
    held,
    infra,
    machine,
    owner,
    says,
    server,
)

PROVIDER_IDS = [None, f"openstack:///{ID}", f"openstack://one/{OTHER_ID}", "aws:///x"]

specs = st.fixed_dictionaries(
    {},
    optional={
        "providerID": st.sampled_from(PROVIDER_IDS[1:]),
        "identityRef": st.none(),
        "floatingIPPoolRef": st.just({"kind": "Pool", "name": "p"}),
        "ports": st.lists(st.sampled_from([{}, {"network": {"id": ID}}, {"disablePortSecurity": True}]), max_size=2),
    },
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "instanceID": st.sampled_from([ID, OTHER_ID]),
        "initialization": st.just({"provisioned": True}),
        "addresses": st.just(ADDRESSES),
        "conditions": st.sampled_from(
            [
                [{"type": "Ready", "status": "True", "lastTransitionTime": GONE}],
                [says("Deleting", "True", "DeletingServer", "x")],
                [says("InstanceReady", "False", "InstanceCreateFailed", "x")],
            ]
        ),
    },
)
metadata = st.sampled_from(
    [
        {},
        held(),
        held(**{PAUSED: ""}),
        {"annotations": {PAUSED: ""}},
        {"ownerReferences": []},
        {"finalizers": [FINALIZER]},
        {**held(), "deletionTimestamp": GONE},
        {"finalizers": [FINALIZER], "deletionTimestamp": GONE},
        {"finalizers": ["example.com/other"], "deletionTimestamp": GONE},
        {"labels": {"cluster.x-k8s.io/control-plane": ""}},
    ]
)
conditions = st.lists(
    st.builds(
        says,
        st.sampled_from(["InstanceReady", "OpenStackAuthenticationSucceeded", "Progressing", "Paused", "Deleting"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["Ready", "TransientError", "InstanceNotFound", "NotYetObserved", "Progressing"]),
        st.sampled_from(["", "a sentence"]),
    ),
    unique_by=lambda each: each["type"],
    max_size=5,
)
servers = st.builds(
    server,
    st.sampled_from(["", "BUILD", "ACTIVE", "ERROR", "DELETED", "SHUTOFF"]),
    conditions,
    st.sampled_from([{}, {"addresses": []}, {"instanceID": OTHER_ID}]),
)
others = st.fixed_dictionaries(
    {},
    optional={
        "owner": st.sampled_from([owner(), owner(bootstrap=None), owner(providerID=PROVIDER_IDS[2])]),
        "cluster": st.sampled_from([cluster(), cluster(paused=True), cluster(provisioned=False)]),
        "infra": st.sampled_from([infra(), infra(status={}), infra({"tags": "malformed"})]),
        "server": st.one_of(servers, st.just(server(ownerReferences=[])), st.just(server(deletionTimestamp=GONE))),
    },
)


@given(spec=specs, status=statuses, meta=metadata, others=others)
async def test_every_machine_comes_to_rest_and_says_why(
    spec: Tree, status: Tree, meta: Tree, others: dict[str, Any]
) -> None:
    world = World(machine(spec, status, **meta), *others.values())
    before = world.tree()
    await world.rest()
    assert await world.rest() == 0
    if not world.exists():
        assert before["metadata"].get("deletionTimestamp")
        return
    after = world.tree()
    if after == before:  # it is not ours
        return
    own = {each["type"]: each for each in after["status"]["conditions"]}
    assert set(INSTANCE) <= own.keys()
    assert all(each["reason"] for each in own.values())
    if "initialization" in status:
        assert after["status"]["initialization"] == {"provisioned": True}
    if "providerID" in before["spec"]:
        assert after["spec"]["providerID"] == before["spec"]["providerID"]
    if after["status"].get("initialization") and "initialization" not in status:
        assert after["spec"]["providerID"]
        assert after["status"]["addresses"]
    assert Object.of(OpenStackMachine, after).decode()
