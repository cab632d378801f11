"""A machine on OpenStack moves between the APIs, with all controllers of ours: its server stays."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from tests.explore import usually
from windlass.api import capi, mapi
from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.ipam import IPAddress, IPAddressClaim
from windlass.api.meta import KubernetesObject
from windlass.kube.verbs import Api
from windlass.machine_sync.constants import CLUSTER_API, MACHINE_API
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.requests import OPENSTACK
from windlass.openstack.constants import KEPT_ANNOTATION
from windlass.testing.crash import (
    Crashed,
    CrashPoint,
    MortalApi,
    MortalCarrier,
    Scenario,
    When,
    crash_everywhere,
)

from .migrating import NAME, OTHERS, OURS, THEIRS, MigrationWorld, Ours, play
from .openstack.pool.cases import CLAIM, REF, pool

Tree = dict[str, Any]

PLAIN: Tree = {}
WHOLE: Tree = {"trunk": True, "rootVolume": {"diskSize": 10, "sourceUUID": "rhcos"}}
SPECS = pytest.mark.parametrize(
    ("value", "marked"), [pytest.param(PLAIN, 2, id="a port"), pytest.param(WHOLE, 4, id="a port, a trunk, a volume")]
)
OTHER = {MACHINE_API: CLUSTER_API, CLUSTER_API: MACHINE_API}


async def made(value: Tree, *, by: str = MACHINE_API) -> MigrationWorld:
    """A machine that was made under this authority, at rest."""
    land = MigrationWorld()
    land.api.load(*([land.machine(**value)] if by == MACHINE_API else land.infra_machine(**value)))
    await play(land)
    assert land.is_at(by), land.status
    return land


def uids(land: MigrationWorld) -> dict[str, str]:
    kinds = (mapi.Machine, capi.Machine, OpenStackMachine, OpenStackServer)
    return {
        kind.__module__ + kind.RESOURCE.kind: tree["metadata"]["uid"] for kind in kinds if (tree := land.tree(kind))
    }


@SPECS
async def test_it_goes_there_and_back_twice_and_only_marks_are_written(value: Tree, marked: int) -> None:
    land = await made(value)
    (server,), held, before = [*land.cloud.services.servers], dict(land.held()), uids(land)
    for authority in (CLUSTER_API, MACHINE_API, CLUSTER_API, MACHINE_API):
        since = len(land.cloud.requests)
        await land.move(authority)
        await play(land)
        assert land.is_at(authority), land.status
        assert [*land.cloud.services.servers] == [server]
        assert dict(land.held()) == held
        assert land.marks() == {land.mark_at(authority)}
        assert len(land.writes(since)) == marked, land.writes(since)
        assert before.items() <= uids(land).items(), "no object is made again"
    await land.api.delete(mapi.Machine, NAME, namespace=OURS)
    await play(land)
    assert not uids(land)
    assert land.held() == NOTHING


NOTHING = {"ports": 1}
"""That of the router."""


async def test_one_that_cluster_api_made_goes_to_the_machine_api_and_back_and_is_deleted_there() -> None:
    land = await made({}, by=CLUSTER_API)
    (server,), before = [*land.cloud.services.servers], uids(land)
    for authority in (MACHINE_API, CLUSTER_API):
        since = len(land.cloud.requests)
        await land.move(authority)
        await play(land)
        assert land.is_at(authority), land.status
        assert land.marks() == {land.mark_at(authority)}
        assert len(land.writes(since)) == 2
        assert uids(land) == before
    assert [*land.cloud.services.servers] == [server]
    await land.api.delete(capi.Machine, NAME, namespace=THEIRS)
    await play(land)
    assert not uids(land)
    assert land.held() == NOTHING


async def test_one_with_the_credentials_of_its_cluster_names_them_in_the_machine_api() -> None:
    land = await made({"identityRef": None}, by=CLUSTER_API)
    (server,), before = [*land.cloud.services.servers], uids(land)
    machine, infra = land.tree(mapi.Machine), land.tree(OpenStackMachine)
    assert machine is not None
    assert infra is not None
    assert "identityRef" not in infra["spec"]
    value = machine["spec"]["providerSpec"]["value"]
    assert (value["cloudsSecret"], value["cloudName"]) == ({"name": "credentials"}, "one")
    for authority in (MACHINE_API, CLUSTER_API, MACHINE_API):
        await land.move(authority)
        await play(land)
        assert land.is_at(authority), land.status
        assert uids(land) == before
    assert [*land.cloud.services.servers] == [server]
    await land.api.delete(mapi.Machine, NAME, namespace=OURS)
    await play(land)
    assert not uids(land)
    assert land.held() == NOTHING


HINTS: Tree = {"schedulerHintAdditionalProperties": [{"name": "a", "value": {"type": "String", "string": "x"}}]}
"""What the Machine API has no field for, so that the OpenStackMachine is recreated."""


@pytest.mark.parametrize("last", [MACHINE_API, CLUSTER_API])
async def test_a_recreated_infra_machine_takes_its_server_back_and_all_is_deleted_with_the_machine(last: str) -> None:
    land = await made(HINTS, by=CLUSTER_API)
    before = uids(land)
    for authority in (MACHINE_API, CLUSTER_API, MACHINE_API)[: 2 if last == CLUSTER_API else 3]:
        await land.move(authority)
        await play(land)
        assert land.is_at(authority), land.conditions(OpenStackMachine)
        assert land.marks() == {land.mark_at(authority)}
        (changed,) = {kind for kind, uid in uids(land).items() if before[kind] != uid}
        assert "OpenStackMachine" in changed
        owner = uids(land)[changed]
        server = land.tree(OpenStackServer)
        assert server is not None
        assert [each["uid"] for each in server["metadata"]["ownerReferences"]] == [owner]
    await land.api.delete(mapi.Machine if last == MACHINE_API else capi.Machine, NAME, namespace=home(last))
    await play(land)
    assert not uids(land)
    assert land.held() == NOTHING


def home(authority: str) -> str:
    return OURS if authority == MACHINE_API else THEIRS


# floating IPs


def pooled() -> Tree:
    found = pool()
    found["metadata"]["namespace"] = THEIRS
    return found


async def with_address() -> MigrationWorld:
    """A machine that Cluster API made, with a floating IP of a pool."""
    land = MigrationWorld(pooled())
    land.api.load(*land.infra_machine(floatingIPPoolRef=REF))
    await play(land)
    assert land.is_at(CLUSTER_API), land.status
    assert len(land.addresses) == 1
    return land


def led(land: MigrationWorld) -> list[tuple[str, str]]:
    return [(each["floating_ip_address"], each["port_id"]) for each in land.cloud.services.floatingips.values()]


async def test_its_floating_ip_of_a_pool_stays_there_and_back_and_goes_with_it() -> None:
    land = await with_address()
    before, claim, had = uids(land), land.here(IPAddressClaim)[CLAIM], led(land)
    for authority in (MACHINE_API, CLUSTER_API, MACHINE_API):
        await land.move(authority)
        await play(land)
        assert land.is_at(authority)
        assert (uids(land), land.here(IPAddressClaim)[CLAIM], led(land)) == (before, claim, had)
    await land.api.delete(mapi.Machine, NAME, namespace=OURS)
    await play(land)
    assert land.held() == NOTHING
    assert land.here(IPAddressClaim) == land.here(IPAddress) == {}


@pytest.mark.parametrize("returns", [True, False])
async def test_it_stays_when_the_paused_object_of_cluster_api_is_deleted(returns: bool) -> None:
    land = await with_address()
    had = led(land)
    await land.move(MACHINE_API)
    await play(land)
    await land.api.delete(OpenStackServer, NAME, namespace=THEIRS)
    await play(land)
    assert land.tree(OpenStackServer) is None
    claim = land.here(IPAddressClaim)[CLAIM]["metadata"]
    assert "ownerReferences" not in claim
    assert (claim["annotations"][KEPT_ANNOTATION], led(land)) == (land.mark_at(MACHINE_API), had)
    if returns:
        await land.move(CLUSTER_API)
        await play(land)
        assert land.is_at(CLUSTER_API)
        claim, server = land.here(IPAddressClaim)[CLAIM]["metadata"], land.tree(OpenStackServer)
        assert server is not None
        assert [each["uid"] for each in claim["ownerReferences"]] == [server["metadata"]["uid"]]
        assert (claim.get("annotations"), led(land)) == (None, had)
    await land.api.delete(mapi.Machine, NAME, namespace=OURS)
    await play(land)
    assert not uids(land)
    assert land.held() == NOTHING
    assert land.here(IPAddressClaim) == land.here(IPAddress) == {}


# crashes


Step = tuple[Callable[[MigrationWorld], bool], Callable[[MigrationWorld], Awaitable[object]]]
"""What somebody waits for, and does then."""


def at(authority: str) -> Callable[[MigrationWorld], bool]:
    return lambda land: land.is_at(authority)


def moving(authority: str) -> Step:
    """A user who asks for it as soon as the machine is at home in the other API."""
    return at(OTHER[authority]), lambda land: land.move(authority)


def deleting(kind: type[KubernetesObject], when: Callable[[MigrationWorld], bool]) -> Step:
    return when, lambda land: land.api.delete(kind, NAME, namespace=OURS if kind is mapi.Machine else THEIRS)


def story(start: Callable[[MigrationWorld], Sequence[Tree]], *steps: Step) -> Callable[[], Scenario]:
    """The steps are taken in order."""

    def make() -> Scenario:
        land, left = MigrationWorld(), [*steps]
        land.api.load(*start(land))

        async def act(_: MemoryApi) -> None:
            if left and left[0][0](land):
                await left.pop(0)[1](land)

        async def settle(api: Api, _: MemoryReader, systems: Any) -> None:
            await Ours(land, api=api, clouds=systems[OPENSTACK]).settle()

        def unowned(_: Sequence[Tree]) -> list[str]:
            authority = land.status.get("authoritativeAPI", "")
            if not uids(land):
                return [] if land.held() == NOTHING else [f"the project has {dict(land.held())}"]
            return [] if land.marks() == {land.mark_at(authority)} else [f"marks {land.marks()} under {authority}"]

        def compared(trees: Sequence[Tree]) -> dict[str, Any]:
            names = {f"{each['kind']} {each['metadata']['name']}": "" for each in trees if each["kind"] != "Event"}
            posts = sum(each == "POST /servers" for each in land.writes())
            return {**names, "authority": land.status.get("authoritativeAPI"), "held": dict(land.held()), "made": posts}

        return Scenario(
            land.api,
            settle,
            actors=(act, *OTHERS),
            systems={OPENSTACK: land.clouds},
            unowned=unowned,
            compared=compared,
        )

    return make


THERE_AND_BACK = story(lambda land: [land.machine(**WHOLE)], moving(CLUSTER_API), moving(MACHINE_API))
LOST_AND_RETURNED = story(
    lambda land: [pooled(), *land.infra_machine(floatingIPPoolRef=REF)],
    moving(MACHINE_API),
    deleting(OpenStackServer, at(MACHINE_API)),
    (lambda land: land.tree(OpenStackServer) is None, lambda land: land.move(CLUSTER_API)),
    deleting(capi.Machine, at(CLUSTER_API)),
)


@pytest.mark.parametrize(
    ("make", "first", "left"),
    [
        pytest.param(THERE_AND_BACK, 20, {"servers": 1, "ports": 2, "volumes": 1, "trunks": 1}, id="there and back"),
        pytest.param(LOST_AND_RETURNED, 45, NOTHING, id="with an address, and without its paused object"),
    ],
)
async def test_a_crash_at_any_write_makes_and_loses_nothing(
    make: Callable[[], Scenario], first: int, left: Tree
) -> None:
    """Until `first`, the machine is made."""
    report = await crash_everywhere(make, first=first, sparse=usually(True, exploring=False))
    assert report.points >= 20
    assert (report.end["held"], report.end["made"]) == (left, 1)


@pytest.mark.parametrize("to", [CLUSTER_API, MACHINE_API])
async def test_a_machine_that_is_deleted_on_the_way_leaves_nothing_wherever_it_was(to: str) -> None:
    """We die at any write of the move, and a user deletes the machine in one of the two APIs before we are back."""
    number = 0
    while True:
        number += 1
        land = await made({}, by=OTHER[to])
        await land.move(to)
        point = CrashPoint(number, [*When][number % 2])
        clouds: Any = MortalCarrier(land.clouds(), point)
        ours = Ours(land, api=MortalApi(land.api, point), clouds=clouds)
        for _ in range(3):
            with suppress(Crashed):
                await ours.settle()
            for act in OTHERS:
                await act(land.api)
        if not point.reached:
            break
        kind = (mapi.Machine, capi.Machine)[number // 2 % 2]
        await deleting(kind, at(to))[1](land)
        await play(land)
        assert not uids(land), str(point)
        assert land.held() == NOTHING, str(point)
    assert number > 12
