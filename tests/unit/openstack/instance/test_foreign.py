"""At which resource of another owner an object stops, and what people read then."""

import pytest

from windlass.openstack.cloud.inventory import MARK, NONE, Recorded, ServerInventory
from windlass.openstack.cloud.marks import described, mark_for
from windlass.openstack.cloud.resources import Port, Server
from windlass.openstack.constants import ADOPT_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.create import mark_of_owner
from windlass.openstack.instance.foreign import foreign, is_replaced, namesake, stopped
from windlass.openstack.ownership import Claim, Facts, Ownership, Standing

ROOT, OTHER_ROOT = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
PLACE, ELSEWHERE = "server/team-a/web-0", "server/team-b/web-0"
OWN, BEFORE, NEWER = (mark_for(ROOT, uid, PLACE) for uid in ("u", "older", "newer"))
THEIRS = mark_for(OTHER_ROOT, "x", ELSEWHERE)
ORIGINAL = mark_for(ROOT, "x", ELSEWHERE)
PROGRAM = mark_of_owner("fleet-7/worker-0")

HOLDS = Ownership(Claim(Standing.HOLDS, OWN, OWN))
MOVED = Ownership(Claim(Standing.MOVED, OWN, BEFORE), formers=frozenset({BEFORE}))
COPIED = Ownership(Claim(Standing.COPIED, OWN, ORIGINAL))


def server(mark: str, which: str = "s-1", *, status: str = "ACTIVE") -> Server:
    return Server(id=which, name="web-0", status=status, metadata={MARK: mark} if mark else {})


def port(mark: str) -> Port:
    return Port(id="p-1", name="web-0-0", description=described("", mark))


@pytest.mark.parametrize(
    ("inventory", "ownership", "recorded", "which"),
    [
        pytest.param(ServerInventory(), HOLDS, NONE, "", id="nothing is there"),
        pytest.param(ServerInventory(servers=(server(OWN),)), HOLDS, Recorded("s-1"), "", id="it has its server"),
        pytest.param(
            ServerInventory(servers=(server(""),)), HOLDS, Recorded("s-1"), "", id="it names one without a mark"
        ),
        pytest.param(
            ServerInventory(servers=(server(THEIRS),)), HOLDS, Recorded("s-1"), "s-1", id="it names another's"
        ),
        pytest.param(
            ServerInventory(servers=(server(PROGRAM),)), HOLDS, Recorded("s-1"), "s-1", id="it names a program's"
        ),
        pytest.param(
            ServerInventory(servers=(server(OWN, "s-2"), server(THEIRS))),
            HOLDS,
            Recorded("s-1"),
            "s-1",
            id="it names another's, beside one of its own",
        ),
        pytest.param(ServerInventory(servers=(server(BEFORE),)), MOVED, Recorded("s-1"), "", id="it was moved"),
        pytest.param(
            ServerInventory(servers=(server(NEWER),)), HOLDS, Recorded("s-1"), "s-1", id="a newer one took over"
        ),
        pytest.param(ServerInventory(others=(server(NEWER),)), HOLDS, NONE, "s-1", id="the same, and it has no record"),
        pytest.param(
            ServerInventory(others=(port(NEWER),)), HOLDS, NONE, "p-1", id="the same, and only a port is left"
        ),
        pytest.param(ServerInventory(others=(server(ORIGINAL),)), COPIED, NONE, "s-1", id="a copy of one that is gone"),
        pytest.param(
            ServerInventory(servers=(server(OWN),), others=(port(NEWER),)),
            HOLDS,
            NONE,
            "",
            id="it has a server of its own",
        ),
        pytest.param(
            ServerInventory(ports=(port(OWN),), others=(server(NEWER),)),
            HOLDS,
            NONE,
            "s-1",
            id="a newer one is taking over",
        ),
        pytest.param(
            ServerInventory(ports=(port(OWN),), others=(server(ORIGINAL),)),
            HOLDS,
            NONE,
            "",
            id="another object was given its root",
        ),
        pytest.param(
            ServerInventory(ports=(port(""),), others=(server(ORIGINAL),)),
            COPIED,
            NONE,
            "s-1",
            id="a copy that records a port that nobody owns",
        ),
    ],
)
def test_an_object_stops_at_what_another_has(
    inventory: ServerInventory, ownership: Ownership, recorded: Recorded, which: str
) -> None:
    found = foreign(inventory, ownership, recorded=recorded)
    assert ("" if found is None else found.id) == which


