"""What an object is to the mark in its annotation, and which marks it replaces: the tables of the module."""

from datetime import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import (
    PLACE_LIMIT,
    in_words,
    is_root_of_object,
    mark_for,
    place,
    place_of,
    root_of,
)
from windlass.openstack.constants import MACHINE_MARK_ANNOTATION, MARK_ANNOTATION
from windlass.openstack.create import mark_of_owner
from windlass.openstack.ownership import (
    Claim,
    Facts,
    Standing,
    annotation_of,
    claim_of,
    first_of,
    may_be_unseen,
    new_mark,
    replaced,
)

ROOT, OTHER_ROOT = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
PLACE, ELSEWHERE = "server/team-a/web-0", "server/team-b/web-0"
OWN = mark_for(ROOT, "u", PLACE)
BEFORE = mark_for(ROOT, "older", PLACE)
PROGRAM = mark_of_owner("fleet-7/worker-0")


def found(
    stored: str = "", *, uid: str = "u", kind: type[Any] = OpenStackServer, owner: str = "", **meta: Any
) -> Present[Any]:
    owners = [{"apiVersion": "x/v1", "kind": "OpenStackMachine", "name": "web-0", "uid": owner}] if owner else []
    tree = {
        "apiVersion": kind.RESOURCE.api_version,
        "kind": kind.RESOURCE.kind,
        "metadata": {
            "name": "web-0",
            "namespace": "team-a",
            "uid": uid,
            "annotations": {MARK_ANNOTATION: stored} if stored else {},
            "ownerReferences": owners,
            **meta,
        },
        "spec": {"identityRef": {"name": "cloud", "cloudName": "c"}, "flavor": "f", "image": {}, "sshKeyName": ""},
    }
    raw = msgspec.json.encode(tree)
    return Present(msgspec.json.decode(raw, type=kind), raw)


@pytest.mark.parametrize(
    ("object_", "claim"),
    [
        pytest.param(found(), Claim(Standing.NEW), id="no mark"),
        pytest.param(found(OWN), Claim(Standing.HOLDS, OWN, OWN), id="its own"),
        pytest.param(
            found(OWN, owner="m", kind=OpenStackServer), Claim(Standing.HOLDS, OWN, OWN), id="its own, beside a machine"
        ),
        pytest.param(
            found(BEFORE, owner="m"),
            Claim(Standing.MOVED, mark_for(ROOT, "m", PLACE), BEFORE),
            id="moved together with the machine that owns it",
        ),
        pytest.param(
            found(mark_for(ROOT, "m", PLACE), owner="m"),
            Claim(Standing.HOLDS, mark_for(ROOT, "m", PLACE), mark_for(ROOT, "m", PLACE)),
            id="made up by the machine that owns it",
        ),
        pytest.param(found(BEFORE), Claim(Standing.MOVED, OWN, BEFORE), id="moved or restored"),
        pytest.param(found(ROOT), Claim(Standing.EARLIER, OWN, ROOT), id="of an earlier version"),
        pytest.param(
            found(mark_for(ROOT, "u", ELSEWHERE)),
            Claim(Standing.COPIED, OWN, mark_for(ROOT, "u", ELSEWHERE)),
            id="of another namespace",
        ),
        pytest.param(
            found(mark_for(ROOT, "u", "machine/team-a/web-0")),
            Claim(Standing.COPIED, OWN, mark_for(ROOT, "u", "machine/team-a/web-0")),
            id="of another kind",
        ),
        pytest.param(found(PROGRAM), Claim(Standing.COPIED, "", PROGRAM), id="of a program"),
        pytest.param(found("mine"), Claim(Standing.COPIED, "", "mine"), id="no mark at all"),
        pytest.param(
            found(BEFORE, kind=OpenStackMachine),
            Claim(Standing.HOLDS, BEFORE, BEFORE),
            id="a machine carries the mark of its server, whoever holds it",
        ),
        pytest.param(
            found(mark_for(ROOT, "u", ELSEWHERE), kind=OpenStackMachine),
            Claim(Standing.COPIED, mark_for(ROOT, "u", ELSEWHERE), mark_for(ROOT, "u", ELSEWHERE)),
            id="a machine that was copied",
        ),
    ],
)
def test_what_an_object_is_to_the_mark_in_its_annotation(object_: Present[Any], claim: Claim) -> None:
    assert claim_of(object_) == claim


