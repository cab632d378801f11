"""Reads Secrets with credentials of registries, in the forms that the Machine Config Operator reads. Pure.

A Secret of type dockerconfigjson or dockercfg holds one document, in either of two forms:

    {"auths": {"quay.io/org": {"auth": "..."}}}     docker's config.json; its other settings are ignored
    {"quay.io": {"auth": "..."}}                    the legacy form: the same entries, without `auths`

A document with `auths` is never read as a legacy one. An entry is a registry, or a path in one, with `auth` (base64 of
`user:password`) or `username` and `password`. An `identitytoken` is kept: builders and `registry` both exchange it. An
entry without any of them says nothing: docker writes such entries when a credential store has the password.
"""

import base64
import binascii
import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct

from windlass.api.core import Secret
from windlass.kube.foreign import Malformed, read_json
from windlass.os_build.request import Problem

_KEYS: Final = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
}
"""Types of Secrets, and the key that each has its document in."""
_CLIENT_SETTINGS: Final = frozenset(
    {
        *("aliases", "credHelpers", "credsStore", "currentContext", "detachKeys", "experimental", "features"),
        *("HttpHeaders", "imagesFormat", "plugins", "proxies", "psFormat", "stackOrchestrator"),
    }
)
"""Settings of docker's client that stand beside `auths`."""
_ENTRY: Final = frozenset({"auth", "username", "password", "email", "identitytoken", "registrytoken"})
DOCKER_HUB: Final = "docker.io"
_DOCKER_ALIASES: Final = frozenset({DOCKER_HUB, "index.docker.io", "registry-1.docker.io"})


class Login(Struct, frozen=True):
    """Credentials for one registry. `identity_token`, if there is one, is exchanged in place of the password."""

    username: str
    password: str
    identity_token: str = ""

    def __repr__(self) -> str:
        return f"Login({self.username!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("username", self.username)]


class Auths(Struct, frozen=True):
    """Credentials by registry. `document` is `{"auths": ...}`, as builders read it from a file.

    without_auth  entries of the Secret that have credentials, but no `auth`: who reads the Secret itself, as builders
                  in a cluster do, finds none there
    """

    by_host: dict[str, Login]
    document: bytes
    without_auth: tuple[str, ...] = ()

    def login(self, host: str, path: str = "") -> Login | None:
        """The credentials for a repository: the most specific entry wins, as in containers/image."""
        key = "/".join(filter(None, (_host(host), path)))
        while key not in self.by_host:
            key, slash, _ = key.rpartition("/")
            if not slash:
                return None
        return self.by_host[key]

    def __repr__(self) -> str:
        return f"Auths({', '.join(self.by_host)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("by_host", [*self.by_host])]


class Secrets(Struct, frozen=True):
    """The Secrets of a build as they were read. `versions`: of the objects, which any touch changes."""

    pull: Auths
    push: Auths
    versions: str

    @property
    def state(self) -> str:
        """`VERSIONS;USERS;LOGINS`, which a build records; hashes of who logs in where, and with what.

        A hash has 16 bits. That tells a change, but is too little for a reader of it to test passwords with.
        """
        found = [(host, login) for each in (self.pull, self.push) for host, login in each.by_host.items()]
        users = [(host, login.username) for host, login in found]
        logins = [(host, login.username, login.password, login.identity_token) for host, login in found]
        return ";".join((self.versions, _short_hash(users), _short_hash(logins)))

    def has_another_user(self, recorded: str) -> bool:
        """Somebody else logs in than when a build recorded the state. A rotated token is of the same user."""
        return self.state.split(";")[1] not in recorded.split(";")[1:2]

    def has_another_login(self, recorded: str) -> bool:
        """A user or a password is another one than when a build recorded the state."""
        return self.state.split(";")[2] not in recorded.split(";")[2:3]


def same_versions(recorded: str, versions: str) -> bool:
    """Nobody has touched the Secrets since a build recorded their state."""
    return recorded.partition(";")[0] == versions


def _short_hash(parts: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:4]


class _Wrong(Exception):
    """What is wrong with a Secret, and what to do about it."""


def auths(secret: Secret, *, key: str) -> Auths | Problem:
    """The credentials in a Secret; `key` is the key of the ConfigMap that names it, for messages."""
    where = f"Secret {secret.metadata.namespace}/{secret.metadata.name}, which {key} names"
    try:
        return _canonical(_entries(_document(secret)))
    except _Wrong as error:
        return Problem("SecretInvalid", f"{where}: {error}")


