"""The policies on a real API server, in force in two namespaces with names of their own."""

from collections.abc import AsyncIterator

import pytest

from tests.objects import new_namespaces
from windlass.machine_sync import policies
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT
from windlass.testing import ControlPlane

from .policed import PROVIDER, Policed, wait_until_in_force


@pytest.fixture(scope="module")
def policed_namespaces(machine_sync_plane: ControlPlane) -> Namespaces:
    """The tests make objects of their own there."""
    plane = machine_sync_plane.blocking
    namespaces = new_namespaces(plane)
    ours = DEFAULT_SERVICE_ACCOUNT.within(namespaces.cluster_api)
    plane.apply(*policies.documents(namespaces=namespaces, service_account=ours, exempt=[PROVIDER]))
    return namespaces


@pytest.fixture
def machine_sync(policed_namespaces: Namespaces) -> str:
    """Our ServiceAccount, as the API server says it."""
    return f"system:serviceaccount:{policed_namespaces.cluster_api}:{DEFAULT_SERVICE_ACCOUNT.name}"


@pytest.fixture
def controllers(policed_namespaces: Namespaces) -> tuple[str, ...]:
    """Those whom OpenShift exempts, and a provider with an account of its own."""
    return (
        f"system:serviceaccount:{policed_namespaces.machine_api}:machine-api-controllers",
        f"system:serviceaccount:{policed_namespaces.cluster_api}:capi-controllers",
        PROVIDER,
    )


@pytest.fixture
async def policed(
    machine_sync_plane: ControlPlane,
    policed_namespaces: Namespaces,
    machine_sync: str,
    controllers: tuple[str, ...],
) -> AsyncIterator[Policed]:
    """With clients for all of them."""
    async with Policed.by(machine_sync_plane, policed_namespaces, machine_sync, *controllers) as policed:
        await wait_until_in_force(policed)
        yield policed
