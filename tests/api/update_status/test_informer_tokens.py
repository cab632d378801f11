"""Tokens for informers, made and reviewed by a real API server. Numbers are those of the controls."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from windlass.api.core import ServiceAccount
from windlass.api.update_informer import audience_of
from windlass.informer import informer_guard
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.config.cluster import ClusterConfig
from windlass.kube.config.credentials import Credential, FixedCredential
from windlass.kube.errors import Forbidden, Unauthorized

pytestmark = pytest.mark.plane

CONTROLLER = "controller"


@pytest.fixture
def where(windlass_kubeconfig: Path) -> ClusterConfig:
    return config.load(kubeconfig=windlass_kubeconfig)


@pytest.fixture
async def client(where: ClusterConfig, windlass_namespace: str) -> AsyncIterator[Client]:
    async with Client(where) as client:
        for name in (CONTROLLER, "somebody"):
            await client.create(ServiceAccount, {"metadata": {"name": name}}, namespace=windlass_namespace)
        yield client


async def token_for(client: Client, namespace: str, *audiences: str, of: str = CONTROLLER) -> str:
    return (await client.request_token(of, namespace=namespace, audiences=audiences, seconds=600)).token


async def test_control_3_an_informer_takes_only_tokens_of_the_controller_for_itself(
    client: Client, windlass_namespace: str
) -> None:
    guard = informer_guard(client, "disks", asker=f"system:serviceaccount:{windlass_namespace}:{CONTROLLER}")
    its_own = audience_of("disks")
    tokens = {
        "the controller's, for it": await token_for(client, windlass_namespace, its_own),
        "the controller's, for another informer": await token_for(client, windlass_namespace, audience_of("others")),
        "the controller's, for the API server": await token_for(client, windlass_namespace),
        "of somebody, for it": await token_for(client, windlass_namespace, its_own, of="somebody"),
        "of nobody": "nonsense",
    }
    assert {whose: (await guard.judge_token(token)).status for whose, token in tokens.items()} == {
        "the controller's, for it": 200,
        "the controller's, for another informer": 401,
        "the controller's, for the API server": 401,
        "of somebody, for it": 403,
        "of nobody": 401,
    }


async def test_control_3_a_token_that_an_informer_got_is_worth_nothing_at_the_api_server(
    client: Client, where: ClusterConfig, windlass_namespace: str
) -> None:
    async def replay(token: str) -> None:
        stolen = FixedCredential(Credential(authorization=f"Bearer {token}"))
        async with Client(structs.replace(where, credentials=stolen)) as thief:
            await thief.get(ServiceAccount, CONTROLLER, namespace=windlass_namespace)

    with pytest.raises(Unauthorized):
        await replay(await token_for(client, windlass_namespace, audience_of("disks")))
    with pytest.raises(Forbidden):  # one for the API server itself says at least who asks
        await replay(await token_for(client, windlass_namespace))
