"""Records of updates as text."""

from msgspec import structs

from windlass.api.update_record import NodeTook, Took, Trouble
from windlass.update_status.record import Record
from windlass.update_status.text.records import newest_first, render_record, render_records
from windlass.update_status.times import moment

NOW = moment("2026-03-02T12:00:00Z")
DONE = Record(
    name="4.16.1-a",
    previous="4.15.9",
    target="4.16.1",
    state="Completed",
    started="2026-03-01T12:00:00Z",
    control_plane_completed="2026-03-01T13:05:00Z",
    completed="2026-03-01T14:00:00Z",
    image="quay.io/release@sha256:0",
    verified=False,
    accepted_risks="Forced through\nblocking failures: \x1b[31msignature",
    operators=[
        Took(name="dns", started="2026-03-01T12:40:00Z", completed="2026-03-01T12:42:00Z"),
        Took(name="etcd", started="2026-03-01T12:01:00Z", completed="2026-03-01T12:13:30Z"),
        Took(name="quick", completed="2026-03-01T12:13:30Z"),
    ],
    pools=[Took(name="worker", started="2026-03-01T13:00:00Z", completed="2026-03-01T14:00:00Z")],
    nodes=[NodeTook(name="worker-0", pool="worker", started="2026-03-01T13:00:00Z", completed="2026-03-01T13:09:00Z")],
    troubles=[
        Trouble(
            uid="a",
            level="Error",
            summary="Cluster Operator etcd is degraded (Bad)",
            first_seen="2026-03-01T12:10:00Z",
            last_seen="2026-03-01T12:12:00Z",
            resolved="2026-03-01T12:13:00Z",
        )
    ],
)
RUNNING = Record(
    name="4.16.2-b",
    previous="4.16.1",
    target="4.16.2",
    state="Progressing",
    started="2026-03-02T11:00:00Z",
    operators=[Took(name="etcd", started="2026-03-02T11:30:00Z")],
    troubles=[Trouble(uid="b", level="Warning", summary="slow\x1b[31m", first_seen="2026-03-02T11:59:00Z")],
    omitted="3 nodes",
)


def test_the_list_has_the_newest_update_first() -> None:
    found = render_records(newest_first([DONE, RUNNING]), now=NOW).splitlines()
    assert [" ".join(row.split()) for row in found] == [
        "# FROM TO STATE VERIFIED STARTED CONTROL PLANE ALL SLOWEST ISSUES",
        "1 4.16.1 4.16.2 Progressing - 2026-03-02T11:00:00Z 1h+ 1h+ etcd 30m+ 1 (1 open)",
        "2 4.15.9 4.16.1 Completed no 2026-03-01T12:00:00Z 1h5m 2h etcd 12m30s 1",
    ]
    assert found[1].index("etcd") == found[2].index("etcd") == found[0].index("SLOWEST")


def test_one_update_in_full_has_the_slowest_first() -> None:
    assert render_record(DONE, now=NOW).splitlines() == [
        "Update from 4.15.9 to 4.16.1: started 2026-03-01T12:00:00Z, completed 2026-03-01T14:00:00Z",
        "Control plane: 1h5m, all of the cluster: 2h",
        "Image: quay.io/release@sha256:0",
        "Verified: no",
        "Accepted risks: Forced through blocking failures: \\x1b[31msignature",
        "",
        "OPERATOR   STARTED                DURATION   STATE",
        "etcd       2026-03-01T12:01:00Z   12m30s     updated",
        "dns        2026-03-01T12:40:00Z   2m         updated",
        "quick      -                      -          updated",
        "",
        "POOL     STARTED                DURATION   STATE",
        "worker   2026-03-01T13:00:00Z   1h         updated",
        "",
        "NODE       POOL     STARTED                DURATION   STATE",
        "worker-0   worker   2026-03-01T13:00:00Z   9m         updated",
        "",
        "LEVEL   FIRST SEEN             LASTED   STATE      MESSAGE",
        "Error   2026-03-01T12:10:00Z   3m       resolved   Cluster Operator etcd is degraded (Bad)",
    ]


def test_an_update_in_progress_says_so_and_its_texts_cannot_harm_a_terminal() -> None:
    text = render_record(RUNNING, now=NOW)
    assert "started 2026-03-02T11:00:00Z, in progress" in text
    assert "Left out to keep records small: 3 nodes" in text
    assert "\x1b" not in text


def test_an_update_that_another_replaced_takes_no_longer_than_until_then() -> None:
    superseded = structs.replace(RUNNING, state="Superseded", completed="2026-03-02T11:40:00Z", omitted="")
    week_later = moment("2026-03-09T12:00:00Z")

    (_, line) = render_records([superseded], now=week_later).splitlines()
    assert "40m             40m   etcd 10m" in line
    assert "+" not in line

    text = render_record(superseded, now=week_later)
    assert "etcd       2026-03-02T11:30:00Z   10m        not updated" in text


REFUSED = Record(
    name="4.16.9-d",
    previous="4.16.1",
    target="4.16.9",
    state="Refused",
    started="2026-02-21T12:00:00Z",
    completed="2026-02-21T12:00:00Z",
    troubles=[
        Trouble(
            uid="request",
            level="Error",
            summary="not verified",
            first_seen="2026-02-21T12:00:00Z",
            resolved="2026-02-21T12:00:00Z",
        )
    ],
)


def test_a_request_that_was_refused_took_no_time_and_has_its_reason() -> None:
    (row,) = render_records([REFUSED], now=NOW).splitlines()[1:]
    assert row == "1   4.16.1   4.16.9   Refused   -          2026-02-21T12:00:00Z   0s              0s    -         1"
    assert "Error   2026-02-21T12:00:00Z   0s       resolved   not verified" in render_record(REFUSED, now=NOW)
