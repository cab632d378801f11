"""Logs in to Keystone: from an entry of clouds.yaml to a session, and from the catalog of its token to endpoints.

keystoneauth1 does it without openstacksdk's own reader of clouds.yaml, which takes 0.5 s and 16 MiB more to import, and
reads files and the environment unless told otherwise. Fields of the entry that are used: `auth` and `auth_type`, of
which `auth_plugin` says what they mean, `region_name`, `interface`, `verify`, `cert`, `key`.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from windlass.kube.retry_after import bounded
from windlass.kube.shorten import shortened
from windlass.openstack.cloud.auth_plugin import auth_plugin
from windlass.openstack.cloud.credentials import SERVICE, Credentials
from windlass.openstack.cloud.failures import CloudFailure, Throttled, Unauthenticated, Unavailable
from windlass.openstack.cloud.login_lock import LoginLock

if TYPE_CHECKING:
    from keystoneauth1.plugin import BaseAuthPlugin
    from keystoneauth1.session import Session

LOGIN_SECONDS = 20.0
"""The longest wait for an answer of Keystone."""
_VERSIONS = {"compute": "/v2.1", "block-storage": "/v3/{project}", "network": "", "image": "", "load-balancer": ""}
"""What follows the endpoint where the catalog gives it without a version."""
_ALIASES = {"block-storage": ("block-storage", "volumev3")}
_FALSE = frozenset({"false", "no", "off", "0"})
_LONGEST_MESSAGE, _LONGEST_ID = 1000, 60
REMEDY = "name another address (--allow-loopback-clouds of windlass run openstack allows this one)"


def open_session(credentials: Credentials, *, agent: str, connections: int) -> "Session":
    """A session that has no token yet; `connections` are kept open. Raises Unauthenticated and keystoneauth1's
    ClientException."""
    import requests
    from keystoneauth1.session import Session
    from urllib3 import disable_warnings
    from urllib3.exceptions import InsecureRequestWarning

    from windlass.openstack.cloud.transport import Adapter

    cloud = credentials.cloud
    verify = not (_is_false(cloud.get("verify", True)) or not _is_false(cloud.get("insecure", False)))
    cert = (cloud["cert"], cloud["key"]) if cloud.get("cert") and cloud.get("key") else cloud.get("cert")
    if cert and credentials.tenant:
        raise Unauthenticated(SERVICE, f"{_file(credentials, 'cert', str(cloud['cert']))}: remove it")
    if not verify:  # the user has decided that, and need not be told with each request
        disable_warnings(InsecureRequestWarning)
    carrier = requests.Session()
    # Proxies and CAs of the environment are the user's: they hold for the user's own clouds.yaml and for no Secret.
    carrier.trust_env = not credentials.tenant
    carrier.auth = lambda request: request  # without one, ~/.netrc would be read
    own = not credentials.tenant
    adapter = Adapter(verify=verify, authority=credentials.cacert, connections=connections, own=own)
    for scheme in ("http://", "https://"):
        carrier.mount(scheme, adapter)
    return Session(
        auth=_plugin(credentials), session=carrier, verify=verify, cert=cert, timeout=LOGIN_SECONDS, user_agent=agent
    )


def _file(credentials: Credentials, field: str, file: str) -> str:
    where = f"clouds.{credentials.name}.{field} in clouds.yaml of {credentials.where}"
    return f"{where} names the file {file}, and files are not read"


def endpoints(session: "Session", credentials: Credentials, region: str) -> tuple[str, dict[str, str]]:
    """The project, and the URL of each service, as the answer with the session's token says."""
    access: Any = getattr(session.auth, "auth_ref", None)
    if access is None:
        kind = credentials.cloud.get("auth_type")
        text = f"auth_type {kind!r} of cloud {credentials.name} of {credentials.where} asks Keystone for no token"
        raise Unauthenticated(SERVICE, f"{text}: use one that does, such as password")
    project = access.project_id
    if not project:
        text = f"cloud {credentials.name} of {credentials.where} names no project: add project_name"
        raise Unauthenticated(SERVICE, text)
    _spare_short_tokens(session.auth, access)
    catalog = access.service_catalog
    regions = {
        str(each.get("region_id") or each.get("region"))
        for service in catalog.normalize_catalog()
        for each in service["endpoints"]
    }
    there = shortened(", ".join(sorted(regions)) or "none", _LONGEST_MESSAGE)
    if region and region not in regions:
        raise Unauthenticated(SERVICE, f"the cloud has no region {region!r}; it has: {there}")
    if not region and len(regions) > 1:
        where = f"identityRef.region, or region_name of cloud {credentials.name} in {credentials.where}"
        raise Unauthenticated(SERVICE, f"the cloud has several regions: {there}. Name one in {where}")
    interface = credentials.cloud.get("interface") or credentials.cloud.get("endpoint_type") or "public"
    found: dict[str, str] = {}
    for service, version in _VERSIONS.items():
        for alias in _ALIASES.get(service, (service,)):
            data = catalog.get_endpoints_data(service_type=alias, interface=interface, region_name=region or None)
            if (urls := data.get(alias)) and service not in found:
                found[service] = _rooted(str(urls[0].catalog_url), version.format(project=project))
    return str(project), found


