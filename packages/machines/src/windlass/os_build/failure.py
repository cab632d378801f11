"""Explains why a build failed, from what buildah printed, and tells users so. Pure.

The last line that begins with `Error:` decides, with the lines after it. Buildah prints it itself, after everything
that the commands of a build print; the builder of OpenShift writes it in lower case.

| what it says | cause |
|---|---|
| a step with the exit status of its command | StepFailed; DiskFull if the last lines of the log say so |
| a step whose command SIGKILL ended | OutOfMemory |
| no space left | DiskFull |
| killed by the kernel | OutOfMemory |
| a certificate, HTTP instead of HTTPS | RegistryNotTrusted |
| refused credentials | PullDenied, and while pushing PushDenied |
| an unknown image; while pushing, an unknown repository | ImageNotFound, PushDenied |
| no connection, no answer, 408, 429, 5xx; what a proxy answers instead of a registry | RegistryUnavailable |
| while pushing: 413, a quota, a manifest or a layer that the registry does not take | ImageRefused |
| any other step, or something that only a Containerfile can cause | ContainerfileInvalid |
| anything else | BuildFailed |
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from windlass.kube.clock import rfc3339
from windlass.kube.shorten import shortened
from windlass.os_build import log as logs
from windlass.os_build.builder import HEALED_BY_CREDENTIALS, Cause, Failed, Obstacle
from windlass.os_build.constants import BOOTC_LINT, BUILDER_CONFIG, GLOBAL_PULL_SECRET, NAMESPACE
from windlass.os_build.inputs.image_mode import LINT
from windlass.os_build.request import Request

Doing = Literal["build", "push"]

_NAMES: Final = re.compile(r"(?<!\S)[^\s.:]*[.:]\S*/\S*")
"""Images, URLs and files: their names are no description of a failure."""
LAST_LINES: Final = "Last lines of the log:"
"""What stands before the end of the log in the text of a failure."""
_LAST_LINES: Final = 5
"""Of a log without such a line, which a builder was not able to print or which was cut off."""
_LONGEST_STEP: Final = 200
KILLED: Final = 137
"""The exit code of a program that got SIGKILL, which the kernel sends where memory ends."""
_ERROR: Final = re.compile(r"^\s*error:\s", re.IGNORECASE)
# A build may print anything, so each pattern reads a line once. The atomic group, `(?>...)`, keeps a pattern from
# trying again at every other place where the line says the same.
_COMMAND: Final = re.compile(
    r'(?>.*?building at STEP ")(?P<step>.*)": (?:while running runtime: )?exit status (?P<code>\d+)$'
)
_STEP_KILLED: Final = re.compile(r"^subprocess exited on killed$", re.MULTILINE)
"""Buildah itself says so of a command that got SIGKILL, and gives it the exit status 1."""
_BEGUN: Final = re.compile(r"^(?:\[\d+/\d+\] )?STEP \d+/\d+: (.*\S)", re.MULTILINE)
_STEP: Final = re.compile(r'^(?>.*?building at STEP ")(?P<step>.*?)": (?P<why>.*)', re.MULTILINE)


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_FULL: Final = _any_of(r"no space left on device", r"disk quota exceeded")
_UNTRUSTED: Final = _any_of(
    r"\bx509\b", r"HTTP response to HTTPS client", r"(?m:^(?>.*\btls: )(?!.*timeout))", r"remote error: tls"
)
_DENIED: Final = _any_of(
    r"\bunauthorized\b",
    r"authentication required",
    r"(?<!permission )\bdenied\b",
    r"(?<![\w.:/@-])40[13](?![\w.:/-])",
    r"\bforbidden\b",
    r"insufficient.scope",
    r"invalid username/password",
    r"no basic auth credentials",
)
_GONE: Final = _any_of(
    r"manifest unknown", r"name unknown", r"not known to registry", r"(?<![\w.:/@-])404(?![\w.:/-])", r"no such image"
)
# A proxy that refuses a connection is quoted without its code: it is no registry that refuses credentials.
_PROXY: Final = _any_of(
    r"proxyconnect",
    r"proxy authentication required",
    r"bad gateway",
    r"gateway time-?out",
    r"\b(?:Get|Head|Post|Put|Patch)\s+Forbidden\b",
)
_AWAY: Final = _any_of(
    r"connection refused",
    r"connection reset",
    r"broken pipe",
    r"use of closed network connection",
    r"i/o timeout",
    r"no such host",
    r"server misbehaving",
    r"temporary failure in name resolution",
    r"(?:network is|host) unreachable",
    r"no route to host",
    r"timeout exceeded",
    r"(?:handshake|request|awaiting headers\)?) ?timeout",
    r"deadline exceeded",
    r"\bEOF\b",
    r"stream error: stream ID",
    r"http2: (?:client|server|transport)",
    # A registry of several replicas, or one that was restarted, has lost an upload.
    r"blob (?:upload )?unknown",
    r"toomanyrequests",
    r"too many requests",
    r"(?<![\w.:/@-])(?:408|429|5\d\d)(?![\w.:/-])",
    r"service unavailable",
)
_KILLED: Final = _any_of(r"signal: killed", r"(?m:^killed$)", r"\bout of memory\b")
_IMAGE_REFUSED: Final = _any_of(
    r"(?<![\w.:/@-])413(?![\w.:/-])",
    r"too large",
    r"(?:manifest|blob upload|digest|size|tag) invalid",
    r"manifest type .{0,80}not (?:supported|accepted)",
    r"(?<![\w.:/@-])415(?![\w.:/-])",
)
_QUOTA: Final = _any_of(r"\bquota\b.{0,80}exceeded", r"exceed the configured upper limit")
"""Registries say so as `denied`."""
_CONTAINERFILE: Final = _any_of(
    r"unknown instruction",
    r"parsing main Dockerfile",
    r"no FROM statement found",
    r"no stage or image found",
    r"did not resolve to an alias",
    r"invalid reference format",
    r"parse error",
    r"checking on sources",
)

_HEREDOC: Final = re.compile(r"^[ \t]*(?:RUN|COPY|ADD)\b.*<<-?[\"']?\w", re.IGNORECASE | re.MULTILINE)

REMEDIES: Final[Mapping[Cause, str]] = {
    Cause.PULL_DENIED: "The registry refuses to give the base image: correct {pull}.",
    Cause.PUSH_DENIED: "The registry refuses to take the image: check that the repository {repository} exists and that "
    "{push} may push there.",
    Cause.IMAGE_NOT_FOUND: "An image of the Containerfile does not exist: correct its name or push it.",
    Cause.CONTAINERFILE: "The Containerfile is wrong: correct {containerfile}.",
    Cause.STEP: "Correct the command, or what it needs: if it is the user's, {containerfile}.",
    Cause.DEADLINE: "Make the build faster, or look in the log for a step that hangs.",
    Cause.UNREACHABLE: "Check that the builder reaches the registry, and that the registry is healthy.",
    Cause.UNTRUSTED: "The builder does not trust the registry: give it the CA of the registry's certificate, or allow "
    "plain HTTP for it.",
    Cause.IMAGE_REFUSED: "The registry does not take such an image: raise its limit or that of the proxy before "
    "it, or make the image smaller.",
    Cause.DISK: "Free disk space where the builder runs.",
    Cause.MEMORY: "Give the builder more memory.",
    Cause.EVICTED: "Free what the Node lacked, or let builders run where there is more of it.",
    Cause.CANCELLED: "It is built again when it is asked for.",
    Cause.ARCHITECTURE: "Its base image decides that: let the MachineConfig name one for {architecture}.",
    Cause.UNKNOWN: "The log says more.",
}
"""The remedy for the user, with places of the request. Every cause has one."""
LINT_REMEDY: Final = (
    "bootc could not boot the image, as the last lines say: correct {containerfile}, the MachineConfigs or the base "
    "image, or start the process with --no-bootc-lint."
)


OBSTACLES: Final[Mapping[Obstacle, str]] = {
    Obstacle.IMAGE: "Give the builder an image that the Node can pull (--builder-image), or mirror it.",
    Obstacle.UNSCHEDULABLE: "Make room on a Node, or let builders run on others.",
    Obstacle.REFUSED: "Correct what the message names: a quota, an admission policy, a ServiceAccount.",
    Obstacle.START: "Correct what the message names.",
}
"""The remedy for what keeps a builder from its start. The build begins by itself when that has passed."""


def explain(log: str, *, exit_code: int | None, doing: Doing) -> Failed:
    """Why buildah ended with this log; the end of the log is enough."""
    tail = logs.tail(log)
    error = _error(log)
    line = error.partition("\n")[0]
    if found := _COMMAND.match(line):
        # A command that prints this for another reason is tried again in vain, three times.
        code = int(found["code"])
        was_killed = code == KILLED or _STEP_KILLED.search(tail)
        cause = Cause.DISK if _FULL.search(tail) else Cause.MEMORY if was_killed else Cause.STEP
        return Failed(cause=cause, step=_step(found), exit_code=code, tail=tail)
    # Buildah lists several errors in lines of their own: those of tidying up may precede the step, its own follow it.
    if found := _STEP.search(error):
        cause = _cause(error[found.start("why") :], doing) or Cause.CONTAINERFILE
        return Failed(cause=cause, step=_step(found), exit_code=exit_code, tail=tail)
    cause = _cause(error, doing) or Cause.UNKNOWN
    return Failed(cause=cause, exit_code=exit_code, tail=tail, pushing=doing == "push")


def overdue(log: str) -> Failed:
    """A build that took too long, in the step that its log names last."""
    return Failed(cause=Cause.DEADLINE, step=_last_step(log), tail=logs.tail(log))


def _last_step(log: str) -> str:
    begun = _BEGUN.findall(logs.clean(log))
    return shortened(begun[-1], _LONGEST_STEP) if begun else ""


def killed(log: str, *, times: int) -> Failed:
    """A build whose builder SIGKILL ended so many times, in the step that its log names last. The kernel sends SIGKILL
    where memory ends."""
    tail = logs.tail(f"{log}\nsignal 9 ended buildah {times} times")
    return Failed(cause=Cause.MEMORY, step=_last_step(log), tail=tail)


def failure_text(
    failed: Failed, request: Request, *, attempt: int, attempts: int, again: datetime | None = None
) -> str:
    """The failure for users: what, which attempt of how many, the remedy, when it is built again, the end of the log.

    again  when attempts begin anew after the last one of a transient failure
    """
    next_time = _next_time(failed, request, again if attempt >= attempts else None)
    on = f"On {request.architecture}, the" if request.architecture else "The"
    text = f"{on} {what(failed)} (attempt {attempt} of {attempts}). {_remedy(failed, request)} {next_time}"
    return f"{text} {LAST_LINES}\n{failed.tail}" if failed.tail else text


def _remedy(failed: Failed, request: Request) -> str:
    where = request.named_in or f"ConfigMap {BUILDER_CONFIG}"
    copied = f"Secret openshift-config/pull-secret, of which the operator makes {NAMESPACE}/{GLOBAL_PULL_SECRET}"
    text = LINT_REMEDY if is_lint(failed) else REMEDIES[failed.cause]
    if failed.cause is Cause.CONTAINERFILE and _HEREDOC.search(request.containerfile):
        text += " Here-documents need buildah 1.33 or newer."
    return text.format(
        containerfile=request.written_in,
        pull=copied
        if request.pull_secret == GLOBAL_PULL_SECRET
        else f"Secret {NAMESPACE}/{request.pull_secret}, which {where} names",
        push=f"Secret {NAMESPACE}/{request.push_secret}, which {where} names,",
        repository=request.target,
        architecture=request.architecture,
    )


def _next_time(failed: Failed, request: Request, again: datetime | None) -> str:
    if failed.transient:
        return f"It is built again at {rfc3339(again)}." if again else "It is tried again by itself."
    changes = "the credentials or its inputs change" if failed.cause in HEALED_BY_CREDENTIALS else "its inputs change"
    return f"It is built again when {changes}, or after `windlass os-build rebuild {request.pool}`."


def is_lint(failed: Failed) -> bool:
    """It failed in our own step, not in one of the user that lints in another way."""
    return failed.cause is Cause.STEP and failed.step == LINT


def what(failed: Failed) -> str:
    """The failure in a few words, without an article: `build failed in step ... with exit code 1`."""
    code = "" if failed.exit_code is None else f" with exit code {failed.exit_code}"
    if failed.cause is Cause.CANCELLED:
        return "build was cancelled"
    if failed.cause is Cause.ARCHITECTURE:
        return "image is for another architecture"
    if failed.cause is Cause.EVICTED:
        return "builder was evicted"
    if failed.cause is Cause.MEMORY:
        return "build ran out of memory" + (f" in step {failed.step!r}" if failed.step else "") + code
    if failed.cause is Cause.DEADLINE:
        return "build took longer than it may" + (f", in step {failed.step!r}" if failed.step else "")
    if failed.step:
        step = BOOTC_LINT if is_lint(failed) else failed.step
        return f"build failed in step {step!r}{code}"
    return f"build failed{code}"


def _error(log: str) -> str:
    """From the line of the error to the end: a registry's answer may have several lines."""
    lines = [line for line in logs.clean(log).split("\n") if line.strip()]
    begins = [number for number, line in enumerate(lines) if _ERROR.match(line)]
    return "\n".join(lines[begins[-1] if begins else -_LAST_LINES :])


def _step(found: re.Match[str]) -> str:
    return shortened(found["step"].strip(), _LONGEST_STEP)


def _cause(error: str, doing: Doing) -> Cause | None:
    text = _NAMES.sub("", error)
    if _FULL.search(text):
        return Cause.DISK
    if _KILLED.search(text):
        return Cause.MEMORY
    if _UNTRUSTED.search(text):
        return Cause.UNTRUSTED
    if _PROXY.search(text):
        return Cause.UNREACHABLE
    if doing == "push" and _QUOTA.search(text):
        return Cause.IMAGE_REFUSED
    if _DENIED.search(text):
        return Cause.PULL_DENIED if doing == "build" else Cause.PUSH_DENIED
    if _GONE.search(text):
        return Cause.IMAGE_NOT_FOUND if doing == "build" else Cause.PUSH_DENIED
    if _AWAY.search(text):
        return Cause.UNREACHABLE
    if doing == "push" and _IMAGE_REFUSED.search(text):
        return Cause.IMAGE_REFUSED
    if _CONTAINERFILE.search(text):
        return Cause.CONTAINERFILE
    return None
