"""The report that a controller keeps: relied on as long as the controller renews its Lease."""

from typing import Any

import pytest
from msgspec import structs, to_builtins

from windlass.api.coordination import Lease
from windlass.api.update import UpdateStatus
from windlass.model import MemoryApi
from windlass.update_status.document import write
from windlass.update_status.reading.kept import HOME, LEASE, NotKept, read_kept, read_object
from windlass.update_status.report import Informed, Report
from windlass.update_status.times import SECOND, moment

from ..controller.world import OWNED
from ..document.parts import operator, report

RENEWED = "2026-01-01T00:00:00.000000Z"
NOW = moment("2026-01-01T00:00:30Z")


def lease(**spec: Any) -> dict[str, Any]:
    held = {"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": RENEWED, **spec}
    metadata = {"name": LEASE, "namespace": HOME}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": held}


def written(whole: Report | None = None) -> dict[str, Any]:
    status = write(whole or report(operators=(operator(),)), now=NOW)
    metadata = {"name": "cluster"}
    identity = {"apiVersion": UpdateStatus.RESOURCE.api_version, "kind": UpdateStatus.RESOURCE.kind}
    return {**identity, "metadata": metadata, "spec": {}, "status": to_builtins(status)}


def world(*trees: dict[str, Any]) -> MemoryApi:
    api = MemoryApi(Lease, *OWNED)
    api.load(*trees)
    return api


async def why(api: MemoryApi, *, now: int = NOW) -> str:
    with pytest.raises(NotKept) as refused:
        await read_kept(api, namespace=HOME, now=now)
    return str(refused.value)


async def test_it_is_relied_on_until_the_lease_has_been_silent_for_two_durations() -> None:
    api = world(written(), lease())
    assert (await read_kept(api, namespace=HOME, now=NOW)).control_plane.operators
    assert "has not renewed the Lease" in await why(api, now=NOW + SECOND)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"holderIdentity": ""}, "no controller holds the Lease"),
        ({"renewTime": None}, "no controller holds the Lease"),
        ({"renewTime": "yesterday"}, "is unknown"),
    ],
)
async def test_a_lease_that_nobody_holds_keeps_nothing(spec: dict[str, Any], reason: str) -> None:
    assert reason in await why(world(written(), lease(**spec)))


async def test_informers_of_others_that_are_silent_or_tell_too_much_do_not_matter() -> None:
    silent = Informed(name="storage", namespace="arrays", stale_since=NOW - SECOND)
    whole = structs.replace(report(operators=(operator(),)), informed=(silent,))
    found = await read_kept(world(written(whole), lease()), namespace=HOME, now=NOW)
    assert found.informed == (silent,)


async def test_without_a_lease_an_object_or_the_api_it_says_so() -> None:
    assert "no controller has a Lease" in await why(world(written()))
    assert "there is no UpdateStatus" in await why(world(lease()))
    assert "no UpdateStatus API" in await why(MemoryApi(Lease))
    empty = {**written(), "status": {}}
    assert "no controller has written it yet" in await why(world(empty, lease()))


async def test_the_object_alone_is_shown_however_old_it_is() -> None:
    api = world(written())
    assert (await api.get(UpdateStatus, "cluster")).name == "cluster"
    assert (await read_object(api, now=NOW + 10**15)).control_plane.operators
