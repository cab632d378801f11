"""A control plane on which authority over machines is moved, with the real Cluster API core manager."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from windlass.machine_sync import policies
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT
from windlass.testing import ControlPlane, crds
from windlass.testing.machines import cluster_api
from windlass.testing.plane.pool import PlanePool

from ..api.machine_sync.stage import new_stage
from ..conftest import CLUSTER_API_PLANE
from .ground import SIMULATED, SIMULATORS, Actors, Ground

CORE_FLAGS = ["--feature-gates=ReconcilerRateLimiting=false,MachineTaintPropagation=true"]
"""Machines may have taints, which some tests need; `test_taints` has a plane without.

By default Cluster API core looks at an object once a second at most, which tests would wait for at every step.
`windlass demo` runs it so, and so is tested."""


@pytest.fixture(scope="module")
def migration_plane(windlass_planes: PlanePool) -> ControlPlane:
    """A plane with Cluster API core and the CRDs of all sides."""
    plane = windlass_planes.plane(
        CLUSTER_API_PLANE,
        users={SIMULATORS: ["system:masters"], cluster_api.NAME: ["system:masters"]},
        crds=crds.documents(*{*crds.MACHINES, *crds.CLUSTER_API_CORE}),
    )
    if not cluster_api.runs(plane.blocking):
        cluster_api.start(plane.blocking, kubeconfig=plane.kubeconfig(cluster_api.NAME), flags=CORE_FLAGS)
    else:
        cluster_api.admit(plane.blocking)
    return plane


@pytest.fixture
def platform() -> str:
    """The platform of a test; parametrize it to have another."""
    return "OpenStack"


@pytest.fixture
async def ground(migration_plane: ControlPlane, platform: str, tmp_path: Path) -> AsyncIterator[Ground]:
    """Empty namespaces on a cluster where Machine sync is enabled; nobody acts there yet but Cluster API core."""
    async with new_stage(migration_plane, platform) as stage:
        yield Ground(stage, tmp_path)


@pytest.fixture
def machine_api() -> str:
    """Who the Machine API is; parametrize it to have the real one."""
    return SIMULATED


@pytest.fixture
async def actors(ground: Ground, machine_api: str) -> AsyncIterator[Actors]:
    """Everybody else is there, and acts on a provisioned Cluster."""
    async with ground.simulated(machine_api=machine_api) as actors:
        await ground.cluster()
        yield actors


@pytest.fixture
async def policed(ground: Ground, actors: Actors) -> AsyncIterator[Ground]:
    """The ground with the policies in force, until the end of the test."""
    stage = ground.stage
    documents = policies.documents(
        namespaces=stage.namespaces,
        service_account=DEFAULT_SERVICE_ACCOUNT.within(stage.namespaces.cluster_api),
        platforms=[stage.example.name],
        exempt=[SIMULATORS, cluster_api.NAME],
    )
    await stage.plane.apply(*documents)
    yield ground
    for document in reversed(documents):
        resource = {
            "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
            "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
        }[document["kind"]]
        path = f"/apis/{document['apiVersion']}/{resource}/{document['metadata']['name']}"
        await stage.admin.request("DELETE", path)
