"""What buildah prints when it fails, as recorded, and what users read of it."""

import time

import pytest
from msgspec.structs import replace

from tests.unit.os_build.pool.snapshots import NOW, REQUEST
from windlass.os_build.builder import ATTEMPTS, TRANSIENT, Cause, Failed
from windlass.os_build.constants import GLOBAL_PULL_SECRET, NAMESPACE
from windlass.os_build.failure import REMEDIES, Doing, explain, failure_text, killed, overdue
from windlass.os_build.inputs.image_mode import LINT

BASE = "127.0.0.1:5961/os/base"
PULLING = f"Error: creating build container: initializing source docker://{BASE}:v1: "
ASKING = 'Error: pinging container registry r.example.com: Get "https://r.example.com/v2/": '
READING = f"{PULLING}reading manifest v1 in {BASE}: "
PUSHING = f'Error: pushing image "{BASE}:t" to "docker://{BASE}:t": trying to reuse blob sha256:01d5 at destination: '


@pytest.mark.parametrize(
    ("line", "doing", "cause"),
    [
        pytest.param(READING + "unauthorized: authentication required", "build", Cause.PULL_DENIED, id="pull-401"),
        pytest.param(READING + "denied", "build", Cause.PULL_DENIED, id="pull-403"),
        pytest.param(
            PULLING + "unable to retrieve auth token: invalid username/password: unauthorized",
            "build",
            Cause.PULL_DENIED,
            id="token",
        ),
        pytest.param(
            f"{PUSHING}checking whether a blob sha256:01d5 exists in {BASE}: unauthorized: authentication required",
            "push",
            Cause.PUSH_DENIED,
            id="push-401",
        ),
        pytest.param(
            PUSHING + "failed to read from destination repository os/x: 403 (Forbidden)",
            "push",
            Cause.PUSH_DENIED,
            id="push-403",
        ),
        pytest.param(
            f"Error: writing manifest: uploading manifest t to {BASE}: errors:\ndenied: requested access to the "
            "resource is denied\nunauthorized",
            "push",
            Cause.PUSH_DENIED,
            id="an-answer-of-several-lines",
        ),
        pytest.param(READING + "manifest unknown: manifest unknown", "build", Cause.IMAGE_NOT_FOUND, id="no-manifest"),
        pytest.param(READING + "name unknown", "build", Cause.IMAGE_NOT_FOUND, id="no-repository"),
        pytest.param(
            f'Error: pushing image "{BASE}:t" to "docker://{BASE}:t": writing blob: initiating layer upload to '
            "/v2/os/x/blobs/uploads/ in 127.0.0.1:5961: name unknown",
            "push",
            Cause.PUSH_DENIED,
            id="no-repository-to-push-to",
        ),
        pytest.param(
            f'{PULLING}pinging container registry 127.0.0.1:5999: Get "http://127.0.0.1:5999/v2/": dial tcp '
            "127.0.0.1:5999: connect: connection refused",
            "build",
            Cause.UNREACHABLE,
            id="refused",
        ),
        pytest.param(
            f'{PULLING}pinging container registry x.invalid: Get "http://x.invalid/v2/": dial tcp: lookup x.invalid on '
            "10.255.255.53:53: no such host",
            "build",
            Cause.UNREACHABLE,
            id="no-such-host",
        ),
        pytest.param(PULLING + "dial tcp 10.0.0.1:443: i/o timeout", "build", Cause.UNREACHABLE, id="timeout"),
        pytest.param(ASKING + "Bad Gateway", "build", Cause.UNREACHABLE, id="a proxy that finds no such host"),
        pytest.param(ASKING + "Forbidden", "build", Cause.UNREACHABLE, id="a proxy that lets nobody ask this host"),
        pytest.param(ASKING + "Proxy Authentication Required", "push", Cause.UNREACHABLE, id="a proxy with users"),
        pytest.param(
            "Error: writing blob: write tcp 10.0.0.1:4->10.0.0.2:5: use of closed network connection",
            "push",
            Cause.UNREACHABLE,
            id="cut while pushing",
        ),
        *(
            pytest.param(PUSHING + said, "push", Cause.UNREACHABLE, id=name)
            for name, said in {
                "http2-stream": "stream error: stream ID 5; INTERNAL_ERROR; received from peer",
                "http2-lost": "http2: client connection lost",
                "http2-goaway": "http2: server sent GOAWAY and closed the connection",
                "an-upload-that-another-replica-has": "blob upload unknown to registry",
                "a-layer-that-is-lost": "manifest blob unknown: blob unknown to registry",
            }.items()
        ),
        pytest.param(
            'Error: parsing main Dockerfile: /b/Containerfile: Syntax error - can\'t find = in "C". Must be of the '
            "form: name=value",
            "build",
            Cause.CONTAINERFILE,
            id="a-word-without-a-value",
        ),
        *(
            pytest.param(PUSHING + said, "push", Cause.IMAGE_REFUSED, id=name)
            for name, said in {
                "quota-of-quay": "denied: quota has been exceeded on namespace",
                "quota-of-harbor": "denied: adding 2.1 GiB of storage resource, which when updated to current usage "
                "of 9.8 GiB will exceed the configured upper limit of 10.0 GiB.",
            }.items()
        ),
        pytest.param(
            READING + "denied: quota has been exceeded", "build", Cause.PULL_DENIED, id="a-quota-that-refuses-a-pull"
        ),
        pytest.param(PULLING + "net/http: TLS handshake timeout", "build", Cause.UNREACHABLE, id="tls-timeout"),
        pytest.param(PUSHING + "unexpected EOF", "push", Cause.UNREACHABLE, id="cut"),
        pytest.param(READING + "toomanyrequests: slow down", "build", Cause.UNREACHABLE, id="pull-429"),
        pytest.param(
            PUSHING + "failed to read from destination repository os/x: 429 (Too Many Requests)",
            "push",
            Cause.UNREACHABLE,
            id="push-429",
        ),
        pytest.param(
            READING + "received unexpected HTTP status: 500 Internal Server Error",
            "build",
            Cause.UNREACHABLE,
            id="pull-500",
        ),
        pytest.param(
            PUSHING + "failed to read from destination repository os/x: 503 (Service Unavailable)",
            "push",
            Cause.UNREACHABLE,
            id="push-503",
        ),
        pytest.param(
            PULLING.replace(":v1", ":404").replace("os/base", "forbidden/denied") + "connect: connection refused",
            "build",
            Cause.UNREACHABLE,
            id="names-of-images-say-nothing",
        ),
        pytest.param(
            PULLING + "x509: certificate signed by unknown authority", "build", Cause.UNTRUSTED, id="unknown-ca"
        ),
        pytest.param(
            PUSHING + "http: server gave HTTP response to HTTPS client", "push", Cause.UNTRUSTED, id="http-for-https"
        ),
        *(
            pytest.param(
                f"{PUSHING}received unexpected HTTP status: {code} {text}",
                "push",
                Cause.UNREACHABLE,
                id=str(code),
            )
            for code, text in (
                (408, "Request Timeout"),
                (502, "Bad Gateway"),
                (504, "Gateway Timeout"),
                (507, "Insufficient Storage"),
                (520, "Web Server Returned an Unknown Error"),
                (524, "A Timeout Occurred"),
                (529, "Site is overloaded"),
                (598, ""),
            )
        ),
        pytest.param(
            PUSHING + "received unexpected HTTP status: 413 Request Entity Too Large",
            "push",
            Cause.IMAGE_REFUSED,
            id="push-413",
        ),
        pytest.param(
            f"Error: writing manifest: uploading manifest t to {BASE}: manifest invalid: manifest invalid",
            "push",
            Cause.IMAGE_REFUSED,
            id="manifest-invalid",
        ),
        pytest.param("Error: writing blob: blob upload invalid", "push", Cause.IMAGE_REFUSED, id="blob-invalid"),
        pytest.param("Error: buildah ended: signal: killed", "build", Cause.MEMORY, id="killed"),
        pytest.param("Killed", "build", Cause.MEMORY, id="killed, as a shell says it"),
        pytest.param("Error: the process was killed by its user", "build", Cause.UNKNOWN, id="killed-by-somebody"),
        pytest.param(
            'Error: creating build container: creating container: creating read-write layer with ID "65cc": '
            "no space left on device",
            "build",
            Cause.DISK,
            id="disk-full",
        ),
        pytest.param("Error: no FROM statement found", "build", Cause.CONTAINERFILE, id="no-from"),
        pytest.param(
            "Error: COPY --from=foo: no stage or image found with that name", "build", Cause.CONTAINERFILE, id="stage"
        ),
        pytest.param(
            'Error: creating build container: short-name "base" did not resolve to an alias and no unqualified-search '
            'registries are defined in "/etc/containers/registries.conf"',
            "build",
            Cause.CONTAINERFILE,
            id="short-name",
        ),
        pytest.param("Error: mount /dev: permission denied", "build", Cause.UNKNOWN, id="permission-on-this-machine"),
        pytest.param("Error: something that nobody has seen", "build", Cause.UNKNOWN, id="unknown"),
        pytest.param("", "build", Cause.UNKNOWN, id="empty"),
    ],
)
def test_a_failure_has_the_cause_that_the_last_line_says(line: str, doing: Doing, cause: Cause) -> None:
    failed = explain(
        f"STEP 1/2: FROM x\nError: earlier: denied, on its way\n{line}\n" if line else "", exit_code=125, doing=doing
    )
    assert (failed.cause, failed.exit_code, failed.step) == (cause, 125, "")
    assert failed.transient == (cause in TRANSIENT)


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        pytest.param(
            'Error: building at STEP "RUN nosuch": exit status 127',
            Failed(cause=Cause.STEP, step="RUN nosuch", exit_code=127),
            id="command-not-found",
        ),
        pytest.param(
            'Error: building at STEP "RUN echo "a": exit status 1": exit status 7',
            Failed(cause=Cause.STEP, step='RUN echo "a": exit status 1', exit_code=7),
            id="quotes-in-the-step",
        ),
        pytest.param(
            "dd: error writing '/a': No space left on device\nsubprocess exited with status 1\n"
            'Error: building at STEP "RUN dd of=/a": exit status 1',
            Failed(cause=Cause.DISK, step="RUN dd of=/a", exit_code=1),
            id="a-command-on-a-full-disk",
        ),
        pytest.param(
            'Error: building at STEP "RUN dnf install -y kernel": exit status 137',
            Failed(cause=Cause.MEMORY, step="RUN dnf install -y kernel", exit_code=137),
            id="a-command-that-the-kernel-killed",
        ),
        pytest.param(
            'error: build error: building at STEP "RUN exit 3": while running runtime: exit status 3',
            Failed(cause=Cause.STEP, step="RUN exit 3", exit_code=3),
            id="builder-of-openshift",
        ),
        pytest.param(
            'Error: building at STEP "RUN curl http://denied.example.com/403": exit status 22',
            Failed(cause=Cause.STEP, step="RUN curl http://denied.example.com/403", exit_code=22),
            id="words-in-the-step",
        ),
        pytest.param(
            'Error: building at STEP "FOO ": Build error: Unknown instruction: "FOO" &imagebuilder.Step{Command:"foo"}',
            Failed(cause=Cause.CONTAINERFILE, step="FOO", exit_code=125),
            id="unknown-instruction",
        ),
        pytest.param(
            'Error: building at STEP "COPY nosuch /": checking on sources under "/ctx": copier: stat: "/nosuch": no '
            "such file or directory",
            Failed(cause=Cause.CONTAINERFILE, step="COPY nosuch /", exit_code=125),
            id="nothing-to-copy",
        ),
        pytest.param(
            'Error: building at STEP "ADD https://x/y /": Get "https://x/y": dial tcp: lookup x: no such host',
            Failed(cause=Cause.UNREACHABLE, step="ADD https://x/y /", exit_code=125),
            id="nothing-to-fetch",
        ),
        pytest.param(
            'Error: building at STEP "COPY a /": storing "/a": write /var/x: no space left on device',
            Failed(cause=Cause.DISK, step="COPY a /", exit_code=125),
            id="disk-full-in-a-step",
        ),
        pytest.param(
            'Error: building at STEP "COPY a /": 2 errors occurred:\n'
            '    * reading "/ctx/a": write bulk-writer: broken pipe\n'
            '    * storing "/ctx/a": copier: put: write /a: no space left on device',
            Failed(cause=Cause.DISK, step="COPY a /", exit_code=125),
            id="several-errors-in-a-step",
        ),
        pytest.param(
            'Error: deleting build container "9db8": 1 error occurred:\n    * write /x.json: permission denied\n'
            ': building at STEP "COPY a /": storing "/ctx/a": copier: put: write /a: no space left on device',
            Failed(cause=Cause.DISK, step="COPY a /", exit_code=125),
            id="errors-of-tidying-up-before-the-step",
        ),
    ],
)
def test_a_failing_step_is_named_with_its_exit_code(line: str, failed: Failed) -> None:
    found = explain(f"STEP 2/2: RUN\n{line}\n", exit_code=125 if failed.exit_code == 125 else 1, doing="build")
    assert (found.cause, found.step, found.exit_code) == (failed.cause, failed.step, failed.exit_code)
    assert line in found.tail


