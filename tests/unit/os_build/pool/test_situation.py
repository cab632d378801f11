"""The table of situations, row by row: what a pool and its builds look like, and what that is."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.os_build.machine_os.samples import machine_os_build, machine_os_config
from tests.unit.os_build.pool.snapshots import (
    IMAGE_OF,
    INPUTS,
    LONG_AGO,
    NOW,
    PROBLEM,
    RECORD,
    REQUEST,
    TIMING,
    build,
    degraded,
    failed,
    of_pool,
    seen,
)
from windlass.kube.control.question import Answers, Needs, Question
from windlass.kube.control.seen import Present
from windlass.os_build.builder import ATTEMPTS, HEALED_BY_CREDENTIALS, TRANSIENT, Cause, Phase
from windlass.os_build.constants import IMAGE_INPUTS
from windlass.os_build.credentials import Auths, Login, Secrets
from windlass.os_build.identity import build_name
from windlass.os_build.machine_os.claim import Again, Claim, Failed, Missing, Reuse, Silent
from windlass.os_build.machine_os.conditions import State
from windlass.os_build.pool import situations as of
from windlass.os_build.pool.builds import wanted_build
from windlass.os_build.pool.questions import Credentials, Manifest, push_credentials
from windlass.os_build.pool.situation import situation
from windlass.os_build.pool.situations import Situation
from windlass.os_build.pool.snapshot import PoolFacts, Refusal
from windlass.os_build.registry.answers import Found, NotAsked
from windlass.os_build.request import PULL_SECRET, BackendName, Problem


def auths(**logins: str) -> Auths:
    """The credentials of these users, with their passwords."""
    return Auths({f"{user}.example.com": Login(user, password) for user, password in logins.items()}, b"")


def after(seconds: float) -> datetime:
    """So long after the end of a build."""
    return NOW - timedelta(seconds=9) + timedelta(seconds=seconds)


def told(answer: Found | NotAsked) -> Answers:
    """What the registry says of the digest."""
    return Answers.of({DIGEST: answer}, at=NOW)


POOL = of_pool()
RUNS = build(Phase.RUNNING, runs=NOW - timedelta(seconds=2460), started=LONG_AGO)
HANGS = build(Phase.RUNNING, runs=NOW - timedelta(seconds=2461))
UNSTARTED = build(Phase.RUNNING, started=LONG_AGO)
EVICTED = build(Phase.RUNNING, doomed=Cause.EVICTED)
STOPPED = replace(EVICTED, ending=True)
WAITS = build(Phase.PENDING)
ENDS = build(Phase.INTERRUPTED, ending=True)
PUSHED = build(Phase.SUCCEEDED, digest="sha256:1")
THEIRS = build(Phase.SUCCEEDED, digest="sha256:1", backend=BackendName.OPENSHIFT)
SILENT = build(Phase.SUCCEEDED, image="registry.example.com/org/os:build")
DIGEST = Manifest(REQUEST.target, "build", push_credentials(REQUEST, "v1"))
LOST = build(Phase.INTERRUPTED)
BROKEN = failed(Cause.STEP, secrets="v0")
PASSED = failed(Cause.DISK, ended=LONG_AGO)
LAST = failed(Cause.DISK, attempt=ATTEMPTS)
LAST_LONG_AGO = failed(Cause.DISK, attempt=ATTEMPTS, ended=LONG_AGO)
CLAIM = Claim(config=Present(machine_os_config(), b"{}"), name="worker-1")
THEN = Secrets(auths(u="p"), auths(u="p"), "v0").state
FAILED_BUILD = Present(machine_os_build("worker-1", state=State.FAILED), b"{}")
IN_VAIN = replace(CLAIM, builds=(FAILED_BUILD,))
NEW_BUILD = Present(machine_os_build("worker-1", state=State.INITIAL), b"{}")
TAKEN = Reuse(NEW_BUILD, "image")
UNTOLD = replace(CLAIM, builds=(NEW_BUILD,), serves="image", registry=NotAsked("away"))


def untold(seconds: float) -> PoolFacts:
    """The registry has not told for so long whether it has the image that is about to be taken."""
    claim = replace(UNTOLD, silent=NOW - timedelta(seconds=seconds))
    return seen(POOL, claimed="a", claim=claim, inputs=UNTOLD.inputs)


ITS = {"claimed": "a", "claim": IN_VAIN, "inputs": IN_VAIN.inputs}
READY = of.Ready(BackendName.JOB, 1, build_name("worker", INPUTS))
AGAIN = of.Ready(BackendName.JOB, 2, build_name("worker", INPUTS, 2))
NO = Refusal("no", NOW + timedelta(seconds=1))
LATER = of.Refused(NO.why, NO.until)
RESTING = of.Resting(NOW + timedelta(seconds=5))

ROWS: dict[str, tuple[PoolFacts, Situation]] = {
    "no pool": (seen(None), of.Gone()),
    "a pool that goes": (seen(of_pool(deletionTimestamp="2026-11-22T11:00:00Z"), RUNS), of.Gone()),
    "served by another process": (seen(POOL, RUNS, claimed="theirs"), of.Claimed("theirs")),
    "claimed, and due": (seen(POOL, claimed="a", claim=CLAIM), of.ByConfig(Missing("worker-1"))),
    "claimed in vain": (seen(POOL, claimed="a", claim=replace(CLAIM, name=PROBLEM)), of.Unclear(PROBLEM)),
    "claimed, changed a moment ago": (seen(POOL, claimed="a", claim=CLAIM, wanted=NOW), RESTING),
    "claimed, and the registry is silent": (untold(299), of.ByConfig(Silent(NEW_BUILD, "away", TAKEN))),
    "claimed, and the registry is silent for too long": (untold(300), of.ByConfig(TAKEN)),
    "opted out": (seen(of_pool(annotations={}), RUNS), of.OptedOut()),
    "cannot be told": (seen(POOL, RUNS, request=PROBLEM), of.Unclear(PROBLEM)),
    "recorded": (seen(of_pool(annotations=RECORD), PUSHED), of.Built(IMAGE_OF, "rendered-worker-1")),
    "an image of other inputs": (seen(of_pool(annotations={**RECORD, IMAGE_INPUTS: "other"})), READY),
    "waits": (seen(POOL, WAITS), of.Underway(WAITS)),
    "runs, to the last second of its deadlines": (seen(POOL, RUNS), of.Underway(RUNS)),
    "overdue": (seen(POOL, HANGS), of.Doomed(HANGS, Cause.DEADLINE)),
    "begun long ago, and has not started": (seen(POOL, UNSTARTED), of.Underway(UNSTARTED)),
    "evicted again and again": (seen(POOL, EVICTED), of.Doomed(EVICTED, Cause.EVICTED)),
    "evicted, and cancelled already": (seen(POOL, STOPPED), of.Underway(STOPPED)),
    "its end is awaited, however it ends": (seen(POOL, ENDS), of.Underway(ENDS)),
    "succeeded": (seen(POOL, PUSHED), of.Finished(PUSHED, "sha256:1")),
    "an image of another backend is as good": (seen(POOL, THEIRS), of.Finished(THEIRS, "sha256:1")),
    "digest unknown": (seen(POOL, SILENT, answers=told(NotAsked("no"))), of.Unconfirmed(SILENT, "no")),
    "digest told": (seen(POOL, SILENT, answers=told(Found("sha256:2"))), of.Finished(SILENT, "sha256:2")),
    "lost": (seen(POOL, LOST), of.Lost(LOST, after(10))),
    "lost after another one": (seen(POOL, LOST, losses=(LONG_AGO,)), of.Lost(LOST, after(20))),
    "lost, which is noted": (seen(POOL, LOST, losses=(LONG_AGO, after(0))), of.Lost(LOST, after(20))),
    "lost for the ninth time": (seen(POOL, LOST, losses=(LONG_AGO,) * 8), of.Lost(LOST, after(1800))),
    "failed for good": (seen(POOL, BROKEN), of.Broken(BROKEN)),
    "the next attempt is due": (seen(POOL, PASSED), AGAIN),
    "the next attempt needs no rest": (seen(POOL, PASSED, wanted=NOW), AGAIN),
    "the last attempt": (seen(POOL, LAST), of.Broken(LAST, after(1800))),
    "the last attempt, long ago": (seen(POOL, LAST_LONG_AGO), of.Lost(LAST_LONG_AGO, NOW)),
    "claimed, and failed without a builder": (seen(POOL, **ITS), of.ByConfig(Failed(FAILED_BUILD))),
    "Degraded alone": (seen(degraded("Degraded")), READY),
    "a build goes on": (seen(degraded("NodeDegraded"), RUNS), of.Underway(RUNS)),
    "refused a moment ago": (seen(POOL, refused=NO), LATER),
    "refused, and its ConfigMap is left": (seen(POOL, LOST, refused=NO), LATER),
    "refused, and a build runs all the same": (seen(POOL, RUNS, refused=NO), of.Underway(RUNS)),
    "claimed, and refused": (seen(POOL, claimed="a", claim=CLAIM, refused=NO), LATER),
    "refused for long enough": (seen(POOL, refused=replace(NO, until=NOW)), READY),
    "changed a moment ago": (seen(POOL, wanted=NOW), RESTING),
    "no backend": (seen(POOL, backend=PROBLEM), of.Unclear(PROBLEM)),
    "due": (seen(POOL), READY),
    "superseded": (seen(POOL, build(Phase.RUNNING, inputs="other")), READY),
    "of another backend": (seen(POOL, build(Phase.RUNNING, backend=BackendName.OPENSHIFT)), READY),
}
# What the builder of a failed MachineOSBuild tells.
for name, given, expected in (
    ("for good", failed(Cause.STEP, secrets=THEN), Failed(FAILED_BUILD)),
    ("for what may pass", LAST, Failed(FAILED_BUILD, after(1800))),
    ("for what may have passed", LAST_LONG_AGO, Again(FAILED_BUILD, "what it failed for may have passed")),
):
    ROWS[f"claimed, and failed {name}"] = (
        seen(POOL, replace(given, inputs=str(IN_VAIN.inputs)), **ITS),
        of.ByConfig(expected),
    )


@pytest.mark.parametrize("claimed", [False, True], ids=["opted in", "claimed"])
@pytest.mark.parametrize(
    ("pull", "push", "heals"),
    [
        pytest.param({"u": "p"}, {"u": "p"}, (), id="somebody touched a Secret"),
        pytest.param({"u": "new"}, {"u": "p"}, (Cause.PULL_DENIED, Cause.PUSH_DENIED), id="a token is rotated"),
        pytest.param({"u": "p"}, {"u": "new"}, (Cause.PULL_DENIED, Cause.PUSH_DENIED), id="the other token"),
        pytest.param({"v": "p"}, {"u": "p"}, tuple(HEALED_BY_CREDENTIALS), id="another user"),
        pytest.param({}, {"u": "p"}, tuple(HEALED_BY_CREDENTIALS), id="no user any more"),
        pytest.param(PROBLEM, {"u": "p"}, (), id="a Secret that says nothing"),
    ],
)
def test_a_build_begins_again_if_other_credentials_may_heal_its_cause(
    pull: dict[str, str] | Problem, push: dict[str, str], heals: tuple[Cause, ...], claimed: bool
) -> None:
    answers: dict[Question[Any], Any] = {
        Credentials("pull", PULL_SECRET, "", "v1"): pull if isinstance(pull, Problem) else auths(**pull),
        push_credentials(REQUEST, "v1"): auths(**push),
    }
    found = []
    for cause in set(Cause) - TRANSIENT:
        fields: dict[str, Any] = ITS if claimed else {}
        inputs = str(fields.get("inputs", INPUTS))
        given = seen(POOL, failed(cause, secrets=THEN, inputs=inputs), answers=Answers.of(answers, at=NOW), **fields)
        state = situation(given, now=NOW, timing=TIMING)
        again = isinstance(state, of.Lost) or (isinstance(state, of.ByConfig) and isinstance(state.standing, Again))
        found += [cause] if again else []
    assert set(found) == set(heals)


@pytest.mark.parametrize("versions", ["v0", ""], ids=["nobody touched them", "they are not known"])
def test_no_secret_is_read_for_a_failed_build_unless_it_changed(versions: str) -> None:
    for cause in set(Cause) - TRANSIENT:
        given = seen(POOL, failed(cause, secrets=THEN), versions=versions)
        assert isinstance(situation(given, now=NOW, timing=TIMING), of.Broken)


def test_a_state_of_secrets_that_an_earlier_version_recorded_counts_as_another_one() -> None:
    secrets = Secrets(auths(u="p"), auths(u="p"), "v1")
    assert secrets.has_another_user("v0")
    assert secrets.has_another_login("v0")


for number, pause in ((1, 15), (2, 60), (3, 240)):
    away = failed(Cause.UNREACHABLE, attempt=number)
    ROWS[f"attempt {number} failed a moment ago"] = seen(POOL, away), of.Retrying(away, after(pause))
for blocking in ("RenderDegraded", "NodeDegraded", "PinnedImageSetsDegraded", "PoolSynchronizerDegraded"):
    blocked = degraded("Degraded", blocking)
    ROWS[f"A9 {blocking}"] = seen(blocked), of.HeldBack(blocking, f"{blocking}!")
    ROWS[f"A9 claimed, {blocking}"] = seen(blocked, claimed="a", claim=CLAIM), of.HeldBack(blocking, f"{blocking}!")


@pytest.mark.parametrize(("given", "expected"), ROWS.values(), ids=ROWS)
def test_the_first_row_that_fits_is_the_situation(given: PoolFacts, expected: Situation) -> None:
    assert situation(given, now=NOW, timing=TIMING) == expected


def test_the_registry_is_asked_for_a_digest_that_the_backend_does_not_tell_and_for_nothing_else() -> None:
    with pytest.raises(Needs) as needs:
        situation(seen(POOL, SILENT), now=NOW, timing=TIMING)
    assert needs.value.questions == (DIGEST,)


def test_the_latest_attempt_is_the_one_that_counts() -> None:
    attempts = [build(Phase.FAILED, attempt=number) for number in (2, 3, 1)]
    assert wanted_build(seen(POOL, *attempts)) == attempts[1]
