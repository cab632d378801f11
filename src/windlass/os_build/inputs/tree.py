"""Expands an Ignition configuration into the root file system that it asks for, as a tar archive.

The archive is for `ADD rootfs.tar.gz /`: the builder unpacks it with its owners and modes, leaves the directories that
exist as they are, follows symbolic links of the base image (`/home`), and makes missing parents as 0755 of root. So
the archive has no parents that the configuration does not declare: they would change those of the base image.
Equal configurations make equal bytes.

| declared | becomes |
|---|---|
| files, directories, links | the same; 0644 and 0755 if there is no mode; of root |
| a file without contents | an empty file, as the node daemon writes it |
| units, drop-ins, masks | `units` |
| keys of a user | `~/.ssh/authorized_keys.d/ignition`, and the directories above it |
| the MachineConfig itself | `/etc/machine-config-daemon/currentconfig`; 0600, as it may hold secrets |

All else needs the base image or the network, and only Ignition has both: remote contents, other configurations, text to
append to a file of the base image, hard links to one, users and groups by names, accounts and passwords.
"""

import gzip
import io
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from windlass.os_build.inputs.contents import decoded, is_remote
from windlass.os_build.inputs.machine_config import (
    Directory,
    File,
    Group,
    Ignition,
    Invalid,
    Link,
    Other,
    Owner,
    Passwd,
    Rendered,
    Resource,
    Systemd,
    User,
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
_LARGEST_MODE: Final = 0o7777


def root_nodes(rendered: Rendered) -> dict[str, Node]:
    """What the root file system gets, by path. Raises Invalid."""
    config = rendered.config
    _refuse_other_configurations(config.ignition.config or Other())
    nodes = {node.path: node for node in _storage_nodes(config)}
    for node in unit_nodes((config.systemd or Systemd()).units or ()):
        nodes[node.path] = node
    for node in _key_nodes(config.passwd or Passwd()):
        if node.is_directory:
            nodes.setdefault(node.path, node)
        else:
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


def _storage_nodes(config: Ignition) -> Iterator[Node]:
    files: dict[str, Node] = {}
    links: list[tuple[str, Link]] = []
    for where, node in located(config):
        if isinstance(node, Link):
            links.append((where, node))
            continue
        data = _file_data(node, where=where) if isinstance(node, File) else None
        made = Node(
            clean(node.path, where=where),
            data=data,
            mode=_mode(node, where=where),
            uid=_id(node.user, where=f"{where}: user"),
            gid=_id(node.group, where=f"{where}: group"),
        )
        if data is not None:
            files[made.path] = made
        yield made
    for where, link in links:
        yield _link_node(link, files, where=where)


def _link_node(link: Link, files: Mapping[str, Node], *, where: str) -> Node:
    path = clean(link.path, where=where)
    if not link.target or "\0" in link.target:
        raise Invalid(where, "it has no target")
    if not link.hard:
        uid, gid = _id(link.user, where=f"{where}: user"), _id(link.group, where=f"{where}: group")
        return Node(path, target=link.target, mode=0o777, uid=uid, gid=gid)
    file = files.get(clean(link.target, where=f"{where}: target"))
    if file is None:
        raise Invalid(where, f"{link.target} is no file of this configuration", ONLY_IGNITION)
    # A builder gives the owner and mode in a link's header to the file that it links.
    return Node(path, target=file.path, is_hard_link=True, mode=file.mode, uid=file.uid, gid=file.gid)


def _file_data(file: File, *, where: str) -> bytes:
    append = file.append or ()
    if append and not (file.contents and file.contents.source is not None):
        raise Invalid(f"{where}: append", "what it appends to is in the base image", ONLY_IGNITION)
    parts = [_local(file.contents, where=f"{where}: contents")] if file.contents else []
    parts += [_local(each, where=f"{where}: append[{index}]") for index, each in enumerate(append)]
    return b"".join(parts)


def _local(resource: Resource, *, where: str) -> bytes:
    if is_remote(resource):
        what = f"{(resource.source or '')[:80]!r} would have to be fetched"
        raise Invalid(f"{where}.source", what, f"write the content as a data URL, or {ONLY_IGNITION}")
    return decoded(resource, where=where)


def _mode(node: Directory, *, where: str) -> int:
    default = 0o644 if isinstance(node, File) else 0o755
    mode = default if node.mode is None else node.mode
    if not 0 <= mode <= _LARGEST_MODE:
        raise Invalid(f"{where}: mode", f"{mode} is no mode: it is a decimal number of at most {_LARGEST_MODE}")
    return mode


def _id(owner: Owner | None, *, where: str) -> int:
    if owner is None:
        return 0
    if owner.id is not None:
        if owner.id < 0:
            raise Invalid(f"{where}.id", f"{owner.id} is negative")
        return owner.id
    if owner.name and owner.name not in _IDS:
        remedy = f"write its number, or {ONLY_IGNITION}"
        raise Invalid(f"{where}.name", f"the number of {owner.name!r} is in the base image", remedy)
    return _IDS[owner.name or "root"]


def _key_nodes(passwd: Passwd) -> Iterator[Node]:
    _refuse_accounts(passwd.groups or (), passwd.users or ())
    for user in passwd.users or ():
        if not user.ssh_authorized_keys:
            continue
        number, home = _IDS[user.name], _HOMES[user.name]
        for path in (home, f"{home}/.ssh", f"{home}/.ssh/authorized_keys.d"):
            yield Node(path, mode=0o700, uid=number, gid=number)
        keys = "".join(f"{key.strip()}\n" for key in user.ssh_authorized_keys)
        file = f"{home}/.ssh/authorized_keys.d/ignition"
        yield Node(file, data=keys.encode(), mode=0o600, uid=number, gid=number)


def _refuse_accounts(groups: Iterable[Group], users: Iterable[User]) -> None:
    for index, group in enumerate(groups):
        raise Invalid(f"spec.config.passwd.groups[{index}] {group.name}", "a group cannot be added", ONLY_IGNITION)
    for index, user in enumerate(users):
        where = f"spec.config.passwd.users[{index}] {user.name}"
        if user.name not in _IDS:
            raise Invalid(where, "a user cannot be added", ONLY_IGNITION)
        if user.password_hash:
            raise Invalid(f"{where}: passwordHash", "a password cannot be set", ONLY_IGNITION)


def _refuse_other_configurations(other: Other) -> None:
    if other.merge or (other.replace and other.replace.source):
        raise Invalid("spec.config.ignition.config", "other configurations would have to be fetched", ONLY_IGNITION)
