"""What belongs to others is left alone, on a real API server: whatever is called, labelled or annotated like ours.

The service has the permissions that we ship, which are more than the users have who act here. machine-sync must be safe
without the policies, so every attempt is made without and with them; some do not get past them.
"""

import pytest

from windlass.api import capi, capo, mapi
from windlass.kube.errors import Invalid
from windlass.machine_sync import policies
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    CLUSTER_API_FINALIZER,
    MACHINE_ANNOTATION,
    MACHINE_API_FINALIZER,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT

from .examples import Tree
from .policies.policed import Policed, wait_until_in_force
from .stage import SET, Stage, condition, finalizers, stays

pytestmark = pytest.mark.plane

MARKS = {PAUSED_ANNOTATION: "", AUTHORITY_ANNOTATION: "MachineAPI"}
OF_A_SET = {"machine.openshift.io/cluster-api-machineset": "pool"}
"""Labels that a user may choose."""

WITHOUT = pytest.mark.parametrize("stage", [False], ids=["without policies"], indirect=True)
WITH = pytest.mark.parametrize("stage", [True], ids=["with policies"], indirect=True)
LATER = pytest.mark.parametrize("later", [False, True], ids=["never", "policies installed later"])


@pytest.fixture(params=[False, True], ids=["without policies", "with policies"])
async def stage(request: pytest.FixtureRequest, stage: Stage) -> Stage:
    if request.param:
        await enforce(stage)
    return stage


async def enforce(stage: Stage) -> None:
    """The policies, as shipped, in the namespaces of the stage."""
    ours = DEFAULT_SERVICE_ACCOUNT.within(stage.namespaces.cluster_api)
    await stage.plane.apply(*policies.documents(namespaces=stage.namespaces, service_account=ours))
    async with Policed.by(stage.plane, stage.namespaces) as policed:
        await wait_until_in_force(policed)


async def running(stage: Stage, name: str) -> None:
    """A machine that Cluster API runs, with an instance, and that the Machine API does not have."""
    await stage.machine(name, owner=None, spec={"providerID": stage.instance(f"{name}-of-cluster-api")})


async def side_of_cluster_api(stage: Stage, name: str) -> list[Tree | None]:
    return [await stage.get(capi.Machine, name), await stage.get(stage.infra_kind, name)]


@WITHOUT
@LATER
async def test_a_machine_that_cluster_api_runs_is_not_taken_over_by_one_of_its_name(stage: Stage, later: bool) -> None:
    await stage.cluster()
    await running(stage, "w-0")
    before = await side_of_cluster_api(stage, "w-0")
    async with stage.syncing(resync=0.2):
        await stage.make(mapi.Machine, "w-0", {"authoritativeAPI": "MachineAPI", **provided(stage)})
        assert "set spec.authoritativeAPI of this one" in (await stage.reports("w-0", reason="NameConflict"))["message"]
        if later:
            await enforce(stage)
        await stage.all_seen()
        assert await side_of_cluster_api(stage, "w-0") == before
        machine = await stage.get(mapi.Machine, "w-0")
        assert machine is not None
        assert "authoritativeAPI" not in machine["status"], "its own controllers would make a second instance"
        await stage.ask("w-0", "ClusterAPI")
        mirror = await stage.in_sync("w-0")
        assert mirror["spec"]["providerID"] == stage.instance("w-0-of-cluster-api")


async def test_a_machine_with_an_instance_does_not_become_the_mirror_of_another(stage: Stage) -> None:
    await stage.cluster()
    await running(stage, "w-0")
    other = {**provided(stage), "providerID": stage.instance("w-0")}
    await stage.make(mapi.Machine, "w-0", {"authoritativeAPI": "ClusterAPI", **other})
    before = await side_of_cluster_api(stage, "w-0")
    async with stage.syncing(resync=0.2):
        await stage.reports("w-0", reason="NameConflict")
        await stage.delete(mapi.Machine, "w-0")
        await stage.gone((mapi.Machine, "w-0"))
        assert await side_of_cluster_api(stage, "w-0") == before


@WITHOUT
@LATER
async def test_a_set_that_cluster_api_runs_is_not_taken_over_by_one_of_its_name(stage: Stage, later: bool) -> None:
    await stage.cluster()
    await stage.source_set()
    before = await stage.get(capi.MachineSet, SET)
    async with stage.syncing(resync=0.2):
        await stage.make(mapi.MachineSet, SET, pool_spec(stage))
        if later:
            await enforce(stage)
        found = await stage.set_that(SET, lambda tree: condition(tree).get("reason") == "NameConflict")
        assert "authoritativeAPI" not in found["status"]
        assert await stage.get(capi.MachineSet, SET) == before
        await stage.delete(mapi.MachineSet, SET)
        await stage.gone((mapi.MachineSet, SET))
        assert await stage.get(capi.MachineSet, SET) == before


