"""The table of situations, row by row: what a pool and its builds look like, and what that is."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from tests.unit.os_build.machine_os.samples import machine_os_config
from tests.unit.os_build.pool.snapshots import (
    IMAGE_OF,
    INPUTS,
    LONG_AGO,
    NOW,
    PROBLEM,
    RECORD,
    TIMING,
    build,
    degraded,
    failed,
    of_pool,
    seen,
)
from windlass.kube.control.seen import Present
from windlass.os_build.builder import ATTEMPTS, Cause, Phase
from windlass.os_build.constants import IMAGE_INPUTS
from windlass.os_build.identity import build_name
from windlass.os_build.machine_os.claim import Claim, Missing
from windlass.os_build.pool.situation import (
    Broken,
    Built,
    ByConfig,
    Claimed,
    Finished,
    Gone,
    HeldBack,
    Lost,
    OptedOut,
    Overdue,
    Ready,
    Resting,
    Retrying,
    Situation,
    Unclear,
    Unconfirmed,
    Underway,
    situation,
    wanted_build,
)
from windlass.os_build.pool.snapshot import Snapshot
from windlass.os_build.request import BackendName


def after(seconds: float) -> datetime:
    return NOW - timedelta(seconds=9) + timedelta(seconds=seconds)


RUNS = build(Phase.RUNNING, started=NOW - timedelta(seconds=2460))
HANGS = build(Phase.RUNNING, started=NOW - timedelta(seconds=2461))
ENDS = build(Phase.INTERRUPTED, ending=True)
PUSHED = build(Phase.SUCCEEDED, digest="sha256:1")
SILENT = build(Phase.SUCCEEDED)
LOST = build(Phase.INTERRUPTED)
READY = Ready(BackendName.JOB, 1, build_name("worker", INPUTS))
AGAIN = Ready(BackendName.JOB, 2, build_name("worker", INPUTS, 2))


CLAIM = Claim(config=Present(machine_os_config(), b"{}"), name="worker-1")
CLAIMED = {"claimed": "worker", "claim": CLAIM}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(seen(of_pool(), **CLAIMED), ByConfig(Missing("worker-1")), id="claimed, and a build is due"),
        pytest.param(
            seen(of_pool(), **{**CLAIMED, "claim": replace(CLAIM, name=PROBLEM)}),
            Unclear(PROBLEM),
            id="claimed in vain",
        ),
        pytest.param(
            seen(degraded("NodeDegraded"), **CLAIMED), HeldBack("NodeDegraded", "NodeDegraded!"), id="A9 claimed"
        ),
        pytest.param(
            seen(of_pool(), **CLAIMED, wanted=NOW), Resting(NOW + timedelta(seconds=5)), id="claimed a moment ago"
        ),
        pytest.param(seen(None), Gone(), id="no pool"),
        pytest.param(seen(of_pool(deletionTimestamp="2026-11-22T11:00:00Z"), RUNS), Gone(), id="a pool that goes"),
        pytest.param(seen(of_pool(), RUNS, claimed="theirs"), Claimed("theirs"), id="served by another process"),
        pytest.param(seen(of_pool(annotations={}), RUNS), OptedOut(), id="A5 opted out"),
        pytest.param(seen(of_pool(), RUNS, request=PROBLEM), Unclear(PROBLEM), id="cannot be told"),
        pytest.param(seen(of_pool(annotations=RECORD), PUSHED), Built(IMAGE_OF, "rendered-worker-1"), id="A2 recorded"),
        pytest.param(
            seen(of_pool(annotations={**RECORD, IMAGE_INPUTS: "other"})), READY, id="B3 an image of other inputs"
        ),
        pytest.param(seen(of_pool(), build(Phase.PENDING)), Underway(build(Phase.PENDING)), id="waits"),
        pytest.param(seen(of_pool(), RUNS), Underway(RUNS), id="runs, to the last second of its deadlines"),
        pytest.param(seen(of_pool(), HANGS), Overdue(HANGS), id="overdue"),
        pytest.param(seen(of_pool(), ENDS), Underway(ENDS), id="its end is awaited, however it ends"),
        pytest.param(seen(of_pool(), PUSHED), Finished(PUSHED, "sha256:1"), id="succeeded"),
        pytest.param(seen(of_pool(), SILENT), Unconfirmed(SILENT), id="digest unknown"),
        pytest.param(seen(of_pool(), SILENT, confirmed=PROBLEM), Unconfirmed(SILENT, PROBLEM.text), id="digest asked"),
        pytest.param(seen(of_pool(), SILENT, confirmed="sha256:2"), Finished(SILENT, "sha256:2"), id="digest told"),
        pytest.param(seen(of_pool(), LOST), Lost(LOST, after(10)), id="P12 lost"),
        *(
            pytest.param(
                seen(of_pool(), failed(cause, secrets="v0")),
                Lost(failed(cause, secrets="v0"), NOW),
                id=f"{cause}, healed",
            )
            for cause in (Cause.PULL_DENIED, Cause.PUSH_DENIED, Cause.IMAGE_NOT_FOUND)
        ),
        pytest.param(seen(of_pool(), failed(Cause.PULL_DENIED)), Broken(failed(Cause.PULL_DENIED)), id="not healed"),
        pytest.param(
            seen(of_pool(), failed(Cause.STEP, secrets="v0")), Broken(failed(Cause.STEP, secrets="v0")), id="A3 failed"
        ),
        *(
            pytest.param(
                seen(of_pool(), failed(Cause.UNREACHABLE, attempt=attempt)),
                Retrying(failed(Cause.UNREACHABLE, attempt=attempt), after(pause)),
                id=f"attempt {attempt} failed a moment ago",
            )
            for attempt, pause in ((1, 15), (2, 60), (3, 240))
        ),
        pytest.param(seen(of_pool(), failed(Cause.DISK, ended=LONG_AGO)), AGAIN, id="the next attempt is due"),
        pytest.param(
            seen(of_pool(), failed(Cause.DISK, attempt=ATTEMPTS)),
            Broken(failed(Cause.DISK, attempt=ATTEMPTS)),
            id="the last attempt",
        ),
        *(
            pytest.param(seen(degraded("Degraded", each)), HeldBack(each, f"{each}!"), id=f"A9 {each}")
            for each in ("RenderDegraded", "NodeDegraded", "PinnedImageSetsDegraded", "PoolSynchronizerDegraded")
        ),
        pytest.param(seen(degraded("Degraded")), READY, id="A4 Degraded alone"),
        pytest.param(seen(degraded("NodeDegraded"), RUNS), Underway(RUNS), id="A9 a build goes on"),
        pytest.param(seen(of_pool(), wanted=NOW), Resting(NOW + timedelta(seconds=5)), id="changed a moment ago"),
        pytest.param(
            seen(of_pool(), failed(Cause.DISK, ended=LONG_AGO), wanted=NOW), AGAIN, id="another attempt needs no rest"
        ),
        pytest.param(seen(of_pool(), backend=PROBLEM), Unclear(PROBLEM), id="no backend"),
        pytest.param(seen(of_pool()), READY, id="due"),
        pytest.param(seen(of_pool(), build(Phase.RUNNING, inputs="other")), READY, id="B2 superseded"),
        pytest.param(
            seen(of_pool(), build(Phase.RUNNING, backend=BackendName.OPENSHIFT)), READY, id="of another backend"
        ),
        pytest.param(
            seen(of_pool(), build(Phase.SUCCEEDED, backend=BackendName.OPENSHIFT, digest="sha256:1")),
            Finished(build(Phase.SUCCEEDED, backend=BackendName.OPENSHIFT, digest="sha256:1"), "sha256:1"),
            id="an image of another backend is as good",
        ),
    ],
)
def test_the_first_row_that_fits_is_the_situation(given: Snapshot, expected: Situation) -> None:
    assert situation(given, now=NOW, timing=TIMING) == expected


def test_the_latest_attempt_is_the_one_that_counts() -> None:
    attempts = [build(Phase.FAILED, attempt=number) for number in (2, 3, 1)]
    assert wanted_build(seen(of_pool(), *attempts)) == attempts[1]