def _document(secret: Secret) -> bytes:
    """The decoded value of the one key that the type asks for."""
    types = " or ".join(_KEYS)
    if (wanted := _KEYS.get(secret.type)) is None:
        raise _Wrong(f"unknown secret type {secret.type or 'none'}: create it again with type {types}")
    if others := {*_KEYS.values()} & {*secret.data, *secret.string_data} - {wanted}:
        raise _Wrong(f"type {secret.type} must not have the key {others.pop()}: remove it, or create it as {types}")
    if (plain := secret.string_data.get(wanted)) is not None:
        content = plain.encode()
    else:
        try:
            content = base64.b64decode(secret.data.get(wanted, ""), validate=True)
        except binascii.Error:
            raise _Wrong(f"{wanted} is not base64: create the Secret again") from None
    if not content.strip():
        raise _Wrong(f"{wanted} is missing or empty: put the credentials there, as `oc registry login` writes them")
    return content


def _entries(content: bytes) -> dict[str, Any]:
    """The entries of a document in either form."""
    try:
        document = read_json(content)
    except Malformed:
        raise _Wrong('its value is not JSON: write {"auths": {"HOST": {"auth": "BASE64"}}}') from None
    if not isinstance(document, dict):
        raise _Wrong('its value is not a JSON object: write {"auths": {"HOST": {"auth": "BASE64"}}}')
    if "auths" not in document:
        return {host: entry for host, entry in document.items() if host not in _CLIENT_SETTINGS}
    if unknown := document.keys() - _CLIENT_SETTINGS - {"auths"}:
        raise _Wrong(f"unknown field {min(unknown)} beside auths: remove it, or move it into auths if it is a host")
    entries = document["auths"]
    if not isinstance(entries, dict):
        raise _Wrong('auths is not a JSON object: write {"auths": {"HOST": {"auth": "BASE64"}}}')
    return entries


def _canonical(entries: dict[str, Any]) -> Auths:
    """The credentials of all entries, under one spelling of each host; an entry that has that spelling wins."""
    logins: dict[str, Login] = {}
    for written in sorted(entries, key=lambda written: _normal(written) == written):
        if (login := _login(written, entries[written])) is not None:
            logins[_normal(written)] = login
    by_host = dict(sorted(logins.items()))
    document = {"auths": {host: _entry(login) for host, login in by_host.items()}}
    bare = tuple(sorted(host for host in entries if _normal(host) in logins and not entries[host].get("auth")))
    return Auths(by_host, msgspec.json.encode(document), bare)


def _login(host: str, entry: Any) -> Login | None:
    if not isinstance(entry, dict):
        raise _Wrong(f'the entry {host} is not a JSON object: write {{"auth": "BASE64"}}')
    if unknown := entry.keys() - _ENTRY:
        raise _Wrong(f"the entry {host} has an unknown field {min(unknown)}: correct or remove it")
    if wrong := [field for field in sorted(entry) if not isinstance(entry[field], str)]:
        raise _Wrong(f"{wrong[0]} of the entry {host} is not a string: correct it")
    token = entry.get("identitytoken", "")
    if packed := entry.get("auth", ""):
        try:
            # Go's decoder, which builders use, skips line ends as well; some end the password with NUL.
            text = base64.b64decode("".join(packed.split()), validate=True).decode().rstrip("\0")
        except (binascii.Error, UnicodeDecodeError):
            text = ""
        username, colon, password = text.partition(":")
        if not colon:
            raise _Wrong(f"auth of the entry {host} is not the base64 of USER:PASSWORD: correct it")
    else:
        username, password = entry.get("username", ""), entry.get("password", "")
    # As docker writes it: without a name in `auth`, builders overlook the token.
    username = username or ("<token>" if token else "")
    return Login(username, password, token) if username else None


def _entry(login: Login) -> dict[str, str]:
    """`auth` and not `username`: containers/image, which builders use, reads nothing else."""
    packed = base64.b64encode(f"{login.username}:{login.password}".encode()).decode()
    return {"auth": packed} | ({"identitytoken": login.identity_token} if login.identity_token else {})


def _normal(written: str) -> str:
    """The host, or host/path, that a key means: a key with a scheme, or one for the API's root, means all of a host."""
    bare = written.removeprefix("https://").removeprefix("http://")
    host, _, path = bare.partition("/")
    path = path.strip("/")
    whole = bare != written or path in ("v1", "v2")
    return _host(host) if whole or not path else f"{_host(host)}/{path}"


def _host(host: str) -> str:
    lower = host.lower()
    return DOCKER_HUB if lower in _DOCKER_ALIASES else lower