def test_a_build_that_took_too_long_names_the_step_that_it_was_in() -> None:
    failed = overdue("[1/2] STEP 1/2: FROM x AS y\n[1/2] STEP 2/2: RUN sleep 300\nfoo\n")
    assert (failed.cause, failed.step) == (Cause.DEADLINE, "RUN sleep 300")
    assert overdue("").step == ""


def test_a_builder_that_is_killed_again_and_again_is_told_with_its_step() -> None:
    failed = killed("[1/2] STEP 2/2: RUN make\ncc -c x.c\n", times=3)
    text = failure_text(failed, REQUEST, attempt=1, attempts=ATTEMPTS)
    said = "The build ran out of memory in step 'RUN make' (attempt 1 of 4). Give the builder more memory."
    assert text.startswith(f"{said} It is built again when its inputs change")
    assert text.endswith("cc -c x.c\nsignal 9 ended buildah 3 times")


@pytest.mark.parametrize(
    ("said", "code", "cause"),
    [
        pytest.param("subprocess exited on killed", 1, Cause.MEMORY, id="killed-by-the-kernel"),
        pytest.param("Killed", 137, Cause.MEMORY, id="a-command-of-its-shell-was"),
        pytest.param("subprocess exited on terminated", 1, Cause.STEP, id="ended-by-a-signal-that-asks"),
        pytest.param("it said: subprocess exited on killed", 1, Cause.STEP, id="a-line-that-has-these-words"),
    ],
)
def test_a_step_that_was_killed_ran_out_of_memory(said: str, code: int, cause: Cause) -> None:
    log = f'STEP 2/2: RUN make\n{said}\nsubprocess exited with status {code}\nError: building at STEP "RUN make": '
    failed = explain(f"{log}exit status {code}", exit_code=code, doing="build")
    assert (failed.cause, failed.step, failed.exit_code) == (cause, "RUN make", code)


