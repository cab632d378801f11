"""The mark of an owner on what it has in a cloud: how it is written, and how it is read back.

Servers and volumes have it in their metadata, under `MARK`. All others have it at the end of their description:

    Created by Windlass for cluster one windlass-owner=0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55

Tags would leave the description to the user, but Neutron takes none in the POST of a trunk, and drops those in the POST
of a port unless its extension driver `tag_ports_during_bulk_creation` is loaded, which it is not by default. A resource
whose POST got no answer would then never be found.
"""

from collections.abc import Mapping
from typing import Final

from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.resources import Markable, Server, Volume

DESCRIPTION_LIMIT: Final = 255
"""The length of a description that Neutron accepts."""
_KEY: Final = f"{MARK}="


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
