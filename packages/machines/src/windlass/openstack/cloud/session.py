"""Speaks to a real cloud: the `Wire` over keystoneauth sessions, in threads.

| what | how |
|---|---|
| a token | asked for once however many calls wait for it, and again before it expires |
| an answer 401 | a new token if the present one is still the one that was used; the call is sent once more |
| any other answer | returned as it is; nothing is repeated |
| endpoints | from the catalog of the token: no discovery of versions |
| deadlines | for each call, the wait for a thread and a token included; a write that is cut off is `Doubtful` |
| what cannot be an answer | a failure that says nothing of what came: `windlass.openstack.cloud.transport` |
"""

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from windlass.kube.version import VERSION
from windlass.openstack.cloud.credentials import SERVICE, Credentials
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Rejected, Unavailable
from windlass.openstack.cloud.login import LOGIN_SECONDS, REMEDY, endpoints, open_session, refused
from windlass.openstack.cloud.names import Names
from windlass.openstack.cloud.threads import Answering, NotStarted, Share, Threads
from windlass.openstack.cloud.wire import Http

if TYPE_CHECKING:
    import requests
    from keystoneauth1.session import Session

_TOKENS = 5
"""How many tokens are tried: while tokens are revoked, the next one may die before it is used."""
_KEPT_OPEN = 16
"""Connections to one endpoint."""
_MICROVERSION = {"compute": "compute", "block-storage": "volume"}


