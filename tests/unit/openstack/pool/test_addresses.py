"""Which floating IP of a pool a claim is given, and which are missing or surplus, as a table."""

from typing import Any

import msgspec
import pytest

from windlass.api.capo_pool import OpenStackFloatingIPPool
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.resources import FloatingIp
from windlass.openstack.pool.addresses import Allocation, allocate

from .cases import MARK

ONE, TWO, USERS = "203.0.113.1", "203.0.113.2", "203.0.113.50"


def floating(address: str, *, mark: str = MARK, port: str | None = None) -> FloatingIp:
    description = f"Created by Windlass windlass-owner={mark}" if mark else ""
    return FloatingIp(id=f"id of {address}", floating_ip_address=address, description=description, port_id=port)


def present(kind: type[Any], name: str, *, deleting: bool = False, **fields: Any) -> Present[Any]:
    meta = {"name": name, "creationTimestamp": "2026-11-22T11:00:00Z"}
    if deleting:
        meta["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    found = {"metadata": meta, **fields}
    return Present(msgspec.convert(found, kind), msgspec.json.encode(found))


def claims(*names: str) -> list[Present[IPAddressClaim]]:
    return [present(IPAddressClaim, each) for each in names]


def given(name: str, address: str, *, deleting: bool = False) -> Present[IPAddress]:
    return present(IPAddress, name, deleting=deleting, spec={"address": address})


def allocated(
    *floating_ips: FloatingIp,
    claims: list[Present[IPAddressClaim]] | None = None,
    given: list[Present[IPAddress]] | None = None,
    recorded: dict[str, str] | None = None,
    users: tuple[str, ...] = (),
    policy: str = "Delete",
    most: int | None = None,
    **more: Any,
) -> Allocation:
    tree = {
        "spec": {"preAllocatedFloatingIPs": list(users), "reclaimPolicy": policy, "maxIPs": most},
        "status": {"claims": [{"name": name, "address": address} for name, address in (recorded or {}).items()]},
    }
    pool = msgspec.convert(tree, OpenStackFloatingIPPool)
    return allocate(pool, claims or [], given or [], floating_ips, mark=MARK, **more)


def test_an_address_is_kept_for_a_claim_that_is_not_known_to_be_gone() -> None:
    """Its IPAddress may exist although the cache has neither: nobody else is given the address, and it stays."""
    recorded = {"a": ONE}
    found = allocated(floating(ONE), claims=claims("b"), recorded=recorded, unknown=frozenset({"a"}))
    assert (found.kept, found.missing, found.surplus) == (recorded, ("b",), ())
    found = allocated(floating(ONE), claims=claims("b"), recorded=recorded)
    assert (found.kept, found.missing) == ({"b": ONE}, ()), "it is gone, so the next claim is given its address"


def test_an_ip_address_has_its_address_whatever_the_status_says() -> None:
    found = allocated(floating(ONE), claims=claims("b"), given=[given("a", ONE)])
    assert (found.kept, found.missing) == ({"a": ONE}, ("b",))


def test_a_released_address_that_the_pool_has_not_made_stays() -> None:
    """Such as one that the user named once."""
    assert allocated(floating(USERS, mark=""), given=[given("a", USERS, deleting=True)]).surplus == ()


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param([], id="nobody has it"),
        pytest.param([given("a", USERS, deleting=True)], id="it is released"),
    ],
)
def test_an_address_that_the_user_names_is_never_surplus(addresses: list[Present[IPAddress]]) -> None:
    """Not even one that the pool has made, and the user has named since."""
    made = floating(USERS)
    assert allocated(made, given=addresses, users=(USERS,)).surplus == ()
    assert allocated(made, given=addresses).surplus == (made,)


@pytest.mark.parametrize(
    ("mark", "policy", "surplus"),
    [
        pytest.param(MARK, "Delete", [ONE], id="made by the pool"),
        pytest.param(MARK, "Retain", [], id="retained"),
        pytest.param("", "Delete", [], id="of nobody"),
        pytest.param("7d3f0d9a-0000-4000-8000-00000000000f", "Delete", [], id="of another pool"),
    ],
)
def test_what_the_pool_has_made_and_nobody_claims_is_surplus(mark: str, policy: str, surplus: list[str]) -> None:
    found = allocated(floating(ONE, mark=mark), policy=policy)
    assert [each.floating_ip_address for each in found.surplus] == surplus


@pytest.mark.parametrize(
    ("there", "certain", "kept", "missing"),
    [
        pytest.param([ONE], True, {"a": ONE}, (), id="it is there"),
        pytest.param([], False, {"a": ONE}, (), id="nobody knows whether it is there"),
        pytest.param([], True, {}, ("a",), id="it is gone"),
        pytest.param([TWO], True, {"a": TWO}, (), id="it is gone, and another one is free"),
    ],
)
def test_a_recorded_address_is_kept_until_it_is_known_to_be_gone(
    there: list[str], certain: bool, kept: dict[str, str], missing: tuple[str, ...]
) -> None:
    found = allocated(*map(floating, there), claims=claims("a"), recorded={"a": ONE}, certain=certain)
    assert (found.kept, found.missing) == (kept, missing)


def test_what_leads_to_a_port_is_in_use_and_given_to_nobody() -> None:
    found = allocated(floating(ONE, port="p"), floating(TWO), claims=claims("a"))
    assert (found.kept, found.surplus) == ({"a": TWO}, ())
    found = allocated(floating(USERS, mark="", port="p"), claims=claims("a"), users=(USERS,))
    assert (found.missing, found.failed) == (("a",), (USERS,))


def test_the_limit_counts_what_is_kept_whoever_made_it() -> None:
    found = allocated(floating(USERS, mark=""), claims=claims("a", "b", "c"), users=(USERS,), most=2)
    assert (found.kept, found.missing, found.refused) == ({"a": USERS}, ("b",), ("c",))
    assert allocated(claims=claims("a"), recorded={"b": ONE}, unknown=frozenset({"b"}), most=1).refused == ("a",)
