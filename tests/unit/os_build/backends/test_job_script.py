"""The script that builds in a Job's Pod, run here with a program in place of buildah that says what buildah would."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.left import command_lines
from tests.waiting import wait_until
from windlass.os_build.backends.job import scripts
from windlass.os_build.backends.job_state import Exit
from windlass.os_build.builder import Cause
from windlass.os_build.failure import Doing, explain

DIGEST = "sha256:" + "ab" * 32
BUILDAH = """#!/bin/sh
# Records its arguments, prints what it was told to, and ends as it was told to.
doing=build
for each in "$@"; do
    case $each in push | pull) doing=$each ;; esac
    [ "${before:-}" = --root ] && mkdir -p "$each"
    before=$each
done
[ "$doing" = pull ] && echo pull >>"$SAYS/pulls"
printf '%s\\n' "$@" >"$SAYS/$doing.arguments"
env >"$SAYS/$doing.environment"
[ -n "${ROTATE:-}" ] && [ "$doing" = build ] && cp "$ROTATE" "$PUSH_SECRET/.dockerconfigjson"
ls -a "$CONTEXT_COPY" >"$SAYS/$doing.files" 2>/dev/null
cat "$SAYS/$doing.log"
while [ -e "$SAYS/$doing.waits" ]; do sleep 0.05; done
[ -e "$SAYS/$doing.hangs" ] && { echo $$ >"$SAYS/pid"; sleep 60; }
[ "$doing" = push ] && printf %s "$DIGEST" >"$WORK_DIGEST"
exit "$(cat "$SAYS/$doing.code")"
"""


class Container:
    """The container's folders and programs."""

    def __init__(self, folder: Path) -> None:
        self.says, self.work, self.message = folder / "says", folder / "work", folder / "message"
        self.pull, self.push = folder / "pull", folder / "push"
        for each in (self.says, self.work, self.pull, self.push, folder / "context", folder / "bin"):
            each.mkdir()
        (folder / "bin" / "buildah").write_text(BUILDAH)
        (folder / "bin" / "buildah").chmod(0o755)
        self._script = folder / "context" / "job_build.sh"
        for name, content in scripts(shares=True).items():
            (folder / "context" / name).write_bytes(content)
        (folder / "context" / "Containerfile").write_text("FROM base\n")
        for secret in (self.pull, self.push):
            (secret / ".dockerconfigjson").write_text('{"auths":{}}')
        self._environment = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "IMAGE": "registry.example.com/org/os:t",
            "CONTEXT": str(folder / "context"),
            "PULL_SECRET": str(self.pull),
            "PUSH_SECRET": str(self.push),
            "TRUST": str(folder),
            "WORK": str(self.work),
            "BUILD_SECONDS": "600",
            "PUSH_SECONDS": "600",
            "MESSAGE": str(self.message),
            "SAYS": str(self.says),
            "CONTEXT_COPY": str(self.work / "context"),
            "WORK_DIGEST": str(self.work / "digest"),
            "DIGEST": DIGEST,
            "RHSM": str(folder / "rhsm"),
        }
        for doing in ("build", "push", "pull"):
            self.says_of(doing)

    def says_of(self, doing: str, log: str = "fine", code: int = 0) -> None:
        (self.says / f"{doing}.log").write_text(log + "\n")
        (self.says / f"{doing}.code").write_text(str(code))

    def limit(self, doing: str, seconds: int) -> None:
        self._environment[f"{doing.upper()}_SECONDS"] = str(seconds)

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            ["/bin/sh", self._script], env=self._environment, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def run(self, **environment: Any) -> int:
        """Run it; `environment` are more of its variables, a folder as a folder."""
        self._environment |= {name: str(value) for name, value in environment.items()}
        return self.start().wait()

    def begin(self, **environment: Any) -> "subprocess.Popen[bytes]":
        """Begin to run it, with more variables."""
        self._environment |= {name: str(value) for name, value in environment.items()}
        return self.start()

    def another_work(self) -> Path:
        """The empty folder of another Pod."""
        (folder := self.work.parent / "another").mkdir()
        return folder

    def folder(self, name: str, **files: str) -> Path:
        """A folder that a kubelet mounts: each file is a link into a hidden folder, with the text given here."""
        (folder := self.work.parent / name).mkdir()
        (folder / "..data").mkdir()
        for key, text in files.items():
            file = key.replace("_", ".")
            (folder / "..data" / file).write_text(text)
            (folder / file).symlink_to(f"..data/{file}")
        return folder

    def arguments(self, doing: str) -> list[str]:
        return (self.says / f"{doing}.arguments").read_text().splitlines()


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_the_digest_of_the_pushed_image_is_the_termination_message(container: Container) -> None:
    assert container.run() == 0
    assert container.message.read_text() == DIGEST


