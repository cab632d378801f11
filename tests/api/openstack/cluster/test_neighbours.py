"""Two clusters of one name, in two namespaces and one project of a real cloud: they share nothing."""

import asyncio

from tests.api.openstack.cluster.stage import Stage, Tree, held, staged
from tests.waiting import eventually
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

LISTS = ("networks", "networks", "subnets", "routers", "security-groups", "floatingips", "ports")
"""What is listed at a look at rest; external networks are asked for by themselves."""
SPEC: Tree = {"managedSubnets": [{"cidr": "10.9.0.0/24"}], "managedSecurityGroups": {}}


async def test_one_name_in_two_namespaces_of_one_project_shares_nothing(
    plane: PlaneAccess, stage: Stage, project: Project
) -> None:
    async with staged(plane, plane.blocking.create_namespace(), project) as other:
        before = held(project)
        await asyncio.gather(stage.cluster(**SPEC), other.cluster(**SPEC))
        one, two = await asyncio.gather(stage.until_ready(), other.until_ready())
        assert not (ids := has(one)) & has(two)
        assert len(ids) == len(has(two)) == 5
        await stage.delete()
        there = {each for kind, found in held(project).items() for each in found - before[kind]}
        assert has(two) <= there
        assert not ids & there
        before_look = len(other.asked())

        async def looked() -> list[str]:
            return other.asked()[before_look:]

        await other.patch({"metadata": {"annotations": {"somebody": "looks"}}})
        asked = await eventually(looked, lambda found: len(found) >= len(LISTS), what="a look at rest")
        assert [each for each in asked if not each.startswith("GET")] == [], "nothing of it was missing"
        await other.delete()


def has(cluster: Tree) -> set[str]:
    """The IDs of what it has made."""
    status = cluster["status"]
    groups = (status["controlPlaneSecurityGroup"], status["workerSecurityGroup"])
    return {each["id"] for each in (status["network"], *status["network"]["subnets"], status["router"], *groups)}
