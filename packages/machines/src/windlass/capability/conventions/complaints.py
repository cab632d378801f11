"""Prints errors as one line on standard error: `error: WHAT: REMEDY`. Tracebacks need `--log-level debug`.

| error | exit code |
|---|---|
| kubeconfig or credentials cannot be used, or the API server refuses them (401) | 2 |
| any other error of the API server, the network or the disk; an extra is not installed | 1 |
| anything else | 70: a bug of Windlass |
"""

import sys
import traceback
from urllib.parse import urlsplit

import click

from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.conventions.terminal import paint
from windlass.kube.foreign import harmless
from windlass.kube.process.colour import colourful


def complain(error: BaseException, *, debugging: bool = False) -> Exit:
    """Print `error` for users, and return its exit code for programs."""
    if debugging:
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    text, code = _explain(error)
    say("error", text)
    return code


def cause(error: Exception) -> Exception:
    """The error that ended the work: a task group wraps what its tasks raised, the first of which ended it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def warn(text: str) -> None:
    """A line for users; the command continues."""
    say("warning", text)


def say(severity: str, text: str) -> None:
    """One line, even if `text` has line breaks or control characters, as texts of servers and objects may."""
    click.echo(f"{severity}: {harmless(' '.join(text.split()))}", err=True)


def pass_on(warning: str) -> None:
    """Print a warning of the API server as kubectl does."""
    say(paint("Warning", "yellow", on=colourful(sys.stderr)), warning)


def explain(error: BaseException) -> str:
    """The text of the line, without its severity."""
    return _explain(error)[0]


def _explain(error: BaseException) -> tuple[str, Exit]:
    # Not imported above: errors of the command line itself need no Kubernetes.
    from windlass.capability import extras
    from windlass.kube import errors

    match error:
        case errors.ConfigError():
            return str(error), Exit.UNREADABLE
        case errors.Unauthorized():
            remedy = "the credentials of the kubeconfig are refused: log in again, or choose another --context"
            return f"{error}: {remedy}", Exit.UNREADABLE
        case errors.Failure():
            remedy = _remedy(error)
            return f"{error}: {remedy}" if remedy else str(error), Exit.FAILED
        case OSError():
            return _os_error(error), Exit.FAILED
        case ModuleNotFoundError() if (text := extras.remedy(error)) is not None:
            return text, Exit.FAILED
        case _:
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return f"{text}: this is a defect of Windlass; --log-level debug shows where", Exit.BUG


def _remedy(error: BaseException) -> str:
    from windlass.kube import errors

    match error:
        case errors.WebhookFailed():
            return "start what serves this webhook, or have its configuration removed"
        case errors.Forbidden():
            return "ask an administrator for that permission, or choose another --context or --as"
        case errors.NotServed():
            group = urlsplit(error.request.partition(" ")[2]).path.split("/")
            what = f"{group[-1]}.{group[2]}" if group[1:2] == ["apis"] and len(group) > 3 else "this kind"
            return f"the API server does not serve {what}: install its CustomResourceDefinition"
        case errors.Conflict():
            return "another program changed the object at the same moment: run the command again"
        case errors.Busy():
            return "the API server is busy, starting or unhealthy: try again"
        case errors.OutcomeUnknown():
            return "it is unknown whether the change was made: run the command again, it checks first"
        case errors.TransportError():
            return "is the API server running and reachable from here? --request-timeout gives it more time"
        case _:
            return ""


def _os_error(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
