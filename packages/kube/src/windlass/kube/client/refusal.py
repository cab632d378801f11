"""Turns an HTTP answer that is not 2xx into an error, also when a proxy wrote it.

An API server refuses with a `metav1.Status`. Some of its filters, and every proxy and load balancer in front of it,
write text or HTML instead. Such an answer keeps its code, but only a Status (or the API server's own text for a path
that it does not serve) may mean "not found", "conflict" or "gone". Otherwise a 404 from a load balancer that is being
reconfigured would look like an absent object, and its mirror would be deleted.
"""

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from windlass.kube import decoding
from windlass.kube.errors import ApiError, Status, api_error
from windlass.kube.retry_after import retry_after

_UNSERVED = b"404 page not found"
_DECISIVE = frozenset({404, 409, 410, 422})
_SHOWN = 300
"""How many characters of a foreign answer are shown: enough to recognise a login page."""


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


_KIND = decoding.decoder(_Kind).decode
_STATUS = decoding.decoder(Status).decode


def refusal(code: int, headers: Mapping[str, str], body: bytes, *, request: str) -> ApiError:
    """The error for the answer `code` with `headers` and `body` to `request` (as `VERB path`)."""
    pause = retry_after(headers.get("Retry-After"))
    status = read_status(body)
    if status is not None:
        if status.code != code:
            status = msgspec.structs.replace(status, code=code)
        return api_error(status, request=request, retry_after=pause)
    if code == 404 and body.startswith(_UNSERVED):
        text = "the server could not find the requested resource (404 page not found)"
        return api_error(Status("Failure", text, "NotFound", 404), request=request, retry_after=pause)
    status = Status("Failure", _foreign(code, headers, body), _phrase(code).replace(" ", ""), code)
    if code in _DECISIVE:
        return ApiError(status, request=request, retry_after=pause)
    return api_error(status, request=request, retry_after=pause)


def read_status(body: bytes | msgspec.Raw) -> Status | None:
    """The Status in `body`, or None if it is something else."""
    try:
        return _STATUS(body) if _KIND(body).kind == "Status" else None
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):  # of a proxy
        return None


def _foreign(code: int, headers: Mapping[str, str], body: bytes) -> str:
    text = " ".join(body[: 4 * _SHOWN].decode(errors="replace").split())[:_SHOWN]
    by = headers.get("Server") or headers.get("Via")
    said = f"{code} {_phrase(code)}, not in the API server's form{f', from {by}' if by else ''}"
    if location := headers.get("Location"):
        said += f", redirecting to {location}: is the server's URL right?"
    return f"{said}: {text}" if text else said


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return "Unknown"
