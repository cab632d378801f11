"""How decisions look at objects: when the word of a cache is enough, and what is asked when it is not."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.api import capi, config, mapi
from windlass.kube.control.question import Answers, Cached, Confirmed, Indexed, Live, Needs, Question
from windlass.kube.control.seen import Absent, NotServedKind, Present, Seen
from windlass.kube.errors import NotServed
from windlass.machine_sync.mirroring.looking import Looking

from ..trees import NOW, OURS, THEIRS, look

MACHINE = (capi.Machine, "w-0", THEIRS)
THERE: Seen[Any] = look(capi.Machine, {"metadata": {"name": "w-0", "uid": "there"}, "spec": {"clusterName": "c"}})
LATER: Seen[Any] = look(capi.Machine, {"metadata": {"name": "w-0", "uid": "later"}, "spec": {"clusterName": "c"}})
GONE: Seen[Any] = Absent(confirmed=True)


def looking(cached: Seen[Any] | None = None, **asked: Seen[Any]) -> Looking:
    """The caches have this of the Machine of Cluster API, and the API server has answered so."""
    questions: dict[str, Question[Any]] = {"live": Live(*MACHINE), "confirmed": Confirmed(*MACHINE)}
    answers = Answers.of({questions[name]: found for name, found in asked.items()}, at=NOW)
    return Looking(name="w-0", caches={} if cached is None else {Cached(*MACHINE): cached}, answers=answers)


@pytest.mark.parametrize(
    ("seen", "how", "found"),
    [
        (looking(THERE), {}, THERE),
        (looking(THERE), {"confirm": True}, THERE),
        (looking(THERE), {"live": True}, Live(*MACHINE)),
        (looking(Absent()), {}, Absent()),
        (looking(Absent()), {"confirm": True}, Confirmed(*MACHINE)),
        (looking(GONE), {"confirm": True}, GONE),
        (looking(), {}, Cached(*MACHINE)),
        (looking(THERE, live=LATER), {}, LATER),
        (looking(THERE, live=GONE), {"confirm": True}, GONE),
        (looking(Absent(), confirmed=LATER), {}, LATER),
        (looking(Absent(), confirmed=GONE), {"confirm": True}, GONE),
        (looking(Absent(), confirmed=GONE), {"live": True}, Live(*MACHINE)),
    ],
)
def test_an_object_is_asked_for_where_the_caches_are_not_enough(
    seen: Looking, how: dict[str, bool], found: Seen[Any] | Question[Any]
) -> None:
    if not isinstance(found, Question):
        assert seen.see(capi.Machine, "w-0", **how) == found
        return
    with pytest.raises(Needs) as needed:
        seen.see(capi.Machine, "w-0", **how)
    assert needed.value.questions == (found,)


@pytest.mark.parametrize(
    "look_at",
    [
        lambda seen: seen.see(capi.Machine, "w-0", live=True),
        lambda seen: seen.see(capi.Machine, "w-0", confirm=True),
        lambda seen: seen.ask((capi.Machine, "w-0")),
    ],
)
def test_an_answer_from_before_the_last_writes_does_not_count(look_at: Callable[[Looking], Any]) -> None:
    seen = looking(Absent(), live=THERE, confirmed=THERE)
    look_at(seen)
    with pytest.raises(Needs):
        look_at(replace(seen, answers=replace(seen.answers, round=2)))


def test_what_is_needed_together_is_asked_for_together_in_the_namespace_of_its_api() -> None:
    with pytest.raises(Needs) as needed:
        looking().ask((mapi.Machine, "w-0"), (capi.Machine, "w-0"), (config.Infrastructure, "cluster"))
    asked = (Live(mapi.Machine, "w-0", OURS), Live(*MACHINE), Live(config.Infrastructure, "cluster"))
    assert needed.value.questions == asked


def test_only_absences_are_confirmed() -> None:
    with pytest.raises(Needs) as needed:
        looking(Absent()).confirm((capi.Machine, "w-0"))
    assert needed.value.questions == (Confirmed(*MACHINE),)
    looking(THERE).confirm((capi.Machine, "w-0"))


def test_what_an_index_names_is_unknown_while_the_kind_is_not_served() -> None:
    named = Indexed(capi.Machine, "owner", "uid")
    served, unserved = looking(THERE), looking(NotServedKind("no CRD"))
    known = {named: (THERE,)}
    (found,) = replace(served, caches={**served.caches, **known}).indexed(capi.Machine, "owner", "uid")
    assert isinstance(found, Present)
    seen = replace(unserved, caches={**unserved.caches, **known})
    with pytest.raises(NotServed, match="no CRD"):
        seen.indexed(capi.Machine, "owner", "uid")
    assert seen.last_known(capi.Machine, "owner", "uid") == (THERE,)
