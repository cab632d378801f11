"""How Keystone is asked for a token: the plugin of keystoneauth1 and its options, from an entry of clouds.yaml.

The fields of `auth` decide, as in the library of Cluster API's provider (gophercloud), which reads no `auth_type`:

| `auth_type` | `auth` has | plugin |
|---|---|---|
| `password`, `token`, `v3applicationcredential` or one of their other names | the secret of that one | that one |
| the same, none, or a name that keystoneauth1 lacks | `password` | `password` |
| | `token` | `token` |
| | an application credential | `v3applicationcredential`, without a scope: it has one |
| | none of these | refused, and the field is named |
| any other of keystoneauth1 | | that one, with all fields |

`default_domain`, and `domain_id` or `domain_name` beside a project, are the domain of user and project where these have
none. An `auth_url` may be that of the tokens.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from windlass.openstack.cloud.credentials import Credentials

_TOKENS: Final = "/auth/tokens"
_PASSWORD, _TOKEN, _CREDENTIAL = "password", "token", "v3applicationcredential"
_SECRETS: Final = {_PASSWORD: "password", _TOKEN: "token", _CREDENTIAL: "application_credential_secret"}
"""The field without which a plugin cannot be used. The first that is there counts."""
_NAMES: Final = {
    "": "",
    "v3": "",
    "password": _PASSWORD,
    "v3password": _PASSWORD,
    "v2password": _PASSWORD,
    "token": _TOKEN,
    "v3token": _TOKEN,
    "v2token": _TOKEN,
    "v3applicationcredential": _CREDENTIAL,
    "v3applicationcredentials": _CREDENTIAL,
    "applicationcredential": _CREDENTIAL,
}
"""What people write in `auth_type` for these three."""
_SCOPE: Final = ("project_", "domain_", "trust_id", "system_scope")


class AuthPlugin(Struct, frozen=True, kw_only=True):
    """`name`: that of keystoneauth1's loader; `options` by the names of clouds.yaml, with `_`. `missing`: the field
    that it lacks, as the end of a sentence with the remedy. `asked`: an `auth_type` that is none of the three; if
    keystoneauth1 has such a plugin, it gets all of `auth`, and the rest of this does not count."""

    name: str
    options: Mapping[str, Any]
    missing: str = ""
    asked: str = ""
    auth: Mapping[str, Any] = {}


def auth_plugin(credentials: Credentials) -> AuthPlugin:
    auth = _normal(credentials.cloud["auth"])
    written = str(credentials.cloud.get("auth_type") or "").strip()
    family = _NAMES.get(written.lower())
    chosen = family if family and auth.get(_SECRETS[family]) else _by_fields(auth)
    options, name = auth, chosen
    if chosen == _CREDENTIAL:
        options = {field: value for field, value in auth.items() if not field.startswith(_SCOPE)}
    elif chosen and urlsplit(str(auth.get("auth_url", ""))).path.rstrip("/").endswith("/v3"):
        name = f"v3{chosen}"  # the others ask for the versions of Keystone first
    asked = written if family is None else ""
    return AuthPlugin(name=name, options=options, missing=_missing(chosen, auth), asked=asked, auth=auth)


def _normal(given: Mapping[str, Any]) -> dict[str, Any]:
    """`auth` with today's names, and the domains of user and project where they follow from others."""
    auth = {str(name).replace("-", "_"): value for name, value in given.items()}
    url = str(auth.get("auth_url", "")).rstrip("/")
    if url.endswith(_TOKENS):
        auth["auth_url"] = url.removesuffix(_TOKENS)
    for kind in ("id", "name"):
        if tenant := auth.pop(f"tenant_{kind}", None):
            auth.setdefault(f"project_{kind}", tenant)
    has_project = bool(auth.get("project_id") or auth.get("project_name") or auth.get("application_credential_name"))
    default = auth.pop("default_domain", None)
    for kind, domain in (
        *((kind, auth.pop(f"domain_{kind}", None)) for kind in ("id", "name") if has_project),
        ("id", auth.get("default_domain_id") or default),
        ("name", auth.get("default_domain_name")),
    ):
        for whose in ("user", "project"):
            named = auth.get(f"{whose}_domain_id") or auth.get(f"{whose}_domain_name")
            if domain and not named:
                auth[f"{whose}_domain_{kind}"] = domain
    return auth


def _by_fields(auth: Mapping[str, Any]) -> str:
    return next((name for name, secret in _SECRETS.items() if auth.get(secret)), "")


def _missing(chosen: str, auth: Mapping[str, Any]) -> str:
    """What is missing, and the remedy; empty: nothing."""
    user = auth.get("user_id") or auth.get("username") or auth.get("user_name")
    domain = auth.get("user_id") or auth.get("user_domain_id") or auth.get("user_domain_name")
    if not chosen:
        if auth.get("application_credential_id") or auth.get("application_credential_name"):
            return "has no application_credential_secret: add it"
        return "has no password, no token and no application credential: add one of them"
    by_name = chosen == _CREDENTIAL and not auth.get("application_credential_id")
    if by_name and not auth.get("application_credential_name"):
        return "has no application_credential_id: add it"
    if (by_name or chosen == _PASSWORD) and not user:
        return f"has no username{' for the application_credential_name' if by_name else ''}: add it, or user_id"
    if (by_name or chosen == _PASSWORD) and not domain:
        return "has no domain for the username: add user_domain_name, or user_id in place of username"
    return ""
