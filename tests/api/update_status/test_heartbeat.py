"""Whether somebody keeps the UpdateStatus up to date: everybody can see it, by the clock of the API server."""

import asyncio
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.program import ALONE, QUICK
from tests.waiting import eventually
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.kube.client import Client
from windlass.kube.clock import SystemClock
from windlass.kube.errors import NotFound
from windlass.testing import ControlPlane
from windlass.testing.updates import PlayedCluster
from windlass.update_status.heartbeat import MISSED, PERIOD
from windlass.update_status.reading.kept import silence
from windlass.update_status.times import SECOND, moment, of_datetime

from .keeper import keeping, until_status

pytestmark = [pytest.mark.plane]

SKEWED = (sys.executable, "-m", "tests.api.update_status.skewed")


async def last_beat(api: Client) -> str:
    """When the controller beat last, "" if it never did."""
    try:
        return (await api.get(UpdateStatusHeartbeat, "cluster")).decode().last_beat
    except NotFound:
        return ""


async def beats_after(api: Client, before: str) -> str:
    found = await eventually(lambda: last_beat(api), lambda found: found > before, what=f"a beat after {before!r}")
    assert isinstance(found, str)
    return found


def reported(found: UpdateStatusStatus) -> bool:
    return found.overview is not None


@pytest.fixture(autouse=True)
async def no_beats(admin: Client, cluster: PlayedCluster) -> None:
    """Those of earlier tests are gone."""
    if await last_beat(admin):
        await admin.delete(UpdateStatusHeartbeat, "cluster")


async def test_a_beat_writes_the_heartbeat_and_never_the_update_status(
    admin: Client, account: Path, tmp_path: Path
) -> None:
    async with keeping(account, tmp_path, *ALONE):
        await until_status(admin, reported, "a report")
        first = await beats_after(admin, "")
        before = await admin.get(UpdateStatus, "cluster")
        second = await beats_after(admin, first)

    assert (moment(second) - moment(first)) / SECOND >= PERIOD - 1
    assert (await admin.get(UpdateStatus, "cluster")).resource_version == before.resource_version


async def test_readers_see_that_it_is_dead_and_that_another_replica_goes_on(
    admin: Client, account: Path, tmp_path: Path
) -> None:
    async with keeping(account, tmp_path, *QUICK) as first:
        last = await beats_after(admin, "")
        beat = (await admin.get(UpdateStatusHeartbeat, "cluster")).decode()
        assert beat.controller.startswith("windlass_")
        assert silence(beat, now=of_datetime(admin.server_clock.now())) == ""
        await first.kill()
    late = of_datetime(admin.server_clock.now()) + MISSED * PERIOD * SECOND
    assert silence(beat, now=late).startswith("nobody keeps the UpdateStatus up to date: the last heartbeat of its ")

    async with keeping(account, tmp_path, *QUICK):
        await beats_after(admin, last)
        other = (await admin.get(UpdateStatusHeartbeat, "cluster")).decode()
        assert other.controller != beat.controller


@pytest.mark.parametrize("wrong", [-7200, 7200])
async def test_a_controller_whose_clock_is_wrong_beats_by_the_clock_of_the_api_server(
    admin: Client, account: Path, tmp_path: Path, wrong: int
) -> None:
    async with keeping(account, tmp_path, *ALONE, program=(*SKEWED, str(wrong))):
        beat = await beats_after(admin, "")
    assert abs(of_datetime(admin.server_clock.now()) - moment(beat)) < PATIENCE * SECOND


async def test_a_reader_whose_clock_is_wrong_goes_by_the_clock_of_the_api_server(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = datetime.now(UTC)
    monkeypatch.setattr(SystemClock, "now", lambda self: before + timedelta(hours=2))
    async with Client(admin.config) as reader:
        assert reader.server_clock.now() == before + timedelta(hours=2)
        await last_beat(reader)
        assert abs(reader.server_clock.now() - before) < timedelta(seconds=PATIENCE)


async def test_after_a_restart_of_the_api_server_without_history_it_is_current_again(
    admin: Client, account: Path, cluster: PlayedCluster, plane: ControlPlane, tmp_path: Path
) -> None:
    async with keeping(account, tmp_path, *QUICK):
        await until_status(admin, reported, "a report")
        before = await beats_after(admin, "")
        await plane.kill_apiserver()
        await plane.forget_history()
        back = asyncio.get_running_loop().time()
        begin, *_ = cluster.healthy_update("4.16.1")
        await begin.play()
        await until_status(
            admin, lambda found: bool(found.overview and found.overview.state == "Updating"), "the update"
        )
        print(f"the update was in the object {asyncio.get_running_loop().time() - back:.1f} s after the API server")
        await beats_after(admin, before)


async def test_kubectl_get_updates_shows_the_last_beat_beside_the_update(
    admin: Client, account: Path, plane: ControlPlane, tmp_path: Path
) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    async with keeping(account, tmp_path, *ALONE):
        await until_status(admin, reported, "a report")
        await beats_after(admin, "")

    async def got(*arguments: str) -> str:
        call = await asyncio.create_subprocess_exec(
            kubectl,
            f"--kubeconfig={plane.kubeconfig()}",
            f"--cache-dir={tmp_path / 'discovery'}",
            "get",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await call.communicate()
        print(out.decode())
        assert call.returncode == 0
        return str(out.decode())

    both = await got("updates")
    assert "OPERATORS LEFT" in both
    assert "LAST BEAT" in both
    assert "updatestatus.update.openshift.io/cluster" in both
    assert "updatestatusheartbeat.update.openshift.io/cluster" in both
    assert (await got("upgradestatus", "cluster")).count("\n") == 2