def test_a_copy_of_the_operator_is_corrected_in_the_original() -> None:
    denied = Failed(cause=Cause.PULL_DENIED)
    text = failure_text(denied, replace(REQUEST, pull_secret=GLOBAL_PULL_SECRET), attempt=1, attempts=ATTEMPTS)
    assert f"correct Secret openshift-config/pull-secret, of which the operator makes {NAMESPACE}/global-pull" in text
    assert f"correct Secret {NAMESPACE}/pull, which" in failure_text(denied, REQUEST, attempt=1, attempts=ATTEMPTS)


def test_an_old_builder_is_told_for_here_documents() -> None:
    old = explain(
        'Error: building at STEP "SET ": Build error: Unknown instruction: "SET"', exit_code=125, doing="build"
    )
    assert old.cause is Cause.CONTAINERFILE
    said = "Here-documents need buildah 1.33 or newer."
    for text, is_told in (
        ("RUN <<EOF\nset -e\nEOF", True),
        ("from x\ncopy <<-'END' /a\nEND", True),
        ("RUN echo $((1 << 2))", False),
        ("# RUN <<EOF", False),
    ):
        request = replace(REQUEST, containerfile=text)
        assert (said in failure_text(old, request, attempt=1, attempts=ATTEMPTS)) is is_told, text


