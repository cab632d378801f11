"""What the answers of registries mean: codes and bodies as real ones give them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from windlass.os_build.pullspec import Target
from windlass.os_build.registry.answers import Denied, Gone, Kind, NotAsked, Reply, about_manifest, about_push, shown

TARGET = Target("quay.io", "org/os")


def reply(status: int, code: str = "", message: str = "", *, body: str | None = None, **headers: str) -> Reply:
    content = json.dumps({"errors": [{"code": code, "message": message}]}) if code else ""
    named = CIMultiDict((name.replace("_", "-"), value) for name, value in headers.items())
    return Reply(URL("https://quay.io"), status, CIMultiDictProxy(named), (content if body is None else body).encode())


@pytest.mark.parametrize(
    ("given", "push", "manifest"),
    [
        pytest.param(reply(401, "UNAUTHORIZED"), Kind.DENIED, Denied, id="2.10 UNAUTHORIZED"),
        pytest.param(reply(403, "DENIED", "requested access is denied"), Kind.DENIED, Denied, id="2.10 DENIED"),
        pytest.param(reply(400, "DENIED"), Kind.DENIED, Denied, id="DENIED with another status"),
        pytest.param(reply(401), Kind.DENIED, Denied, id="2.10 401"),
        pytest.param(reply(403, body="<html>Forbidden</html>"), Kind.DENIED, Denied, id="2.10 403"),
        pytest.param(reply(404, "NAME_UNKNOWN"), Kind.UNKNOWN, Gone, id="2.10 NAME_UNKNOWN"),
        pytest.param(reply(404, "MANIFEST_UNKNOWN"), Kind.UNKNOWN, Gone, id="2.10 MANIFEST_UNKNOWN"),
        pytest.param(reply(400, "NAME_INVALID"), Kind.UNKNOWN, Gone, id="NAME_INVALID"),
        pytest.param(reply(404, "NOT_FOUND", "project org not found"), Kind.UNKNOWN, Gone, id="Harbor"),
        pytest.param(reply(404, body="no such page"), Kind.UNKNOWN, Gone, id="404"),
        pytest.param(reply(400, "UNKNOWN", "Not Found"), Kind.NOT_ASKED, Gone, id="2.10 UNKNOWN, Not Found"),
        pytest.param(reply(500, "UNKNOWN", "image not found"), Kind.NOT_ASKED, Gone, id="2.10 UNKNOWN, not found"),
        pytest.param(reply(500, "INTERNAL", "Tag has Expired"), Kind.NOT_ASKED, Gone, id="2.10 Quay, expired"),
        pytest.param(reply(500, "INTERNAL", "was deleted"), Kind.NOT_ASKED, Gone, id="2.10 Quay, deleted"),
        pytest.param(reply(500, "INTERNAL", "oops"), Kind.NOT_ASKED, NotAsked, id="500"),
        pytest.param(reply(502, body="<html>Bad Gateway</html>"), Kind.NOT_ASKED, NotAsked, id="502"),
        pytest.param(reply(503, "DENIED"), Kind.NOT_ASKED, NotAsked, id="503 whatever it says"),
        pytest.param(reply(429, "TOOMANYREQUESTS"), Kind.NOT_ASKED, NotAsked, id="429"),
        pytest.param(reply(403, "TOOMANYREQUESTS"), Kind.NOT_ASKED, NotAsked, id="TOOMANYREQUESTS"),
        pytest.param(reply(429, "DENIED"), Kind.NOT_ASKED, NotAsked, id="429 whatever it says"),
        pytest.param(reply(401, "UNAUTHORIZED", "token expired"), Kind.DENIED, Denied, id="expired, and not of Quay"),
        pytest.param(reply(400), Kind.NOT_ASKED, NotAsked, id="400"),
        pytest.param(reply(405, "UNSUPPORTED"), Kind.DENIED, NotAsked, id="read-only"),
        pytest.param(reply(400, "UNSUPPORTED"), Kind.DENIED, NotAsked, id="read-only with another status"),
        pytest.param(reply(418), Kind.NOT_ASKED, NotAsked, id="anything else"),
        pytest.param(reply(200, body="<html>Log in</html>"), Kind.NOT_ASKED, NotAsked, id="a page for people"),
    ],
)  # fmt: skip
def test_an_answer_is_read_by_its_code_and_status(given: Reply, push: Kind, manifest: type) -> None:
    assert about_push(given, TARGET, user="robot", origin="Secret mco/push").kind is push
    assert isinstance(about_manifest(given, "quay.io/org/os:v1", origin="Secret mco/push"), manifest)


@pytest.mark.parametrize("status", [201, 202])
def test_an_upload_that_has_begun_is_granted(status: int) -> None:
    answer = about_push(reply(status), TARGET, user="robot", origin="Secret mco/push")
    assert answer.kind is Kind.GRANTED


@pytest.mark.parametrize(
    ("given", "user", "says"),
    [
        (
            reply(403, "DENIED", "access denied"),
            "robot",
            "registry quay.io does not let user robot push to org/os (403 DENIED: access denied): "
            "correct the credentials in Secret mco/push, or allow user robot to push there",
        ),
        (
            reply(401),
            "",
            "registry quay.io does not let anybody push to org/os (401): "
            "Secret mco/push has no credentials for it: add an entry for quay.io",
        ),
        (
            reply(404, "NAME_UNKNOWN", "repository name not known to registry"),
            "robot",
            "registry quay.io has no repository org/os (404 NAME_UNKNOWN: repository name not known to registry): "
            "create it there, or correct the name of the repository",
        ),
        (
            reply(405, "UNSUPPORTED"),
            "robot",
            "registry quay.io takes no pushes to org/os (405 UNSUPPORTED): push to another registry",
        ),
        (
            reply(429, "TOOMANYREQUESTS", Retry_After="7"),
            "robot",
            "registry quay.io could not be asked about pushes to org/os: it answers 429 TOOMANYREQUESTS, "
            "it asks for a pause of 7 s",
        ),
    ],
    ids=["denied", "no credentials", "unknown", "read-only", "throttled"],
)
def test_the_text_names_registry_repository_and_remedy(given: Reply, user: str, says: str) -> None:
    assert about_push(given, TARGET, user=user, origin="Secret mco/push").text == says


@pytest.mark.parametrize(
    "body",
    ["", "null", "[]", "{}", '{"errors": null}', '{"errors": []}', '{"errors": ["x"]}', '{"errors": [{"code": 7}]}'],
)
def test_bodies_of_other_forms_have_no_error(body: str) -> None:
    assert str(reply(500, body=body)) == "500"


@given(text=st.text(max_size=400))
def test_text_of_others_is_shown_in_one_short_line_without_control_characters(text: str) -> None:
    line = shown(text)
    assert len(line) <= 200
    assert line.isprintable()


def test_a_long_text_of_others_is_cut() -> None:
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 201) == "x" * 197 + "..."


def test_control_characters_of_a_registry_do_not_reach_people() -> None:
    assert "\x1b" not in about_push(reply(403, "DENIED", "\x1b[2Jgone\n"), TARGET, user="a\x07b", origin="x").text
