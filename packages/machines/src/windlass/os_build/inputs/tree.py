"""Expands an Ignition configuration into the root file system that it asks for, as a tar archive.

The archive is for `ADD rootfs.tar.gz /`: the builder unpacks it with its owners and modes, leaves the directories that
exist as they are, follows symbolic links of the base image (`/home`), and makes missing parents as 0755 of root. So
the archive has no parents that the configuration does not declare: they would change those of the base image.
Equal configurations make equal bytes.

| declared | becomes |
|---|---|
| files, directories, links | the same; 0644 and 0755 if there is no mode; of root |
| a file without contents | an empty file, as the node daemon writes it |
| units, drop-ins, masks | `units`, and `base_units` for those of the base image |
| keys of a user | `~/.ssh/authorized_keys.d/ignition`, and the directories above it |
| the MachineConfig itself | `/etc/machine-config-daemon/currentconfig`; 0600, as it may hold secrets |

All else needs the base image or the network, and only Ignition has both: remote contents, other configurations, text to
append to a file of the base image, hard links to one, users and groups by names, accounts and passwords.
"""

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import fields, replace

from windlass.os_build.inputs.contents import decoded, is_remote
from windlass.os_build.inputs.machine_config import (
    Account,
    File,
    Ignition,
    Invalid,
    Link,
    Other,
    Owner,
    Passwd,
    Placed,
    Rendered,
    Systemd,
    above,
    clean,
    located,
)
from windlass.os_build.inputs.node import Node
from windlass.os_build.inputs.units import unit_nodes

CURRENT_CONFIG: Final = "/etc/machine-config-daemon/currentconfig"
ONLY_IGNITION: Final = "apply the configuration by ignition, or remove this"
_IDS: Final = {"root": 0, "core": 1000}
_HOMES: Final = {"root": "/root", "core": "/home/core"}
_OF_ACCOUNTS: Final = tuple(each for each in fields(Account) if each.type is Any and each.name != "should_exist")
_LARGEST_MODE: Final = 0o7777
_LARGEST_ID: Final = (1 << 32) - 2


def root_nodes(rendered: Rendered) -> dict[str, Node]:
    """What the root file system gets, by path. Raises Invalid."""
    config, passwd = rendered.config, rendered.config.passwd or Passwd()
    _refuse_what_needs_ignition(config.ignition.config or Other(), passwd)
    nodes = _storage_nodes(config)
    for node in (*unit_nodes((config.systemd or Systemd()).units or ()), *_key_nodes(passwd.users or ())):
        if node.path not in nodes or not node.is_directory:
            nodes[node.path] = node
    nodes[CURRENT_CONFIG] = Node(CURRENT_CONFIG, data=rendered.document, mode=0o600)
    for path in nodes:
        for parent in above(path):
            if parent in nodes and not nodes[parent].is_directory:
                raise Invalid("spec.config", f"{path} would lie below {parent}, which it makes no directory")
    return nodes


def archive(nodes: Mapping[str, Node]) -> bytes:
    """A tar archive, compressed by gzip. Hard links come last, since what they link has to be there."""
    found = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=found, mode="wb", compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for node in sorted(nodes.values(), key=lambda node: (node.is_hard_link, node.path)):
            tar.addfile(_header(node), io.BytesIO(node.data or b""))
    return found.getvalue()


def _header(node: Node) -> tarfile.TarInfo:
    header = tarfile.TarInfo(node.path.lstrip("/"))
    header.mode, header.uid, header.gid = node.mode, node.uid, node.gid
    if node.is_hard_link:
        header.type, header.linkname = tarfile.LNKTYPE, node.target.lstrip("/")
    elif node.target:
        header.type, header.linkname = tarfile.SYMTYPE, node.target
    elif node.data is None:
        header.type = tarfile.DIRTYPE
    else:
        header.size = len(node.data)
    return header


def _storage_nodes(config: Ignition) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for where, placed in located(config):
        path = clean(placed.path, where=where)
        node = Node(
            path,
            mode=_mode(placed, where=where),
            uid=_id(placed.user, where=f"{where}: user"),
            gid=_id(placed.group, where=f"{where}: group"),
        )
        if isinstance(placed, File):
            node = replace(node, data=_file_data(placed, where=where))
        elif isinstance(placed, Link):
            node = _linked(node, placed, found, where=where)
        found[path] = node
    return found


