"""Classifies answers of a cloud: the only place where a status code gets a meaning.

| answer | failure |
|---|---|
| 2xx, 3xx, and 404 to a DELETE | none |
| 429; 413 and 503 with Retry-After | Throttled |
| 403, 409, 413 whose text speaks of a quota | OverQuota |
| 401 after a new token | Unauthenticated |
| 403 whose text speaks of too many metadata items | Rejected |
| 403 | Denied |
| 404 | Missing |
| 409 | InConflict |
| 500, 502, 503, 504 | Unavailable; Doubtful in answer to a write |
| any other | Rejected |
"""

import re
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

from windlass.kube.foreign import Malformed, read_json
from windlass.kube.retry_after import retry_after
from windlass.kube.shorten import shortened
from windlass.openstack.cloud import failures
from windlass.openstack.cloud.wire import Answer, Http

_QUOTA = re.compile(
    r"quota|VolumeLimitExceeded|VolumeSizeExceedsAvailableQuota|maximum number of .* exceeded", re.IGNORECASE
)
METADATA: Final = "Maximum number of metadata items"
"""How Nova says that a server would have more than it takes. It is no matter of rights."""
_RESOURCES = (
    re.compile(r"Quota exceeded for resources: \[([^\]]*)\]"),
    re.compile(r"Quota exceeded for ([\w, ]+): Requested"),
    re.compile(r"exceeded for quota '([\w]+)'"),
    re.compile(r"exceeds allowed ([\w]+) quota"),
)
_TAG = re.compile("<[^<>]*>")  # not `<[^>]*>`, which reads on to the end of the page from every `<`
_LONGEST_TEXT = 1000
_LONGEST_READ = 16 * 2**10
"""Characters of a message that are read."""
_OF_ERRORS = frozenset({"message", "code", "type", "detail", "details", "title", "retryAfter", "created"})


def classify(request: Http, answer: Answer, *, now: datetime | None = None) -> failures.CloudFailure | None:
    """The failure that `answer` is; None if it is a success. `now` is for a Retry-After that is a date."""
    code = answer.status
    if code < 400 or (code == 404 and request.method == "DELETE"):
        return None
    text = explain(answer)
    pause = retry_after(answer.headers.get("retry-after"), now=now)
    kind = _kind(request, code, text, pause)
    if kind is failures.Rejected and code == 406 and request.microversion:
        text = f"version {request.microversion} of the {request.service} API is not supported: {text}"
    failure = kind(request.service, text, code=code, request_id=_request_id(answer.headers), retry_after=pause)
    if isinstance(failure, failures.OverQuota):
        failure.resource = _resource(text)
    return failure


def _kind(request: Http, code: int, text: str, pause: float | None) -> type[failures.CloudFailure]:
    write = request.method != "GET"
    match code:
        case 403 | 409 | 413 if _QUOTA.search(text):
            return failures.OverQuota
        case 429 | 413:
            return failures.Throttled
        case 503 if pause is not None:
            return failures.Throttled
        case 401:
            return failures.Unauthenticated
        case 403 if METADATA in text:
            return failures.Rejected
        case 403:
            return failures.Denied
        case 404:
            return failures.Missing
        case 409:
            return failures.InConflict
        case 500 | 502 | 503 | 504:
            return failures.Doubtful if write else failures.Unavailable
    return failures.Rejected


def explain(answer: Answer) -> str:
    """What the body says, as one line, if it is an error in a form of OpenStack's own.

    Other bodies are not quoted. The URL is from a Secret or a catalog, so the body may be of any server that this
    process reaches, and conditions are read by people who do not reach it.
    """
    try:
        said = _message(read_json(answer.body))
    except Malformed:
        said = ""
    text = " ".join(_TAG.sub(" ", said[:_LONGEST_READ]).split())
    return text[:_LONGEST_TEXT] or f"{_status(answer.status)} without a message of OpenStack"


def _message(body: Any) -> str:
    match body:
        case {"faultcode": _, "faultstring": str(text)}:  # Octavia
            return text
        case {"message": str(text), "code": _, "title": _}:  # Glance
            return text
        case {"errors": [{"title": str(title), **more}, *_]}:  # Placement and newer services
            return str(more.get("detail") or title)
        case {"NeutronError": str(text)}:
            return text
        case dict() if len(body) == 1:  # {"itemNotFound": {"code": 404, "message": "..."}}, {"error": {...}}
            ((name, error),) = body.items()
            if name.isalpha() and isinstance(error, dict) and error.keys() <= _OF_ERRORS:
                return str(error.get("message") or "")
    return ""


def _status(code: int) -> str:
    try:
        return f"HTTP {code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"HTTP {code}"


def _resource(text: str) -> str:
    for pattern in _RESOURCES:
        if found := pattern.search(text):
            return found.group(1).replace("'", "").strip()
    return ""


def _request_id(headers: Mapping[str, str]) -> str:
    return shortened(headers.get("x-openstack-request-id") or headers.get("x-compute-request-id") or "", 60)
