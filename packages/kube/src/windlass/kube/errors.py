"""The errors of other systems, as a tree whose leaves say what the caller may do about them.

    Failure                     the root, for other systems too: their modules add leaves
    ├── Unanswered              another system did not answer in time: check whether it carried out the request
    ├── Withheld                a Call was not made, because the executor has no carrier: a dry run, or a mistake
    └── KubeError               a Kubernetes API server

    KubeError
    ├── ConfigError             kubeconfig or in-cluster credentials are unusable: fix the file it names
    ├── TransportError          no answer came, or one that is none of an API server: try again
    │   └── OutcomeUnknown      no answer came to a *write*: check whether it happened before repeating it
    ├── ApiError                the server answered with a Status
    │   ├── BadRequest    400   the request is malformed: a bug, or a server too old or too new
    │   ├── Unauthorized  401   credentials are refused
    │   ├── Forbidden     403   RBAC or admission says no: ask an administrator, the message names the rule
    │   ├── WebhookFailed 500   an admission webhook cannot be asked, so nothing was written: repair or remove it
    │   ├── NotFound      404   the object is not there
    │   ├── NotServed     404   the kind is not served now: its objects may exist or not
    │   ├── Conflict      409   another writer was first: read again, decide again
    │   ├── AlreadyExists 409   an object of that name exists: read it
    │   ├── Gone          410   the resource version is too old: list again
    │   ├── Invalid       422   the object breaks its schema or a validation rule: change it
    │   ├── Unevictable   429   a PodDisruptionBudget forbids the eviction now: wait until more of its Pods are healthy
    │   └── Busy    429, 5xx    the server is throttling, starting or failing: wait `retry_after`, then try again
    │       └── Unconfirmed 5xx the same, in answer to a *write*: check whether it happened before repeating it
    ├── DecodeError             an object does not have the shape of its type: fix it where it is stored
    ├── Fenced                  a write was held back because this process may no longer be the leader
    ├── Undeclared              a controller tried to do what it did not declare: a bug in the controller
    └── Unconditional           a controller planned a write without uid or resourceVersion: a bug in the controller

Source for codes and reasons: Kubernetes API conventions, "Response Status Kind". Source for the texts of admission:
k8s.io/apiserver, pkg/admission/plugin/webhook and policy.
"""

import re

from msgspec import Struct, field

from windlass.kube.retry_after import bounded


class StatusCause(Struct, rename="camel", omit_defaults=True, frozen=True):
    """One of several reasons of a refusal: which field, and what is wrong with it."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct, rename="camel", omit_defaults=True, frozen=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = field(default_factory=list)
    retry_after_seconds: int = 0


class Status(Struct, rename="camel", omit_defaults=True, frozen=True):
    """`metav1.Status`: what the API server says about a request that it did not carry out."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails = field(default_factory=StatusDetails)


class Failure(Exception):
    """The root of all errors whose cause is outside the program, in any system."""

    unknown_outcome: bool = False
    """The request may have been carried out all the same."""
    transient: bool = False
    """The same request may succeed later, although nothing is changed."""
    retry_after: float | None = None
    """Seconds the other side asked us to wait, at most five minutes; None if it did not say."""


class Unanswered(Failure):
    """Another system did not answer within the time that its request allows."""

    unknown_outcome = True
    transient = True


class Withheld(Failure):
    """A Call was not made: the executor has no carrier for its system."""


class KubeError(Failure):
    """The root of all failures of a Kubernetes API server, or of the connection to it."""


class ConfigError(KubeError):
    """Credentials or cluster configuration cannot be used; the message names the file and the field."""


class NoKubeconfig(ConfigError):
    """Nothing says where a cluster is: there is no kubeconfig, and this is no pod."""


class TransportError(KubeError):
    """No answer came: refused, reset, timed out, or TLS failed. Or a proxy answered a GET with a page of its own."""

    transient = True


class Silent(TransportError):
    """A stream was open and nothing came. The connection may be dead, or there was no event."""


class OutcomeUnknown(TransportError):
    """A write was sent and no answer came."""

    unknown_outcome = True


