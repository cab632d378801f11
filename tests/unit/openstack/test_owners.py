"""Which other object has the mark that an object or the cloud names."""

from typing import Any

import msgspec
import pytest

from tests.unit.asked import answered
from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.marks import mark_for, place
from windlass.openstack.constants import MARK_ANNOTATION, TAKE_OVER_ANNOTATION
from windlass.openstack.create import mark_of_owner
from windlass.openstack.objects import BY_MARK, marked
from windlass.openstack.owners import Owners
from windlass.openstack.ownership import Facts

ROOT, OTHER_ROOT = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
ORIGINAL = "server/team-a/web-0"
MARK = mark_for(ROOT, "u-original", ORIGINAL)
SPEC = {"identityRef": {"name": "cloud", "cloudName": "c"}, "flavor": "f", "image": {}, "sshKeyName": ""}


RECORDED: dict[str, Any] = {"status": {"instanceID": "s-1"}}
BORN: dict[str, Any] = {"born": "2026-11-22T12:00:00Z"}


def tree(name: str, stored: str = "", *, namespace: str = "team-a", take_over: str = "", **more: Any) -> dict[str, Any]:
    annotations = {MARK_ANNOTATION: stored, TAKE_OVER_ANNOTATION: take_over}
    born = more.pop("born", "2026-11-22T11:00:00Z")
    meta = {"name": name, "namespace": namespace, "uid": f"u-{name}", "creationTimestamp": born}
    return {
        "apiVersion": OpenStackServer.RESOURCE.api_version,
        "kind": "OpenStackServer",
        "metadata": {**meta, "annotations": {key: value for key, value in annotations.items() if value}},
        "spec": SPEC,
        **more,
    }


def present(of: dict[str, Any]) -> Present[OpenStackServer]:
    raw = msgspec.json.encode(of)
    return Present(msgspec.json.decode(raw, type=OpenStackServer), raw)


class Here:
    """The rules of `Owners` in a cluster with these objects."""

    def __init__(self, *there: dict[str, Any]) -> None:
        api = MemoryApi(OpenStackServer, Machine)
        api.load(*there)
        self._reader = MemoryReader(api)
        self._reader.add_index(OpenStackServer, BY_MARK, marked)

    async def facts(self, of: Present[OpenStackServer]) -> Facts:
        return await answered(lambda seen: self._owners(seen).facts(of), self._reader)

    async def with_absent(self, facts: Facts, of: Present[OpenStackServer], there: set[str]) -> Facts:
        return await answered(lambda seen: self._owners(seen).with_absent(facts, of, there), self._reader)

    def _owners(self, seen: Asking) -> Owners:
        return Owners(seen, names=lambda each: bool(each.object.status.instance_id))


async def test_the_owner_of_a_copied_mark_is_told_if_it_exists() -> None:
    copy = tree("copy", MARK)
    facts = await Here(copy, tree("web-0", MARK)).facts(present(copy))
    assert facts == Facts(rival="OpenStackServer team-a/web-0")


@pytest.mark.parametrize(
    "there",
    [
        pytest.param([], id="it is gone"),
        pytest.param([tree("web-0", mark_for(OTHER_ROOT, "u-new", ORIGINAL))], id="another has its name"),
        pytest.param([tree("web-0")], id="one of its name has no mark yet"),
    ],
)
async def test_an_owner_that_does_not_exist_here_is_absent(there: list[dict[str, Any]]) -> None:
    copy = tree("copy", MARK)
    assert await Here(copy, *there).facts(present(copy)) == Facts(absent=frozenset({ORIGINAL}))


@pytest.mark.parametrize(
    ("stored", "whose"),
    [
        pytest.param(mark_for(ROOT, "u", "machine/team-a/web-0"), "Machine team-a/web-0", id="of another kind"),
        pytest.param(
            mark_for(ROOT, "u", place("server", "team-a", "x" * 100)),
            f"OpenStackServer {place('server', 'team-a', 'x' * 100).removeprefix('server/')}",
            id="of a name that the mark does not have whole",
        ),
        pytest.param(mark_of_owner("fleet"), "a program that made it with create_instance", id="of a program"),
        pytest.param("mine", "an unknown owner", id="no mark at all"),
    ],
)
async def test_an_owner_that_cannot_be_looked_for_is_taken_to_exist(stored: str, whose: str) -> None:
    copy = tree("copy", stored)
    assert await Here(copy).facts(present(copy)) == Facts(rival=whose)


