"""What belongs to others is left alone, on a real API server: whatever is called, labelled or annotated like ours.

The service has the permissions that we ship, which are more than the users have who act here. The policies are not
installed, because machine-sync must be safe without them.
"""

import pytest

from windlass.api import capi, mapi

from .examples import Tree
from .stage import SET, Stage, condition

pytestmark = pytest.mark.plane


async def running(stage: Stage, name: str) -> None:
    """A machine that Cluster API runs, with an instance, and that the Machine API does not have."""
    await stage.machine(name, owner=None, spec={"providerID": stage.instance(f"{name}-of-cluster-api")})


async def side_of_cluster_api(stage: Stage, name: str) -> list[Tree | None]:
    return [await stage.get(capi.Machine, name), await stage.get(stage.infra_kind, name)]


async def test_a_machine_that_cluster_api_runs_is_not_taken_over_by_one_of_its_name(stage: Stage) -> None:
    await stage.cluster()
    await running(stage, "w-0")
    before = await side_of_cluster_api(stage, "w-0")
    async with stage.syncing(resync=0.2):
        spec = {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": dict(stage.example.provider_spec)}}
        await stage.make(mapi.Machine, "w-0", spec)
        assert "set spec.authoritativeAPI of this one" in (await stage.reports("w-0", reason="NameConflict"))["message"]
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
    provided = {"providerSpec": {"value": dict(stage.example.provider_spec)}, "providerID": stage.instance("w-0")}
    await stage.make(mapi.Machine, "w-0", {"authoritativeAPI": "ClusterAPI", **provided})
    before = await side_of_cluster_api(stage, "w-0")
    async with stage.syncing(resync=0.2):
        await stage.reports("w-0", reason="NameConflict")
        await stage.delete(mapi.Machine, "w-0")
        await stage.gone((mapi.Machine, "w-0"))
        assert await side_of_cluster_api(stage, "w-0") == before


async def test_a_set_that_cluster_api_runs_is_not_taken_over_by_one_of_its_name(stage: Stage) -> None:
    await stage.cluster()
    await stage.source_set()
    before = await stage.get(capi.MachineSet, SET)
    async with stage.syncing(resync=0.2):
        labels = {"machine.openshift.io/cluster-api-machineset": SET}
        template = {"metadata": {"labels": labels}, "spec": {"providerSpec": {"value": {}}}}
        spec = {"authoritativeAPI": "MachineAPI", "replicas": 0, "selector": {"matchLabels": labels}}
        await stage.make(mapi.MachineSet, SET, {**spec, "template": template})
        found = await stage.set_that(SET, lambda tree: condition(tree).get("reason") == "NameConflict")
        assert "authoritativeAPI" not in found["status"]
        assert await stage.get(capi.MachineSet, SET) == before
        await stage.delete(mapi.MachineSet, SET)
        await stage.gone((mapi.MachineSet, SET))
        assert await stage.get(capi.MachineSet, SET) == before