def test_buildah_gets_image_context_and_the_secret_of_each_step(container: Container) -> None:
    container.run()
    build, push = container.arguments("build"), container.arguments("push")
    assert build[-1] == str(container.work / "context")
    assert build[build.index("--tag") + 1] == push[-1] == "registry.example.com/org/os:t"
    assert build[build.index("--authfile") + 1] == str(container.work / "pull.json")
    assert push[push.index("--authfile") + 1] == str(container.work / "push.json")
    assert (container.says / "build.files").read_text().split() == [".", "..", "Containerfile"]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        pytest.param(".dockerconfigjson", {"auths": {"r": {"auth": "eA=="}}}, id="dockerconfigjson"),
        pytest.param(".dockercfg", {"r": {"auth": "eA=="}}, id="dockercfg"),
        pytest.param(".dockercfg", {"auths": {"r": {"auth": "eA=="}}}, id="dockercfg with the newer content"),
    ],
)
def test_secrets_of_both_types_become_authfiles(container: Container, key: str, text: Any) -> None:
    (container.push / ".dockerconfigjson").unlink()
    (container.push / key).write_text(json.dumps(text))
    assert container.run() == 0
    authfile = container.work / "push.json"
    assert json.loads(authfile.read_text()) == {"auths": {"r": {"auth": "eA=="}}}
    assert authfile.stat().st_mode & 0o777 == 0o600


def test_credentials_for_the_push_are_read_when_the_image_is_built(container: Container, tmp_path: Path) -> None:
    (renewed := tmp_path / "renewed.json").write_text('{"auths":{"r":{"auth":"bmV3"}}}')
    assert container.run(ROTATE=renewed) == 0
    assert json.loads((container.work / "push.json").read_text()) == {"auths": {"r": {"auth": "bmV3"}}}
    assert (container.work / "push.json").stat().st_mode & 0o777 == 0o600


def test_buildah_gets_mirrors_for_both_steps_and_the_policy_for_the_build(container: Container) -> None:
    containers = container.folder("containers", registries_conf="", policy_json="{}")
    assert container.run(CONTAINERS=containers) == 0
    for doing in ("build", "push"):
        arguments = container.arguments(doing)
        assert arguments[arguments.index("--registries-conf") + 1] == f"{containers}/registries.conf"
        assert arguments.index("--registries-conf") < arguments.index("push" if doing == "push" else "bud")
    build = container.arguments("build")
    assert build[build.index("--signature-policy") + 1] == f"{containers}/policy.json"
    assert "--signature-policy" not in container.arguments("push")


def test_without_mirrors_and_policy_those_of_the_builder_count(container: Container) -> None:
    assert container.run(CONTAINERS=container.folder("containers")) == 0
    assert not [each for each in container.arguments("build") if each.startswith(("--registries", "--signature"))]


def test_certificates_join_those_of_the_builder(container: Container) -> None:
    container.run()
    for doing in ("build", "push"):
        environment = (container.says / f"{doing}.environment").read_text().splitlines()
        assert f"SSL_CERT_DIR={container.work.parent}:/etc/ssl/certs:/etc/pki/tls/certs" in environment
        assert "--cert-dir" not in container.arguments(doing)


def test_what_is_lent_is_copied_and_mounted_for_run_and_what_is_empty_hides_nothing(container: Container) -> None:
    entitlement = container.folder("entitlement", a_pem="cert", a_key_pem="key")
    rhsm = container.folder("rhsm", rhsm_conf="conf")
    assert container.run(ENTITLEMENT=entitlement, REPOSITORIES=container.folder("repositories"), RHSM=rhsm) == 0
    arguments = container.arguments("build")
    given = [arguments[number + 1] for number, each in enumerate(arguments) if each == "--volume"]
    mounts = {at: folder for folder, at, mode in (each.split(":") for each in given) if mode == "rw"}
    assert mounts.keys() == {"/etc/pki/entitlement", "/run/secrets/rhsm"}
    copy = Path(mounts["/etc/pki/entitlement"])
    assert {each.name: each.read_text() for each in copy.iterdir()} == {"a.pem": "cert", "a.key.pem": "key"}
    assert not [each for each in copy.iterdir() if each.is_symlink()]
    assert copy.stat().st_mode & 0o777 == 0o755
    assert copy.parent == container.work
    assert "--volume" not in container.arguments("push")


def test_the_proxy_is_an_argument_of_the_build(container: Container) -> None:
    assert container.run(HTTPS_PROXY="http://p:1", https_proxy="http://p:1", NO_PROXY="") == 0
    arguments = container.arguments("build")
    given = [arguments[number + 1] for number, each in enumerate(arguments) if each == "--build-arg"]
    assert given == ["HTTPS_PROXY", "https_proxy"]