@pytest.mark.parametrize("uid", ["u-web-0", "u-before"], ids=["holds", "moved"])
async def test_what_the_root_alone_is_on_goes_to_one_that_has_recorded_it_before_any_that_has_a_whole_mark(
    uid: str,
) -> None:
    found = tree("web-0", mark_for(ROOT, uid, ORIGINAL), take_over="server/team-b/web-0")
    facts = Facts(confirmed="server/team-b/web-0")
    known = Here(found, tree("copy", MARK, **RECORDED), tree("young", ROOT, **BORN))
    assert await known.facts(present(found)) == facts
    known = Here(found, tree("copy", MARK), tree("earlier", ROOT, **RECORDED, **BORN))
    elder = "OpenStackServer team-a/earlier"
    assert await known.facts(present(found)) == msgspec.structs.replace(facts, elder=elder)


async def test_a_new_object_needs_no_other() -> None:
    found = tree("web-0")
    assert await Here(found, tree("copy", MARK), tree("other", ROOT)).facts(present(found)) == Facts()


@pytest.mark.parametrize(
    ("others", "rival"),
    [
        pytest.param([], "", id="alone"),
        pytest.param([tree("b", ROOT)], "", id="it comes first"),
        pytest.param([tree("b", ROOT, **RECORDED)], "OpenStackServer team-a/b", id="another has recorded a server"),
        pytest.param([tree("b", mark_for(ROOT, "u-b", "server/team-a/b"))], "", id="another has issued itself one"),
        pytest.param([tree("b", mark_for(ROOT, "u-a", "server/team-a/a"), **RECORDED)], "", id="another is a copy"),
        pytest.param([tree("b", OTHER_ROOT, **RECORDED)], "", id="another has another one"),
    ],
)
async def test_of_objects_with_one_mark_of_an_earlier_version_one_has_it(
    others: list[dict[str, Any]], rival: str
) -> None:
    found = tree("a", ROOT)
    assert (await Here(found, *others).facts(present(found))).rival == rival


@pytest.mark.parametrize("uid", ["u-a", "u-before"], ids=["it holds the mark", "it was moved"])
async def test_a_mark_that_anybody_can_write_is_less_than_a_recorded_server(uid: str) -> None:
    found = tree("a", mark_for(ROOT, uid, "server/team-a/a"))
    facts = await Here(found, tree("b", ROOT, **RECORDED)).facts(present(found))
    assert facts == Facts(elder="OpenStackServer team-a/b")


async def test_owners_of_marks_in_the_cloud_are_looked_for_but_not_the_object_itself() -> None:
    found = tree("a", mark_for(ROOT, "u-a", "server/team-a/a"))
    there = {
        mark_for(OTHER_ROOT, "x", "server/team-b/gone"),
        mark_for(OTHER_ROOT, "u-b", "server/team-a/b"),
        mark_for(ROOT, "older", "server/team-a/a"),
        mark_for(OTHER_ROOT, "older", "server/team-a/a"),
        mark_for(ROOT, "x", "machine/team-a/gone"),
        OTHER_ROOT,
    }
    known = Here(found, tree("b", mark_for(OTHER_ROOT, "u-b", "server/team-a/b")))
    facts = Facts(confirmed="server/team-b/gone", absent=frozenset({ORIGINAL}))
    both = frozenset({ORIGINAL, "server/team-b/gone"})
    whose = {OTHER_ROOT: "OpenStackServer team-a/b"}
    expected = Facts(confirmed="server/team-b/gone", absent=both, holders=whose)
    assert await known.with_absent(facts, present(found), there) == expected


async def test_an_object_is_not_told_that_it_is_itself_the_owner_of_what_it_may_not_have() -> None:
    """The server has another name: its owner may be in another management cluster."""
    found = tree("a", ROOT)
    facts = await Here(found).with_absent(Facts(), present(found), {ROOT})
    assert facts.holders == {}


async def test_an_owner_whose_object_cannot_be_read_is_taken_to_exist() -> None:
    copy = tree("copy", MARK)
    broken = {**tree("web-0", MARK), "spec": {"identityRef": 7}}
    facts = await Here(copy, broken).facts(present(copy))
    assert facts.rival == "OpenStackServer team-a/web-0"