class Reply(Struct, frozen=True):
    """An answer; see `windlass.openstack.cloud.wire.Answer`."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CloudSession:
    """One project of a cloud, with these credentials. `threads` and `names` may serve several, and `answering` is told
    which endpoints answer. `refusal` says why an address is not asked for a tenant. `close` when it is not needed."""

    def __init__(
        self,
        credentials: Credentials,
        threads: Threads,
        names: Names | None = None,
        answering: Answering | None = None,
        refusal: Callable[[str], str] | None = None,
    ) -> None:
        self._credentials = credentials
        self._threads = threads
        self._names = names or Names()
        self._answering = answering or Answering()
        self._refusal = refusal if credentials.tenant else None
        self._logging_in = asyncio.Lock()
        self._lock = threading.Lock()
        self._made: Session | None = None
        self._project = ""
        self._dead: deque[str] = deque(maxlen=8)
        self._endpoints: dict[str, str] = {}

    @property
    def services(self) -> frozenset[str]:
        return frozenset(self._endpoints)

    @property
    def region(self) -> str:
        """The region that is used; empty if neither credentials nor clouds.yaml name one."""
        return self._credentials.region or str(self._credentials.cloud.get("region_name") or "")

    async def project_id(self) -> str:
        if not self._project:
            seconds = 1.5 * LOGIN_SECONDS
            await self._token(time.monotonic() + seconds, seconds)
        return self._project

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Reply:
        deadline, tried = time.monotonic() + seconds, 0
        while True:
            token = await self._token(deadline, seconds)
            endpoint = self._endpoints.get(request.service)
            if endpoint is None:
                where = f"region {self.region}" if self.region else "the catalog"
                raise Rejected(request.service, f"the cloud offers no {request.service} service in {where}")
            call = partial(self._exchange, endpoint, request, token, deadline, agent)
            write, again = request.method != "GET", tried > 0
            answer = await self._run(
                call, endpoint, deadline, seconds, write=write, service=request.service, again=again
            )
            tried += answer is not None
            if answer is not None and (answer.status_code != 401 or tried == _TOKENS):
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return Reply(answer.status_code, headers, answer.content)

    def close(self) -> None:
        """Close idle connections. Calls under way end by themselves."""
        if self._made is not None:
            self._made.session.close()

    async def _token(self, deadline: float, seconds: float) -> str:
        """A token, from Keystone if there is none.

        It is a call of its own: a Keystone that does not answer holds no thread of the service whose call waits."""
        if token := self._known_token():
            return token
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                await self._logging_in.acquire()
        except TimeoutError:
            raise Unavailable(SERVICE, "not sent: Keystone did not give a token in time") from None
        try:
            if token := self._known_token():
                return token
            url = str(self._credentials.cloud["auth"]["auth_url"])
            return str(await self._run(self._log_in, url, deadline, seconds, write=False, service=SERVICE))
        finally:
            self._logging_in.release()

    def _known_token(self) -> str:
        """The present token; empty if there is none, it was refused, or it expires soon."""
        auth: Any = self._made.auth if self._made is not None and self._endpoints else None
        access = auth.auth_ref if auth is not None else None
        if access is None or access.auth_token in self._dead or access.will_expire_soon(auth.MIN_TOKEN_LIFE_SECONDS):
            return ""
        return str(access.auth_token)

    async def _run(
        self,
        call: Callable[[], Any],
        url: str,
        deadline: float,
        seconds: float,
        *,
        write: bool,
        service: str,
        again: bool = False,
    ) -> Any:
        """The result of `call`, which asks `url`, in a thread."""

        def timed() -> Any:
            from windlass.openstack.cloud.transport import Call, under

            asked = Call(deadline, self._names, tenant, self._refusal)
            try:
                with under(asked):
                    return call()
            finally:
                if asked.answered is not None:
                    self._answering.heard(share, answered=asked.answered)

        tenant = self._credentials.tenant
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                share = Share(tenant, await self._names.endpoint(url, tenant=tenant) if tenant else "")
        except TimeoutError:
            raise Unavailable(service, f"not sent: the name in {url} was not resolved in time") from None
        try:
            # The thread's own time-outs come first, so that it tells what was slow.
            rest = max(deadline - time.monotonic(), 0.0) + 1
            return await self._threads.run(timed, seconds=rest, share=share, again=again)
        except NotStarted as error:
            raise Unavailable(service, f"the request was not sent: {error}") from None
        except TimeoutError:
            kind = Doubtful if write else Unavailable
            raise kind(service, f"no answer in {seconds:g} s") from None

    # what runs in a thread

    def _exchange(
        self, endpoint: str, request: Http, token: str, deadline: float, agent: str
    ) -> "requests.Response | None":
        """The answer; None if the token was refused while the call waited for its thread."""
        from windlass.openstack.cloud.transport import AddressRefused, TooLong, was_dropped

        session = self._made
        assert session is not None, "there is no token without a session"
        if token in self._dead:
            return None
        headers = {"X-Auth-Token": token, "Accept": "application/json", "User-Agent": _agent(agent)}
        if request.microversion:
            headers["OpenStack-API-Version"] = f"{_MICROVERSION[request.service]} {request.microversion}"
        body = None
        if request.body is not None:
            body = msgspec.json.encode(request.body)
            headers["Content-Type"] = "application/json"
        query = f"?{urlencode(request.query, quote_via=quote)}" if request.query else ""
        url = f"{endpoint}{request.path}{query}"
        for attempt in itertools.count(1):
            if (seconds := deadline - time.monotonic()) <= 0:
                raise Unavailable(request.service, "not sent: the time for it was over before there was a token")
            try:
                answer = session.session.request(
                    request.method,
                    url,
                    headers=headers,
                    data=body,
                    timeout=seconds,
                    verify=session.verify,
                    cert=session.cert,
                    allow_redirects=False,
                )
            # A RequestException is an OSError; for some URLs urllib3 raises its own.
            except (OSError, ValueError, TooLong, AddressRefused) as error:
                # A server may close a kept connection just when it is used again: a read is worth a second try.
                if attempt == 1 and request.method == "GET" and was_dropped(error):
                    continue
                raise _unanswered(error, request) from None
            if answer.status_code == 401:
                self._dead.append(token)
            return answer
        raise AssertionError

    def _log_in(self) -> str:
        """A token. After a call that was cut off, the one before may still be at work in its thread."""
        with self._lock:
            try:
                session = self._made = self._made or self._session()
                token = session.get_token()
                if token in self._dead:
                    session.invalidate()
                    token = session.get_token()
                if not self._endpoints:
                    self._project, self._endpoints = endpoints(session, self._credentials, self.region)
            except CloudFailure:
                raise
            except Exception as error:  # of a library that trusts clouds.yaml and Keystone
                raise refused(error, self._credentials) from None
            return token or ""

    def _session(self) -> "Session":
        return open_session(self._credentials, agent=_agent(""), connections=_KEPT_OPEN)


def _agent(controller: str) -> str:
    return f"windlass-openstack/{VERSION}" + (f" ({controller})" if controller else "")


def _unanswered(error: Exception, request: Http) -> CloudFailure:
    from windlass.openstack.cloud.transport import AddressRefused, never_sent, why

    if isinstance(error, AddressRefused):
        return Rejected(request.service, f"not sent: {error}: {REMEDY}")
    if request.method == "GET" or never_sent(error):
        return Unavailable(request.service, f"no answer: {why(error)}")
    return Doubtful(request.service, f"no answer to {request.method} {request.path}: {why(error)}")
