"""authentication.k8s.io/v1: asks the API server who holds a token, and for a token.

Source: `k8s.io/api/authentication/v1`.
"""

from datetime import datetime
from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always


class UserInfo(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A user as authenticators know it; `extra` is passed on to authorizers unchanged."""

    username: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class TokenReviewSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Empty `audiences` mean those of the API server itself."""

    token: str = ""
    audiences: list[str] = field(default_factory=list)


class TokenReviewStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    authenticated: bool = False
    user: UserInfo = always(UserInfo)
    audiences: list[str] = field(default_factory=list)
    error: str = ""


class TokenReview(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Created with a token; the answer to the create request names its user. Never stored."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="authentication.k8s.io", version="v1", kind="TokenReview", plural="tokenreviews", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: TokenReviewSpec = always(TokenReviewSpec)
    status: TokenReviewStatus = always(TokenReviewStatus)


class BoundObjectReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The Pod, Node or Secret that a token is bound to: the token ends with it. Empty `uid`: whichever has the name."""

    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""


class TokenRequestSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`audiences`: the services that accept the token; none: the API server."""

    audiences: list[str] = field(default_factory=list)
    expiration_seconds: int = 0
    bound_object_ref: BoundObjectReference | None = None


class TokenRequestStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The token is not in the text of this value, so that no log and no plan can show it."""

    token: str = ""
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return f"<TokenRequestStatus until {self.expiration_timestamp}>"


class TokenRequest(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What `serviceaccounts/token` answers; never stored, so it has no `RESOURCE`."""

    status: TokenRequestStatus = always(TokenRequestStatus)
