"""authorization.k8s.io/v1: asks the API server what a user may do. Source: `k8s.io/api/authorization/v1`."""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always


class ResourceAttributes(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A request for objects; an empty `namespace` means all namespaces, `*` for verb, group or resource means any."""

    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class NonResourceAttributes(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A request for a path such as /metrics; `verb` is the lower-case HTTP method."""

    path: str = ""
    verb: str = ""


class SubjectAccessReviewSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Exactly one of the two kinds of attributes, and at least one of user and groups."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    uid: str = ""


class SelfSubjectAccessReviewSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Exactly one of the two."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None


class AccessReviewStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The answer; `denied` means that no later authorizer may allow it, `reason` is for people."""

    allowed: bool = always(bool)
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SubjectAccessReview(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Created with a user and a request; the answer to the create request says whether it is allowed. Never stored."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="authorization.k8s.io",
        version="v1",
        kind="SubjectAccessReview",
        plural="subjectaccessreviews",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: SubjectAccessReviewSpec = always(SubjectAccessReviewSpec)
    status: AccessReviewStatus = always(AccessReviewStatus)


class SelfSubjectAccessReview(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A review of a request by the user who creates the review."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="authorization.k8s.io",
        version="v1",
        kind="SelfSubjectAccessReview",
        plural="selfsubjectaccessreviews",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: SelfSubjectAccessReviewSpec = always(SelfSubjectAccessReviewSpec)
    status: AccessReviewStatus = always(AccessReviewStatus)
