"""Asks the API server whether the holder of a token may do something, for whatever this process serves.

    guard = Guard(client, ResourceAttributes(verb="get", group="update.openshift.io", resource="updatestatuses"))
    ruling = await guard.judge_token(token)            # Ruling(200, user="ann")

A TokenReview gives the user, a SubjectAccessReview for each of the attributes says whether that user may. This process
itself needs `create` on tokenreviews and subjectaccessreviews (`guard_permissions()`; ClusterRole
system:auth-delegator).

A server of its own audience asks for `audience`, so that it takes no token that the API server or another server would
take, and may name the `users` whom it answers:

    guard = Guard(client, audience="update.openshift.io/informer/disks", users=["system:serviceaccount:a:b"])

A permission is cached for a minute, a refusal for ten seconds, by a hash of the token. Anybody may send any number of
tokens, so at most ten a second are reviewed and only a few wait; a token that was accepted before does not wait. That
holds also while the API server cannot be asked, which a warning a minute tells. Give the guard a separate client: an
API server that calls a webhook may take long to review a token.

| status | when |
|---|---|
| 200 | allowed |
| 401 | no token, or an invalid one |
| 403 | a valid token whose user may not |
| 429 | too many tokens wait for a review |
| 500 | the API server could not be asked |
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Collection
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from windlass.api.authentication import TokenReview, UserInfo
from windlass.api.authorization import NonResourceAttributes, ResourceAttributes, SubjectAccessReview
from windlass.kube.clock import Clock, SystemClock
from windlass.kube.control.permissions import Permission, permission
from windlass.kube.errors import KubeError
from windlass.kube.logger import Logger
from windlass.kube.verbs import Api

Attributes: TypeAlias = ResourceAttributes | NonResourceAttributes
"""A request that somebody may be allowed to make."""

AT_ONCE = 2
"""Unknown tokens that are reviewed at the same time."""
IN_LINE = 16
"""Tokens that are reviewed or wait for it. More are refused with 429."""
PAUSE = 0.2
"""Seconds for which a token that is not let in occupies its slot, so that at most ten a second are reviewed."""
_WARN_EVERY = 60.0
"""Seconds between warnings that the API server cannot be asked."""
_REMEMBERED = 256
"""Permissions, and as many refusals."""


class Ruling(Struct, frozen=True):
    """HTTP status of the answer, why for people, and the user if the token is valid."""

    status: int
    why: str = ""
    user: str = ""

    @property
    def allowed(self) -> bool:
        return self.status == 200


class _Memory:
    """The last rulings of one kind, each for `seconds`."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock
        self._rulings: OrderedDict[bytes, tuple[Ruling, float]] = OrderedDict()

    def __contains__(self, digest: bytes) -> bool:
        """There was such a ruling; it may have expired."""
        return digest in self._rulings

    def get(self, digest: bytes) -> Ruling | None:
        ruling, until = self._rulings.get(digest, (None, 0.0))
        return ruling if until > self._clock.monotonic() else None

    def put(self, digest: bytes, ruling: Ruling) -> None:
        self._rulings[digest] = ruling, self._clock.monotonic() + self._seconds
        self._rulings.move_to_end(digest)
        while len(self._rulings) > _REMEMBERED:
            self._rulings.popitem(last=False)

    def drop(self, digest: bytes) -> None:
        self._rulings.pop(digest, None)


