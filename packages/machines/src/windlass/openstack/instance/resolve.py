"""Makes every choice that an `InstanceSpec` leaves open, so that nothing that is created depends on a later answer.

    answers = await project.find(queries(spec))
    resolved = resolve(spec, answers)    # Resolved, or everything that is in the way

All questions are asked at the same time. Subnets are therefore asked for in all networks, and those of the port's
network are picked afterwards. IDs of images, flavors, networks, security groups and server groups are trusted and cost
no request. A subnet is asked for even by its ID, because it must be in the port's network, or tells which one that is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec.structs import replace

from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.query import EXTENSIONS, Answers, Query
from windlass.openstack.cloud.resources import BalancerProvider, Extension, Image, Keypair, Resource, Subnet, Zone
from windlass.openstack.instance.spec import (
    FixedAddress,
    InstanceSpec,
    PortSpec,
    Problem,
    Resolved,
    ResolvedAddress,
    ResolvedPort,
    ResolvedVolume,
    VolumeSpec,
)

Obstacle: TypeAlias = Problem | CloudFailure

_WITHOUT_ID: Final = (BalancerProvider, Extension, Keypair, Zone)
ROOT: Final = "root"
"""The last part of the root volume's name."""

FIXED_OPTIONS: Final = frozenset(
    {
        "allowed_address_pairs",
        "description",
        "device_id",
        "device_owner",
        "fixed_ips",
        "name",
        "network_id",
        "port_security_enabled",
        "project_id",
        "security_groups",
        "shared",
        "tags",
        "tenant_id",
    }
)
"""Attributes of a port that have a field of their own, or that a user may not choose."""


def queries(spec: InstanceSpec) -> tuple[Query, ...]:
    """All questions about `spec`, each once. None of them depends on the answer to another one."""
    ports = [port for port in _ports(spec) if not port.id]
    asked = [spec.image, spec.flavor, spec.server_group, spec.network]
    asked += [port.network for port in ports]
    asked += [_own(group) for group in (*spec.groups, *(group for port in ports for group in port.groups or ()))]
    by_filter = [query for query in asked if query is not None and not query.id]
    subnets = [*spec.subnets, *(each.subnet for port in ports for each in port.addresses if each.subnet is not None)]
    extensions = [EXTENSIONS] if any(_trunk(spec, port) for port in ports) else []
    return tuple(dict.fromkeys([*by_filter, *subnets, *extensions]))


def resolve(spec: InstanceSpec, answers: Answers) -> Resolved | tuple[Obstacle, ...]:
    """`spec` with every choice made, or all obstacles, so that a user corrects everything at once.

    A query without an answer counts as one that nothing matches.
    """
    resolution = _Resolution(spec, answers)
    resolved = resolution.made()
    obstacles = (*_contradictions(spec), *resolution.obstacles)
    return tuple(dict.fromkeys(obstacles)) or resolved


def is_complete(spec: InstanceSpec, resolved: Resolved) -> bool:
    """Whether `resolved` has every choice of `spec`. One that an older provider stored has no volumes."""
    ports = len(resolved.ports) == len(_ports(spec))
    return bool(resolved.image_id and resolved.flavor_id and ports and resolved.volumes == tuple(volumes_of(spec)))


