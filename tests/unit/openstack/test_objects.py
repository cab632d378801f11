"""New marks, kept until they are persisted, and the one write of finalizer and mark."""

from typing import Any

import msgspec

from windlass.api.capo_server import OpenStackServer
from windlass.kube.control.asking import Asker
from windlass.kube.control.plan import Done, Emit, Plan
from windlass.kube.control.question import Asking
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import mark_for, root_of
from windlass.openstack.constants import MARK_ANNOTATION, SERVER_FINALIZER
from windlass.openstack.objects import dropped, fresh_mark, intend, mark_of
from windlass.openstack.questions import MARKS, MarkMaker

ROOT = "0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55"
KEY = ("team-a", "web-0")
OWN = mark_for(ROOT, "u", "server/team-a/web-0")
FRESH = mark_for("1b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55", "u", "server/team-a/web-0")
THEIRS = mark_for(ROOT, "u", "server/team-b/web-0")


def found(stored: str = "", *, uid: str = "u", finalizers: tuple[str, ...] = ()) -> Present[Any]:
    tree = {
        "apiVersion": OpenStackServer.RESOURCE.api_version,
        "kind": "OpenStackServer",
        "metadata": {
            "name": "web-0",
            "namespace": "team-a",
            "uid": uid,
            "finalizers": list(finalizers),
            "annotations": {MARK_ANNOTATION: stored} if stored else {},
        },
        "spec": {"identityRef": {"name": "cloud", "cloudName": "c"}, "flavor": "f", "image": {}, "sshKeyName": ""},
    }
    raw = msgspec.json.encode(tree)
    return Present(msgspec.json.decode(raw, type=OpenStackServer), raw)


class Roots:
    """As many roots as are asked for, and what was told as born."""

    def __init__(self) -> None:
        self.made = 0
        self.born: list[str] = []
        self._asker = Asker({MARKS: MarkMaker(self, born=self.born.append)})

    def __call__(self) -> str:
        self.made += 1
        return f"{self.made:08d}-0000-4000-8000-000000000000"

    async def of(self, object_: Present[Any], *, may_exist: bool = False) -> str:
        """The mark that one attempt has for the object."""
        inquiry = self._asker.inquiry(KEY)
        plan = await inquiry.decide(
            Asking(), lambda seen: Plan.nothing(fresh_mark(seen, object_, unborn=not may_exist))
        )
        inquiry.end()
        assert isinstance(plan.next, Done)
        return plan.next.note


async def test_a_new_mark_is_kept_until_it_is_persisted_and_told_as_born_once() -> None:
    roots = Roots()
    fresh = await roots.of(found())
    assert await roots.of(found()) == fresh
    assert roots.born == [fresh]
    assert await roots.of(found(fresh)) == ""
    assert root_of(await roots.of(found())) != root_of(fresh)


async def test_another_object_of_the_name_gets_another_mark() -> None:
    roots = Roots()
    assert root_of(await roots.of(found(uid="u"))) != root_of(await roots.of(found(uid="v")))


async def test_a_mark_that_was_told_as_born_is_not_used_for_what_may_exist() -> None:
    roots = Roots()
    fresh = await roots.of(found())
    other = await roots.of(found(), may_exist=True)
    assert root_of(other) != root_of(fresh)
    assert roots.born == [fresh]


def test_only_a_mark_of_its_own_is_the_mark_of_an_object() -> None:
    before = mark_for(ROOT, "older", "server/team-a/web-0")
    assert [mark_of(found(each)) for each in ("", OWN, before, ROOT, THEIRS)] == ["", OWN, "", "", ""]


def test_a_mark_of_its_own_stays_and_that_of_another_is_replaced_with_the_finalizer_in_one_write() -> None:
    def stored(merge: Any) -> tuple[str, list[str]]:
        meta = merge.desired["metadata"]
        return meta["annotations"][MARK_ANNOTATION], meta["finalizers"]

    held = [SERVER_FINALIZER]
    assert stored(intend(found(), FRESH)) == (FRESH, held)
    assert stored(intend(found(OWN), FRESH)) == (OWN, held)
    assert stored(intend(found(THEIRS, finalizers=(SERVER_FINALIZER,)), FRESH)) == (FRESH, held)
    assert stored(intend(found(OWN), THEIRS, carried=True)) == (THEIRS, held)
    write, news = dropped(found(THEIRS), FRESH, "OpenStackServer team-b/web-0").actions
    assert stored(write) == (FRESH, held)
    assert isinstance(news, Emit)
    assert (news.reason, "OpenStackServer team-b/web-0" in news.note) == ("MarkDropped", True)
