"""On which subnet the address of a load balancer is, where there are several."""

import pytest

from windlass.openstack.cloud.resources import Subnet
from windlass.openstack.cluster.vip_subnet import vip_subnet

FOUR = Subnet(id="four", cidr="10.0.0.0/24")
FOUR_2 = Subnet(id="four2", cidr="10.0.1.0/24")
SIX = Subnet(id="six", cidr="fd00::/64")


@pytest.mark.parametrize(
    ("subnets", "floats", "listed", "chosen"),
    [
        pytest.param([FOUR], False, False, "four", id="one"),
        pytest.param([SIX, FOUR], True, False, "four", id="a floating IP, and the network has both"),
        pytest.param([SIX, FOUR], True, True, "four", id="a floating IP, and the spec has both"),
        pytest.param([SIX, FOUR_2, FOUR], True, True, "four2", id="the first of two IPv4"),
        pytest.param([SIX, FOUR], False, True, "six", id="no floating IP: the spec's order counts"),
        pytest.param([SIX, FOUR], False, False, "four", id="no floating IP, no order"),
        pytest.param([SIX], False, False, "six", id="IPv6 alone"),
        pytest.param([SIX], True, True, None, id="a floating IP, and IPv6 alone"),
        pytest.param([Subnet(id="odd")], True, False, "odd", id="no CIDR is told"),
    ],
)
def test_ipv4_comes_first_unless_the_spec_has_another_order(
    subnets: list[Subnet], floats: bool, listed: bool, chosen: str | None
) -> None:
    found = vip_subnet(subnets, floats=floats, listed=listed)
    assert (found.id if found is not None else None) == chosen


@pytest.mark.parametrize(
    ("address", "primary", "floats", "chosen"),
    [
        pytest.param("10.0.1.7", None, True, "four2", id="the subnet of a known address"),
        pytest.param("fd00::7", None, False, "six", id="the same of IPv6"),
        pytest.param("fd00::7", None, True, None, id="no floating IP leads to that"),
        pytest.param("192.0.2.7", None, True, "four", id="an address on none of them"),
        pytest.param("api.example", None, True, "four", id="no address at all"),
        pytest.param("", FOUR_2, True, "four2", id="the primary subnet"),
        pytest.param("", SIX, False, "six", id="a primary subnet with IPv6"),
        pytest.param("", SIX, True, None, id="the same, with a floating IP"),
        pytest.param("10.0.0.7", FOUR_2, True, "four", id="a known address counts before the primary subnet"),
    ],
)
def test_a_known_address_and_the_primary_subnet_count_before_the_order(
    address: str, primary: Subnet | None, floats: bool, chosen: str | None
) -> None:
    found = vip_subnet([FOUR, FOUR_2, SIX], address=address, primary=primary, floats=floats, listed=False)
    assert (found.id if found is not None else None) == chosen
