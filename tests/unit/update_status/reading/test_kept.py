"""When the UpdateStatus is relied on, and why not."""

import asyncio
from typing import Any

import pytest
from msgspec import structs, to_builtins

from windlass.api.coordination import Lease
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.kube.verbs import PatchType
from windlass.testing.memory import MemoryApi
from windlass.update_status.document import write
from windlass.update_status.reading.kept import HOME, LEASE, NotKept, read_kept, read_object
from windlass.update_status.report import Report
from windlass.update_status.times import MINUTE, rfc3339

from ..document.parts import NOW, operator, report

THE_REPORT = report(operators=(operator(),))


def stored(status: UpdateStatusStatus, *, holder: str = "windlass_1") -> MemoryApi:
    """A server with the object and with a Lease that was renewed just now."""
    api = MemoryApi(UpdateStatus, Lease)

    resource = UpdateStatus.RESOURCE

    async def fill() -> None:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "cluster"}, "spec": {}}
        await api.create(UpdateStatus, body)
        patch = {"status": to_builtins(status)}
        await api.patch(UpdateStatus, "cluster", patch, type=PatchType.MERGE, subresource="status")
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": rfc3339(NOW)}
        await api.create(Lease, {"metadata": {"name": LEASE}, "spec": spec}, namespace=HOME)

    asyncio.run(fill())
    return api


def kept(api: MemoryApi, *, now: int = NOW) -> Report:
    return asyncio.run(read_kept(api, namespace=HOME, now=now))


def with_condition(**changes: Any) -> UpdateStatusStatus:
    status = write(THE_REPORT, now=NOW)
    conditions = tuple(
        structs.replace(one, **changes) if one.type == changes["type"] else one for one in status.conditions
    )
    return structs.replace(status, conditions=conditions)


def test_the_report_of_a_controller_that_lives_is_read() -> None:
    assert kept(stored(write(THE_REPORT, now=NOW))) == THE_REPORT


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (
            {"type": "Available", "status": "False", "reason": "SourcesMissing"},
            "condition Available of the UpdateStatus is False (SourcesMissing)",
        ),
        (
            {"type": "Truncated", "status": "True", "reason": "LeftOut"},
            "condition Truncated of the UpdateStatus is True (LeftOut)",
        ),
    ],
)
def test_an_object_that_is_out_of_date_or_lacks_something_is_not_relied_on(condition: dict[str, str], why: str) -> None:
    api = stored(with_condition(**condition))
    with pytest.raises(NotKept) as refused:
        kept(api)
    assert str(refused.value) == why
    assert asyncio.run(read_object(api, now=NOW)) == THE_REPORT


def test_a_missing_source_is_a_gap_of_the_report_and_it_is_relied_on() -> None:
    degraded = {"type": "Degraded", "status": "True", "reason": "SourcesMissing"}
    assert kept(stored(with_condition(**degraded))) == THE_REPORT


def test_a_controller_that_has_gone_is_not_relied_on() -> None:
    api = stored(write(THE_REPORT, now=NOW))
    with pytest.raises(
        NotKept, match="has not renewed the Lease windlass-update-status/windlass-update-status for 60 s"
    ):
        kept(api, now=NOW + MINUTE)
    with pytest.raises(NotKept, match="no controller holds the Lease"):
        kept(stored(write(THE_REPORT, now=NOW), holder=""))
