"""Which allowed address pairs a port gets when the spec has changed, and which of others stay."""

from typing import Any

import pytest

from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Port
from windlass.openstack.instance.address_pairs import changes, merged, with_pairs
from windlass.openstack.instance.spec import InstanceSpec, PortSpec, Resolved, ResolvedPort

A, B, C = ({"ip_address": f"10.0.0.{n}"} for n in (1, 2, 3))
MAC, OTHER = "fa:16:3e:00:00:01", "fa:16:3e:00:00:02"


def told(*pairs: dict[str, str], mac: str = MAC) -> list[dict[str, str]]:
    """As Neutron has them."""
    return [{"mac_address": mac, **each} for each in pairs]


@pytest.mark.parametrize(
    ("on_port", "before", "wanted", "expected"),
    [
        pytest.param([], [], [A], [A], id="one more"),
        pytest.param(told(A), [A], [A, B], [*told(A), B], id="a second one"),
        pytest.param(told(A, B), [A, B], [B], told(B), id="one less"),
        pytest.param(told(A), [A], [], [], id="none any more"),
        pytest.param(told(A, C), [A], [B], [*told(C), B], id="another one, and one of somebody else"),
        pytest.param(told(A, B), [A], [A, B], told(A, B), id="it is there already"),
        pytest.param(told(B), [A], [B], told(B), id="it was removed already"),
        pytest.param([{"ip_address": "10.0.0.1/32", "mac_address": MAC}], [A], [], [], id="a host in the other form"),
        pytest.param(
            told(A), [A], [{**A, "mac_address": OTHER}], [{**A, "mac_address": OTHER}], id="another MAC address"
        ),
        pytest.param(told(A), [{**A, "mac_address": MAC.upper()}], [], [], id="a MAC address in capitals"),
        pytest.param(told(A), [{**A, "mac_address": OTHER}], [], told(A), id="that of somebody else stays"),
        pytest.param([], [], [{"ip_address": "odd"}], [{"ip_address": "odd"}], id="no address: Neutron says so"),
    ],
)
def test_only_what_the_spec_had_and_has_changes(on_port: Any, before: Any, wanted: Any, expected: Any) -> None:
    assert merged(on_port, before=before, wanted=wanted) == expected


def spec(*pairs: Any, ports: int = 1) -> InstanceSpec:
    return InstanceSpec(
        name="w", image=Query("image"), flavor=Query("flavor"), ports=(PortSpec(address_pairs=pairs),) * ports
    )


def choices(*pairs: Any, **fields: Any) -> Resolved:
    return Resolved(image_id="i", flavor_id="f", ports=(ResolvedPort(name="w-0", address_pairs=pairs, **fields),))


def sent(resolved: Resolved, wanted: InstanceSpec, port: Port | None) -> list[Any]:
    return [list(each.pairs) for each in changes(resolved, wanted, [port], project="p", mark="m")]


def test_a_change_is_stored_before_it_is_sent_and_forgotten_when_the_port_has_it() -> None:
    port = Port(id="p1", name="w-0", allowed_address_pairs=told(A))
    assert sent(choices(A), spec(B), port) == [], "B is not stored"
    both = with_pairs(choices(A), spec(B))
    assert both == choices(A, B)
    assert sent(both, spec(B), port) == [[B]]
    has = Port(id="p1", allowed_address_pairs=told(B))
    assert sent(both, spec(B), has) == []
    assert with_pairs(both, spec(B)) == choices(B)
    assert with_pairs(choices(B), spec(B)) == choices(B)


def test_a_change_in_the_midst_of_another_one_loses_no_pair() -> None:
    stored = with_pairs(choices(), spec(A, B))
    port = Port(id="p1", allowed_address_pairs=told(A, B))  # it was sent, and the choices were not stored again
    assert sent(stored, spec(B), port) == [told(B)]


@pytest.mark.parametrize(
    ("resolved", "wanted", "port"),
    [
        pytest.param(choices(A), spec(A), Port(id="p1", allowed_address_pairs=told(A, C)), id="one of somebody else"),
        pytest.param(choices(A), spec(B), None, id="there is no port"),
        pytest.param(
            choices(A), spec(B, ports=2), Port(id="p1", allowed_address_pairs=told(A)), id="another number of ports"
        ),
        pytest.param(choices(port_security=False), spec(B), Port(id="p1"), id="no port security"),
        pytest.param(choices(id="p1"), spec(B), Port(id="p1"), id="a port of somebody else"),
    ],
)
def test_nothing_is_sent(resolved: Resolved, wanted: InstanceSpec, port: Port | None) -> None:
    assert sent(resolved, wanted, port) == []
