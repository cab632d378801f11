"""Alerts of the cluster: asked for while something is updated, from a server that may answer anything."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from windlass.kube.control.poll import Poll, Polled
from windlass.testing.updates.thanos import ThanosQuerier, Trouble, alert
from windlass.update_status.controller.alerts import AlertsAnswerer, AlertsSettings, FiringAlerts

FIRING = alert("KubePodNotReady", severity="warning", active_at=datetime(2026, 1, 1, tzinfo=UTC))


@pytest_asyncio.fixture
async def thanos() -> AsyncIterator[ThanosQuerier]:
    async with ThanosQuerier(token="secret") as server:
        server.alerts = [FIRING]
        yield server


@pytest_asyncio.fixture
async def alerts(thanos: ThanosQuerier, tmp_path: Path) -> AlertsAnswerer:
    token, authority = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("secret\n")
    authority.write_bytes(thanos.authority)
    feed = AlertsAnswerer(AlertsSettings(url=f"https://{thanos.host}", token=token, authority=authority), "cluster")
    await feed.answer(FiringAlerts())
    return feed


def look(alerts: AlertsAnswerer) -> Awaitable[Polled[str]]:
    """One question, as the poll asks it."""
    poll: Poll[str] = alerts.poll
    asked: Callable[[], Awaitable[Polled[str]]] = poll._look
    return asked()


async def test_the_first_answer_is_there_before_the_first_report(alerts: AlertsAnswerer) -> None:
    assert [one.labels.alertname for one in alerts.latest.found] == ["KubePodNotReady"]


async def test_alerts_wake_the_controller_once(alerts: AlertsAnswerer, thanos: ThanosQuerier) -> None:
    thanos.alerts = [FIRING, alert("DiskFull", severity="critical", active_at=datetime(2026, 1, 1, tzinfo=UTC))]
    assert (await look(alerts)).keys == ("cluster",)
    assert [one.labels.alertname for one in alerts.latest.found] == ["KubePodNotReady", "DiskFull"]
    assert alerts.latest.trouble == ""
    assert (await look(alerts)).keys == ()


async def test_nobody_is_asked_while_nothing_is_updated(alerts: AlertsAnswerer, thanos: ThanosQuerier) -> None:
    alerts.attended("cluster", {})
    asked = len(thanos.user_agents)
    assert (await look(alerts)).keys == ()
    assert len(thanos.user_agents) == asked


async def test_the_alerts_of_an_update_are_forgotten_after_it(alerts: AlertsAnswerer, thanos: ThanosQuerier) -> None:
    alerts.attended("cluster", {})
    assert alerts.latest.found == ()
    thanos.alerts = []
    await alerts.answer(FiringAlerts())
    alerts.attended("cluster", {FiringAlerts(): alerts.latest})
    assert alerts.latest.found == ()


async def test_nobody_is_asked_without_a_url(thanos: ThanosQuerier) -> None:
    feed = AlertsAnswerer(AlertsSettings(), "cluster")
    await feed.answer(FiringAlerts())
    assert (await look(feed)).keys == ()


@pytest.mark.parametrize("trouble", [one for one in Trouble if one is not Trouble.HANGS])
async def test_after_a_failure_the_alerts_of_before_are_shown_and_the_report_says_so(
    alerts: AlertsAnswerer, thanos: ThanosQuerier, trouble: Trouble
) -> None:
    await look(alerts)
    thanos.trouble = trouble
    assert (await look(alerts)).keys == ("cluster",)
    assert alerts.latest.trouble
    if trouble is not Trouble.GARBAGE:
        assert len(alerts.latest.found) == 1
        assert alerts.latest.trouble.startswith("Unable to fetch alerts, ignoring alerts in 'Update Health':  ")
        assert str(trouble.value[0]) in alerts.latest.trouble
    thanos.trouble = None
    assert (await look(alerts)).keys == ("cluster",)
    assert alerts.latest.trouble == ""


async def test_a_server_that_does_not_answer_is_not_waited_for(
    alerts: AlertsAnswerer, thanos: ThanosQuerier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.update_status.controller.alerts.PATIENCE", 0.05)
    thanos.trouble = Trouble.HANGS
    assert (await look(alerts)).keys == ("cluster",)
    assert len(alerts.latest.found) == 1
    assert alerts.latest.trouble.endswith("did not answer within 0.05 s")


async def test_a_server_that_another_authority_signed_is_not_trusted(
    alerts: AlertsAnswerer, thanos: ThanosQuerier, tmp_path: Path
) -> None:
    async with ThanosQuerier(token="secret") as another:
        (tmp_path / "ca.crt").write_bytes(another.authority)
        asked = len(thanos.user_agents)
        await look(alerts)
    assert "certificate" in alerts.latest.trouble.lower()
    assert len(thanos.user_agents) == asked


async def test_files_that_are_missing_are_named(alerts: AlertsAnswerer, tmp_path: Path) -> None:
    (tmp_path / "token").unlink()
    await look(alerts)
    assert str(tmp_path / "token") in alerts.latest.trouble
