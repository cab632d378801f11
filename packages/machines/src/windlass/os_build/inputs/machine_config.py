"""Reads a rendered MachineConfig: its spec, and the Ignition configuration in it.

    spec:
      osImageURL, baseOSExtensionsContainerImage, extensions, kernelType
      config:                                       Ignition 3.x
        storage.files, .directories, .links         one name space of paths
        systemd.units, passwd.users

Unknown fields are ignored: a newer operator may write some. So are disks, file systems, RAIDs and LUKS volumes, which
Ignition makes when a machine is installed; an image has none. `kernelArguments` and `fips` are the node daemon's.
Source of the format: coreos.github.io/ignition/specs, 3.0 to 3.5; null is as good as absent, as in Go.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, field

from windlass.api.machineconfiguration import MachineConfig
from windlass.kube import decoding
from windlass.os_build.constants import RELEASE

_VERSION: Final = re.compile(r"3\.[0-9]+\.[0-9]+(-experimental)?")
_SOURCE: Final = "correct it in the MachineConfig that it comes from"


class Invalid(Exception):
    """The MachineConfig cannot be built. `where` is the path of the field, and the text ends with the remedy."""

    def __init__(self, where: str, what: str, remedy: str = _SOURCE) -> None:
        super().__init__(printable(f"{where}: {what}: {remedy}"))


def printable(text: str) -> str:
    """The text, or with escapes if it has control characters: users write it, and terminals show it."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


class Verification(Struct, frozen=True):
    """`hash` is `sha512-...` or `sha256-...`, of the content after decompression."""

    hash: str | None = None


class Resource(Struct, frozen=True):
    """Content by URL: `data:`, or an address that Ignition fetches from."""

    source: str | None = None
    compression: str | None = None
    verification: Verification | None = None


class Owner(Struct, frozen=True):
    """A user or group, by number or name."""

    id: int | None = None
    name: str | None = None


class Placed(Struct, frozen=True, kw_only=True):
    """What files, directories and links have."""

    path: str
    mode: int | None = None
    user: Owner | None = None
    group: Owner | None = None


class Directory(Placed, frozen=True):
    pass


class File(Placed, frozen=True, kw_only=True):
    contents: Resource | None = None
    append: list[Resource] | None = None

    @property
    def resources(self) -> Iterator[tuple[str, Resource]]:
        """The parts of the content, each with its field."""
        if self.contents is not None:
            yield "contents", self.contents
        for index, part in enumerate(self.append or ()):
            yield f"append[{index}]", part


class Link(Placed, frozen=True, kw_only=True):
    target: str | None = None
    hard: bool | None = None


class Storage(Struct, frozen=True):
    files: list[File] | None = None
    directories: list[Directory] | None = None
    links: list[Link] | None = None


class DropIn(Struct, frozen=True):
    name: str
    contents: str | None = None


class Unit(Struct, frozen=True):
    name: str
    enabled: bool | None = None
    mask: bool | None = None
    contents: str | None = None
    dropins: list[DropIn] | None = None


class Systemd(Struct, frozen=True):
    units: list[Unit] | None = None


class Account(Struct, frozen=True, rename="camel"):
    """A user, or a group, of which only the name matters. From `gecos` on are fields that only Ignition can obey."""

    name: str
    ssh_authorized_keys: list[str] | None = None
    password_hash: str | None = None
    gecos: Any = None
    groups: Any = None
    home_dir: Any = None
    no_create_home: Any = None
    no_log_init: Any = None
    no_user_group: Any = None
    primary_group: Any = None
    shell: Any = None
    should_exist: Any = None
    system: Any = None
    uid: Any = None


class Passwd(Struct, frozen=True):
    users: list[Account] | None = None
    groups: list[Account] | None = None


class Other(Struct, frozen=True):
    """Other configurations, by URL."""

    merge: list[Resource] | None = None
    replace: Resource | None = None


