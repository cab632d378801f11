"""Builds with the real buildah, pushed to a real registry."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from tests.api.os_build.local.workshop import POOL, Workshop
from tests.left import command_lines
from tests.patience import Stalls
from tests.waiting import until
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.records import InUse
from windlass.os_build.backends.local.requests import RenewCredentials, StartBuild
from windlass.os_build.builder import BuildState, Cause, Deadlines, Phase
from windlass.os_build.environment import Egress, Environment, Files
from windlass.testing.builder import push_base
from windlass.testing.registry import Registry


async def test_an_image_is_built_and_pushed_and_three_ways_give_its_digest(workshop: Workshop) -> None:
    request = workshop.request(
        "COPY file.txt /etc/copied\nRUN echo built > /etc/motd\nFROM configs AS final\nLABEL a=b"
    )
    async with workshop.open() as builds:
        state = await workshop.build(builds, request)
        assert (state.phase, state.failed, state.image) == (Phase.SUCCEEDED, None, request.image), state.failed
        assert (state.pool, state.inputs, state.config, state.secrets) == (POOL, "inputs", request.config, "versions")
        assert state.started is not None
        assert state.ended is not None
        assert state.started < state.ended
    images, repository = workshop.registry.images, f"os/{POOL}"
    assert state.digest == images.digest(repository, request.name) == _head(workshop, repository, request.name)
    assert images.file(repository, state.digest, "/etc/motd") == b"built\n"
    assert images.file(repository, state.digest, "/etc/copied") == b"text\n"
    assert images.labels(repository, state.digest) == {"a": "b"}
    assert workshop.left() == [str(workshop.folder / "builds" / request.name), _outcome(workshop, request)]
    assert set(workshop.changes) == {POOL}


async def test_equal_builds_at_the_same_time_in_two_slots_give_one_digest(workshop: Workshop) -> None:
    async with workshop.open(slots=2) as builds:
        for request in (one := workshop.request(), two := workshop.request()):
            await builds.start(request)
        await until(lambda: _phases(builds.states(POOL)) == [Phase.RUNNING] * 2)
        digests = {(await workshop.over(builds, request.name)).digest for request in (one, two)}
        assert len(digests) == 1
        assert digests != {""}
        assert builds.states("another-pool") == ()


async def test_a_failing_command_is_told_with_step_exit_code_and_the_end_of_its_output(workshop: Workshop) -> None:
    request = workshop.request("RUN printf '\\033[31mred'; echo; exit 7")
    async with workshop.open() as builds:
        state = await workshop.build(builds, request)
    assert state.phase is Phase.FAILED
    assert state.failed is not None
    assert (state.failed.cause, state.failed.exit_code, state.digest) == (Cause.STEP, 7, "")
    assert state.failed.step == "RUN printf '\\033[31mred'; echo; exit 7"
    # Buildah's own processes may add lines of theirs, or lose them on a busy machine.
    *before, last = state.failed.tail.split("\n")
    assert "red" in before
    assert last.startswith('Error: building at STEP "RUN printf')
    assert "red\n" in (workshop.folder / "builds" / request.name / "log").read_text()


@pytest.mark.parametrize(
    ("request_of", "disturbed", "cause"),
    [
        pytest.param(lambda shop: shop.request(pull="nobody"), None, Cause.PULL_DENIED, id="wrong-password-to-pull"),
        pytest.param(
            lambda shop: shop.request(base=f"{shop.registry.host}/os/base:none"),
            None,
            Cause.IMAGE_NOT_FOUND,
            id="no-base",
        ),
        pytest.param(lambda shop: shop.request("RUM true"), None, Cause.CONTAINERFILE, id="unknown-instruction"),
        pytest.param(lambda shop: shop.request("COPY none /"), None, Cause.CONTAINERFILE, id="nothing-to-copy"),
        pytest.param(lambda shop: shop.request(), Registry.down, Cause.UNREACHABLE, id="registry-down"),
        pytest.param(lambda shop: shop.request("ENV a=b", push="puller"), None, Cause.PUSH_DENIED, id="may-not-push"),
        pytest.param(
            lambda shop: shop.request("ENV a=c"),
            lambda registry: nullcontext(registry.fault(method="PATCH", cut=True)),
            Cause.UNREACHABLE,
            id="cut-while-pushing",
        ),
    ],
)
async def test_a_failure_has_its_cause(
    workshop: Workshop,
    request_of: Callable[[Workshop], StartBuild],
    disturbed: Callable[[Registry], AbstractContextManager[object]] | None,
    cause: Cause,
) -> None:
    async with workshop.open() as builds:
        with disturbed(workshop.registry) if disturbed else nullcontext():
            state = await workshop.build(builds, request_of(workshop))
    assert state.phase is Phase.FAILED
    assert state.failed is not None
    assert state.failed.cause is cause, state.failed.tail


async def test_a_registry_with_a_certificate_of_its_own_needs_the_folder_of_its_authority(
    tmp_path: Path, base: str
) -> None:
    with Registry(auth="bearer", tls=True) as registry:
        workshop = Workshop(tmp_path / "builds", registry, push_base(registry))
        async with workshop.open(tls_verify=True) as builds:
            state = await workshop.build(builds, workshop.request("ENV a=b"))
            assert state.failed is not None
            assert state.failed.cause is Cause.UNTRUSTED
            # So far only with trust: the base was pulled.
            trusting = Environment(egress=Egress(authorities=registry.ca_file.read_text()))
            asked = structs.replace(workshop.request("ENV a=b", push="puller"), environment=trusting)
            denied = await workshop.build(builds, asked)
            assert denied.failed is not None
            assert denied.failed.cause is Cause.PUSH_DENIED


async def test_a_push_has_the_credentials_that_were_renewed_while_the_image_was_built(workshop: Workshop) -> None:
    request = workshop.request("RUN while [ ! -e /lent/go ]; do sleep 0.05; done", push="nobody")
    request = structs.replace(request, lent={"/lent": Files({"wait": b""})})
    async with workshop.open() as builds:
        await builds.start(request)
        folder = workshop.folder / "builds" / request.name
        await until(lambda: list(workshop.folder.glob("slots/*/root/*-containers/containers.json")) != [])
        auths = workshop.auths("pusher")
        builds.renew(RenewCredentials(name=request.name, pull=auths, push=auths, secrets="newer"))
        assert (folder / "push.json").stat().st_mode & 0o777 == 0o600
        (folder / "lent" / "0" / "go").touch()
        state = await workshop.over(builds, request.name)
    assert (state.phase, state.failed, state.secrets) == (Phase.SUCCEEDED, None, "newer")
    assert [path.name for path in folder.iterdir()] == ["outcome.json"]


async def test_a_cancelled_build_is_gone_within_three_seconds_and_stays_as_a_failed_one(workshop: Workshop) -> None:
    running, queued = workshop.request(f"RUN trap '' TERM; {workshop.sleep}"), workshop.request()
    async with workshop.open() as builds:
        await workshop.running(builds, running)
        assert (await builds.start(queued)).note == "waits for a free builder on this machine, which has 1"
        async with Stalls() as stalls:
            begin = time.monotonic()
            await builds.cancel(queued.name)
            await builds.cancel(running.name)
        assert time.monotonic() - begin < 3.0 + stalls.seconds
        assert workshop.sleeping() == []
        states = builds.states(POOL)
        assert [state.name for state in states] == [queued.name, running.name]
        assert {state.failed.cause for state in states if state.failed} == {Cause.CANCELLED}
        await until(lambda: workshop.containers() == [])


async def test_a_build_that_takes_too_long_is_ended(workshop: Workshop) -> None:
    async with workshop.open() as builds:
        request = workshop.request(f"RUN {workshop.sleep}", deadlines=Deadlines(build=1.0))
        state = await workshop.build(builds, request)
        assert state.failed is not None
        assert state.failed.cause is Cause.DEADLINE
        assert workshop.sleeping() == []
        workshop.registry.fault(method="PATCH", hang=True)
        state = await workshop.build(builds, workshop.request("ENV a=d", deadlines=Deadlines(push=1.0)))
        assert state.failed is not None
        assert state.failed.cause is Cause.DEADLINE


async def test_a_process_that_a_step_puts_into_the_background_does_not_outlive_the_build(workshop: Workshop) -> None:
    async with workshop.open() as builds:
        state = await workshop.build(builds, workshop.request(f"RUN setsid {workshop.sleep} >/dev/null 2>&1 & true"))
        assert state.phase is Phase.SUCCEEDED
        assert workshop.sleeping() == []


@pytest.mark.parametrize("driver", ["auto", "vfs"])
async def test_a_store_keeps_the_base_of_its_last_build_and_nothing_else(workshop: Workshop, driver: str) -> None:
    other = push_base(workshop.registry, "os/other", "v2").partition("@")[0] + ":v2"
    async with workshop.open(driver=driver) as builds:
        await workshop.build(builds, workshop.request("ENV a=b\nFROM configs\nENV c=d"))
        await until(lambda: workshop.images() == [[workshop.base]])
        await workshop.build(builds, workshop.request("ENV a=b", base=other))
        await until(lambda: workshop.images() == [[workshop.base, other]])


async def test_a_store_that_was_left_for_a_build_which_is_cancelled_is_tidied(workshop: Workshop) -> None:
    first, second = workshop.request("ENV a=b"), workshop.request(f"RUN {workshop.sleep}")
    async with workshop.open() as builds:
        await builds.start(first)
        await builds.start(second)
        await workshop.over(builds, first.name)
        await builds.remove(second.name)
        await until(lambda: workshop.images() == [[workshop.base]] and workshop.processes() == [])


async def test_builds_that_are_over_survive_a_restart_until_they_are_removed(workshop: Workshop) -> None:
    done, failed = workshop.request("ENV a=b"), workshop.request("RUM true")
    async with workshop.open() as builds:
        states = tuple([await workshop.build(builds, request) for request in (done, failed)])
    (workshop.folder / "builds" / "build-of-another-time").mkdir()
    workshop.registry.forget_requests()
    async with workshop.open() as builds:
        assert builds.states(POOL) == states
        assert await builds.start(done) == states[0]
        await builds.remove(done.name)
        assert builds.states(POOL) == states[1:]
        assert [path.name for path in (workshop.folder / "builds").iterdir()] == [failed.name]
    assert workshop.registry.requests() == []


async def test_the_end_stops_all_builds_within_five_seconds_and_leaves_nothing(workshop: Workshop) -> None:
    async with Stalls() as stalls:
        async with workshop.open(slots=2) as builds:
            for _ in range(2):
                await workshop.running(builds, workshop.request(f"RUN trap '' TERM; {workshop.sleep}"))
            await builds.start(workshop.request())
            begin = time.monotonic()
        took = time.monotonic() - begin
    assert took < 5.0 + stalls.seconds
    assert workshop.left() == []


async def test_a_build_that_was_interrupted_can_be_started_again_at_once(workshop: Workshop) -> None:
    async with workshop.open() as builds:
        await workshop.running(builds, workshop.request(f"RUN {workshop.sleep}", name="build-worker-again"))
        builds.interrupt()
        assert (await workshop.build(builds, workshop.request("ENV a=b", name="build-worker-again"))).digest
        assert len(builds.states(POOL)) == 1


async def killed(workshop: Workshop, builds: Builds, request: StartBuild) -> BuildState:
    """The end of a build whose buildah was killed."""
    await workshop.running(builds, request)
    os.kill(workshop.buildah(), signal.SIGKILL)
    state = await workshop.over(builds, request.name)
    assert workshop.sleeping() == []
    await until(lambda: workshop.containers() == [])
    return state


async def test_a_build_whose_buildah_was_killed_was_interrupted_which_is_no_failure(workshop: Workshop) -> None:
    async with workshop.open() as builds:
        state = await killed(workshop, builds, workshop.request(f"RUN {workshop.sleep}"))
        assert (state.phase, state.failed, state.note) == (Phase.INTERRUPTED, None, "signal 9 ended buildah")


async def test_a_build_that_is_killed_three_times_has_failed_also_if_another_process_counts_the_last(
    workshop: Workshop,
) -> None:
    request = workshop.request(f"RUN {workshop.sleep}")
    async with workshop.open() as builds:
        for _ in range(2):
            assert (await killed(workshop, builds, request)).phase is Phase.INTERRUPTED
            await builds.remove(request.name)
    async with workshop.open() as builds:
        failed = (await killed(workshop, builds, request)).failed
        assert failed is not None
        assert (failed.cause, failed.step) == (Cause.MEMORY, f"RUN {workshop.sleep}")
        assert failed.tail.endswith("signal 9 ended buildah 3 times")
        await builds.remove(request.name)
        # It is asked for again: the count begins anew.
        assert (await killed(workshop, builds, request)).phase is Phase.INTERRUPTED


async def test_the_end_of_the_process_is_not_counted(workshop: Workshop) -> None:
    request = workshop.request(f"RUN {workshop.sleep}")
    for _ in range(3):
        async with workshop.open() as builds:
            await workshop.running(builds, request)
    async with workshop.open() as builds:
        assert (await killed(workshop, builds, request)).phase is Phase.INTERRUPTED


async def test_a_step_that_is_killed_ran_out_of_memory_unless_the_process_is_stopped_with_it(
    workshop: Workshop,
) -> None:
    steps = f"RUN exec {workshop.sleep}"
    async with workshop.open() as builds:
        await workshop.running(builds, request := workshop.request(steps))
        [step] = [pid for pid, line in command_lines().items() if line == workshop.sleep]
        os.kill(step, signal.SIGKILL)
        state = await workshop.over(builds, request.name)
        assert state.failed is not None
        assert (state.failed.cause, state.failed.step) == (Cause.MEMORY, steps)
        # As systemd stops a service: it asks all processes at the same time.
        await workshop.running(builds, asked := workshop.request(steps))
        os.kill(workshop.buildah(), signal.SIGTERM)
        assert (await workshop.over(builds, asked.name)).phase is Phase.FAILED
    async with workshop.open() as builds:
        assert asked.name not in {each.name for each in builds.states(POOL)}


async def test_sigkill_of_the_process_leaves_no_process_mount_or_file_and_the_next_one_builds(
    workshop: Workshop,
) -> None:
    request = workshop.request(f"RUN setsid {workshop.sleep} & {workshop.sleep}")
    argv = [sys.executable, "-m", "tests.api.os_build.local.owner", str(workshop.folder)]
    owner = await asyncio.create_subprocess_exec(*argv, stdin=subprocess.PIPE)
    assert owner.stdin is not None
    owner.stdin.write(msgspec.msgpack.encode(request))
    owner.stdin.close()
    await until(lambda: len(workshop.sleeping()) == 2)
    owner.kill()
    await owner.wait()
    await until(lambda: workshop.left() == [])
    async with workshop.open() as builds:
        assert workshop.containers() == []
        assert builds.states(POOL) == ()
        assert (await workshop.build(builds, workshop.request("ENV a=b", name=request.name))).digest


async def test_a_second_process_is_refused(workshop: Workshop) -> None:
    async with workshop.open():
        with pytest.raises(InUse, match=r"the folder .*/builds is in use .* choose another folder"):
            async with workshop.open():
                pass


def _head(workshop: Workshop, repository: str, tag: str) -> str:
    request = urllib.request.Request(f"http://{workshop.registry.host}/v2/{repository}/manifests/{tag}", method="HEAD")
    (auth,) = workshop.registry.auths("puller")["auths"].values()
    request.add_header("Authorization", f"Basic {auth['auth']}")
    request.add_header("Accept", "application/vnd.oci.image.manifest.v1+json")
    with urllib.request.urlopen(request) as answer:
        return str(answer.headers["Docker-Content-Digest"])


def _outcome(workshop: Workshop, request: StartBuild) -> str:
    return str(workshop.folder / "builds" / request.name / "outcome.json")


def _phases(states: object) -> list[Phase]:
    return [state.phase for state in states]  # type: ignore[attr-defined]