@WITH
@pytest.mark.parametrize("labels", [{}, OF_A_SET], ids=["without a label", "labelled like the Machine of a set"])
async def test_policies_refuse_at_once_what_has_the_name_of_a_machine_or_set_that_cluster_api_runs(
    stage: Stage, labels: Tree
) -> None:
    await stage.cluster()
    await stage.source_set()
    await running(stage, "w-0")
    before = [*await side_of_cluster_api(stage, "w-0"), await stage.get(capi.MachineSet, SET)]
    async with stage.syncing(resync=0.2):
        with pytest.raises(Invalid, match="Can't create Machine API Machine w-0 with authoritativeAPI=MachineAPI"):
            await stage.make(mapi.Machine, "w-0", {"authoritativeAPI": "MachineAPI", **provided(stage)}, labels=labels)
        with pytest.raises(Invalid, match="Can't create Machine API MachineSet ms "):
            await stage.make(mapi.MachineSet, SET, pool_spec(stage), labels=labels)
        await stage.all_seen()
        assert [*await side_of_cluster_api(stage, "w-0"), await stage.get(capi.MachineSet, SET)] == before


async def test_the_infra_machine_of_another_machine_is_neither_deleted_nor_recreated_for_its_name(stage: Stage) -> None:
    """A user who may only make Machines of the Machine API names one like the infra machine of somebody else's."""
    await stage.cluster()
    await stage.machine("cp-1", owner=None, infra=False, spec=named("cp-1-infra"))
    before = await infra_of(stage, "cp-1", name="cp-1-infra")
    async with stage.syncing(resync=0.2):
        await stage.machine_of_machine_api("cp-1-infra")
        refused = await stage.reports("cp-1-infra", reason="FailedToGetCAPIInfraResources")
        assert "cp-1-infra belongs to Machine cp-1 of Cluster API" in refused["message"]
        await stage.delete(mapi.Machine, "cp-1-infra")
        await stage.let_go(mapi.Machine, "cp-1-infra", MACHINE_API_FINALIZER)
        await stage.gone((mapi.Machine, "cp-1-infra"))
        await stage.adoptable("cp-1-infra", finalizers=["example.com/mine"])
        await stage.reports("cp-1-infra", reason="FailedToGetCAPIInfraResources")
        await stage.delete(mapi.Machine, "cp-1-infra")
        await stage.all_seen()
        await stage.let_go(mapi.Machine, "cp-1-infra", "example.com/mine")
        await stage.gone((mapi.Machine, "cp-1-infra"))
        assert await stage.get(stage.infra_kind, "cp-1-infra") == before


async def test_the_infra_machine_of_another_machine_is_not_taken_for_an_annotation(stage: Stage) -> None:
    await stage.cluster()
    await stage.machine("an-1", owner=None)
    await stage.patch(stage.infra_kind, "an-1", {"metadata": {"annotations": {MACHINE_ANNOTATION: "harmless"}}})
    before = await stage.get(stage.infra_kind, "an-1")
    async with stage.syncing(resync=0.2):
        await stage.machine_of_machine_api("harmless")
        await stage.in_sync("harmless")
        mirror = await stage.get(capi.Machine, "harmless")
        assert mirror is not None
        assert mirror["spec"]["infrastructureRef"]["name"] == "harmless"
        assert await stage.get(stage.infra_kind, "an-1") == before


@WITHOUT
async def test_a_mirror_that_is_made_to_name_the_infra_machine_of_another_is_set_back(stage: Stage) -> None:
    await stage.cluster()
    await stage.machine("an-1", owner=None)
    before = await stage.get(stage.infra_kind, "an-1")
    async with stage.syncing(resync=0.2):
        for name in ("w-0", "w-1"):
            await stage.machine_of_machine_api(name)
            await stage.in_sync(name)
        own = await stage.get(stage.infra_kind, "w-0")
        for other in ("an-1", "w-1"):
            await stage.patch(capi.Machine, "w-0", {"spec": named(other)})
            await stage.source_that("w-0", lambda tree: tree["spec"]["infrastructureRef"]["name"] == "w-0")
        await stage.in_sync("w-0")
        assert await stage.get(stage.infra_kind, "an-1") == before
        assert await stage.get(stage.infra_kind, "w-0") == own
    await stays(stage, "w-0")


@WITH
async def test_policies_refuse_at_once_to_make_a_mirror_name_the_infra_machine_of_another(stage: Stage) -> None:
    await stage.cluster()
    await stage.machine("an-1", owner=None)
    async with stage.syncing(resync=0.2):
        await stage.machine_of_machine_api("w-0")
        await stage.in_sync("w-0")
        before = [await stage.get(stage.infra_kind, name) for name in ("an-1", "w-0")]
        with pytest.raises(Invalid, match=r"Changing .spec is not allowed"):
            await stage.patch(capi.Machine, "w-0", {"spec": named("an-1")})
        assert [await stage.get(stage.infra_kind, name) for name in ("an-1", "w-0")] == before
    await stays(stage, "w-0")