class Header(Struct, frozen=True):
    version: str = ""
    config: Other | None = None


class Ignition(Struct, frozen=True):
    ignition: Header = Header()
    storage: Storage | None = None
    systemd: Systemd | None = None
    passwd: Passwd | None = None


class Spec(Struct, frozen=True, rename="camel"):
    config: Ignition | None = None
    os_image: str | None = field(default=None, name="osImageURL")
    extensions_image: str | None = field(default=None, name="baseOSExtensionsContainerImage")
    extensions: list[str] | None = None
    kernel_type: str | None = None


class Metadata(Struct, frozen=True):
    """The metadata that equal MachineConfigs share; UID, resourceVersion and managed fields are none of it."""

    name: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Document(Struct, frozen=True, rename="camel", kw_only=True):
    """The whole object; `spec` stays as it is."""

    api_version: str = MachineConfig.RESOURCE.api_version
    kind: str = MachineConfig.RESOURCE.kind
    metadata: Metadata
    spec: Raw


class Rendered(Struct, frozen=True):
    """A rendered MachineConfig. `document` is its JSON, without metadata in which equal MachineConfigs differ."""

    document: bytes
    release: str
    spec: Spec
    config: Ignition


def read(machine_config: bytes) -> Rendered:
    """From the JSON of the object. Raises Invalid."""
    try:
        document = decoding.decode(machine_config, Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid("JSON", str(error)) from None
    try:
        spec = decoding.decode(document.spec, Spec)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what, _, where = str(error).partition(" - at `$")
        raise Invalid(f"spec{where.rstrip('`')}", what) from None
    if spec.config is None:
        raise Invalid("spec.config", "it has no Ignition configuration")
    version = spec.config.ignition.version
    if not _VERSION.fullmatch(version):
        raise Invalid("spec.config.ignition.version", f"{version!r} is no version 3.x of Ignition's format")
    _check_paths(spec.config)
    release = (document.metadata.annotations or {}).get(RELEASE, "")
    return Rendered(msgspec.json.encode(document), release, spec, spec.config)


def clean(path: str, *, where: str) -> str:
    """An absolute path inside the root, without superfluous slashes and dots. Raises Invalid."""
    parts = path.split("/")
    if parts[0]:
        raise Invalid(where, f"{path!r} is not an absolute path")
    if ".." in parts or "\0" in path:
        raise Invalid(where, f"{path!r} may lie outside the root: '..' and NUL are no parts of a path")
    if not (named := [part for part in parts if part not in ("", ".")]):
        raise Invalid(where, "the root itself cannot be replaced")
    return "/" + "/".join(named)


def located(config: Ignition) -> Iterator[tuple[str, Placed]]:
    """Files, directories, then links, each with the path of the field and its own, as messages name them."""
    storage = config.storage or Storage()
    lists: tuple[Sequence[Placed] | None, ...] = (storage.files, storage.directories, storage.links)
    for name, nodes in zip(("files", "directories", "links"), lists, strict=True):
        for index, node in enumerate(nodes or ()):
            yield f"spec.config.storage.{name}[{index}] {node.path}", node


def above(path: str) -> Iterator[str]:
    """All directories that a clean path lies in, except the root."""
    while path := path.rpartition("/")[0]:
        yield path


def _check_paths(config: Ignition) -> None:
    """Ignition refuses these too: paths not absolute, twice the same, or below what is not a directory."""
    seen: dict[str, str] = {}
    for where, node in located(config):
        path = clean(node.path, where=where)
        if path in seen:
            raise Invalid(where, f"it has the same path as {seen[path]}")
        seen[path] = where
    closed = {clean(node.path, where=where) for where, node in located(config) if isinstance(node, File | Link)}
    for path, where in seen.items():
        for parent in above(path):
            if parent in closed:
                raise Invalid(where, f"it lies below {seen[parent]}, which is no directory")
