"""The report that a controller keeps: relied on as long as the controller beats."""

from typing import Any

import pytest
from msgspec import structs, to_builtins

from windlass.api.update import UpdateStatus
from windlass.api.update_heartbeat import UpdateStatusHeartbeat
from windlass.model import MemoryApi
from windlass.update_status.document import write
from windlass.update_status.reading.kept import NotKept, read_kept, read_object, silence, why_silent
from windlass.update_status.report import Informed, Report
from windlass.update_status.times import SECOND, moment

from ..controller.world import OWNED
from ..document.parts import operator, report

BEATEN = "2026-01-01T00:00:00Z"
NOW = moment("2026-01-01T00:00:30Z")


def heartbeat(**fields: Any) -> dict[str, Any]:
    identity = {"apiVersion": UpdateStatus.RESOURCE.api_version, "kind": UpdateStatusHeartbeat.RESOURCE.kind}
    return {**identity, "metadata": {"name": "cluster"}, "lastBeat": BEATEN, "periodSeconds": 10, **fields}


def written(whole: Report | None = None) -> dict[str, Any]:
    status = write(whole or report(operators=(operator(),)), now=NOW)
    metadata = {"name": "cluster"}
    identity = {"apiVersion": UpdateStatus.RESOURCE.api_version, "kind": UpdateStatus.RESOURCE.kind}
    return {**identity, "metadata": metadata, "spec": {}, "status": to_builtins(status)}


def world(*trees: dict[str, Any]) -> MemoryApi:
    api = MemoryApi(*OWNED)
    api.load(*trees)
    return api


async def why(api: MemoryApi, *, now: int = NOW) -> str:
    with pytest.raises(NotKept) as refused:
        await read_kept(api, clock=lambda: now)
    return str(refused.value)


async def test_it_is_relied_on_until_three_beats_are_missing() -> None:
    api = world(written(), heartbeat())
    assert (await read_kept(api, clock=lambda: NOW)).control_plane.operators
    dead = "nobody keeps the UpdateStatus up to date: the last heartbeat of its controller was at 2026-01-01T00:00:00Z"
    assert await why(api, now=NOW + SECOND) == dead


@pytest.mark.parametrize(
    ("beat", "late", "told"),
    [
        (UpdateStatusHeartbeat(last_beat=BEATEN, period_seconds=10), 30, ""),
        (UpdateStatusHeartbeat(last_beat=BEATEN, period_seconds=10), 31, "nobody keeps the UpdateStatus up to date"),
        (UpdateStatusHeartbeat(last_beat=BEATEN, period_seconds=60), 180, ""),
        (UpdateStatusHeartbeat(last_beat=BEATEN, period_seconds=10), -600, ""),
        (UpdateStatusHeartbeat(last_beat="", period_seconds=10), 0, "nobody keeps the UpdateStatus up to date"),
        (
            UpdateStatusHeartbeat(last_beat="soon", period_seconds=10),
            0,
            "UpdateStatusHeartbeat: 'soon'",
        ),
        (None, 0, "nobody is known to keep the UpdateStatus up to date"),
    ],
)
def test_a_controller_lives_while_it_beats(beat: UpdateStatusHeartbeat | None, late: int, told: str) -> None:
    said = silence(beat, now=moment(BEATEN) + late * SECOND)
    assert told in said
    assert bool(said) is bool(told)


async def test_informers_of_others_that_are_silent_or_tell_too_much_do_not_matter() -> None:
    silent = Informed(name="storage", namespace="arrays", stale_since=NOW - SECOND)
    whole = structs.replace(report(operators=(operator(),)), informed=(silent,))
    found = await read_kept(world(written(whole), heartbeat()), clock=lambda: NOW)
    assert found.informed == (silent,)


async def test_without_a_heartbeat_an_object_or_the_api_it_says_so() -> None:
    assert "nobody is known to keep" in await why(world(written()))
    assert "there is no UpdateStatus" in await why(world(heartbeat()))
    assert "no UpdateStatus API" in await why(MemoryApi())
    empty = {**written(), "status": {}}
    assert "no controller has written it yet" in await why(world(empty, heartbeat()))


async def test_whether_it_lives_is_told_apart_from_the_report() -> None:
    assert await why_silent(world(written(), heartbeat()), clock=lambda: NOW) == ""
    assert "the last heartbeat" in await why_silent(world(written(), heartbeat()), clock=lambda: NOW + SECOND)
    assert "nobody is known to keep" in await why_silent(world(written()), clock=lambda: NOW)


async def test_the_object_alone_is_shown_however_old_it_is() -> None:
    api = world(written())
    assert (await api.get(UpdateStatus, "cluster")).name == "cluster"
    assert (await read_object(api, clock=lambda: NOW + 10**15)).control_plane.operators