async def test_of_two_machines_that_name_one_infra_machine_one_stops_and_nothing_is_written(stage: Stage) -> None:
    await stage.fleet()
    await stage.machine("w-0")
    await stage.machine("w-1", infra=False, spec=named("w-0"))
    async with stage.syncing(resync=0.2):
        await stage.in_sync("w-0")
        event = await stage.told("w-1", "SynchronizationWarning")
        assert "OpenStackMachine w-0 belongs to Machine w-0 of Cluster API" in event["message"]
    await stays(stage, "w-0")


@pytest.mark.parametrize("authority", ["ClusterAPI", "MachineAPI"])
async def test_an_infra_machine_that_others_made_beforehand_does_not_decide_what_a_machine_is(
    stage: Stage, authority: str
) -> None:
    """A user who may only make infra machines knows the name of the next Machine."""
    await stage.cluster()
    evil = {**stage.example.infra_spec, "identityRef": {"name": "of-somebody", "cloudName": "evil"}, "flavor": "huge"}
    made = await stage.make(stage.infra_kind, "w-0", evil)
    async with stage.syncing(resync=0.2):
        await stage.make(mapi.Machine, "w-0", {"authoritativeAPI": authority, **provided(stage)})
        refused = await stage.reports("w-0", reason="FailedToGetCAPIInfraResources")
        assert "OpenStackMachine w-0 was made beforehand" in refused["message"]
        assert await stage.get(capi.Machine, "w-0") is None
        assert await stage.get(stage.infra_kind, "w-0") == made
        await stage.delete(stage.infra_kind, "w-0")
        await stage.mirror_that("w-0", lambda tree: condition(tree).get("reason") != "FailedToGetCAPIInfraResources")


async def test_a_mark_does_not_take_cluster_apis_finalizer_off(stage: Stage) -> None:
    """A user who may only annotate must not skip hooks, the drain and the deletion of the instance."""
    await stage.cluster()
    async with stage.syncing(resync=0.2):
        for name, annotations in {"t-1": {AUTHORITY_ANNOTATION: ""}, "t-2": MARKS}.items():
            await stage.machine(name, owner=None, annotations=annotations)
            await stage.delete(capi.Machine, name)
        await stage.all_seen()
        for name in ("t-1", "t-2"):
            assert CLUSTER_API_FINALIZER in finalizers(await stage.get(capi.Machine, name))


@pytest.mark.parametrize("held", [False, True], ids=["as it is", "with our finalizer"])
async def test_what_never_was_a_mirror_does_not_take_a_machine_along(stage: Stage, held: bool) -> None:
    """A user of Cluster API makes a paused Machine with the name of a control plane machine, and deletes it."""
    await stage.cluster()
    await stage.make(mapi.Machine, "master-0", {**provided(stage), "metadata": {"name": "n"}})
    async with stage.syncing(resync=0.2):
        await stage.reports("master-0", reason="FailedToConvertMAPIMachineToCAPI")
        mine = ["example.com/mine", *([SYNC_FINALIZER] if held else [])]
        await stage.machine("master-0", owner=None, infra=False, annotations=MARKS, finalizers=mine)
        await stage.delete(capi.Machine, "master-0")
        await stage.all_seen()
        await stage.let_go(capi.Machine, "master-0", "example.com/mine")
        await stage.gone((capi.Machine, "master-0"))
        await stage.all_seen()
        machine = await stage.get(mapi.Machine, "master-0")
        assert machine is not None
        assert "deletionTimestamp" not in machine["metadata"]


async def test_a_template_is_not_deleted_for_its_label(stage: Stage) -> None:
    await stage.cluster()
    kind = stage.example.platform.infra_template
    spec = {"template": {"spec": stage.example.infra_spec}}
    for name in ("of-a-user", "pool-00000000"):
        await stage.make(kind, name, spec, labels=OF_A_SET)
    async with stage.syncing(resync=0.2):
        await stage.make(mapi.MachineSet, "pool", pool_spec(stage))
        await stage.set_that("pool", lambda tree: condition(tree).get("status") == "True")
        await stage.gone((kind, "pool-00000000"))
        await stage.delete(mapi.MachineSet, "pool")
        await stage.gone((mapi.MachineSet, "pool"), (capi.MachineSet, "pool"))
        assert await stage.get(kind, "of-a-user") is not None


def pool_spec(stage: Stage) -> Tree:
    """Of a MachineSet of the Machine API, without replicas."""
    template = {"metadata": {"labels": OF_A_SET}, "spec": provided(stage)}
    selected = {"selector": {"matchLabels": OF_A_SET}, "template": template}
    return {"authoritativeAPI": "MachineAPI", "replicas": 0, **selected}


def provided(stage: Stage) -> Tree:
    return {"providerSpec": {"value": dict(stage.example.provider_spec)}}


def named(infra: str) -> Tree:
    """The field of a Machine's spec that names its infra machine."""
    kind = capo.OpenStackMachine.RESOURCE
    return {"infrastructureRef": {"apiGroup": kind.group, "kind": kind.kind, "name": infra}}


async def infra_of(stage: Stage, machine: str, *, name: str) -> Tree:
    owners = [await stage.reference(capi.Machine, machine, controller=True)]
    return await stage.infra_machine(name, ownerReferences=owners)