class _Resolution:
    """Goes on after an obstacle, with an empty ID, and collects all obstacles."""

    def __init__(self, spec: InstanceSpec, answers: Answers) -> None:
        self._spec = spec
        self._answers = answers
        self.obstacles: list[Obstacle] = []

    def made(self) -> Resolved:
        spec = self._spec
        return Resolved(
            server_group_id=self._one("server_group", spec.server_group) if spec.server_group else "",
            image_id=self._image(spec.image),
            flavor_id=self._one("flavor", spec.flavor),
            ports=tuple(self._port(index, port) for index, port in enumerate(_ports(spec))),
            volumes=tuple(volumes_of(spec)),
        )

    def _image(self, query: Query) -> str:
        """Of several images of one name, the active one: the others are being uploaded, or were never finished."""
        if query.id:
            return query.id
        found = self._found(query)
        usable = [each for each in found if isinstance(each, Image) and each.status in ("active", "")]
        if found and not usable:
            states = ", ".join(sorted({each.status for each in found if isinstance(each, Image)}))
            text = f"{query} is {states}, not active: finish its upload, or choose another image"
            self.obstacles.append(Problem("Dependency", "image", text))
            return ""
        return self._only("image", query, usable)

    def _port(self, index: int, port: PortSpec) -> ResolvedPort:
        spec, field = self._spec, f"ports[{index}]"
        if port.id:
            return ResolvedPort(id=port.id)
        network, addresses = self._network(field, port)
        secure = port.port_security is not False
        trunk = _trunk(spec, port)
        if trunk and not any(isinstance(each, Extension) and each.alias == "trunk" for each in self._found(EXTENSIONS)):
            text = "the cloud has no trunk ports (Neutron extension `trunk`): do without trunks, or ask its operators"
            self._add(Problem("Dependency", f"{field}.trunk", text), unless_failed=EXTENSIONS)
        groups, whose = (spec.groups, "groups") if port.groups is None else (port.groups, f"{field}.groups")
        return ResolvedPort(
            name=_port_name(spec, index, port),
            network_id=network,
            addresses=tuple(self._address(field, at, each, network) for at, each in enumerate(addresses)),
            groups=tuple(self._groups(whose, groups)) if secure else (),
            description=port.description or (f"Created by Windlass for cluster {spec.cluster}" if spec.cluster else ""),
            tags=tuple(dict.fromkeys((*spec.tags, *port.tags))),
            trunk=trunk,
            port_security=port.port_security,
            address_pairs=port.address_pairs if secure else (),
            switchdev=port.switchdev,
            trusted=port.trusted,
            options=port.options,
        )

    def _network(self, field: str, port: PortSpec) -> tuple[str, tuple[FixedAddress, ...]]:
        """The network of the port, and its fixed addresses."""
        spec = self._spec
        if port.network is not None:
            return self._one(f"{field}.network", port.network), port.addresses
        if any(address.subnet is not None for address in port.addresses):
            return self._inferred(field, port), port.addresses
        if spec.network is not None:
            default = tuple(FixedAddress(subnet) for subnet in spec.subnets)
            return self._one("network", spec.network), port.addresses or default
        text = (
            "the port has no network and no subnet to infer it from, and there is no default network: give the"
            " port a network, or a fixed address with a subnet"
        )
        self.obstacles.append(Problem("Invalid", f"{field}.network", text))
        return "", ()

    def _inferred(self, field: str, port: PortSpec) -> str:
        """The network of the first subnet that matches exactly once. A subnet that nothing matches is an obstacle."""
        ambiguous: list[str] = []
        for at, address in enumerate(port.addresses):
            if address.subnet is None:
                continue
            found = [each for each in self._found(address.subnet) if isinstance(each, Subnet)]
            if len(found) == 1:
                return found[0].network_id
            if not found:
                self._mismatch(f"{field}.addresses[{at}].subnet", address.subnet, 0)
                return ""
            ambiguous.append(f"{address.subnet} matches {len(found)}")
        text = (
            f"the network cannot be inferred from the subnets, because none of them matches exactly one:"
            f" {'; '.join(ambiguous)}; give the port a network, or name a subnet by its ID"
        )
        self.obstacles.append(Problem("Dependency", f"{field}.network", text))
        return ""

    def _address(self, field: str, at: int, address: FixedAddress, network: str) -> ResolvedAddress:
        if address.subnet is None or not network:  # without a network, an obstacle says so already
            return ResolvedAddress(address=address.address)
        found = [each for each in self._found(address.subnet) if isinstance(each, Subnet)]
        here = [each for each in found if each.network_id == network]
        where = f"{field}.addresses[{at}].subnet"
        if found and not here:
            text = f"no match of {address.subnet} is in network {network}: name a subnet of this network"
            self.obstacles.append(Problem("Dependency", where, text))
            return ResolvedAddress(address=address.address)
        return ResolvedAddress(self._only(where, address.subnet, here), address.address)

    def _groups(self, field: str, groups: Iterable[Query]) -> Iterator[str]:
        """All groups that match, each once: unlike everything else, a filter may match several."""
        ids: dict[str, None] = {}
        for at, group in enumerate(groups):
            query = _own(group)
            found = [query.id] if query.id else _ids(self._found(query))
            if not found:
                self._mismatch(f"{field}[{at}]", query, 0)
            ids.update(dict.fromkeys(found))
        return iter(ids)

    def _one(self, field: str, query: Query) -> str:
        return query.id or self._only(field, query, self._found(query))

    def _only(self, field: str, query: Query, found: Iterable[Resource]) -> str:
        """The ID of the only one; else an obstacle."""
        ids = _ids(found)
        if len(ids) == 1:
            return ids[0]
        self._mismatch(field, query, len(ids))
        return ""

    def _mismatch(self, field: str, query: Query, count: int) -> None:
        matches = f"{count} {query.kind}s match" if count else f"no {query.kind} matches"
        remedy = "name one by its ID" if count else f"create it, share it with the project, or correct `{field}`"
        text = f"{matches} {query}: {remedy}"
        self._add(Problem("Dependency", field, text), unless_failed=query)

    def _found(self, query: Query) -> tuple[Resource, ...]:
        answer = self._answers.get(query, ())
        if isinstance(answer, CloudFailure):
            self.obstacles.append(answer)
            return ()
        return answer

    def _add(self, problem: Problem, *, unless_failed: Query) -> None:
        """If a query failed, the absence of its answer is no problem of the spec."""
        if not isinstance(self._answers.get(unless_failed), CloudFailure):
            self.obstacles.append(problem)


