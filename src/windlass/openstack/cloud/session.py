"""Speaks to a real cloud: the `Wire` over keystoneauth sessions, in threads.

| what | how |
|---|---|
| a token | asked for once however many calls wait for it, and again before it expires |
| an answer 401 | a new token if the present one is still the one that was used; the call is sent once more |
| any other answer | returned as it is; nothing is repeated |
| endpoints | from the catalog of the token: no discovery of versions |
| deadlines | for each call, the wait for a thread and a token included; a write that is cut off is `Doubtful` |
"""

import itertools
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

import windlass
from windlass.openstack.cloud.credentials import SERVICE, Credentials
from windlass.openstack.cloud.failures import CloudFailure, Doubtful, Rejected, Throttled, Unauthenticated, Unavailable
from windlass.openstack.cloud.threads import NotStarted, Threads
from windlass.openstack.cloud.wire import Http

if TYPE_CHECKING:
    import requests
    from keystoneauth1.session import Session

CONNECT_SECONDS = 5.0
LOGIN_SECONDS = 20.0
_TOKENS = 3
"""How many tokens are tried: while tokens are revoked, the next one may die before it is used."""
_VERSIONS = {"compute": "/v2.1", "block-storage": "/v3/{project}", "network": "", "image": "", "load-balancer": ""}
"""What follows the endpoint where the catalog gives it without a version."""
_NEVER_SENT = ("NewConnectionError", "NameResolutionError", "Connection refused", "CERTIFICATE_VERIFY_FAILED")
_ALIASES = {"block-storage": ("block-storage", "volumev3")}
_MICROVERSION = {"compute": "compute", "block-storage": "volume"}