class Guard:
    """Asks the API server behind `api` whether the holder of a token may do all of `asked`.

    `audience`: tokens must have been made for it; "": for the API server. `users`: those who are let in; none: all.
    `remember`, `refuse`: seconds for which a permission and a refusal are cached.
    """

    def __init__(
        self,
        api: Api,
        *asked: Attributes,
        audience: str = "",
        users: Collection[str] = (),
        remember: float = 60.0,
        refuse: float = 10.0,
        clock: Clock | None = None,
    ) -> None:
        if not asked and not users:
            raise ValueError("a guard that asks nothing lets everybody in: say what is asked, or which users may")
        clock = clock or SystemClock()
        self._clock = clock
        self._api = api
        self._asked = asked
        self._audience = audience
        self._users = frozenset(users)
        self._allowed = _Memory(remember, clock)
        self._refused = _Memory(refuse, clock)
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._reviews: dict[bytes, asyncio.Task[Ruling]] = {}
        self._failed = 0
        self._warned_at = float("-inf")
        self._log = Logger(__name__)

    async def judge(self, authorization: str) -> Ruling:
        """Judge the value of an Authorization header."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return Ruling(401, "a bearer token is needed")
        return await self.judge_token(token)

    async def judge_token(self, token: str) -> Ruling:
        """Judge a token, however it came."""
        digest = hashlib.sha256(token.encode()).digest()
        if ruling := self._allowed.get(digest) or self._refused.get(digest):
            return ruling
        review = self._reviews.get(digest)
        if review is None:
            if len(self._reviews) >= IN_LINE and digest not in self._allowed:
                return Ruling(429, "too many tokens at a time")
            review = self._reviews[digest] = asyncio.create_task(self._review(digest, token))
            review.add_done_callback(lambda _: self._reviews.pop(digest))
        # The review outlives this request: others may wait for the same one.
        return await asyncio.shield(review)

    async def _review(self, digest: bytes, token: str) -> Ruling:
        if digest in self._allowed:
            ruling = await self._paced(token)
        else:
            async with self._turn:
                ruling = await self._paced(token)
        if ruling.allowed:
            self._allowed.put(digest, ruling)
        elif ruling.status != 500:
            self._allowed.drop(digest)
            self._refused.put(digest, ruling)
        return ruling

    async def _paced(self, token: str) -> Ruling:
        """A ruling; unless it lets somebody in, it takes `PAUSE` longer."""
        try:
            ruling = await self._ask(token)
        except KubeError as error:
            self._tell(error)
            ruling = Ruling(500, "the API server could not be asked")
        if not ruling.allowed:
            await self._clock.sleep(PAUSE)
        return ruling

    def _tell(self, error: KubeError) -> None:
        self._failed += 1
        now = self._clock.monotonic()
        if now - self._warned_at >= _WARN_EVERY:
            text = "cannot ask the API server what holders of tokens may do"
            self._log.warning(text, failed=self._failed, error=str(error))
            self._failed, self._warned_at = 0, now

    async def _ask(self, token: str) -> Ruling:
        spec: dict[str, Any] = {"token": token}
        if self._audience:
            spec["audiences"] = [self._audience]
        review = (await self._api.create(TokenReview, {"spec": spec})).decode()
        # An authenticator that knows no audiences accepts the token of any, and then names none.
        if not review.status.authenticated or (self._audience and self._audience not in review.status.audiences):
            return Ruling(401, "the token is not valid")
        user = review.status.user
        if self._users and user.username not in self._users:
            return Ruling(403, f"{user.username} is not let in", user.username)
        for asked in self._asked:
            access = (await self._api.create(SubjectAccessReview, {"spec": _question(user, asked)})).decode()
            if not access.status.allowed:
                return Ruling(403, f"{user.username} may not {words(asked)}", user.username)
        return Ruling(200, user=user.username)


def words(asked: Attributes) -> str:
    """`get /metrics`, `list machines.cluster.x-k8s.io in openshift-cluster-api`."""
    if isinstance(asked, NonResourceAttributes):
        return f"{asked.verb} {asked.path}"
    what = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    name = f" {asked.name}" if asked.name else ""
    return f"{asked.verb} {what}{name}" + (f" in {asked.namespace}" if asked.namespace else "")


def _question(user: UserInfo, asked: Attributes) -> dict[str, Any]:
    who = {"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    given: dict[str, Any] = {name: value for name, value in who.items() if value}
    kind = "nonResourceAttributes" if isinstance(asked, NonResourceAttributes) else "resourceAttributes"
    return {**given, kind: msgspec.to_builtins(asked)}


def guard_permissions() -> tuple[Permission, ...]:
    """The permissions that a guard needs."""
    return (permission(TokenReview, "create"), permission(SubjectAccessReview, "create"))
