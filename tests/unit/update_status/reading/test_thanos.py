"""The service of alerts is asked with the token of the user, over TLS that is verified."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import trustme

from windlass.kube.config import ClusterConfig, Credential, FixedCredential, Impersonation, Tls
from windlass.kube.errors import ApiError, TransportError
from windlass.testing.updates.thanos import ThanosQuerier, Trouble, alert
from windlass.update_status.reading.alerts import read_alerts
from windlass.update_status.reading.thanos import AlertsService, NoToken


@pytest.fixture
async def thanos() -> AsyncIterator[ThanosQuerier]:
    async with ThanosQuerier(token="right") as running:
        yield running


def service(authority: bytes | None, *, authorization: str = "Bearer right", insecure: bool = False) -> AlertsService:
    config = ClusterConfig(
        server="https://api.example.com:6443",
        tls=Tls(authority=authority, server_name="api-int.example.com", insecure=insecure),
        credentials=FixedCredential(Credential(authorization=authorization)),
        impersonate=Impersonation(user="somebody"),
    )
    return AlertsService(config, timeout=20)


async def test_the_answer_has_the_alerts(thanos: ThanosQuerier) -> None:
    thanos.alerts = [alert("A", severity="warning", active_at=datetime(2026, 1, 1, tzinfo=UTC))]

    (found,), trouble = read_alerts(await service(thanos.authority).alerts(thanos.host))

    assert (found.labels.alertname, found.active_at, trouble) == ("A", "2026-01-01T00:00:00.000000Z", "")


async def test_the_agent_ends_as_that_of_oc(thanos: ThanosQuerier) -> None:
    await service(thanos.authority).alerts(thanos.host)

    assert thanos.user_agents[0].startswith("windlass/")
    assert thanos.user_agents[0].endswith("(upgrade-status)")


@pytest.mark.parametrize("authorization", ["", "Basic dTpw"])
async def test_without_a_token_nothing_is_asked(thanos: ThanosQuerier, authorization: str) -> None:
    with pytest.raises(NoToken, match=r"^no token is currently in use for this session$"):
        await service(thanos.authority, authorization=authorization).alerts(thanos.host)

    assert thanos.user_agents == []


async def test_a_certificate_of_an_unknown_authority_is_refused(thanos: ThanosQuerier) -> None:
    with pytest.raises(TransportError, match="certificate is not trusted"):
        await service(None).alerts(thanos.host)

    assert thanos.user_agents == []


async def test_a_kubeconfig_that_verifies_nothing_verifies_nothing_here_either(thanos: ThanosQuerier) -> None:
    assert await service(None, insecure=True).alerts(thanos.host)


@pytest.mark.parametrize("trouble", [Trouble.UNAUTHORIZED, Trouble.FORBIDDEN, Trouble.FAILS, Trouble.AWAY])
async def test_a_refusal_is_an_error_at_once(thanos: ThanosQuerier, trouble: Trouble) -> None:
    thanos.trouble = trouble

    with pytest.raises(ApiError, match=str(trouble.value[0])):
        await service(thanos.authority).alerts(thanos.host)

    assert len(thanos.user_agents) == 1


def test_the_authorities_of_the_system_are_trusted_beside_that_of_the_kubeconfig(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, systems = trustme.CA(), trustme.CA()
    with systems.cert_pem.tempfile() as path:
        monkeypatch.setenv("SSL_CERT_FILE", path)
        alone = Tls(authority=ours.cert_pem.bytes()).context()
        beside = Tls(authority=ours.cert_pem.bytes(), also_system=True).context()

    assert (alone.cert_store_stats()["x509_ca"], beside.cert_store_stats()["x509_ca"] >= 2) == (1, True)