class Reply(Struct, frozen=True):
    """An answer; see `windlass.openstack.cloud.wire.Answer`."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class CloudSession:
    """One project of a cloud, with these credentials. `threads` may serve several. `close` when it is not needed."""

    def __init__(self, credentials: Credentials, threads: Threads) -> None:
        self._credentials = credentials
        self._threads = threads
        self._lock = threading.Lock()
        self._authority: Path | None = None
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
            await self._run(lambda: self._log_in(deadline), seconds=seconds, write=False, service=SERVICE)
        return self._project

    async def send(self, request: Http, /, *, seconds: float, agent: str = "") -> Reply:
        write, deadline = request.method != "GET", time.monotonic() + seconds
        reply: Reply = await self._run(
            lambda: self._send(request, deadline, agent), seconds=seconds, write=write, service=request.service
        )
        return reply

    def close(self) -> None:
        """Close idle connections and remove the CA file. Calls under way end by themselves."""
        if self._made is not None:
            self._made.session.close()
        if self._authority is not None:
            self._authority.unlink(missing_ok=True)

    async def _run(self, call: Any, *, seconds: float, write: bool, service: str) -> Any:
        try:
            # The thread's own time-outs come first, so that it tells what was slow.
            return await self._threads.run(call, seconds=seconds + 1)
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
        import requests

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
                    timeout=(min(CONNECT_SECONDS, seconds), seconds),
                    verify=session.verify,
                    cert=session.cert,
                    allow_redirects=False,
                )
            except requests.exceptions.RequestException as error:
                # A server may close a kept connection just when it is used again: a read is worth a second try.
                if attempt == 1 and request.method == "GET" and not isinstance(error, requests.exceptions.Timeout):
                    continue
                raise _unanswered(error, request) from None
        raise AssertionError

    def _log_in(self, deadline: float, *, dead: str = "") -> tuple["Session", str]:
        """The session and a token. `dead` is one that was refused; another thread may have a new one already."""
        from keystoneauth1 import exceptions

        if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0.0)):
            raise Unavailable(SERVICE, "not sent: Keystone did not give a token in time")
        try:
            session = self._made = self._made or self._session()
            token = session.get_token()
            if dead and token == dead:
                session.invalidate()
                token = session.get_token()
            if not self._endpoints:
                self._read_catalog(session)
        except exceptions.ClientException as error:
            raise _refused(error, self._credentials) from None
        else:
            return session, token or ""
        finally:
            self._lock.release()

    def _session(self) -> "Session":
        from keystoneauth1.session import TCPKeepAliveAdapter
        from openstack.config import OpenStackConfig
        from openstack.exceptions import ConfigException

        cloud = dict(self._credentials.cloud)
        if self._credentials.region:
            cloud["region_name"] = self._credentials.region
        if cloud.get("auth_type", "password") == "password" and _is_v3(cloud):
            cloud["auth_type"] = "v3password"  # the generic one asks for the versions of Keystone first
        try:
            session = OpenStackConfig(load_yaml_config=False, load_envvars=False).get_one(**cloud).get_session()
        except (ConfigException, TypeError, ValueError) as error:
            where = f"clouds.{self._credentials.name} in clouds.yaml of {self._credentials.where}"
            raise Unauthenticated(SERVICE, f"{where} cannot be used: {error}") from None
        if self._credentials.cacert and session.verify is not False:
            session.verify = str(self._authority_file())
        elif isinstance(session.verify, str) and not Path(session.verify).is_file():
            where = f"clouds.{self._credentials.name}.cacert in clouds.yaml of {self._credentials.where}"
            text = f"{where} names {session.verify}, which is no file here: put the CA's text into the key cacert"
            raise Unauthenticated(SERVICE, text)
        session.timeout = LOGIN_SECONDS
        session.user_agent = _agent("")
        for scheme in ("http://", "https://"):
            session.session.mount(scheme, TCPKeepAliveAdapter(pool_maxsize=self._threads.size))
        return session

    def _authority_file(self) -> Path:
        if self._authority is None:
            handle, name = tempfile.mkstemp(prefix="windlass-ca-", suffix=".pem")
            with os.fdopen(handle, "w") as file:
                file.write(self._credentials.cacert)
            self._authority = Path(name)
        return self._authority

    def _read_catalog(self, session: "Session") -> None:
        access: Any = session.auth.get_access(session)  # type: ignore[union-attr]
        project = access.project_id
        if not project:
            raise Unauthenticated(
                SERVICE,
                f"cloud {self._credentials.name} of {self._credentials.where} names no project: add project_name",
            )
        wanted = self.region or None
        cloud = self._credentials.cloud
        interface = cloud.get("interface") or cloud.get("endpoint_type") or "public"
        catalog = access.service_catalog
        regions = {
            str(each.get("region_id") or each.get("region"))
            for service in catalog.normalize_catalog()
            for each in service["endpoints"]
        }
        there = ", ".join(sorted(regions)) or "none"
        if wanted is not None and wanted not in regions:
            raise Unauthenticated(SERVICE, f"the cloud has no region {wanted!r}; it has: {there}")
        if wanted is None and len(regions) > 1:
            where = f"identityRef.region, or region_name of cloud {self._credentials.name} in {self._credentials.where}"
            raise Unauthenticated(SERVICE, f"the cloud has several regions: {there}. Name one in {where}")
        _spare_short_tokens(session.auth, access)
        found = {}
        for service, version in _VERSIONS.items():
            for alias in _ALIASES.get(service, (service,)):
                urls = catalog.get_endpoints_data(service_type=alias, interface=interface, region_name=wanted).get(
                    alias
                )
                if urls and service not in found:
                    found[service] = _rooted(str(urls[0].catalog_url), version.format(project=project))
        self._project, self._endpoints = str(project), found


def _spare_short_tokens(auth: Any, access: Any) -> None:
    """A token is renewed two minutes before its end. If it lives for minutes only, that would be for each request."""
    if access.issued and access.expires:
        life = (access.expires - access.issued).total_seconds()
        auth.MIN_TOKEN_LIFE_SECONDS = min(auth.MIN_TOKEN_LIFE_SECONDS, life / 4)


def _is_v3(cloud: Mapping[str, Any]) -> bool:
    return urlsplit(str(cloud.get("auth", {}).get("auth_url", ""))).path.rstrip("/").endswith("/v3")


def _rooted(url: str, version: str) -> str:
    """The endpoint as the paths of requests expect it: with the version for Nova and Cinder, without for the others."""
    url = url.rstrip("/")
    if version:
        has_version = any(part[:1] == "v" and part[1:2].isdigit() for part in urlsplit(url).path.split("/"))
        return url if has_version else f"{url}{version}"
    last = url.rsplit("/", 1)[-1]
    return url.rsplit("/", 1)[0] if last[:1] == "v" and last[1:2].isdigit() else url


def _agent(controller: str) -> str:
    return f"windlass-openstack/{windlass.__version__}" + (f" ({controller})" if controller else "")


def _unanswered(error: "requests.exceptions.RequestException", request: Http) -> CloudFailure:
    import requests

    text = " ".join(str(error).split())
    never_sent = isinstance(error, requests.exceptions.ConnectTimeout) or any(sign in text for sign in _NEVER_SENT)
    if request.method == "GET" or never_sent:
        return Unavailable(request.service, f"no answer: {text}")
    return Doubtful(request.service, f"no answer to {request.method} {request.path}: {text}")


def _refused(error: Exception, credentials: Credentials) -> CloudFailure:
    """What Keystone, or the way to it, said."""
    from keystoneauth1 import exceptions

    where = f"cloud {credentials.name} of {credentials.where}"
    if isinstance(error, exceptions.HttpError):
        code = error.http_status
        text = f"Keystone refuses the credentials of {where}: {error.message}"
        if code == 429:
            return Throttled(SERVICE, text, code=code, retry_after=getattr(error, "retry_after", 0) or None)
        if code >= 500:
            return Unavailable(SERVICE, f"Keystone cannot answer: {error.message}", code=code)
        return Unauthenticated(SERVICE, text, code=code, request_id=error.request_id or "")
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        text = (
            f"the certificate of {where} is not signed by a CA that is trusted: put the right one into the key cacert"
        )
        return Unauthenticated(SERVICE, f"{text} ({' '.join(str(error).split())})")
    if isinstance(error, exceptions.ConnectionError | exceptions.DiscoveryFailure):
        return Unavailable(SERVICE, f"Keystone of {where} does not answer: {' '.join(str(error).split())}")
    return Unauthenticated(SERVICE, f"the credentials of {where} cannot be used: {error}")
