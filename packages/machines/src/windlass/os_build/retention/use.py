"""Finds out which objects of a cluster name an image. Pure.

It does not look at single fields: an image is used if its digest stands anywhere in a Node's metadata, or anywhere in
a MachineConfigPool, a MachineOSConfig, a MachineOSBuild that is not over, a ConfigMap of builds or a MachineConfig that
one of these names. So annotations of the operator's daemon that this version does not know count, too: the current
image, the desired one, and the one that a Node would go back to. Of a rendered MachineConfig that a Node or a pool
names, the newest image is used.
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

_DIGEST: Final = re.compile(rb"sha256:[a-f0-9]{64}")
_CONFIG: Final = re.compile(rb"rendered-[a-z0-9][a-z0-9.-]*")


class Use(Struct, frozen=True):
    """Who names what. `digests`, `configs`: by digest and by name of a rendered MachineConfig, one who names it."""

    digests: dict[str, str]
    configs: dict[str, str]


def use_of(images: Iterable[tuple[str, bytes]], configs: Iterable[tuple[str, bytes]]) -> Use:
    """The use by these objects, each with its name for people and its JSON. Those of `configs` are
    Nodes and pools, which name rendered MachineConfigs, too."""
    digests: dict[str, str] = {}
    named: dict[str, str] = {}
    configs = [*configs]
    for who, text in (*configs, *images):
        for digest in _DIGEST.findall(text):
            digests.setdefault(digest.decode(), who)
    for who, text in configs:
        for name in _CONFIG.findall(text):
            named.setdefault(name.decode().rstrip("-."), who)
    return Use(digests, named)


def united(*uses: Use) -> Use:
    """All of these together."""
    digests: dict[str, str] = {}
    configs: dict[str, str] = {}
    for each in uses:
        digests |= each.digests
        configs |= each.configs
    return Use(digests, configs)
