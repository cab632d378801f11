"""Finds what a rendered MachineConfig says about registries, so that a builder pulls as the nodes do. Pure.

| file of the MachineConfig | what it says |
|---|---|
| `/etc/containers/registries.conf`, `registries.conf.d/*` | mirrors, blocked and insecure registries |
| `/etc/containers/policy.json` | whose signatures are demanded |
| `/etc/containers/registries.d/*` | where signatures lie |
| `/etc/containers/certs.d/HOST/*`, `/etc/docker/certs.d/HOST/*` | CAs and client certificates of one registry |

Other files of that folder are none of a builder's: `storage.conf` says where a node keeps its images.
"""

import re
from collections.abc import Mapping
from typing import Final

from windlass.os_build.inputs.contents import decoded, is_remote
from windlass.os_build.inputs.machine_config import File, Ignition, Invalid, clean, located

REGISTRIES: Final = "registries.conf"
REGISTRIES_FOLDER: Final = "registries.conf.d"
LOOKASIDE: Final = "registries.d"
POLICY: Final = "policy.json"
_WANTED: Final = re.compile(
    r"/etc/containers/(registries\.conf|policy\.json|(?:registries\.conf\.d|registries\.d)/[^/]+)"
    r"|/etc/(?:containers|docker)/(certs\.d/[^/]+/[^/]+)"
)


def container_files(config: Ignition) -> Mapping[str, bytes]:
    """The files by their path below /etc/containers. Raises Invalid."""
    found: dict[str, bytes] = {}
    for where, node in located(config):
        wanted = _WANTED.fullmatch(clean(node.path, where=where))
        if wanted and isinstance(node, File):
            found[wanted[1] or wanted[2]] = _content(node, where=where)
    return dict(sorted(found.items()))


def _content(file: File, *, where: str) -> bytes:
    content = b""
    for name, resource in file.resources:
        if is_remote(resource):
            raise Invalid(
                f"{where}: {name}.source",
                "nothing is fetched for a builder, and it needs this file",
                "give its content as a data URL",
            )
        content += decoded(resource, where=f"{where}: {name}")
    return content