STEP = 'error: building at STEP "RUN curl x": while running runtime: exit status 1'
ASKING = 'Error: pinging container registry r.example.com: Get "https://r.example.com/v2/"'
AS_BUILDAH_SAYS = [
    pytest.param("build", f"curl: (7) connection refused\n{STEP}", id="a step that reaches nothing"),
    pytest.param("build", STEP.replace("curl x", "echo 503 EOF"), id="a step that mentions an error"),
    pytest.param("build", "Error: reading manifest v1 in r/os: manifest unknown", id="no base"),
    pytest.param("build", "Error: reading manifest v1 in r/os: unauthorized: authentication required", id="no pull"),
    pytest.param("build", 'Error: Unknown instruction: "RUM"', id="Containerfile"),
    pytest.param("build", "Error: dial tcp 127.0.0.1:5000: connect: connection refused", id="registry down"),
    pytest.param("build", "Error: dial tcp: lookup r on 10.0.0.1:53: no such host", id="no such host"),
    pytest.param("build", f'{ASKING}: Bad Gateway', id="a proxy that finds no such host"),
    pytest.param("build", f'{ASKING}: Forbidden', id="a proxy that does not let this host be asked"),
    pytest.param("push", f'{ASKING}: Proxy Authentication Required', id="a proxy with users"),
    pytest.param("build", f'{ASKING}: proxyconnect tcp: dial tcp 10.0.0.1:3128: connect: host is down', id="no proxy"),
    pytest.param("build", "Error: writing blob: no space left on device", id="disk"),
    pytest.param("build", 'Error: building at STEP "ADD x /": write /x: no space left on device', id="disk in a step"),
    pytest.param("build", "Error: tls: failed to verify certificate: x509: unknown authority", id="certificate"),
    pytest.param("build", "Error: something else", id="something else"),
    pytest.param("build", "", id="nothing"),
    pytest.param("push", "Error: received unexpected HTTP status: 503 Service Unavailable", id="503"),
    pytest.param("push", "Error: toomanyrequests: slow down", id="429"),
    pytest.param("push", "Error: writing blob: stream error: stream ID 5; INTERNAL_ERROR", id="HTTP/2 broke"),
    pytest.param("push", "Error: writing blob: http2: client connection lost", id="HTTP/2 lost"),
    pytest.param("push", "Error: writing blob: blob upload unknown", id="another replica of a registry"),
    pytest.param("push", "Error: denied: quota has been exceeded on namespace", id="quota"),
    pytest.param("push", "Error: received unexpected HTTP status: 507 Insufficient Storage", id="507"),
    pytest.param("push", "Error: received unexpected HTTP status: 524 A Timeout Occurred", id="524"),
    pytest.param("push", "Error: received unexpected HTTP status: 413 Request Entity Too Large", id="413"),
    pytest.param("push", "Error: writing blob: unexpected EOF", id="cut off"),
    pytest.param("push", "Error: denied: requested access to the resource is denied", id="push refused"),
    pytest.param("push", "Error: Get https://r/v2/: net/http: TLS handshake timeout", id="handshake"),
    pytest.param("push", "Error: dial tcp 10.0.0.1:443: i/o timeout", id="timeout"),
    pytest.param("push", "Error: writing blob: write tcp: use of closed network connection", id="cut while pushing"),
]  # fmt: skip


@pytest.mark.parametrize(("doing", "log"), AS_BUILDAH_SAYS)
def test_the_exit_code_says_whether_another_attempt_may_help_as_the_controller_would(
    container: Container, doing: Doing, log: str
) -> None:
    container.says_of(doing, log, code=125)
    permanent, transient = {
        "build": (Exit.BUILD_FAILED, Exit.BUILD_TRANSIENT),
        "push": (Exit.PUSH_FAILED, Exit.PUSH_TRANSIENT),
    }[doing]
    assert container.run() == (transient if explain(log, exit_code=None, doing=doing).transient else permanent)
    assert container.message.read_text().strip() == log


def test_a_builder_that_the_kernel_killed_says_so(container: Container) -> None:
    container.says_of("build", "STEP 2/9: RUN dnf install -y kernel", code=137)
    assert container.run() == Exit.BUILD_FAILED
    assert explain(container.message.read_text(), exit_code=None, doing="build").cause is Cause.MEMORY


def test_only_the_end_of_a_long_log_is_the_termination_message(container: Container) -> None:
    container.says_of("build", "\n".join(f"{number} {'x' * 200}" for number in range(100)), code=1)
    container.run()
    message = container.message.read_text()
    assert len(message) <= 2048
    assert message.splitlines()[-1].startswith("99 ")


def test_a_pod_that_is_deleted_ends_at_once_with_all_its_processes(container: Container) -> None:
    (container.says / "build.hangs").touch()
    running = container.start()
    pid = int(wait_until("the builder runs", lambda: _text(container.says / "pid")))
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=2) == 143
    wait_until("the builder has ended", lambda: not Path(f"/proc/{pid}/cmdline").exists() or _is_zombie(pid))