def _linked(node: Node, link: Link, files: Mapping[str, Node], *, where: str) -> Node:
    if not link.target or "\0" in link.target:
        raise Invalid(where, "it has no target")
    if not link.hard:
        return replace(node, target=link.target, mode=0o777)
    file = files.get(clean(link.target, where=f"{where}: target"))
    if file is None or file.data is None:
        raise Invalid(where, f"{link.target} is no file of this configuration", ONLY_IGNITION)
    # A builder gives the owner and mode in the header of a link to the file that it links.
    return replace(file, path=node.path, data=None, target=file.path, is_hard_link=True)


def _file_data(file: File, *, where: str) -> bytes:
    if file.append and not (file.contents and file.contents.source is not None):
        raise Invalid(f"{where}: append", "what it appends to is in the base image", ONLY_IGNITION)
    found = b""
    for name, resource in file.resources:
        if is_remote(resource):
            what = f"{(resource.source or '')[:80]!r} would have to be fetched"
            raise Invalid(f"{where}: {name}.source", what, f"write the content as a data URL, or {ONLY_IGNITION}")
        found += decoded(resource, where=f"{where}: {name}")
    return found


def _mode(placed: Placed, *, where: str) -> int:
    default = 0o644 if isinstance(placed, File) else 0o755
    mode = default if placed.mode is None else placed.mode
    if not 0 <= mode <= _LARGEST_MODE:
        raise Invalid(f"{where}: mode", f"{mode} is no mode: it is a decimal number of at most {_LARGEST_MODE}")
    return mode


def _id(owner: Owner | None, *, where: str) -> int:
    if owner is None:
        return 0
    if owner.id is not None:
        if not 0 <= owner.id <= _LARGEST_ID:
            raise Invalid(f"{where}.id", f"{owner.id} is not between 0 and {_LARGEST_ID}")
        return owner.id
    if owner.name and owner.name not in _IDS:
        remedy = f"write its number, or {ONLY_IGNITION}"
        raise Invalid(f"{where}.name", f"the number of {owner.name!r} is in the base image", remedy)
    return _IDS[owner.name or "root"]


def _key_nodes(users: Iterable[Account]) -> Iterator[Node]:
    for user in users:
        if not user.ssh_authorized_keys:
            continue
        number, home = _IDS[user.name], _HOMES[user.name]
        for path in (home, f"{home}/.ssh", f"{home}/.ssh/authorized_keys.d"):
            yield Node(path, mode=0o700, uid=number, gid=number)
        keys = "".join(f"{key.strip()}\n" for key in user.ssh_authorized_keys)
        file = f"{home}/.ssh/authorized_keys.d/ignition"
        yield Node(file, data=keys.encode(), mode=0o600, uid=number, gid=number)


def _refuse_what_needs_ignition(other: Other, passwd: Passwd) -> None:
    if other.merge or (other.replace and other.replace.source):
        raise Invalid("spec.config.ignition.config", "other configurations would have to be fetched", ONLY_IGNITION)
    for index, group in enumerate(passwd.groups or ()):
        raise Invalid(f"spec.config.passwd.groups[{index}] {group.name}", "a group cannot be added", ONLY_IGNITION)
    for index, user in enumerate(passwd.users or ()):
        where = f"spec.config.passwd.users[{index}] {user.name}"
        if user.name not in _IDS:
            raise Invalid(where, "a user cannot be added", ONLY_IGNITION)
        if user.password_hash:
            raise Invalid(f"{where}: passwordHash", "a password cannot be set", ONLY_IGNITION)
        if user.should_exist is False:
            raise Invalid(f"{where}: shouldExist", "a user cannot be removed", ONLY_IGNITION)
        for field in _OF_ACCOUNTS:
            if getattr(user, field.name) not in (None, False, "", []):
                raise Invalid(f"{where}: {field.encode_name}", "an account cannot be changed", ONLY_IGNITION)
