"""The played service of alerts: over TLS, with a token, and with everything that such a service may do wrong."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp
import pytest

from windlass.testing.updates.thanos import ThanosQuerier, Trouble, alert


@pytest.fixture
async def thanos() -> AsyncIterator[ThanosQuerier]:
    async with ThanosQuerier(token="right") as running:
        yield running


@asynccontextmanager
async def asked(
    thanos: ThanosQuerier, *, token: str = "right", seconds: float = 30
) -> AsyncIterator[aiohttp.ClientResponse]:
    context = ssl.create_default_context(cadata=thanos.authority.decode())
    timeout = aiohttp.ClientTimeout(total=seconds)
    async with (
        aiohttp.ClientSession(timeout=timeout, headers={"User-Agent": "a test"}) as session,
        session.get(
            f"https://{thanos.host}/api/v1/alerts", ssl=context, headers={"Authorization": f"Bearer {token}"}
        ) as answer,
    ):
        yield answer


async def test_it_returns_the_alerts_that_are_set_to_who_has_the_token(thanos: ThanosQuerier) -> None:
    began = datetime(2026, 1, 1, 12, tzinfo=UTC)
    thanos.alerts = [alert("ClusterOperatorDown", severity="critical", active_at=began, summary="etcd is down.")]
    async with asked(thanos) as answer:
        found = await answer.json()
    assert found["status"] == "success"
    (one,) = found["data"]["alerts"]
    assert (one["labels"]["alertname"], one["state"], one["activeAt"]) == (
        "ClusterOperatorDown",
        "firing",
        "2026-01-01T12:00:00.000000Z",
    )
    assert thanos.user_agents == ["a test"]
    async with asked(thanos, token="wrong") as refused:
        assert refused.status == 401


async def test_who_does_not_know_its_authority_does_not_reach_it(thanos: ThanosQuerier) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get(f"https://{thanos.host}/api/v1/alerts")
    assert thanos.user_agents == []


@pytest.mark.parametrize("trouble", [one for one in Trouble if one is not Trouble.HANGS])
async def test_it_answers_as_its_trouble_says(thanos: ThanosQuerier, trouble: Trouble) -> None:
    thanos.trouble = trouble
    async with asked(thanos) as answer:
        assert (answer.status, await answer.text()) == trouble.value


async def test_it_hangs_until_the_client_gives_up(thanos: ThanosQuerier) -> None:
    thanos.trouble = Trouble.HANGS
    with pytest.raises(TimeoutError):
        async with asked(thanos, seconds=0.2):
            pytest.fail("it answered")
    assert len(thanos.user_agents) == 1