CONFIRMED = Facts(confirmed=ELSEWHERE, absent=frozenset({ELSEWHERE}))
THEIRS = mark_for(ROOT, "x", ELSEWHERE)


@pytest.mark.parametrize(
    ("stored", "there", "facts", "taken"),
    [
        pytest.param(OWN, OWN, Facts(), False, id="its own"),
        pytest.param(OWN, "", Facts(), False, id="none"),
        pytest.param(OWN, BEFORE, Facts(), False, id="a newer object has taken over from one that held the mark"),
        pytest.param(OWN, ROOT, Facts(), True, id="the root alone"),
        pytest.param(OWN, ROOT, Facts(elder="another"), False, id="the root alone, and another object comes first"),
        pytest.param(BEFORE, ROOT, Facts(elder="another"), False, id="the same, by an object that was moved"),
        pytest.param(BEFORE, BEFORE, Facts(), True, id="what a moved object had"),
        pytest.param(BEFORE, mark_for(ROOT, "third", PLACE), Facts(), True, id="what it had, taken over meanwhile"),
        pytest.param(BEFORE, ROOT, Facts(), True, id="what it had, of an earlier version"),
        pytest.param(BEFORE, THEIRS, Facts(), False, id="taken over by another place"),
        pytest.param(BEFORE, mark_for(OTHER_ROOT, "older", PLACE), Facts(), False, id="its place, another root"),
        pytest.param(ROOT, ROOT, Facts(), True, id="of an earlier version"),
        pytest.param(ROOT, BEFORE, Facts(), True, id="of an earlier version, on an object of an old backup"),
        pytest.param(ROOT, OTHER_ROOT, Facts(), False, id="another root alone"),
        pytest.param(THEIRS, THEIRS, Facts(), False, id="what it was copied from"),
        pytest.param(THEIRS, ROOT, Facts(), False, id="the root alone, by a copy"),
        pytest.param(THEIRS, THEIRS, CONFIRMED, True, id="confirmed"),
        pytest.param(THEIRS, THEIRS, Facts(confirmed=ELSEWHERE), False, id="confirmed, but the owner exists"),
        pytest.param(THEIRS, THEIRS, Facts(absent=CONFIRMED.absent), False, id="not confirmed"),
        pytest.param(THEIRS, BEFORE, Facts(), False, id="of its root and place, by a copy"),
        pytest.param(THEIRS, mark_for(OTHER_ROOT, "u", PLACE), Facts(), True, id="its own, under a changed annotation"),
        pytest.param(
            OWN, mark_for(OTHER_ROOT, "u", PLACE), Facts(), True, id="its own, before its annotation was lost"
        ),
        pytest.param("", ROOT, Facts(), False, id="the root alone, by a new object"),
        pytest.param("", PROGRAM, CONFIRMED, False, id="a program's, by a new object"),
        pytest.param("", mark_for(OTHER_ROOT, "z", ELSEWHERE), CONFIRMED, True, id="confirmed for what it names"),
        pytest.param(OWN, mark_for(OTHER_ROOT, "z", PLACE), Facts(adopts=True), True, id="it adopts what it had"),
        pytest.param(OWN, mark_for(OTHER_ROOT, "z", ELSEWHERE), Facts(adopts=True), False, id="it adopts another's"),
        pytest.param(OWN, PROGRAM, Facts(adopts=True), False, id="it adopts a program's"),
        pytest.param(PROGRAM, PROGRAM, Facts(), False, id="a program's, with its mark"),
    ],
)
def test_which_marks_an_object_replaces(stored: str, there: str, facts: Facts, taken: bool) -> None:
    assert replaced(claim_of(found(stored)), [there], facts) == (frozenset({there}) if taken else frozenset())


