"""The mark of an owner on what it has in a cloud: how it is written, how it is read back, and whose it is.

Servers and volumes have it in their metadata, under `MARK`. All others have it at the end of their description:

    For cluster one windlass-owner=0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55/93ab1c20d4e5f607/server/a/web-0

| part | what it is |
|---|---|
| root | a random uuid, made up once; it stays when the object is moved or restored |
| holder | a digest of the uid of the object that has it now, and of the place |
| place | kind, namespace and name of that object; one that is too long is cut, and ends with a digest of the whole |

A mark belongs to an object of its place, so a copy of the annotation under another name is worth nothing. Earlier
versions of Windlass wrote the root alone, and so does `create_instance`, with a uuid of version 5.

Tags would leave the description to the user, but Neutron takes none in the POST of a trunk, and drops those in the POST
of a port unless its extension driver `tag_ports_during_bulk_creation` is loaded, which it is not by default. A resource
whose POST got no answer would then never be found.
"""

import uuid
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.resources import Markable, Server, Volume

DESCRIPTION_LIMIT: Final = 255
"""The length of a description that Neutron accepts."""
PLACE_LIMIT: Final = 80
"""The longest place in a mark, in characters: descriptions have to keep room for what people write."""
_KEY: Final = f"{MARK}="
_KINDS: Final = {
    "server": "OpenStackServer",
    "cluster": "OpenStackCluster",
    "pool": "OpenStackFloatingIPPool",
    "machine": "Machine",
}
"""The kinds of owners: as marks have them, and as Kubernetes does."""


def mark_of(resource: Markable) -> str:
    """The mark of the owner; empty if there is none."""
    if isinstance(resource, Server | Volume):
        return resource.metadata.get(MARK, "")
    description = resource.description or ""
    return description.rpartition(_KEY)[2] if _KEY in description else ""


def with_mark(metadata: Mapping[str, str], mark: str) -> dict[str, str]:
    """The metadata of a server or volume."""
    return {**metadata, MARK: mark}


def described(text: str, mark: str) -> str:
    """The description of a port, network, ...: `text` without the mark of another owner, cut if it is too long, and the
    mark."""
    suffix, text = f"{_KEY}{mark}", text.rpartition(_KEY)[0].rstrip() if _KEY in text else text
    return f"{text[: DESCRIPTION_LIMIT - len(suffix) - 1]} {suffix}" if text else suffix


def place(kind: str, namespace: str, name: str) -> str:
    """The place of an object, as marks have it. `kind` is `server`, `cluster`, `pool` or `machine`."""
    whole = f"{kind}/{namespace}/{name}"
    return whole if len(whole) <= PLACE_LIMIT else f"{whole[: PLACE_LIMIT - 17]}~{_digest(whole)}"


def holder(uid: str, at: str) -> str:
    """The holder of the mark: the object with this uid at this place."""
    return _digest(f"{uid} {at}")


def mark_for(root: str, uid: str, at: str) -> str:
    """The mark with this root of the object with this uid at the place `at`."""
    return f"{root}/{holder(uid, at)}/{at}"


def root_of(mark: str) -> str:
    return mark.partition("/")[0]


def tail_of(mark: str) -> str:
    """Holder and place; empty for the mark of a program, or of an earlier version."""
    return mark.partition("/")[2]


def holder_of(mark: str) -> str:
    """Empty for the mark of a program, or of an earlier version."""
    return mark.split("/", 2)[1] if mark.count("/") > 1 else ""


def place_of(mark: str) -> str:
    """Empty for the mark of a program, or of an earlier version."""
    return mark.split("/", 2)[2] if mark.count("/") > 1 else ""


def kin_of(mark: str) -> tuple[str, ...]:
    """What marks of one origin have in common, the root, and those of one object, holder and place."""
    return tuple(filter(None, (root_of(mark), tail_of(mark))))


def is_root_of_object(root: str) -> bool:
    """Whether an object of Kubernetes can have a mark with this root; the roots of programs have another version."""
    return _version(root) == 4


def is_owned_in(mark: str, owner: str) -> bool:
    """Whether the object of the mark is `owner`, NAMESPACE/NAME, or in that namespace."""
    namespace, _, name = owner.partition("/")
    if name:
        return place_of(mark) in {place(kind, namespace, name) for kind in _KINDS}
    return place_of(mark).split("/")[1:2] == [namespace]


def in_words(mark: str) -> str:
    """Whose it is, for people. The mark itself is never told."""
    kind, _, rest = place_of(mark).partition("/")
    if kind in _KINDS:
        return f"{_KINDS[kind]} {rest}"
    if _version(mark) == 4:
        return "an object that an earlier version of Windlass served"
    return "a program that made it with create_instance" if _version(mark) == 5 else "an unknown owner"


def _version(root: str) -> int | None:
    try:
        return uuid.UUID(root).version
    except ValueError:
        return None


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()
