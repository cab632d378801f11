"""A capability on a real API server: installed by what it prints, elected, and at work with the rights it declares."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.authorizer import allowed
from tests.waiting import eventually
from windlass.api.coordination import Lease
from windlass.capability import service
from windlass.capability.manifests import rights
from windlass.kube import config
from windlass.kube.client import Client
from windlass.testing.plane.facade import PlaneAccess

from ...unit.capability.toy import Greeting, install

pytestmark = pytest.mark.plane


async def greeted(admin: Client, namespace: str) -> str:
    found = await eventually(
        lambda: admin.get(Greeting, "first", namespace=namespace), lambda found: found.decode().status.text
    )
    return found.decode().status.text


async def test_what_it_prints_is_all_that_it_takes_to_run(
    windlass_plane: PlaneAccess, windlass_namespace: str, untouched_gc: None
) -> None:
    toy = install(home=windlass_namespace)
    account = toy.service_account
    granted: list[dict[str, Any]] = rights.documents(toy.permissions(), service_account=account, theirs=[account[0]])
    await windlass_plane.apply_crds(*(owned.manifest() for owned in toy.owned))
    await windlass_plane.apply(*granted)
    lease = {"namespace": account.namespace, "name": "windlass-toy"}
    await allowed(windlass_plane.blocking.rest, account.user, "get", "leases.coordination.k8s.io", **lease)
    await allowed(windlass_plane.blocking.rest, account.user, "watch", "greetings.toys.example.com")

    own = await windlass_plane.service_account_kubeconfig(account.namespace, account.name)
    running = asyncio.create_task(service.run(config.load(kubeconfig=own), service.ProcessSettings(), toy.frame()))
    try:
        async with Client(config.load(kubeconfig=windlass_plane.kubeconfig())) as admin:
            await admin.create(
                Greeting, {"metadata": {"name": "first"}, "spec": {"text": "world"}}, namespace=account.namespace
            )
            assert await greeted(admin, account.namespace) == "Hello, world!"
            held = await admin.get(Lease, "windlass-toy", namespace=account.namespace)
            assert (held.decode().spec.holder_identity or "").startswith("windlass_")
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
