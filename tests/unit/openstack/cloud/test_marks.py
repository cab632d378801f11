"""Whatever a user writes into a description, the mark is found again, and the description is one that Neutron takes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.marks import (
    DESCRIPTION_LIMIT,
    PLACE_LIMIT,
    described,
    holder,
    holder_of,
    in_words,
    is_root_of_object,
    kin_of,
    mark_for,
    mark_of,
    place,
    place_of,
    root_of,
    with_mark,
)
from windlass.openstack.cloud.resources import Port, Server, Trunk, Volume

ONE = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
WHOLE = f"{ONE}/93ab1c20d4e5f607/server/team-a/web-0"
PROGRAM = "0b5f4c1e-8e5f-5d0c-9b0e-3f0a2a1d7c55"


@pytest.mark.parametrize(
    ("resource", "mark"),
    [
        (Server(metadata={MARK: ONE}), ONE),
        (Volume(metadata={MARK: ONE, "a": "b"}), ONE),
        (Server(), ""),
        (Volume(metadata={"a": ONE}), ""),
        (Port(description=f"windlass-owner={ONE}"), ONE),
        (Trunk(description=f"of the second rack windlass-owner={ONE}"), ONE),
        (Port(description=f"windlass-owner=somebody windlass-owner={ONE}"), ONE),
        (Port(description=ONE), ""),
        (Trunk(), ""),
    ],
)
def test_the_mark_is_read_from_metadata_or_from_the_end_of_the_description(
    resource: Server | Volume | Port | Trunk, mark: str
) -> None:
    assert mark_of(resource) == mark


@given(st.text(max_size=400))
@example("x" * 300)
def test_the_mark_survives_every_description_of_a_user(text: str) -> None:
    description = described(text, ONE)
    assert mark_of(Port(description=description)) == ONE
    assert len(description) <= DESCRIPTION_LIMIT


def test_the_description_of_the_user_stays_in_front_of_the_mark() -> None:
    assert described("the management port", ONE) == f"the management port windlass-owner={ONE}"


def test_the_metadata_of_the_user_stays_beside_the_mark() -> None:
    assert with_mark({"role": "worker"}, ONE) == {"role": "worker", MARK: ONE}


def test_the_mark_of_another_owner_is_replaced_in_a_description() -> None:
    assert (
        described(f"the management port windlass-owner={ONE}", WHOLE) == f"the management port windlass-owner={WHOLE}"
    )


@pytest.mark.parametrize(
    ("mark", "root", "held", "at", "words"),
    [
        (WHOLE, ONE, "93ab1c20d4e5f607", "server/team-a/web-0", "OpenStackServer team-a/web-0"),
        (f"{ONE}/93ab1c20d4e5f607/machine/m/a", ONE, "93ab1c20d4e5f607", "machine/m/a", "Machine m/a"),
        (f"{ONE}/93ab1c20d4e5f607/cluster/c/a", ONE, "93ab1c20d4e5f607", "cluster/c/a", "OpenStackCluster c/a"),
        (f"{ONE}/93ab1c20d4e5f607/pool/p/a", ONE, "93ab1c20d4e5f607", "pool/p/a", "OpenStackFloatingIPPool p/a"),
        (ONE, ONE, "", "", "an object that an earlier version of Windlass served"),
        (PROGRAM, PROGRAM, "", "", "a program that made it with create_instance"),
        ("mine/yours", "mine", "", "", "an unknown owner"),
        ("", "", "", "", "an unknown owner"),
    ],
)
def test_a_mark_is_read_back_and_told_in_words(mark: str, root: str, held: str, at: str, words: str) -> None:
    assert (root_of(mark), holder_of(mark), place_of(mark), in_words(mark)) == (root, held, at, words)


def test_only_random_roots_are_those_of_objects() -> None:
    assert [is_root_of_object(each) for each in (ONE, PROGRAM, "mine", "")] == [True, False, False, False]


def test_marks_are_akin_by_their_root_and_by_the_object_that_holds_them() -> None:
    moved, changed = WHOLE.replace("93ab", "ffff"), WHOLE.replace("0b5f", "ffff")
    for other in (moved, changed, ONE):
        assert set(kin_of(WHOLE)) & set(kin_of(other))
    assert not set(kin_of(moved)) & set(kin_of(changed))
    assert kin_of("") == ()


def test_the_holder_is_one_uid_at_one_place() -> None:
    at, other = place("server", "team-a", "web-0"), place("server", "team-b", "web-0")
    assert len({holder(uid, each) for uid in ("u", "v") for each in (at, other)}) == 4
    assert mark_for(ONE, "u", at) == f"{ONE}/{holder('u', at)}/server/team-a/web-0"


def test_a_place_that_is_too_long_is_cut_and_stays_one_of_its_own() -> None:
    one, other = (place("cluster", "n" * 63, "x" * 200 + each) for each in "ab")
    assert (len(one), len(other), one == other) == (PLACE_LIMIT, PLACE_LIMIT, False)
    assert one.startswith(f"cluster/{'n' * 55}~")
    assert place("server", "n" * 63, "a" * 8) == f"server/{'n' * 63}/{'a' * 8}"
