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

import itertools
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from windlass.kube.version import VERSION
from windlass.openstack.cloud.credentials import SERVICE, Credentials
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Rejected, Unavailable
from windlass.openstack.cloud.login import LOGIN_SECONDS, endpoints, open_session, refused
from windlass.openstack.cloud.names import Names
from windlass.openstack.cloud.threads import NotStarted, Threads
from windlass.openstack.cloud.wire import Http

if TYPE_CHECKING:
    import requests
    from keystoneauth1.session import Session

_TOKENS = 3
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
    """One project of a cloud, with these credentials. `threads` and `names` may serve several. `close` when it is not
    needed."""

    def __init__(self, credentials: Credentials, threads: Threads, names: Names | None = None) -> None:
        self._credentials = credentials
        self._threads = threads
        self._names = names or Names()
        self._lock = threading.Lock()
        self._made: Session | None = None
        self._project = ""
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
            deadline = time.monotonic() + seconds
            await self._run(lambda: self._log_in(deadline), deadline, seconds=seconds, write=False, service=SERVICE)
        return self._project

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Reply:
        write, deadline = request.method != "GET", time.monotonic() + seconds
        reply: Reply = await self._run(
            lambda: self._send(request, deadline, agent),
            deadline,
            seconds=seconds,
            write=write,
            service=request.service,
        )
        return reply

    def close(self) -> None:
        """Close idle connections. Calls under way end by themselves."""
        if self._made is not None:
            self._made.session.close()

    async def _run(self, call: Any, deadline: float, *, seconds: float, write: bool, service: str) -> Any:
        def timed() -> Any:
            from windlass.openstack.cloud.transport import Call, under

            with under(Call(deadline, self._names, self._credentials.tenant)):
                return call()

        try:
            # The thread's own time-outs come first, so that it tells what was slow.
            return await self._threads.run(timed, seconds=seconds + 1)
        except NotStarted as error:
            raise Unavailable(service, f"the request was not sent: {error}") from None
        except TimeoutError:
            kind = Doubtful if write else Unavailable
            raise kind(service, f"no answer in {seconds:g} s") from None

    # what runs in a thread

    def _send(self, request: Http, deadline: float, agent: str) -> Reply:
        session, token = self._log_in(deadline)
        endpoint = self._endpoints.get(request.service)
        if endpoint is None:
            where = f"region {self.region}" if self.region else "the catalog"
            raise Rejected(request.service, f"the cloud offers no {request.service} service in {where}")
        for _ in range(_TOKENS):
            answer = self._exchange(session, endpoint, request, token, deadline, agent)
            if answer.status_code != 401:
                break
            session, token = self._log_in(deadline, dead=token)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Reply(answer.status_code, headers, answer.content)

    def _exchange(
        self, session: "Session", endpoint: str, request: Http, token: str, deadline: float, agent: str
    ) -> "requests.Response":
        from windlass.openstack.cloud.transport import TooLong, was_dropped

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
                return session.session.request(
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
            except (OSError, ValueError, TooLong) as error:
                # A server may close a kept connection just when it is used again: a read is worth a second try.
                if attempt == 1 and request.method == "GET" and was_dropped(error):
                    continue
                raise _unanswered(error, request) from None
        raise AssertionError

    def _log_in(self, deadline: float, *, dead: str = "") -> tuple["Session", str]:
        """The session and a token. `dead` is one that was refused; another thread may have a new one already."""
        if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            raise Unavailable(SERVICE, "not sent: Keystone did not give a token in time")
        try:
            session = self._made = self._made or self._session()
            token = session.get_token()
            if dead and token == dead:
                session.invalidate()
                token = session.get_token()
            if not self._endpoints:
                self._project, self._endpoints = endpoints(session, self._credentials, self.region)
        except CloudFailure:
            raise
        except Exception as error:  # of a library that trusts clouds.yaml and Keystone
            raise refused(error, self._credentials) from None
        else:
            return session, token or ""
        finally:
            self._lock.release()

    def _session(self) -> "Session":
        return open_session(self._credentials, agent=_agent(""), connections=_KEPT_OPEN)


def _agent(controller: str) -> str:
    return f"windlass-openstack/{VERSION}" + (f" ({controller})" if controller else "")


def _unanswered(error: Exception, request: Http) -> CloudFailure:
    from windlass.openstack.cloud.transport import never_sent, why

    if request.method == "GET" or never_sent(error):
        return Unavailable(request.service, f"no answer: {why(error)}")
    return Doubtful(request.service, f"no answer to {request.method} {request.path}: {why(error)}")
