"""What is taken of an answer. The number in a name is that of the control in the specification."""

from typing import Any

import msgspec
import pytest

from windlass.update_status.informers.answers import MOST_DESCRIPTION, MOST_INSIGHTS, MOST_SUMMARY, Answer, read_answer
from windlass.update_status.informers.churn import MOST_NEW, WINDOW, Churn
from windlass.update_status.informers.cleaning import link, one_line
from windlass.update_status.informers.fetching import NoAnswer
from windlass.update_status.report import Impact, Level, Scope
from windlass.update_status.times import moment

from .servers import insight, response

NOW = moment("2026-11-24T12:00:00Z")


def taken(*insights: dict[str, Any], **fields: Any) -> Answer:
    return read_answer(msgspec.json.encode(response(*insights, **fields)), now=NOW)


def test_a_whole_insight_is_taken() -> None:
    said = {
        **insight(level="Error", type="Application Outage", description="Replace it."),
        "scope": {"pool": "worker", "resources": [{"resource": "nodes", "name": "worker-0"}]},
        "startedAt": "2026-11-24T11:00:00Z",
        "remediation": {"reference": "https://example.com/disks#full", "estimatedFinish": "2026-11-24T13:00:00Z"},
    }
    answer = taken(said)
    (told,) = answer.insights
    assert answer.refused == ()
    assert (told.uid, told.finish) == ("disk-full", moment("2026-11-24T13:00:00Z"))
    found = told.insight
    assert (found.level, found.impact, found.scope, found.pool) == (
        Level.ERROR,
        Impact.APPLICATION_OUTAGE,
        Scope.WORKER_POOL,
        "worker",
    )
    assert (found.started, found.reference) == (moment("2026-11-24T11:00:00Z"), "https://example.com/disks#full")
    assert [one.name for one in found.resources] == ["worker-0"]


@pytest.mark.parametrize("uid", ["cv-version", "co-etcd", "mcp-worker", "node-worker-0", "health-ab", "cause-ab"])
def test_control_5_uids_of_the_controller_itself_are_refused(uid: str) -> None:
    answer = taken(insight(uid), insight("own"))
    assert [one.uid for one in answer.insights] == ["own"]
    assert answer.refused == (f"insight {uid!r}: its uid begins like those of the controller's own insights",)


def test_control_5_acquired_at_and_the_name_of_the_informer_are_not_taken_from_the_body() -> None:
    forged = {**insight(), "acquiredAt": "2000-01-01T00:00:00Z", "informer": "cpi"}
    assert taken(forged, informer="cpi") == taken(insight())


@pytest.mark.parametrize("uid", ["", "A", "a.b", "a\n", "-a", "a" * 64, "a\x1b[31m"])
def test_a_uid_that_the_api_would_not_take_is_refused(uid: str) -> None:
    assert taken(insight(uid)).insights == ()


def test_two_of_one_uid_are_one() -> None:
    assert len(taken(insight(), insight()).insights) == 1


def test_control_6_more_insights_than_the_limit_are_refused() -> None:
    answer = taken(*(insight(f"i{number}") for number in range(MOST_INSIGHTS + 10)))
    assert len(answer.insights) == MOST_INSIGHTS
    assert answer.refused == (f"more than {MOST_INSIGHTS} insights",)


def test_control_6_an_answer_that_nests_too_deep_is_refused() -> None:
    body = b'{"apiVersion":"update.openshift.io/v1alpha1","x":' + b"[" * 5000 + b"]" * 5000 + b"}"
    with pytest.raises(NoAnswer, match="nested"):
        read_answer(body, now=NOW)


def test_control_6_long_texts_are_shortened() -> None:
    (told,) = taken(insight(summary="s" * 9999, description="d" * 99999)).insights
    assert (len(told.insight.summary), len(told.insight.description)) == (MOST_SUMMARY, MOST_DESCRIPTION)


def test_control_8_a_flood_of_changing_uids_is_held_back_and_known_ones_stay() -> None:
    churn = Churn(["old"])
    seconds, came = 0.0, set[str]()
    for turn in range(20):
        answer = taken(insight("old"), *(insight(f"t{turn}-{number}") for number in range(MOST_INSIGHTS - 1)))
        kept, _ = churn.admit(answer.insights, now=seconds)
        assert kept[0].uid == "old"
        came |= {one.uid for one in kept} - {"old"}
        seconds += 10.0
    assert len(came) == MOST_NEW
    kept, refused = churn.admit(taken(insight("later")).insights, now=seconds + WINDOW)
    assert ([one.uid for one in kept], refused) == (["later"], 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x9b2Jb", "ab"),
        ("one\r\ntwo\tthree", "one two three"),
        ("a\u202eb\u2066c\u200bd", "abcd"),
        ("\x00\x07\x7f", ""),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # shown as text, never as a tag
        ("zwölf …", "zwölf …"),
    ],
)
def test_control_9_escapes_and_direction_characters_are_removed(text: str, shown: str) -> None:
    assert one_line(text, 64) == shown
    (told, *_) = taken(insight(summary=f"x {text}", description=text)).insights
    assert told.insight.summary == f"x {shown}".strip()
    assert told.insight.description == shown


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " https://example.com",
        "data:text/html,<script>",
        "http://example.com",
        "https://",
        "https://user:password@example.com/",
        "https://example.com@evil.example/",
        "https://example.com/\n",
        'https://example.com/"onclick="x',
        "https://example.com:port/",
        "https://[::1/",
        "https://exa\u202emple.com",
        "https://example.com/" + "x" * 512,
    ],
)
def test_control_9_only_links_of_https_are_taken(text: str) -> None:
    assert link(text) == ""
    answer = taken({**insight(), "remediation": {"reference": text}})
    assert answer.insights[0].insight.reference == ""
    assert "link is left out" in answer.refused[0]


def test_the_clock_of_an_informer_may_be_ahead() -> None:
    (told,) = taken({**insight(), "startedAt": "2026-11-24T12:00:05Z"}).insights
    assert told.insight.started is None


@pytest.mark.parametrize("text", ["yesterday", "9999-99-99T00:00:00Z", ""])
def test_a_time_that_is_none_is_unknown(text: str) -> None:
    (told,) = taken({**insight(), "startedAt": text, "remediation": {"estimatedFinish": text}}).insights
    assert (told.insight.started, told.finish) == (None, None)


def test_a_malformed_insight_does_not_hurt_the_others() -> None:
    answer = taken({"uid": 5}, {"uid": "no-impact"}, insight("fine"))
    assert [one.uid for one in answer.insights] == ["fine"]
    assert len(answer.refused) == 2


def test_control_17_what_is_not_known_yet_is_ignored_or_unknown() -> None:
    (told,) = taken({**insight(type="Weather", level="Apocalyptic"), "mood": "bad"}, mood="bad").insights
    assert (told.insight.impact, told.insight.level) == (Impact.UNKNOWN, Level.INFO)


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1"])
def test_control_17_another_minor_version_is_taken(version: str) -> None:
    assert taken(insight(), apiVersion=f"update.openshift.io/{version}").insights


@pytest.mark.parametrize("version", ["update.openshift.io/v2", "other/v1", "v1", ""])
def test_control_17_another_major_version_is_refused(version: str) -> None:
    with pytest.raises(NoAnswer, match="not an UpdateInsightsResponse of"):
        taken(insight(), apiVersion=version)


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"apiVersion": 1}', b"<html>", b'{"insights": {}}'])
def test_what_is_no_answer_is_refused(body: bytes) -> None:
    with pytest.raises(NoAnswer):
        read_answer(body, now=NOW)