def test_a_step_cannot_make_itself_look_like_another_failure() -> None:
    log = (
        'Error: building at STEP "RUN x": exit status 0\nError: denied\nError: building at STEP "RUN y": exit status 9'
    )
    assert explain(log, exit_code=9, doing="build").step == "RUN y"


def test_a_log_that_was_cut_off_is_judged_by_its_last_lines() -> None:
    log = "reading manifest\n" * 9 + "dial tcp 10.0.0.1:443: connect: connection refused\n"
    assert explain(log, exit_code=None, doing="build").cause is Cause.UNREACHABLE


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("." * 200_000, Cause.UNKNOWN),
        ("a:" * 100_000, Cause.UNKNOWN),
        ('building at STEP "' * 20_000, Cause.UNKNOWN),
        ('building at STEP "' * 20_000 + '": exit status 1', Cause.STEP),
        ('building at STEP "a": exit status ' * 10_000, Cause.CONTAINERFILE),
        ("tls: " * 100_000 + "timeout", Cause.UNKNOWN),
        ("tls: timeout tls: bad certificate", Cause.UNTRUSTED),
        (f"{'x' * 200_000}:/ no space left on device", Cause.DISK),
    ],
    ids=["dots", "colons", "steps", "steps with an end", "exit statuses", "tls", "tls twice", "a long name"],
)
def test_a_line_of_any_length_is_judged_at_once(line: str, cause: Cause) -> None:
    began = time.process_time()
    assert explain(f"Error: {line}\n", exit_code=1, doing="build").cause is cause
    assert time.process_time() - began < 5