@pytest.mark.parametrize(
    ("inventory", "ownership", "next_"),
    [
        pytest.param(ServerInventory(), HOLDS, False, id="it holds its mark"),
        pytest.param(ServerInventory(), MOVED, True, id="nothing of it is left"),
        pytest.param(ServerInventory(servers=(server(BEFORE),)), MOVED, False, id="the server has the earlier mark"),
        pytest.param(ServerInventory(ports=(port(BEFORE),)), MOVED, False, id="a port has the earlier mark"),
        pytest.param(ServerInventory(servers=(server(OWN),)), MOVED, True, id="all has its mark"),
        pytest.param(
            ServerInventory(servers=(server(BEFORE, status="DELETED"),)),
            MOVED,
            True,
            id="Nova takes no mark for it any more",
        ),
        pytest.param(ServerInventory(others=(server(ORIGINAL),)), COPIED, False, id="it stops at what another has"),
    ],
)
def test_the_annotation_follows_when_nothing_in_the_cloud_has_an_earlier_mark(
    inventory: ServerInventory, ownership: Ownership, next_: bool
) -> None:
    assert is_replaced(inventory, ownership, recorded=NONE) is next_


ADOPTS = f"remove the annotation {ADOPT_ANNOTATION}"
MARKED = f"remove the annotation {MARK_ANNOTATION}"


@pytest.mark.parametrize(
    ("found", "ownership", "giving_up", "text"),
    [
        pytest.param(
            server(NEWER),
            HOLDS,
            MARKED,
            "server s-1 belongs to OpenStackServer team-a/web-0 with another uid, which has taken it over from this "
            "one, maybe in another management cluster: delete this object; that leaves the cloud as it is",
            id="a newer one",
        ),
        pytest.param(
            server(THEIRS),
            HOLDS,
            ADOPTS,
            "server s-1 belongs to OpenStackServer team-b/web-0: remove the annotation openstack.windlass.dev/adopt if "
            "this object is to have a server of its own",
            id="it names another's",
        ),
        pytest.param(
            server(THEIRS),
            Ownership(HOLDS.claim, Facts(absent=frozenset({ELSEWHERE}))),
            ADOPTS,
            "server s-1 belongs to OpenStackServer team-b/web-0, which does not exist here: annotate this object with "
            "openstack.windlass.dev/take-over=server/team-b/web-0 if it is to take over what that one had, or remove "
            "the annotation openstack.windlass.dev/adopt if this object is to have a server of its own",
            id="it names that of an object that is gone",
        ),
        pytest.param(
            port(ORIGINAL),
            Ownership(COPIED.claim, Facts(absent=frozenset({ELSEWHERE}))),
            MARKED,
            "port p-1 belongs to OpenStackServer team-b/web-0, which does not exist here: annotate this object with "
            "openstack.windlass.dev/take-over=server/team-b/web-0 if it is to take over what that one had, or remove "
            "the annotation openstack.windlass.dev/mark if this object is to have a server of its own",
            id="a copy of one that is gone",
        ),
        pytest.param(
            server(PROGRAM),
            HOLDS,
            ADOPTS,
            "server s-1 belongs to a program that made it with create_instance: remove the key windlass-owner of its "
            "metadata if it is to be taken over",
            id="a program's",
        ),
        pytest.param(
            server(OTHER_ROOT),
            Ownership(HOLDS.claim, Facts(holders={OTHER_ROOT: "OpenStackServer team-b/web-0"})),
            ADOPTS,
            "server s-1 belongs to OpenStackServer team-b/web-0: remove the annotation openstack.windlass.dev/adopt if "
            "this object is to have a server of its own",
            id="of an earlier version, and the object is here",
        ),
        pytest.param(
            server(OTHER_ROOT),
            HOLDS,
            ADOPTS,
            "server s-1 belongs to an object that an earlier version of Windlass served: remove the key windlass-owner "
            "of its metadata if it is to be taken over",
            id="of an earlier version",
        ),
    ],
)
def test_people_read_whose_it_is_and_what_to_do_and_never_a_mark(
    found: Server | Port, ownership: Ownership, giving_up: str, text: str
) -> None:
    stop = stopped(found, ownership, giving_up=giving_up)
    assert (stop.reason, stop.message) == ("OwnedByAnother", text)


def test_servers_of_its_name_that_nobody_owns_are_named_with_both_answers() -> None:
    stop = namesake("web-0", [server("", "s-1"), server("", "s-2")])
    assert (stop.reason, stop.message) == (
        "OwnedByAnother",
        "the project has a server web-0 without an owner (s-1, s-2), which may have been made for this object before: "
        "annotate it with openstack.windlass.dev/adopt=ID if it is to have that server, or annotate it with "
        "openstack.windlass.dev/adopt=none if it is to make another one",
    )
