"""The script that builds in a Job's Pod, run here with a program in place of buildah that says what buildah would."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import wait_until
from windlass.os_build.backends.job import script
from windlass.os_build.backends.job_state import Exit
from windlass.os_build.builder import Cause
from windlass.os_build.failure import Doing, explain

DIGEST = "sha256:" + "ab" * 32
BUILDAH = """#!/bin/sh
# Records its arguments, prints what it was told to, and ends as it was told to.
doing=build
for each in "$@"; do
    [ "$each" = push ] && doing=push
done
printf '%s\\n' "$@" >"$SAYS/$doing.arguments"
ls -a "$CONTEXT_COPY" >"$SAYS/$doing.files" 2>/dev/null
cat "$SAYS/$doing.log"
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
        self._script.write_bytes(script())
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
        }
        for doing in ("build", "push"):
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

    def run(self) -> int:
        return self.start().wait()

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


STEP = 'error: building at STEP "RUN curl x": while running runtime: exit status 1'
AS_BUILDAH_SAYS = [
    pytest.param("build", f"curl: (7) connection refused\n{STEP}", id="a step that reaches nothing"),
    pytest.param("build", STEP.replace("curl x", "echo 503 EOF"), id="a step that mentions an error"),
    pytest.param("build", "Error: reading manifest v1 in r/os: manifest unknown", id="no base"),
    pytest.param("build", "Error: reading manifest v1 in r/os: unauthorized: authentication required", id="no pull"),
    pytest.param("build", 'Error: Unknown instruction: "RUM"', id="Containerfile"),
    pytest.param("build", "Error: dial tcp 127.0.0.1:5000: connect: connection refused", id="registry down"),
    pytest.param("build", "Error: dial tcp: lookup r on 10.0.0.1:53: no such host", id="no such host"),
    pytest.param("build", "Error: writing blob: no space left on device", id="disk"),
    pytest.param("build", 'Error: building at STEP "ADD x /": write /x: no space left on device', id="disk in a step"),
    pytest.param("build", "Error: tls: failed to verify certificate: x509: unknown authority", id="certificate"),
    pytest.param("build", "Error: something else", id="something else"),
    pytest.param("build", "", id="nothing"),
    pytest.param("push", "Error: received unexpected HTTP status: 503 Service Unavailable", id="503"),
    pytest.param("push", "Error: toomanyrequests: slow down", id="429"),
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