def test_every_cause_has_a_remedy() -> None:
    assert set(REMEDIES) == set(Cause)


@pytest.mark.parametrize(
    ("failed", "attempt", "says"),
    [
        pytest.param(
            Failed(
                cause=Cause.STEP, step="RUN dnf install -y nosuch", exit_code=1, tail="No match\nError: nothing to do"
            ),
            1,
            "The build failed in step 'RUN dnf install -y nosuch' with exit code 1 (attempt 1 of 4). Correct the "
            "command, or what it needs: if it is the user's, ConfigMap "
            f"{NAMESPACE}/on-cluster-build-custom-dockerfile, key worker. It is built again when its inputs "
            "change, or after `windlass os-build rebuild worker`. Last lines of the log:\nNo match\n"
            "Error: nothing to do",
            id="step",
        ),
        pytest.param(
            Failed(cause=Cause.UNREACHABLE, exit_code=125),
            2,
            "The build failed with exit code 125 (attempt 2 of 4). Check that the builder reaches the registry, and "
            "that the registry is healthy. It is tried again by itself.",
            id="transient",
        ),
        pytest.param(
            Failed(cause=Cause.UNREACHABLE),
            4,
            "The build failed (attempt 4 of 4). Check that the builder reaches the registry, and that the registry is "
            "healthy. It is built again at 2026-11-22T12:00:00Z.",
            id="last-attempt",
        ),
        pytest.param(
            Failed(cause=Cause.DEADLINE, step="RUN sleep 300"),
            1,
            "The build took longer than it may, in step 'RUN sleep 300' (attempt 1 of 4). Make "
            "the build faster, or look in the log for a step that hangs. It is built again when its "
            "inputs change, or after `windlass os-build rebuild worker`.",
            id="deadline",
        ),
        pytest.param(
            Failed(cause=Cause.PUSH_DENIED, exit_code=125),
            1,
            "The build failed with exit code 125 (attempt 1 of 4). The registry refuses to take the image: check that "
            "the repository registry.example.com/org/os exists and that Secret "
            f"{NAMESPACE}/push, which ConfigMap machine-os-builder-config names, may push there. It is built again "
            "when the credentials or its inputs change, or after `windlass os-build rebuild worker`.",
            id="credentials",
        ),
    ],
)
def test_a_failure_is_told_with_step_code_attempt_remedy_and_log(failed: Failed, attempt: int, says: str) -> None:
    assert failure_text(failed, REQUEST, attempt=attempt, attempts=ATTEMPTS, again=NOW) == says


@pytest.mark.parametrize("cause", Cause)
def test_a_remedy_names_the_objects_of_the_pool_and_no_others(cause: Cause) -> None:
    """A pool with a MachineOSConfig has no ConfigMaps to correct."""
    by_config = replace(REQUEST, claimed_by="w")
    text = failure_text(Failed(cause=cause), by_config, attempt=1, attempts=ATTEMPTS)
    assert "{" not in text
    assert "ConfigMap" not in text
    for named, causes in (
        ("MachineOSConfig w: spec.containerFile", (Cause.CONTAINERFILE, Cause.STEP)),
        (f"Secret {NAMESPACE}/pull, which MachineOSConfig w names", (Cause.PULL_DENIED,)),
        (f"Secret {NAMESPACE}/push, which MachineOSConfig w names", (Cause.PUSH_DENIED,)),
    ):
        assert (named in text) == (cause in causes)


def test_the_lint_of_image_mode_fails_under_its_name_with_its_remedy() -> None:
    log = f'error: linting: Checks failed: 1\nError: building at STEP "{LINT}": while running runtime: exit status 1'
    failed = explain(log, exit_code=1, doing="build")
    assert failed.cause is Cause.STEP
    text = failure_text(failed, REQUEST, attempt=1, attempts=ATTEMPTS)
    assert text.startswith("The build failed in step 'bootc container lint' with exit code 1 (attempt 1 of 4). bootc ")
    assert "--no-bootc-lint" in text
    by_user = explain('Error: building at STEP "RUN bootc container lint": exit status 1', exit_code=1, doing="build")
    assert "--no-bootc-lint" not in failure_text(by_user, REQUEST, attempt=1, attempts=ATTEMPTS)
