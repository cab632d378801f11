"""Wait for the API server's authorizer, which learns of roles and bindings by watches of its own: later than who
made them."""

import asyncio
from typing import Any

from tests.waiting import wait_until
from windlass.testing.plane.rest import Rest

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def until_allowed(rest: Rest, user: str, verb: str, resource: str, *, allowed: bool = True, **where: str) -> None:
    """Return once `user` may (or may not) `verb` a `resource`, given as `plural.group` or `plural.group/subresource`.

    `where` is what else a SubjectAccessReview's `resourceAttributes` have: `namespace`, `name`. `rest` is an
    administrator's.
    """
    of, _, subresource = resource.partition("/")
    plural, _, group = of.partition(".")
    attributes = {"verb": verb, "group": group, "resource": plural, "subresource": subresource, **where}

    def look() -> bool:
        review = {"spec": {"user": user, "resourceAttributes": attributes}}
        return bool(rest.request("POST", _REVIEWS, review)["status"]["allowed"] == allowed)

    wait_until(f"{user} {'may' if allowed else 'may not'} {attributes}", look)


async def allowed(rest: Rest, user: str, verb: str, resource: str, **where: Any) -> None:
    """`until_allowed`, beside an event loop."""
    await asyncio.to_thread(lambda: until_allowed(rest, user, verb, resource, **where))
