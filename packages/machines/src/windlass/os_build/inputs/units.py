"""Turns the systemd units of an Ignition configuration into files and links of `/etc/systemd/system`.

| declared | becomes |
|---|---|
| contents | the unit |
| a drop-in | NAME.d/DROPIN |
| masked | a link to /dev/null, and nothing else |
| enabled, contents declared | the links that `systemctl enable` makes from its [Install], drop-ins counted |
| enabled, contents in the base image | `enable NAME` in Ignition's preset file, which systemd obeys on a first boot |
| `enabled: false` | `disable NAME` in that file |

What has to change in the base image is in `base_units`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from windlass.os_build.inputs.machine_config import Invalid, Unit, clean
from windlass.os_build.inputs.node import Node

DIRECTORY: Final = "/etc/systemd/system"
PRESET: Final = "/etc/systemd/system-preset/20-ignition.preset"
_MASKED: Final = "/dev/null"
_LINKED_IN: Final = {"WantedBy": "wants", "RequiredBy": "requires", "UpheldBy": "upholds"}
_NAME: Final = re.compile(r"(?P<prefix>[^/@\0]+)(?:@(?P<instance>[^/\0]*))?\.(?P<kind>[a-z]+)")
_SPECIFIER: Final = re.compile(r"%(.)")
_CONTINUED: Final = re.compile(r"\\\n(?:[ \t]*[#;].*\n)*")


def unit_nodes(units: Sequence[Unit]) -> Iterator[Node]:
    """The files and links of all units. Raises Invalid."""
    by_name: dict[str, Unit] = {}
    for index, unit in enumerate(units):
        where = f"spec.config.systemd.units[{index}] {unit.name}"
        if not _NAME.fullmatch(unit.name):
            raise Invalid(where, "it is no name of a unit, such as example.service")
        if unit.name in by_name:
            raise Invalid(where, "another unit has the same name")
        by_name[unit.name] = unit
        yield from _unit_files(unit, where=where)
    for name in _enabled(by_name):
        if source := _source(name, by_name):
            yield from _links(name, source)
    preset = [
        *(f"enable {name}\n" for name in enabled_in_base(units)),
        *(f"disable {name}\n" for name in disabled_names(units)),
    ]
    if preset:
        yield Node(PRESET, data="".join(preset).encode())


def enabled_in_base(units: Sequence[Unit]) -> list[str]:
    """The names of units to enable whose contents are in the base image."""
    by_name = {unit.name: unit for unit in units}
    return [name for name in _enabled(by_name) if _source(name, by_name) is None]


def disabled_names(units: Sequence[Unit]) -> list[str]:
    """The names of units to disable: those declared so."""
    return [unit.name for unit in units if unit.enabled is False]


def _unit_files(unit: Unit, *, where: str) -> Iterator[Node]:
    path = f"{DIRECTORY}/{unit.name}"
    if unit.mask:
        yield Node(path, target=_MASKED, mode=0o777)
    elif unit.contents:
        yield Node(path, data=unit.contents.encode())
    for drop_in in unit.dropins or ():
        if "/" in drop_in.name or not drop_in.name.endswith(".conf"):
            raise Invalid(f"{where}: dropins {drop_in.name}", "it is no name of a drop-in, such as 10-example.conf")
        if drop_in.contents:
            yield Node(f"{path}.d/{drop_in.name}", data=drop_in.contents.encode())


def _enabled(units: Mapping[str, Unit]) -> list[str]:
    """The names of units to enable: those declared so, and those that they name in `Also`."""
    names = [unit.name for unit in units.values() if unit.enabled]
    known = set(names)
    for name in names:  # grows
        source = _source(name, units)
        also = dict.fromkeys(_install(source)["Also"]) if source else ()
        new = [other for other in also if other not in known and _NAME.fullmatch(other)]
        names += new
        known.update(new)
    return [name for name in names if name not in units or not units[name].mask]


def _source(name: str, units: Mapping[str, Unit]) -> Unit | None:
    """The declared unit that has the contents of `name`: the same, or the template of an instance."""
    found = units.get(name)
    if found is None or not found.contents:
        prefix, _, instance = name.partition("@")
        found = units.get(f"{prefix}@.{instance.rpartition('.')[2]}")
    return found if found and found.contents else None


def _links(name: str, source: Unit) -> Iterator[Node]:
    """The links that `systemctl enable NAME` makes. A template without an instance gets none of `WantedBy`."""
    install = _install(source)
    found = _NAME.fullmatch(name)
    assert found
    instance = found["instance"]
    if instance == "" and (default := install["DefaultInstance"]):
        instance = default[-1]
        name = f"{found['prefix']}@{instance}.{found['kind']}"
    values = {"%": "%", "n": name, "N": name.rpartition(".")[0], "p": found["prefix"], "i": instance or ""}
    file = f"{DIRECTORY}/{source.name}"

    def link(path: str) -> Node:
        path = _SPECIFIER.sub(lambda match: values.get(match[1], match[0]), path)
        where = f"spec.config.systemd.units: [Install] of {source.name}"
        return Node(clean(f"{DIRECTORY}/{path}", where=where), target=file, mode=0o777)

    for alias in install["Alias"]:
        yield link(alias)
    if instance != "":
        for key, suffix in _LINKED_IN.items():
            for other in install[key]:
                yield link(f"{other}.{suffix}/{name}")


def _install(unit: Unit) -> defaultdict[str, list[str]]:
    """The words of each key of all [Install] sections; an empty assignment forgets those before it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for text in (unit.contents, *(drop_in.contents for drop_in in unit.dropins or ())):
        section = ""
        for line in _CONTINUED.sub(" ", text or "").splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line
            elif section == "[Install]" and line[:1] not in ("#", ";"):
                key, _, value = line.partition("=")
                if words := value.split():
                    found[key.strip()] += words
                else:
                    found[key.strip()].clear()
    return found
