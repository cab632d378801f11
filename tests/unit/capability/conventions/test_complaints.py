"""What went wrong, as one line with a remedy and an exit code."""

import pytest

from windlass.capability.conventions import complaints
from windlass.capability.conventions.exit_codes import Exit
from windlass.kube.errors import ConfigError, KubeError, OutcomeUnknown, Status, TransportError, api_error

MACHINES = "GET /apis/cluster.x-k8s.io/v1beta2/namespaces/openshift-cluster-api/machines?limit=500"


def answer(code: int, reason: str, message: str = "no") -> KubeError:
    return api_error(Status(message=message, reason=reason, code=code), request=MACHINES)


@pytest.mark.parametrize(
    ("error", "remedy", "code"),
    [
        (ConfigError("config: no"), "config: no", Exit.UNREADABLE),
        (answer(401, "Unauthorized"), "log in again", Exit.UNREADABLE),
        (answer(403, "Forbidden"), "ask an administrator", Exit.FAILED),
        (answer(404, "NotFound"), "does not serve machines.cluster.x-k8s.io: install", Exit.FAILED),
        (answer(409, "Conflict"), "run the command again", Exit.FAILED),
        (answer(503, "ServiceUnavailable"), "try again", Exit.FAILED),
        (TransportError("no answer"), "--request-timeout", Exit.FAILED),
        (OutcomeUnknown("no answer"), "checks first", Exit.FAILED),
        (FileNotFoundError(2, "No such file or directory", "x.yaml"), "x.yaml: No such file", Exit.FAILED),
        (ZeroDivisionError(), "ZeroDivisionError: this is a defect of Windlass", Exit.BUG),
    ],
)
def test_every_error_has_a_remedy_and_a_code(
    error: Exception, remedy: str, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaints.complain(error) == code

    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("error: ")
    assert remedy in line


def test_line_breaks_in_a_servers_message_do_not_break_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    complaints.complain(answer(422, "Invalid", "two\n  lines"))

    assert capsys.readouterr().err == "error: two lines\n"


def test_what_an_object_says_cannot_do_anything_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    complaints.warn("\x1b[2Jgone")

    assert capsys.readouterr().err == "warning: \\x1b[2Jgone\n"


def test_what_the_api_server_warns_of_is_shown_as_kubectl_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    complaints.pass_on("widgets v1 is deprecated")

    assert capsys.readouterr() == ("", "Warning: widgets v1 is deprecated\n")


def test_the_cause_is_found_inside_task_groups() -> None:
    cause = TransportError("no")

    assert complaints.cause(ExceptionGroup("outer", [ExceptionGroup("inner", [cause])])) is cause
