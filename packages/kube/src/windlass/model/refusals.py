"""Refusals in the API server's words: the Status it sends, as the exception the client raises for it."""

from collections.abc import Iterable, Mapping

from windlass.api.meta import Resource
from windlass.kube.errors import ApiError, Status, StatusCause, StatusDetails, Unconfirmed, api_error

_CAUSES: Mapping[str, str] = {
    "Invalid value": "FieldValueInvalid",
    "Required value": "FieldValueRequired",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Not found": "FieldValueNotFound",
}


def refusal(code: int, reason: str, message: str, details: StatusDetails | None = None) -> ApiError:
    """Any Status, as its leaf of the error tree."""
    return api_error(
        Status(status="Failure", message=message, reason=reason, code=code, details=details or StatusDetails())
    )


def not_served() -> ApiError:
    return refusal(404, "NotFound", "the server could not find the requested resource (404 page not found)")


def no_such_subresource(resource: Resource, name: str, *, custom: bool) -> ApiError:
    """For a kind of a CRD the server blames the object."""
    if custom:
        return not_found(resource, name)
    return refusal(404, "NotFound", "the server could not find the requested resource")


def not_found(resource: Resource, name: str) -> ApiError:
    return refusal(404, "NotFound", f'{resource.name} "{name}" not found', _about(resource, name, resource.plural))


def namespace_not_found(namespace: str) -> ApiError:
    details = StatusDetails(name=namespace, kind="namespaces")
    return refusal(404, "NotFound", f'namespaces "{namespace}" not found', details)


def already_exists(resource: Resource, name: str) -> ApiError:
    details = _about(resource, name, resource.plural)
    return refusal(409, "AlreadyExists", f'{resource.name} "{name}" already exists', details)


def unevictable(budget: str) -> ApiError:
    """The PodDisruptionBudget `budget` forbids an eviction."""
    cause = StatusCause(reason="DisruptionBudget", message=f"The disruption budget {budget} needs 1 healthy pods")
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    return refusal(429, "TooManyRequests", text, StatusDetails(causes=[cause]))


def token_too_short(seconds: int) -> ApiError:
    """A token is requested for less than ten minutes."""
    problem = f"spec.expirationSeconds: Invalid value: {seconds}: may not specify a duration less than 10 minutes"
    details = StatusDetails(group="authentication.k8s.io", kind="TokenRequest", causes=[_cause(problem)])
    return refusal(422, "Invalid", f'TokenRequest.authentication.k8s.io "" is invalid: {problem}', details)


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    text = f'Operation cannot be fulfilled on {resource.name} "{name}": {why}'
    return refusal(409, "Conflict", text, _about(resource, name, resource.plural))


def modified(resource: Resource, name: str) -> ApiError:
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def precondition(resource: Resource, name: str, why: str) -> ApiError:
    """A precondition of a delete; the server names the kind here, not the resource, for kinds of CRDs."""
    text = f'Operation cannot be fulfilled on {_kind(resource)} "{name}": {why}'
    return refusal(409, "Conflict", text, _about(resource, name, resource.kind))


def bad_request(why: str) -> ApiError:
    return refusal(400, "BadRequest", why)


def internal(why: str) -> ApiError:
    """500: what the server answers to some writes that are wrong rather than to its own failures."""
    return Unconfirmed(refusal(500, "", why).status)


def unprocessable_patch() -> ApiError:
    return refusal(422, "Invalid", "the server rejected our request due to an error in our request")


def invalid(resource: Resource, name: str, problems: Iterable[str], *, plural: bool = False) -> ApiError:
    """422 for an object. Each problem is worded `path: Invalid value: ...`, from which its cause is read."""
    listed = list(dict.fromkeys(problems))
    what = resource.name if plural else _kind(resource)
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    details = StatusDetails(
        name=name,
        group=resource.group,
        kind=resource.plural if plural else resource.kind,
        causes=[_cause(problem) for problem in listed],
    )
    return refusal(422, "Invalid", f'{what} "{name}" is invalid: {text}', details)


def invalid_options(kind: str, problem: str) -> ApiError:
    """422 for the options of a request."""
    details = StatusDetails(group="meta.k8s.io", kind=kind, causes=[_cause(problem)])
    return refusal(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {problem}', details)


def invalid_patch(body: str, problem: str) -> ApiError:
    """422 for a merge or JSON patch whose result is not an object of its kind."""
    text = f'patch: Invalid value: "{body}": {problem}'
    return refusal(422, "Invalid", f' "" is invalid: {text}', StatusDetails(causes=[_cause(text)]))


def _cause(problem: str) -> StatusCause:
    where, _, message = problem.partition(": ")
    word = message.partition(":")[0]
    return StatusCause(reason=_CAUSES.get(word, "FieldValueInvalid"), message=message, field=where)


def _kind(resource: Resource) -> str:
    return f"{resource.kind}.{resource.group}" if resource.group else resource.kind


def _about(resource: Resource, name: str, kind: str) -> StatusDetails:
    return StatusDetails(name=name, group=resource.group, kind=kind)
