"""Credentials for one cloud: an entry of clouds.yaml, a region and a CA. Nothing is taken from the environment.

    credentials = read(text, "prod", region="", cacert="", where="Secret prod/cloud-credentials")
    credentials.key                      # equal for equal clouds, users, regions and CAs, and for no others

The form is openstacksdk's: https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
"""

import hashlib
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from windlass.openstack.cloud.failures import Unauthenticated

SERVICE = "identity"


class Credentials(Struct, frozen=True):
    """`cloud` is the entry of clouds.yaml, `cacert` the PEM text of the CA that signed the cloud's certificates (empty:
    those that the host trusts). `region` overrides that of the entry. `where` says where they come from, for people."""

    cloud: Mapping[str, Any]
    name: str
    region: str = ""
    cacert: str = ""
    where: str = ""

    @property
    def key(self) -> str:
        """A digest of all that decides which cloud, project and user this is."""
        parts = msgspec.to_builtins([dict(self.cloud), self.region, self.cacert], str_keys=True, order="deterministic")
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def read(text: str, name: str, *, where: str, region: str = "", cacert: str = "") -> Credentials:
    """The entry `name` of the clouds.yaml `text`. Raises Unauthenticated, which names what to correct in `where`."""
    if not name:
        raise _wrong("the cloud name is empty: set identityRef.cloudName to an entry of clouds.yaml")
    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise _wrong(f"clouds.yaml in {where} is not YAML: {_said(error)}") from None
    clouds = document.get("clouds") if isinstance(document, dict) else None
    if not isinstance(clouds, dict):
        raise _wrong(f"clouds.yaml in {where} has no mapping `clouds`")
    entry = clouds.get(name)
    if entry is None:
        there = ", ".join(sorted(map(str, clouds))) or "none"
        raise _wrong(f"clouds.yaml in {where} has no cloud {name!r}; it has: {there}")
    if not isinstance(entry, dict):
        raise _wrong(f"clouds.{name} in clouds.yaml of {where} is not a mapping")
    if not isinstance(entry.get("auth"), dict) or not entry["auth"].get("auth_url"):
        raise _wrong(f"clouds.{name} in clouds.yaml of {where} has no auth.auth_url")
    if cacert:
        check_authority(cacert, where=f"the key cacert of {where}")
    return Credentials(entry, name, region, cacert, where)


def check_authority(pem: str, *, where: str) -> None:
    """Raises Unauthenticated unless `pem` holds certificates: the host's own would be trusted in their place."""
    try:
        certificates = pem.encode("ascii", "ignore").decode()  # comments may be in any language
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificates)
    except (ssl.SSLError, ValueError) as error:
        raise _wrong(f"{where} holds no certificate in PEM form ({error}): correct it, or remove it") from None


def of_user(name: str) -> Credentials:
    """The entry `name` of the user's own clouds.yaml, found where openstacksdk finds it: $OS_CLIENT_CONFIG_FILE, the
    working folder, ~/.config/openstack, /etc/openstack. Raises Unauthenticated."""
    from openstack.config import OpenStackConfig
    from openstack.exceptions import ConfigException

    try:
        # Without variables, which could give another user, it does not look at those that name files either.
        files, secure = _files("OS_CLIENT_CONFIG_FILE", "clouds"), _files("OS_CLIENT_SECURE_FILE", "secure")
        region = OpenStackConfig(files, secure_files=secure, load_envvars=False).get_one(cloud=name)
    except (ConfigException, OSError) as error:
        raise _wrong(f"cloud {name!r} of your clouds.yaml: {error}") from None
    cloud = {field: value for field, value in region.config.items() if not callable(value) and value is not None}
    cloud.pop("cacert", None)
    authority = region.config.get("cacert")
    try:
        cacert = Path(authority).expanduser().read_text() if authority else ""
    except OSError as error:
        raise _wrong(f"the cacert of cloud {name!r} in your clouds.yaml cannot be read: {error}") from None
    if cacert:
        check_authority(cacert, where=str(authority))
    return Credentials(msgspec.to_builtins(cloud), name, cloud.get("region_name") or "", cacert, "your clouds.yaml")


def _files(variable: str, name: str) -> list[str]:
    """Where openstacksdk looks for the file `name`.yaml, in its order."""
    folders = [Path.cwd(), Path.home() / ".config" / "openstack", Path("/etc/openstack")]
    there = [str(folder / f"{name}.{ending}") for folder in folders for ending in ("yaml", "yml")]
    return [os.environ[variable]] if os.environ.get(variable) else there


def _said(error: yaml.YAMLError) -> str:
    """What is wrong, and where; not the line itself, which may hold a password."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return "it has characters that YAML does not allow"
    mark = error.problem_mark
    return f"{error.problem or error.context}{f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''}"


def _wrong(message: str) -> Unauthenticated:
    return Unauthenticated(SERVICE, message)
