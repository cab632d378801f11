"""What informers of others told stands apart: it changes nothing else, and none of them crowds out another."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.unit.update_status.document.parts import NOW, degraded_node, report, unobserved
from windlass.api.update import OWN_INFORMERS, UpdateStatusStatus
from windlass.api.update_informer import API_VERSION
from windlass.update_status.as_tree import tree
from windlass.update_status.document import health_insights, read, write
from windlass.update_status.document.informed import MOST, MOST_BYTES
from windlass.update_status.document.validity import trouble
from windlass.update_status.history import followed
from windlass.update_status.informers.answers import MOST_DESCRIPTION, MOST_INSIGHTS, MOST_SUMMARY, read_answer
from windlass.update_status.report import Informed, InformerInsight, Insight, Level, Reference, Report, Scope
from windlass.update_status.text import Details, render
from windlass.update_status.text.wide import render_wide
from windlass.update_status.times import HOUR, MINUTE, SECOND
from windlass.update_status.view.parts import parts
from windlass.web.view import BRIEF

FAIR = MOST_BYTES // MOST
"""Bytes that an informer may always fill."""
BUILT_IN = report(degraded_node())


def told(uid: str = "array-1", *, pool: str = "", finish: int | None = None, **changes: Any) -> InformerInsight:
    insight = Insight(
        level=Level.WARNING,
        impact=BUILT_IN.insights[0].impact,
        summary=f"Array {uid} rebuilds",
        description="Disk 3 was replaced.",
        reference="https://storage.example.org/rebuild",
        started=NOW - HOUR,
        resources=(Reference("", "persistentvolumes", "pv-1"),),
        scope=Scope.WORKER_POOL if pool else Scope.CONTROL_PLANE,
        pool=pool,
    )
    return InformerInsight(uid=uid, insight=structs.replace(insight, **changes), finish=finish)


def informer(name: str = "storage", *of: InformerInsight, stale_since: int | None = None) -> Informed:
    return Informed(name=name, namespace="arrays", stale_since=stale_since, insights=of)


def with_informers(*found: Informed) -> Report:
    return structs.replace(BUILT_IN, informed=found)


def hostile(
    name: str = "hostile", count: int = MOST_INSIGHTS, level: Level = Level.CRITICAL, letter: str = "😀"
) -> Informed:
    texts: dict[str, Any] = {"summary": letter * MOST_SUMMARY, "description": letter * MOST_DESCRIPTION, "level": level}
    return informer(name, *(told(f"x{number}", pool=("", "worker")[number % 2], **texts) for number in range(count)))


def without_others(status: UpdateStatusStatus) -> UpdateStatusStatus:
    def own(place: Any) -> Any:
        return structs.replace(place, informers=tuple(one for one in place.informers if one.name in OWN_INFORMERS))

    return structs.replace(
        status,
        conditions=tuple(one for one in status.conditions if one.type != "InformersDegraded"),
        control_plane=own(status.control_plane),
        worker_pools=tuple(map(own, status.worker_pools)),
    )


def condition(status: UpdateStatusStatus) -> tuple[str, str, str] | None:
    found = {one.type: (one.status, one.reason, one.message) for one in status.conditions}
    return found.get("InformersDegraded")


@pytest.mark.parametrize("name", ["", "\x00", "\ud800", "Storage", "cpi", "x" * 254])
def test_an_informer_without_a_valid_name_of_its_own_is_left_out_and_the_others_stay(name: str) -> None:
    status = write(with_informers(informer(name, told("a")), informer("storage", told("b"))), now=NOW)
    assert [one.name for one in read(status, now=NOW).informed] == ["storage"]
    assert not trouble(status)
    found = condition(status)
    assert found
    assert found[:2] == ("True", "LeftOut")


def test_of_two_informers_of_one_name_the_first_stays() -> None:
    status = write(with_informers(informer("storage", told("a")), informer("storage", told("b"))), now=NOW)
    assert [[each.uid for each in one.insights] for one in read(status, now=NOW).informed] == [["a"]]


def test_an_informer_in_a_namespace_that_cannot_exist_is_left_out() -> None:
    odd = structs.replace(informer("storage", told("a")), namespace="\ud800")
    status = write(with_informers(odd), now=NOW)
    assert read(status, now=NOW).informed == ()
    assert condition(status) == ("True", "LeftOut", "informer 'storage' is left out: it has no valid name of its own")


def test_it_is_read_as_it_was_written() -> None:
    whole = with_informers(
        informer("storage", told(), told("array-2", pool="worker", finish=NOW + HOUR)),
        informer("silent", stale_since=NOW - 6 * MINUTE),
    )
    status = write(whole, now=NOW)
    assert trouble(status) == ""
    assert unobserved(read(status, now=NOW)) == whole
    assert write(whole, now=NOW + SECOND, previous=status) == status


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param((), None, id="no informer"),
        pytest.param((informer("a", told()),), ("False", "AsExpected", ""), id="all is well"),
        pytest.param(
            (informer("a", stale_since=NOW),),
            ("True", "NotAnswering", "UpdateInformer a has not answered since .*Z: see its condition Online"),
            id="silent",
        ),
        pytest.param(
            (informer("a", told(pool="none")),),
            ("True", "LeftOut", "1 insights of a were left out: their pool is no pool of workers"),
            id="of a pool that does not exist",
        ),
        pytest.param(
            (informer("a", told("Not A Label")),),
            ("True", "LeftOut", "1 insights of a were left out: the first is Health .*"),
            id="the API server would refuse it",
        ),
        pytest.param(
            (hostile("a"),),
            ("True", "LeftOut", "[0-9]+ insights of a were left out: it tells too much"),
            id="too much",
        ),
        pytest.param(
            tuple(informer(f"a{number}") for number in range(MOST + 1)),
            ("True", "LeftOut", f"a{MOST} is left out: there are more than {MOST} informers"),
            id="too many informers",
        ),
    ],
)
def test_a_condition_of_its_own_tells_of_informers(
    found: tuple[Informed, ...], expected: tuple[str, str, str] | None
) -> None:
    status = write(with_informers(*found), now=NOW)
    said = condition(status)
    assert trouble(status) == ""
    assert (said is None) == (expected is None)
    if said is not None and expected is not None:
        assert said[:2] == expected[:2]
        assert re.fullmatch(expected[2], said[2])
    assert next(one.status for one in status.conditions if one.type == "Truncated") == "False"


quiet = st.lists(
    st.builds(
        told,
        uid=st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True),
        pool=st.sampled_from(["", "worker"]),
        level=st.sampled_from(Level),
    ),
    max_size=5,
    unique_by=lambda one: one.uid,
)


@given(st.lists(quiet, max_size=5), st.integers(0, MOST_INSIGHTS), st.sampled_from(Level), st.integers(0, 5))
def test_control_6_a_flood_of_one_changes_nothing_of_the_others_and_nothing_built_in(
    others: list[list[InformerInsight]], count: int, level: Level, place: int
) -> None:
    well = [informer(f"well-{number}", *found) for number, found in enumerate(others)]
    flood = [*well[:place], hostile(count=count, level=level), *well[place:]]
    status = write(with_informers(*flood), now=NOW)
    calm = write(with_informers(*well), now=NOW)
    assert trouble(status) == ""
    assert without_others(status) == without_others(calm) == write(BUILT_IN, now=NOW)
    kept = [one for one in read(status, now=NOW).informed if one.name != "hostile"]
    assert kept == list(read(calm, now=NOW).informed)


def test_control_15_all_informers_share_their_room_and_those_that_tell_little_keep_all() -> None:
    little = informer("little", *(told(f"u{number}") for number in range(3)))
    status = write(with_informers(*(hostile(f"h{number}", letter="x") for number in range(MOST - 1)), little), now=NOW)
    plain = len(msgspec.json.encode(without_others(status)))
    others = len(msgspec.json.encode(status)) - plain
    assert others < MOST_BYTES + 10_000  # the condition stands apart
    found = {one.name: len(one.insights) for one in read(status, now=NOW).informed}
    assert found["little"] == 3
    assert len(msgspec.json.encode(little)) < FAIR
    assert all(found[f"h{number}"] for number in range(MOST - 1))


def test_the_worst_insights_of_an_informer_stay() -> None:
    levels = [Level.INFO, Level.CRITICAL, Level.WARNING]
    texts: dict[str, Any] = {"description": "😀" * MOST_DESCRIPTION}
    many = [told(f"u{number}", level=levels[number % 3], **texts) for number in range(MOST_INSIGHTS)]
    (kept,) = read(write(with_informers(informer("a", *many)), now=NOW), now=NOW).informed
    assert 0 < len(kept.insights) < MOST_INSIGHTS
    found = [one.insight.level for one in kept.insights]
    assert found.count(Level.CRITICAL) == sum(one.insight.level is Level.CRITICAL for one in many)
    assert Level.INFO not in found


def test_control_10_what_others_told_is_in_no_text_of_oc_no_history_no_assessment() -> None:
    whole = with_informers(informer("storage", told(level=Level.CRITICAL)))
    status, plain = write(whole, now=NOW), write(BUILT_IN, now=NOW)
    for details in Details:
        assert render(whole, now=NOW, details=details) == render(BUILT_IN, now=NOW, details=details)
    assert health_insights(status) == health_insights(plain)
    assert followed([], whole, health_insights(status), now=NOW) == followed(
        [], BUILT_IN, health_insights(plain), now=NOW
    )
    assert status.overview == plain.overview
    assert {**tree(whole, now=NOW), "informers": []} == tree(BUILT_IN, now=NOW)


def test_control_10_people_read_who_tells_it_and_since_when_an_informer_is_silent() -> None:
    whole = with_informers(informer("storage", told(finish=NOW + HOUR), stale_since=NOW - 6 * MINUTE))
    text = render_wide(whole, now=NOW)
    section = text[text.index("= Informers =") :]
    assert "storage in arrays" in section
    assert "No answer since" in section
    assert "Array array-1 rebuilds" in section
    assert "Expected to end" in section
    assert "= Informers =" not in render_wide(BUILT_IN, now=NOW)


def test_control_10_programs_and_the_page_get_the_name_of_the_informer_with_each_insight() -> None:
    whole = with_informers(informer("storage", told(finish=NOW + HOUR), stale_since=NOW - 6 * MINUTE))
    (found,) = tree(whole, now=NOW)["informers"]
    assert found["staleSince"]
    assert [(one["informer"], one["uid"]) for one in found["insights"]] == [("storage", "array-1")]
    document = parts(whole, [], now=NOW)
    built_in = parts(BUILT_IN, [], now=NOW)
    new = {key: part for key, part in document.items() if key not in built_in}
    changed = {key for key, part in built_in.items() if document[key] != part}
    assert changed == {BRIEF}
    assert [one.text for one in document[BRIEF]["needs"] if one not in built_in[BRIEF]["needs"]] == [
        "storage in arrays: Array array-1 rebuilds"
    ]
    ((key, part),) = new.items()
    assert key.startswith("insight/storage/")
    assert part["informer"] == "storage in arrays"
    assert part["staleSince"]
    assert "under" not in part


@pytest.mark.parametrize(
    ("namespace", "level", "claimed"),
    [
        ("arrays", Level.CRITICAL, True),
        ("arrays", Level.ERROR, True),
        ("arrays", Level.WARNING, False),
        ("openshift-storage", Level.CRITICAL, False),
        ("kube-system", Level.ERROR, False),
        ("openshift", Level.ERROR, True),
        ("my-openshift-storage", Level.ERROR, True),
    ],
)
def test_control_10_levels_above_warning_are_marked_if_the_informer_is_not_of_the_platform(
    namespace: str, level: Level, claimed: bool
) -> None:
    whole = with_informers(structs.replace(informer("storage", told(level=level)), namespace=namespace))
    mark = f"{level.title} (claimed)"
    assert (mark in render_wide(whole, now=NOW)) == claimed
    (found,) = tree(whole, now=NOW)["informers"]
    assert [one["claimed"] for one in found["insights"]] == [claimed]
    assert [part.get("claimed", False) for part in on_the_page(whole)] == [claimed]


def on_the_page(whole: Report) -> list[dict[str, Any]]:
    """The parts that informers of others tell."""
    return [part for key, part in parts(whole, [], now=NOW).items() if key.startswith("insight/storage/")]


EVIL = "\x1b[2J\x1b]0;owned\x07a\tb\r\nc\u202egnp.exe\u2066 <script>alert(1)</script>"
"""Clears a terminal, sets its title, breaks tables, turns the direction of text, and would be a script on a page."""


def test_control_9_texts_of_an_informer_can_be_shown_in_a_terminal_and_on_a_page() -> None:
    resource = {"resource": "nodes", "name": "n1"}
    said = {
        "uid": "evil",
        "scope": {"resources": [resource, {**resource, "name": EVIL}]},
        "impact": {"level": "Error", "type": "None", "summary": EVIL, "description": EVIL * 9},
        "remediation": {"reference": "javascript:alert(1)"},
    }
    body = {"apiVersion": API_VERSION, "kind": "UpdateInsightsResponse", "insights": [said]}
    answer = read_answer(msgspec.json.encode(body), now=NOW)
    whole = with_informers(informer("storage", *answer.insights))
    for shown in (whole, read(write(whole, now=NOW), now=NOW)):
        text = render_wide(shown, now=NOW)
        assert "a b cgnp.exe <script>alert(1)</script>" in text
        everything = text + str(on_the_page(shown))
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", everything)
        assert "javascript:" not in everything
    assert len(answer.refused) == 2  # the link, and the object that is no name


def test_an_informer_that_tells_much_gets_the_room_that_others_leave() -> None:
    little = [informer(f"well-{number}", told()) for number in range(MOST - 1)]
    status = write(with_informers(hostile(), *little), now=NOW)
    whole = {one.name: one for one in read(status, now=NOW).informed}
    assert len(msgspec.json.encode(status)) - len(msgspec.json.encode(without_others(status))) > MOST_BYTES * 3 // 4
    assert len(whole["hostile"].insights) < MOST_INSIGHTS
