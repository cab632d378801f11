"""Requests for local builds, as the backend plans them and as people read them."""

from pathlib import Path

from windlass.api.machineconfiguration import MachineConfigPool
from windlass.kube.control.plan import Call, Target
from windlass.kube.control.source import Mailbox
from windlass.os_build.backends.local.backend import LocalBackend
from windlass.os_build.backends.local.builds import Builds
from windlass.os_build.backends.local.requests import CancelBuild, RemoveBuild, RenewCredentials, StartBuild
from windlass.os_build.builder import Backend, BuildState, Cause, Order, Phase
from windlass.os_build.credentials import Auths, Login, Secrets
from windlass.os_build.inputs.context import Context
from windlass.os_build.pullspec import Target as Repository
from windlass.os_build.request import BackendName, Request

SECRET = "hunter2"
AUTHS = Auths({"r.example.com": Login("user", SECRET)}, SECRET.encode())
POOL = Target(MachineConfigPool, "worker", None, "uid", "7")
ORDER = Order(
    name="build-worker-1",
    inputs="abc",
    attempt=2,
    pool=POOL,
    request=Request(
        pool="worker",
        config="rendered-worker-1",
        target=Repository("r.example.com", "org/os"),
        pull_secret="pull",
        push_secret="push",
    ),
    context=Context({"Containerfile": b"FROM x", "rootfs.tar.gz": SECRET.encode()}),
    secrets=Secrets(AUTHS, AUTHS, "1.2"),
)
STATE = BuildState(name="build-worker-1", backend=BackendName.LOCAL, pool="worker", inputs="abc", phase=Phase.RUNNING)


def backend() -> LocalBackend:
    return LocalBackend(Builds(Path("/nowhere")), Mailbox())


def test_a_start_carries_all_that_the_build_is_known_by() -> None:
    local: Backend = backend()
    (call,) = local.start(ORDER)
    assert isinstance(call, Call)
    assert call.target == POOL
    request = call.request
    assert isinstance(request, StartBuild)
    assert (request.name, request.pool, request.inputs, request.attempt) == ("build-worker-1", "worker", "abc", 2)
    assert (request.config, request.secrets) == ("rendered-worker-1", ORDER.secrets.state)
    assert request.image == "r.example.com/org/os:build-worker-1"


def test_a_start_shows_secrets_by_name_and_files_by_size() -> None:
    (call,) = backend().start(ORDER)
    assert {change.path: change.after for change in call.diff()} == {
        "pool": "worker",
        "config": "rendered-worker-1",
        "image": "r.example.com/org/os:build-worker-1",
        "attempt": 2,
        "context": "Context(Containerfile: 6 bytes, rootfs.tar.gz: 7 bytes)",
        "pullSecret": "pull",
        "pushSecret": "push",
    }
    assert str(call) == "start build (buildah) for MachineConfigPool.machineconfiguration.openshift.io worker: " + (
        "rendered-worker-1 has no image yet"
    )
    assert SECRET not in repr(call)


def test_a_renewal_shows_no_secret() -> None:
    (call,) = backend().renew(STATE, ORDER.secrets)
    assert isinstance(call, Call)
    assert call.request == RenewCredentials(
        name=STATE.name, pull=ORDER.secrets.pull, push=ORDER.secrets.push, secrets=ORDER.secrets.state
    )
    assert SECRET not in f"{call!r} {call} {call.diff()}"


def test_a_build_is_cancelled_and_removed_by_name() -> None:
    (cancel,) = backend().cancel(STATE, Cause.CANCELLED)
    (clean,) = backend().clean(STATE, why="opted out")
    assert isinstance(cancel, Call)
    assert isinstance(clean, Call)
    assert (cancel.request, clean.request) == (CancelBuild(name=STATE.name), RemoveBuild(name=STATE.name))
    assert cancel.target.name == "worker"


def test_a_backend_wakes_pools_until_its_term_ends() -> None:
    mailbox = Mailbox[str]()
    (source,) = LocalBackend(Builds(Path("/nowhere")), mailbox).sources
    woken: list[str] = []
    detach = source.attach(lambda key, **_: woken.append(key))
    mailbox.post("worker")
    detach()
    mailbox.post("infra")
    assert woken == ["worker"]
