"""Two clusters of one name, in two namespaces and one project of a real cloud: they share nothing."""

import asyncio

import pytest

from tests.api.openstack.cluster.stage import Stage, Tree, held, staged
from windlass.testing import PlaneAccess
from windlass.testing.cloud import Project

pytestmark = pytest.mark.sampled

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
        earlier = len(other.asked())
        # A change that takes no write has all that the cluster has looked at again.
        await other.patch({"spec": {"controlPlaneOmitAvailabilityZone": True}})
        await other.until_ready()
        asked = other.asked()[earlier:]
        assert "GET /v2.0/networks" in asked
        assert [each for each in asked if not each.startswith("GET")] == [], "nothing of it was missing"
        await other.delete()


def has(cluster: Tree) -> set[str]:
    """The IDs of what it has made."""
    status = cluster["status"]
    groups = (status["controlPlaneSecurityGroup"], status["workerSecurityGroup"])
    return {each["id"] for each in (status["network"], *status["network"]["subnets"], status["router"], *groups)}
