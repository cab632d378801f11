"""The allowed address pairs of ports that exist: the one thing of a port that may be changed while its server lives.

| pair | what is done |
|---|---|
| in the spec, and not on the port | it is added |
| in the choices that were stored, and not in the spec any more | it is removed |
| on the port, and in neither | it stays: others add pairs too, as OpenShift does for egress IPs |

The stored choices have all pairs that may have been sent, so none is lost when the spec changes once more meanwhile:

| stored choices | next |
|---|---|
| lack a pair of the spec | it is stored with them, before anything is sent |
| have all of them | the port gets the difference |
| the same, and the port has it | only those of the spec stay stored |
"""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import TypeAlias

from msgspec.structs import replace

from windlass.openstack.cloud.requests import SetAddressPairs
from windlass.openstack.cloud.resources import Port
from windlass.openstack.instance.spec import InstanceSpec, Resolved, ResolvedPort

Pair: TypeAlias = Mapping[str, str]
"""`ip_address` (an address or a CIDR), and `mac_address`, without which it is that of the port."""
Pairs: TypeAlias = Sequence[Pair]


def with_pairs(resolved: Resolved, spec: InstanceSpec) -> Resolved:
    """The choices to be stored when no request is left to be sent; unchanged if there is nothing to store."""
    ports = tuple(replace(port, address_pairs=_stored(port, wanted)) for port, wanted in _wanted(resolved, spec))
    return resolved if ports == resolved.ports else replace(resolved, ports=ports)


def _stored(port: ResolvedPort, wanted: Pairs) -> tuple[Pair, ...]:
    new = [each for each in wanted if each not in port.address_pairs]
    return (*port.address_pairs, *new) if new else tuple(wanted)


def changes(
    resolved: Resolved, spec: InstanceSpec, ports: Sequence[Port | None], *, project: str, mark: str
) -> Iterator[SetAddressPairs]:
    """The requests to the `ports` that exist, in the order of the spec."""
    for (port, wanted), found in zip(_wanted(resolved, spec), ports, strict=True):
        if found is None or port.id or any(each not in port.address_pairs for each in wanted):
            continue
        has = found.allowed_address_pairs or []
        after = merged(has, before=port.address_pairs, wanted=wanted)
        if after != has:
            yield SetAddressPairs(
                project=project,
                mark=mark,
                subject=found.name or found.id,
                id=found.id,
                before=tuple(has),
                pairs=tuple(after),
            )


def merged(on_port: Pairs, *, before: Pairs, wanted: Pairs) -> list[Pair]:
    """The pairs that the port should have: those that it has, without those that were ours and are not any more, and
    with those that are missing."""
    kept = [
        each for each in on_port if any(_is(each, one) for one in wanted) or not any(_is(each, one) for one in before)
    ]
    return [*kept, *(one for one in wanted if not any(_is(each, one) for each in kept))]


def _wanted(resolved: Resolved, spec: InstanceSpec) -> Iterator[tuple[ResolvedPort, Pairs]]:
    """Each port with the pairs of the spec. Where these cannot be told, as for an older number of ports, its own."""
    asked = spec.ports if len(spec.ports) == len(resolved.ports) else ()
    for place, port in enumerate(resolved.ports):
        named = asked[place].address_pairs if asked else port.address_pairs
        yield port, named if port.port_security is not False else ()


def _is(pair: Pair, asked: Pair) -> bool:
    """Neutron tells each pair with a MAC address; without one, the one of the port was meant."""
    mac = asked.get("mac_address", "")
    return _network(pair) == _network(asked) and mac.lower() in ("", pair.get("mac_address", "").lower())


def _network(pair: Pair) -> object:
    address = pair.get("ip_address", "")
    try:
        return ip_network(address, strict=False)
    except ValueError:
        return address
