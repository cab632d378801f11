"""Names a MachineOSBuild as the Machine Config Operator does, so that neither builds what the other has built. Pure.

The name is a hash of the pool's `spec.configuration` (with the MachineConfigs that were merged), the `spec` of the
MachineOSConfig, and the images and the release of the rendered MachineConfig. Labels, annotations, status and
`paused` do not count.

Operators up to 4.19 take images and release from the ConfigMap `machine-config-osimageurl`. The name is the same unless
a MachineConfig has other images than the release.
"""

import hashlib
import re
from datetime import date
from typing import Any, Final

import yaml

from windlass.api.machineconfiguration import GROUP, MachineConfigPool, RenderedMachineConfig
from windlass.api.machineosconfig import MachineOSConfig
from windlass.api.meta import tree
from windlass.os_build.constants import RELEASE
from windlass.os_build.request import RENDERED, Problem

CONTROLLER: Final = f"{GROUP}/generated-by-controller-version"
_SALT: Final = bytes.fromhex(
    "107ccee48b38afaf4fe586769d9ad36e195d2ffdac6a2507ae0da0b96e115734db830cceda8d7487bcb5c097e93e7ea54053b3770fa8d0c5"
    "926b3ae385bcee1a211aebca20ad1fea2990944f06ce1716"
)
"""The operator's, for all its hashes."""


def build_name(config: MachineOSConfig, pool: MachineConfigPool, rendered: RenderedMachineConfig) -> str | Problem:
    """The name of the MachineOSBuild for what the MachineOSConfig and its pool ask for now.

    `rendered` is the MachineConfig that the pool's `spec.configuration` names.
    """
    if pool.metadata.name != config.spec.machine_config_pool.name:
        return Problem(
            "PoolMismatch",
            f"MachineOSConfig {config.metadata.name} is for MachineConfigPool {config.spec.machine_config_pool.name}, "
            f"not for {pool.metadata.name}: correct spec.machineConfigPool.name",
        )
    if not (wanted := rendered.metadata.name).startswith(RENDERED):
        return Problem("NotRendered", f"MachineConfig {wanted} is not a rendered one: its name begins with {RENDERED}")
    for annotation in (RELEASE, CONTROLLER):
        if not rendered.metadata.annotations.get(annotation):
            return Problem(
                "NotRendered",
                f"MachineConfig {wanted} has no annotation {annotation}: the Machine Config Operator sets it when it "
                "renders; delete the MachineConfig, and it is rendered again",
            )
    images = {
        "BaseOSContainerImage": rendered.spec.os_image_url,
        "BaseOSExtensionsContainerImage": rendered.spec.base_os_extensions_container_image,
        "OSImageURL": "",
        "ReleaseVersion": rendered.metadata.annotations[RELEASE],
    }
    return f"{config.metadata.name}-{_hashed(tree(pool.spec.configuration), tree(config.spec), images)}"


def _hashed(*trees: object) -> str:
    digest = hashlib.md5(_SALT, usedforsecurity=False)
    for one in trees:
        digest.update(written(one))
    return digest.hexdigest()


# Writes YAML byte for byte as the Machine Config Operator does: its names are hashes of that.
#
# The operator's library is gopkg.in/yaml.v2. libyaml lays out texts in the same way, and leaves to us which of them are
# quoted because they would be read as something else.
#
# `tests/data/os_build/go_yaml.json` is a table of what the library itself wrote. Texts that the library cannot write,
# and those with a U+0085, U+2028, U+2029 or U+FEFF, come out differently: the name is then another one than the
# operator's.

try:
    from yaml import CSafeDumper as _SafeDumper
except ImportError:  # PyYAML was built without libyaml: it breaks some long lines elsewhere, otherwise the same
    from yaml import SafeDumper as _SafeDumper  # type: ignore[assignment]

_STRING: Final = "tag:yaml.org,2002:str"
_WORDS: Final = {"", "~"} | {
    spelled
    for word in ("y", "yes", "true", "on", "n", "no", "false", "off", "null")
    for spelled in (word, word.capitalize(), word.upper())
}
_NOT_FINITE: Final = re.compile(r"\.(?:nan|NaN|NAN)|[-+]?\.(?:inf|Inf|INF)")
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0b[-+][01]+)")
_DECIMAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASE_60: Final = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIME: Final = re.compile(
    r"""([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})
    (?:(?:[Tt](?:[01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:[.,][0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2}))
    |(?:\ (?:[01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](?:[.,][0-9]+)?))?""",
    re.VERBOSE,
)


class _Dumper(_SafeDumper):
    """No text stands for anything but itself: `_text` decides which are quoted."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's protocol

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _reads_as_something_else(text) else None
    return dumper.represent_scalar(_STRING, text, style=style)


def _null(dumper: _Dumper, _: None) -> yaml.ScalarNode:
    return dumper.represent_scalar(_STRING, "null")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(type(None), _null)


def written(tree: Any) -> bytes:
    """`tree` of mappings, lists, texts and nulls, with sorted keys.

    >>> print(written({"b": "yes", "a": ["1:30", None]}).decode(), end="")
    a:
    - "1:30"
    - null
    b: "yes"
    """
    text: str = yaml.dump(tree, Dumper=_Dumper, allow_unicode=True)
    # libyaml ends a document in this way if its last text ends with empty lines. Lines of texts are indented.
    return (text.removesuffix("...\n") if text.endswith("\n...\n") else text).encode()


def _reads_as_something_else(text: str) -> bool:
    if text in _WORDS or _NOT_FINITE.fullmatch(text) or _BASE_60.fullmatch(text) or _is_time(text):
        return True
    digits = text if text.startswith("_") else text.replace("_", "")
    return bool(_INTEGER.fullmatch(digits) or _DECIMAL.fullmatch(digits))


def _is_time(text: str) -> bool:
    if not (found := _TIME.fullmatch(text)):
        return False
    try:
        date(*map(int, found.group(1, 2, 3)))
    except ValueError:
        return False
    return True