class DecodeError(KubeError):
    """An object does not have the shape its type declares; the message names object and field."""


class Fenced(KubeError):
    """A write was refused here because the lease might expire before the write takes effect."""

    transient = True


class Undeclared(KubeError):
    """A controller asked for something that its declaration (and so its RBAC) does not cover."""


class Unconditional(KubeError):
    """A controller planned to change or delete an object without saying which one it observed."""


class ApiError(KubeError):
    """The API server answered, with this Status.

    `request` is what was asked, as `VERB path`, for people who read the message.
    """

    def __init__(self, status: Status, *, request: str = "", retry_after: float | None = None) -> None:
        super().__init__(status.message or f"{status.code} {status.reason}".strip() or "unknown error")
        self.status = status
        self.request = request
        self.retry_after = retry_after  # from the Retry-After header or the Status

    @property
    def code(self) -> int:
        return self.status.code

    @property
    def reason(self) -> str:
        return self.status.reason


class BadRequest(ApiError):
    """400."""


class Unauthorized(ApiError):
    """401."""


class Forbidden(ApiError):
    """403, from RBAC or an admission policy; or the refusal of an admission webhook, which may choose another code."""


class WebhookFailed(ApiError):
    """500: the API server must ask an admission webhook (failurePolicy Fail), and gets no answer from it.

    It is no `Unconfirmed`: admission comes before storage, so nothing was written. It is not transient either: the API
    server is well, and somebody has to repair or remove the webhook.
    """


class NotFound(ApiError):
    """404 for an object."""


class NotServed(ApiError):
    """404 for a whole kind: its CRD is not installed, or not served in this version at this moment.

    It is no `NotFound`: the objects may still exist (while a CRD is replaced, for instance), so it does not prove that
    they are absent or deleted.
    """


class Conflict(ApiError):
    """409: a precondition (resourceVersion, uid, field ownership) does not hold any more."""


class AlreadyExists(ApiError):
    """409 on create."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is older than what the server keeps."""


class Invalid(ApiError):
    """422: schema or CEL validation refused the object."""


class Unevictable(ApiError):
    """429 in answer to an eviction: a PodDisruptionBudget forbids it until more of its Pods are healthy."""


class Busy(ApiError):
    """429 or 5xx: the server did not do it now."""

    transient = True


class Unconfirmed(Busy):
    """5xx in answer to a write: a server or proxy that fails after the write was carried out answers like this too."""

    unknown_outcome = True


_UNSERVED = "the server could not find the requested resource"
_NOT_CALLED = "Internal error occurred: failed calling webhook "
_DENIED = re.compile(r'admission webhook "[^"]*" denied the request')
_DENIALS = frozenset({400, 403, 413, 422})
"""Codes whose leaves fit the refusal of a webhook. It may answer with any other, and means the same: a 404 is not the
absence of the object, a 409 no other writer, and a 500 no failure of the API server."""

_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: Busy,
}


def api_error(status: Status, *, request: str = "", retry_after: float | None = None) -> ApiError:
    """The leaf of the tree that `status` stands for.

    404 answers for a kind that is not served name no object in `details`, or they carry the text "the server could not
    find the requested resource" (Kubernetes' client library puts a name beside it when it relays a bare 404).
    """
    if status.code == 500 and status.message.startswith(_NOT_CALLED):
        leaf: type[ApiError] = WebhookFailed
    elif status.code not in _DENIALS and _DENIED.match(status.message):
        leaf = Forbidden
    elif status.code == 409 and status.reason == "AlreadyExists":
        leaf = AlreadyExists
    elif status.code == 404 and (not status.details.name or _UNSERVED in status.message):
        leaf = NotServed
    elif status.code >= 500:
        leaf = Busy
    elif status.code == 429 and any(cause.reason == "DisruptionBudget" for cause in status.details.causes):
        leaf = Unevictable
    else:
        leaf = _BY_CODE.get(status.code, ApiError)
    if retry_after is None and status.details.retry_after_seconds:
        retry_after = bounded(status.details.retry_after_seconds)
    return leaf(status, request=request, retry_after=retry_after)