@pytest.mark.parametrize("doing", ["build", "push"])
def test_what_takes_too_long_ends_with_all_its_processes_and_the_log(container: Container, doing: str) -> None:
    container.says_of(doing, "STEP 2/2: RUN sleep 9999")
    (container.says / f"{doing}.hangs").touch()
    container.limit(doing, 1)
    assert container.run() == Exit.OVERDUE
    assert container.message.read_text().strip() == "STEP 2/2: RUN sleep 9999"
    pid = int(_text(container.says / "pid"))
    wait_until("the builder has ended", lambda: not Path(f"/proc/{pid}/cmdline").exists() or _is_zombie(pid))


def _text(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""


def _is_zombie(pid: int) -> bool:
    return ") Z" in Path(f"/proc/{pid}/stat").read_text()


BASE = f"registry.example.com/os/base@{DIGEST}"
STORE = f"{'ab' * 32}-{os.uname().machine}"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (folder := tmp_path / "cache").mkdir()
    return folder


def stores(cache: Path) -> set[str]:
    """What there is for other builds, or half done."""
    return {each.name for each in cache.iterdir() if each.is_dir()}


def pulls(container: Container) -> int:
    log = container.says / "pulls"
    return len(log.read_text().split()) if log.exists() else 0


def test_a_base_is_unpacked_once_with_the_pull_secret_and_builds_read_it(container: Container, cache: Path) -> None:
    filled = {"FILL": "1", "BASES": BASE, "CACHE": cache}
    assert [container.run(**filled), container.run(**filled)] == [0, 0]
    assert (stores(cache), pulls(container)) == ({STORE}, 1)
    arguments = container.arguments("pull")
    assert arguments[-1] == BASE
    assert arguments[arguments.index("--authfile") + 1] == str(container.work / "bases" / "pull.json")
    assert container.run(FILL="") == 0
    build = container.arguments("build")
    assert build[build.index("--storage-opt") + 1] == f"vfs.imagestore={cache}/{STORE}/root"
    # The registry says whether this build may have the image, also where another one has pulled it.
    assert "--pull-always" in build
    assert (container.says / "build.files").read_text().split() == [".", "..", "Containerfile"]


def test_a_base_that_cannot_be_pulled_leaves_nothing_and_the_build_tries_itself(
    container: Container, cache: Path
) -> None:
    container.says_of("pull", "Error: unauthorized", 125)
    assert container.run(FILL="1", BASES=BASE, CACHE=cache) == 0
    assert stores(cache) == set()
    assert container.message.exists() is False
    assert container.run(FILL="") == 0
    assert "--storage-opt" not in container.arguments("build")


def test_a_base_whose_registry_hangs_is_given_up_at_the_deadline(container: Container, cache: Path) -> None:
    (container.says / "pull.hangs").touch()
    assert container.run(FILL="1", BASES=BASE, CACHE=cache, BUILD_SECONDS=1) == 0
    assert {name.partition(".")[0] for name in stores(cache)} == {"new"}
    (container.says / "pull.hangs").unlink()
    assert container.run(BUILD_SECONDS=600) == 0
    assert stores(cache) == {STORE}, "what was half done is removed"


def test_a_base_that_nothing_uses_for_two_weeks_makes_room_for_another_one(container: Container, cache: Path) -> None:
    now = time.time()
    for name, days in (("old", 15), ("recent", 13)):
        (cache / name).mkdir()
        (cache / name / "used").touch()
        os.utime(cache / name / "used", (now - days * 86400, now - days * 86400))
    assert container.run(FILL="1", BASES=BASE, CACHE=cache) == 0
    assert stores(cache) == {"recent", STORE}


def test_a_build_that_begins_meanwhile_waits_for_the_one_that_pulls(container: Container, cache: Path) -> None:
    filled = {"FILL": "1", "BASES": BASE, "CACHE": cache}
    (container.says / "pull.waits").touch()
    first = container.begin(**filled)
    wait_until("the first pulls", lambda: pulls(container) == 1)
    second = container.begin(**filled, WORK=container.another_work())
    wait_until("the second waits, or pulls", lambda: "flock" in programs(second.pid) or pulls(container) == 2)
    (container.says / "pull.waits").unlink()
    assert [first.wait(), second.wait()] == [0, 0]
    assert (stores(cache), pulls(container)) == ({STORE}, 1)


def programs(session: int) -> set[str]:
    """The programs that run in this session."""
    found = set()
    for pid, line in command_lines().items():
        with suppress(ProcessLookupError):
            if os.getsid(pid) == session:
                found.add(line.partition(" ")[0])
    return found
