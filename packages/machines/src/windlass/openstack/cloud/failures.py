"""The failures of an OpenStack cloud: each class says what the caller may do about it.

    CloudFailure
    ├── Throttled       429, 413, or 503 with Retry-After: wait `retry_after`, then try again
    ├── Unavailable     500, 502, 503, 504, and no answer to a read: try again later
    │   └── Doubtful    the same in answer to a write, which may have been carried out: look before it is repeated
    ├── NotSent         a gate is closed: the service asked for a pause that is not over yet
    ├── Unauthenticated the credentials are wrong, expired or not complete: a person must correct them
    ├── Denied          403: the credentials may not do this: a person must grant the role, or use other credentials
    ├── OverQuota       the quota of the project is used up: raise it, or delete something
    ├── Rejected        400 and other 4xx: the request is wrong: a person must change the object
    ├── InConflict      409: the state of the resource forbids it now: look again soon
    └── Missing         404: the resource does not exist

`windlass.openstack.cloud.classify` makes them from answers, and is the only place that does.
"""

from windlass.kube.errors import Failure
from windlass.kube.foreign import one_line

_LONGEST = 4096


class CloudFailure(Failure):
    """`service` is the type of the service (`compute`), `code` the HTTP status (0: no answer).

    `fault` is the service's own text on one line, `request_id` what operators of the cloud find in their logs. Both are
    cut, and their control characters escaped.
    """

    def __init__(
        self, service: str, fault: str, *, code: int = 0, request_id: str = "", retry_after: float | None = None
    ) -> None:
        self.service = service
        self.fault = fault = one_line(fault, _LONGEST)
        self.code = code
        self.request_id = request_id = one_line(request_id, 100)
        self.retry_after = retry_after
        number = f" ({code})" if code else ""
        trace = f" [{request_id}]" if request_id else ""
        super().__init__(f"{service}{number}: {fault}{trace}")


class Throttled(CloudFailure):
    transient = True


class Unavailable(CloudFailure):
    transient = True


class Doubtful(Unavailable):
    unknown_outcome = True


class NotSent(CloudFailure):
    """`why` is the failure that closed the gate."""

    transient = True
    why: CloudFailure | None = None


class Unauthenticated(CloudFailure):
    pass


class Denied(CloudFailure):
    pass


class OverQuota(CloudFailure):
    """`resource` is what is used up, in the words of the service (`instances`, `port`); empty if unsaid."""

    resource: str = ""


class Rejected(CloudFailure):
    pass


class InConflict(CloudFailure):
    transient = True


class Missing(CloudFailure):
    pass