def _ids(found: Iterable[Resource]) -> list[str]:
    return [each.id for each in found if not isinstance(each, _WITHOUT_ID)]


def _contradictions(spec: InstanceSpec) -> Iterator[Problem]:
    """What is wrong with `spec` itself, whatever the cloud answers."""
    if MARK in spec.metadata:
        text = f"`{MARK}` is how Windlass marks what it creates: use another key"
        yield Problem("Invalid", "metadata", text)
    for index, port in enumerate(_ports(spec)):
        field = f"ports[{index}]"
        if port.port_security is False and port.groups:
            text = "a port without port security cannot have security groups: remove them, or leave port security on"
            yield Problem("Invalid", f"{field}.groups", text)
        fixed = FIXED_OPTIONS | ({"binding:profile"} if port.switchdev or port.trusted else set())
        if taken := sorted(fixed & port.options.keys()):
            text = f"{', '.join(taken)} may not be set here: use the port's own field where there is one"
            yield Problem("Invalid", f"{field}.options", text)
    made = ((index, port) for index, port in enumerate(_ports(spec)) if not port.id)
    for name in _repeated(_port_name(spec, index, port) for index, port in made):
        text = f"more than one port would have the name {name}: give each its own name suffix"
        yield Problem("Invalid", "ports", text)
    for name in _repeated([*([ROOT] if spec.root else []), *(disk.name for disk in spec.disks)]):
        text = f"more than one disk has the name `{name}` (`{ROOT}` is that of the root volume): rename one"
        yield Problem("Invalid", "disks", text)


def volumes_of(spec: InstanceSpec) -> Iterator[ResolvedVolume]:
    """The volumes of the server, in order. They depend on nothing in the cloud."""
    if spec.root is not None:
        yield _volume(spec, spec.root, name=ROOT, tag="")
    for disk in spec.disks:
        if isinstance(disk, VolumeSpec):
            yield _volume(spec, disk, name=disk.name, tag=disk.name)


def _volume(spec: InstanceSpec, volume: VolumeSpec, *, name: str, tag: str) -> ResolvedVolume:
    zone = spec.zone if volume.zone_of_server else volume.zone
    return ResolvedVolume(name=f"{spec.name}-{name}", size=volume.size, type=volume.type, zone=zone, tag=tag)


def _ports(spec: InstanceSpec) -> tuple[PortSpec, ...]:
    """Nova needs a port: one on the default network, if none is wanted in particular."""
    return spec.ports or (PortSpec(),)


def _port_name(spec: InstanceSpec, index: int, port: PortSpec) -> str:
    return f"{spec.name}-{port.suffix or index}"


def _trunk(spec: InstanceSpec, port: PortSpec) -> bool:
    return spec.trunk if port.trunk is None else port.trunk


def _own(group: Query) -> Query:
    """Security groups are those of the project itself, unless the filter names another one."""
    named = any(name in ("project_id", "tenant_id") for name, _ in group.filters)
    return group if group.id or named else replace(group, own=True)


def _repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