@pytest.mark.parametrize(
    ("stored", "there", "of_it"),
    [
        (OWN, OWN, True),
        (OWN, BEFORE, True),
        (OWN, ROOT, True),
        (BEFORE, OWN, True),
        (ROOT, ROOT, True),
        (OWN, THEIRS, False),
        (OWN, mark_for(OTHER_ROOT, "u", PLACE), False),
        (THEIRS, THEIRS, False),
        (THEIRS, OWN, False),
        ("", "", False),
        ("", ROOT, False),
        (PROGRAM, PROGRAM, False),
    ],
)
def test_overviews_show_a_resource_with_the_object_that_has_or_had_its_mark(
    stored: str, there: str, of_it: bool
) -> None:
    assert claim_of(found(stored)).is_of(there) is of_it


def test_machines_carry_the_mark_of_their_server_and_those_of_the_machine_api_have_their_own_annotation() -> None:
    assert annotation_of(OpenStackServer) == annotation_of(OpenStackMachine) == MARK_ANNOTATION
    assert annotation_of(Machine) == MACHINE_MARK_ANNOTATION


def test_the_server_of_a_machine_has_the_mark_that_the_machine_makes_up() -> None:
    assert new_mark(found(owner="m"), ROOT) == new_mark(found(uid="m", kind=OpenStackMachine), ROOT)
    assert new_mark(found(), ROOT) == OWN


def test_what_the_root_alone_is_on_belongs_to_the_recorded_then_to_the_oldest_and_an_annotation_says_nothing() -> None:
    forged = found(OWN, creationTimestamp="2026-11-22T05:00:00Z")
    names = found(ROOT, uid="n", name="named", creationTimestamp="2026-11-22T04:00:00Z")
    old = found(ROOT, uid="o", name="z-old", creationTimestamp="2026-11-22T01:00:00Z")
    young = found(ROOT, uid="y", name="young", creationTimestamp="2026-11-22T02:00:00Z")

    def recorded(each: Present[Any]) -> bool:
        return each is names

    assert first_of([young, old, names, forged], names=recorded) is names
    assert first_of([forged, young, old], names=recorded) is old
    assert first_of([forged, young], names=recorded) is young


NOON = "2026-11-22T12:00:00Z"


@pytest.mark.parametrize(
    ("stored", "listed", "unseen"),
    [
        pytest.param(BEFORE, "2026-11-22T11:59:00Z", True, id="moved here after the list"),
        pytest.param(BEFORE, "2026-11-22T12:00:09Z", True, id="moved here at about the same time"),
        pytest.param(BEFORE, "2026-11-22T12:00:10Z", False, id="moved here before the list"),
        pytest.param(THEIRS, "2026-11-22T11:59:00Z", True, id="a copy"),
        pytest.param(OWN, "2026-11-22T11:59:00Z", False, id="it holds the mark"),
        pytest.param(ROOT, "2026-11-22T11:59:00Z", False, id="of an earlier version, which is a whole fleet"),
    ],
)
def test_what_a_list_may_lack_of_a_moved_object(stored: str, listed: str, unseen: bool) -> None:
    moved = found(stored, creationTimestamp=NOON)
    assert may_be_unseen(moved, datetime.fromisoformat(listed)) is unseen
    assert not may_be_unseen(moved, None)
    assert not may_be_unseen(found(stored), datetime.fromisoformat(listed))


NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?", fullmatch=True)
NAMESPACES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)


@given(NAMESPACES, NAMES, st.uuids(version=4).map(str), st.uuids().map(str))
def test_a_mark_is_short_and_says_whose_it_is(namespace: str, name: str, root: str, uid: str) -> None:
    at = place("cluster", namespace, name)
    mark = mark_for(root, uid, at)
    assert len(at) <= PLACE_LIMIT
    assert len(mark) <= 36 + 1 + 16 + 1 + PLACE_LIMIT
    assert (root_of(mark), place_of(mark), is_root_of_object(root)) == (root, at, True)
    assert in_words(mark).startswith("OpenStackCluster ")
    assert root not in in_words(mark)


@given(NAMESPACES, NAMES, NAMES)
def test_long_names_that_begin_alike_are_two_places(namespace: str, one: str, other: str) -> None:
    long = "x" * 200
    places = {place("server", namespace, f"{long}{each}") for each in (one, other)}
    assert len(places) == len({one, other})