def refused(error: Exception, credentials: Credentials) -> CloudFailure:
    """What Keystone, or the way to it, said. keystoneauth1 raises a ClientException, or any other error if the entry of
    clouds.yaml or the answer has strange values."""
    from keystoneauth1 import exceptions

    from windlass.openstack.cloud.transport import AddressRefused, TooLong, why

    where = f"cloud {credentials.name} of {credentials.where}"
    if isinstance(error, exceptions.HttpError):
        code, trace = error.http_status, shortened(error.request_id or "", _LONGEST_ID)
        said = " ".join(shortened(str(error.message), _LONGEST_MESSAGE).split())
        if code == 429:
            pause = bounded(getattr(error, "retry_after", 0)) or None
            return Throttled(SERVICE, said, code=code, request_id=trace, retry_after=pause)
        if code >= 500:
            return Unavailable(SERVICE, f"Keystone cannot answer: {said}", code=code, request_id=trace)
        text = f"Keystone refuses the credentials of {where}: {said}"
        return Unauthenticated(SERVICE, text, code=code, request_id=trace)
    if isinstance(error, AddressRefused):
        return Unauthenticated(SERVICE, f"the auth_url of {where} is not asked: {error}: {REMEDY}")
    found = why(error)
    if "CERTIFICATE_VERIFY_FAILED" in found:
        text = f"no trusted CA has signed the certificate of {where}: put the right CA into the key cacert ({found})"
        if not credentials.cacert and (file := str(credentials.cloud.get("cacert") or "").strip()):
            # Whether the file is there is not said: it would be one of this process.
            text = f"{text}; {_file(credentials, 'cacert', shortened(file, _LONGEST_ID))}"
        return Unauthenticated(SERVICE, text)
    if isinstance(error, exceptions.DiscoveryFailure):
        return Unavailable(SERVICE, f"no Keystone answers at the auth_url of {where}: correct it")
    if isinstance(error, exceptions.ConnectionError | TooLong):
        return Unavailable(SERVICE, f"Keystone of {where} does not answer: {found}")
    if isinstance(error, exceptions.ClientException):
        said = shortened(" ".join(str(error).split()), _LONGEST_MESSAGE)
        return Unauthenticated(SERVICE, f"the credentials of {where} cannot be used: {said}")
    # The text of the error may quote what came, which may be of any server: only users see that of their own cloud.
    told = type(error).__name__ + ("" if credentials.tenant else shortened(f": {error}", _LONGEST_MESSAGE))
    return Unauthenticated(SERVICE, f"{where}, or what its auth_url answers, is malformed: correct it ({told})")


def _plugin(credentials: Credentials) -> "BaseAuthPlugin":
    from keystoneauth1 import loading
    from keystoneauth1.exceptions import NoMatchingPlugin

    loader: Any = None
    wanted = auth_plugin(credentials)
    options = wanted.options
    if wanted.asked:
        with suppress(NoMatchingPlugin):  # Cluster API's provider goes by the fields, whatever auth_type says
            loader, options = loading.get_plugin_loader(wanted.asked), wanted.auth
    if loader is None:
        if wanted.missing:
            where = f"clouds.{credentials.name}.auth in clouds.yaml of {credentials.where}"
            raise Unauthenticated(SERVICE, f"{where} {wanted.missing}")
        loader = loading.get_plugin_loader(wanted.name)

    def value_of(option: Any) -> Any:
        names = [option.dest, *(each.dest for each in option.deprecated)]
        value = next((options[name] for name in names if options.get(name) is not None), None)
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    made: Any = loader.load_from_options_getter(value_of)
    made._lock = LoginLock()
    plugin: BaseAuthPlugin = made
    return plugin


def _is_false(value: Any) -> bool:
    return value.strip().lower() in _FALSE if isinstance(value, str) else not value


def _spare_short_tokens(auth: Any, access: Any) -> None:
    """A token is renewed two minutes before its end. If it lives for minutes only, that would be for each request."""
    if access.issued and access.expires:
        life = (access.expires - access.issued).total_seconds()
        auth.MIN_TOKEN_LIFE_SECONDS = min(auth.MIN_TOKEN_LIFE_SECONDS, life / 4)


def _rooted(url: str, version: str) -> str:
    """The endpoint as the paths of requests expect it: with the version for Nova and Cinder, without for the others."""
    url = url.rstrip("/")
    if version:
        has_version = any(part[:1] == "v" and part[1:2].isdigit() for part in urlsplit(url).path.split("/"))
        return url if has_version else f"{url}{version}"
    last = url.rsplit("/", 1)[-1]
    return url.rsplit("/", 1)[0] if last[:1] == "v" and last[1:2].isdigit() else url
