"""Credentials for one cloud: an entry of clouds.yaml, a region and a CA. Nothing is taken from the environment.

    credentials = read(text, "prod", region="", cacert="", where="Secret prod/cloud-credentials")
    credentials.key                      # equal for equal clouds, users, regions and CAs, and for no others

The form is openstacksdk's: https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from msgspec import Struct

from windlass.kube import pem, yaml_reader
from windlass.kube.shorten import shortened
from windlass.openstack.cloud.failures import Unauthenticated

SERVICE = "identity"
LONGEST: Final = 128 * 2**10
"""Characters of clouds.yaml: to read a larger one would keep the other projects waiting."""
MOST: Final = 5000
"""Values of clouds.yaml, about 200 clouds: 30 ms."""
LONGEST_CACERT: Final = 256 * 2**10
"""Characters of the key cacert: all CAs that a Linux distribution trusts, without comments; 40 ms."""
_NAMES: Final = 500
"""Characters for the names of all clouds in a message."""


class Credentials(Struct, frozen=True):
    """`cloud` is the entry of clouds.yaml, `cacert` the PEM text of the CA that signed the cloud's certificates (empty:
    those that the host trusts). `region` overrides that of the entry. `where` says where they come from, for people.
    `tenant`: the namespace of the Secret; empty: they are the user's own."""

    cloud: Mapping[str, Any]
    name: str
    region: str = ""
    cacert: str = ""
    where: str = ""
    tenant: str = ""

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
        document = yaml_reader.load(text, longest=LONGEST, most=MOST)
    except yaml.YAMLError as error:
        raise _wrong(f"clouds.yaml in {where} cannot be read: {_said(error)}: correct it") from None
    clouds = document.get("clouds") if isinstance(document, dict) else None
    if not isinstance(clouds, dict):
        raise _wrong(f"clouds.yaml in {where} has no mapping `clouds`")
    entry = clouds.get(name)
    if entry is None:
        there = shortened(", ".join(sorted(map(str, clouds))), _NAMES) or "none"
        raise _wrong(f"clouds.yaml in {where} has no cloud {name!r}; it has: {there}")
    if not isinstance(entry, dict):
        raise _wrong(f"clouds.{name} in clouds.yaml of {where} is not a mapping")
    if not isinstance(entry.get("auth"), dict) or not entry["auth"].get("auth_url"):
        raise _wrong(f"clouds.{name} in clouds.yaml of {where} has no auth.auth_url")
    if len(cacert) > LONGEST_CACERT:
        limit = f"{LONGEST_CACERT // 2**10} KiB"
        raise _wrong(f"the key cacert of {where} has more than {limit}: keep only the CAs of this cloud")
    found = Credentials(entry, name, region, read_authority(cacert, where=f"the key cacert of {where}"), where)
    try:
        found.key  # noqa: B018 - the first use of all values
    except (TypeError, ValueError, OverflowError):
        raise _wrong(f"clouds.{name} in clouds.yaml of {where} has a key that is no text: put it in quotes") from None
    return found


def read_authority(text: str, *, where: str) -> str:
    """The CA in the PEM form `text`; empty if that is blank or has only comments, as Cluster API's provider takes it.

    Raises Unauthenticated if there is another text without certificates: without it, the host's own would be trusted.
    """
    if pem.is_blank(text):
        return ""
    try:
        return pem.certificates(text)
    except pem.NoCertificate as error:
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
    file = str(region.config.get("cacert") or "").strip()
    try:
        text = Path(file).expanduser().read_text(encoding="utf-8", errors="replace") if file else ""
    except OSError as error:
        raise _wrong(f"the cacert of cloud {name!r} in your clouds.yaml cannot be read: {error}") from None
    cacert = read_authority(text, where=file)
    return Credentials(msgspec.to_builtins(cloud), name, cloud.get("region_name") or "", cacert, "your clouds.yaml")


def _files(variable: str, name: str) -> list[str]:
    """Where openstacksdk looks for the file `name`.yaml, in its order."""
    folders = [Path.cwd(), Path.home() / ".config" / "openstack", Path("/etc/openstack")]
    there = [str(folder / f"{name}.{ending}") for folder in folders for ending in ("yaml", "yml")]
    return [os.environ[variable]] if os.environ.get(variable) else there


def _said(error: yaml.YAMLError) -> str:
    problem, mark = yaml_reader.problem_of(error)
    return f"{problem}{f' in line {mark.line + 1}, column {mark.column + 1}' if mark else ''}"


def _wrong(message: str) -> Unauthenticated:
    return Unauthenticated(SERVICE, message)
