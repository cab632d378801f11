"""Secrets with credentials of registries, as users and clusters write them."""

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.pretty import pretty_repr

from windlass.api.core import Secret
from windlass.api.meta import ObjectMeta
from windlass.os_build.credentials import Auths, Login, auths
from windlass.os_build.request import Problem

NEW, LEGACY = "kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"
KEY_OF = {NEW: ".dockerconfigjson", LEGACY: ".dockercfg"}
ROBOT = Login("robot", "s3cret")


def b64(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


ENTRY = {"auth": b64("robot:s3cret")}


def secret(document: Any, type_: str = NEW, **more: Any) -> Secret:
    """A Secret as the API server sends it; `document` is JSON, or text as it is."""
    text = document if isinstance(document, str) else json.dumps(document)
    fields = {"data": {KEY_OF.get(type_, ".dockerconfigjson"): b64(text)}} | more
    return Secret(metadata=ObjectMeta(name="push", namespace="mco"), type=type_, **fields)


def read(document: Any, type_: str = NEW) -> Auths:
    found = auths(secret(document, type_), key="finalImagePushSecretName")
    assert isinstance(found, Auths), found
    return found


@pytest.mark.parametrize("type_", [NEW, LEGACY])
@pytest.mark.parametrize(
    ("document", "hosts"),
    [
        pytest.param({"auths": {"quay.io": ENTRY}}, ["quay.io"], id="new"),
        pytest.param({"quay.io": ENTRY}, ["quay.io"], id="legacy"),
        pytest.param({"quay.io": ENTRY, "a.example:5000": ENTRY}, ["a.example:5000", "quay.io"], id="several hosts"),
        pytest.param({}, [], id="B26 {}"),
        pytest.param({"auths": {}}, [], id="auths {}"),
        pytest.param(
            {"auths": {"quay.io": ENTRY}, "credsStore": "pass", "credHelpers": {"gcr.io": "gcloud"}},
            ["quay.io"],
            id="credHelpers and credsStore",
        ),
        pytest.param({"auths": {"quay.io": {}, "a.example": ENTRY}}, ["a.example"], id="password in a store"),
        pytest.param({"auths": {"username": ENTRY}}, ["username"], id="a host called username"),
    ],
)
def test_both_forms_are_read_in_both_types(type_: str, document: Any, hosts: list[str]) -> None:
    found = read(document, type_)
    assert found.by_host == dict.fromkeys(hosts, ROBOT)
    assert json.loads(found.document) == {"auths": dict.fromkeys(hosts, ENTRY)}


@pytest.mark.parametrize(
    ("entry", "login"),
    [
        pytest.param(ENTRY, ROBOT, id="auth"),
        pytest.param({"username": "robot", "password": "s3cret", "email": "a@b"}, ROBOT, id="username and password"),
        pytest.param({**ENTRY, "username": "other", "password": "x"}, ROBOT, id="auth wins"),
        pytest.param({"auth": b64("robot:a:b")}, Login("robot", "a:b"), id="colon in the password"),
        pytest.param({"auth": b64("robot:s3cret") + "\n"}, ROBOT, id="line end"),
        pytest.param({"auth": b64("robot:s3cret\0")}, ROBOT, id="NUL"),
        pytest.param({"auth": b64("röbot:s3crét")}, Login("röbot", "s3crét"), id="UTF-8"),
        pytest.param({"identitytoken": "t0ken"}, Login("<token>", "", "t0ken"), id="identitytoken"),
        pytest.param(
            {"auth": b64("me:"), "identitytoken": "t0ken"}, Login("me", "", "t0ken"), id="identitytoken of a user"
        ),
    ],
)
def test_an_entry_is_read_in_all_forms_and_written_as_builders_read_it(entry: Any, login: Login) -> None:
    found = read({"auths": {"quay.io": entry}})
    assert found.by_host == {"quay.io": login}
    written = json.loads(found.document)["auths"]["quay.io"]
    assert base64.b64decode(written["auth"]).decode() == f"{login.username}:{login.password}"
    assert written.get("identitytoken", "") == login.identity_token


@pytest.mark.parametrize(
    ("document", "says"),
    [
        pytest.param("", "missing or empty", id="empty"),
        pytest.param(" \n", "missing or empty", id="blank"),
        pytest.param("null", "not a JSON object", id="null"),
        pytest.param('{"auths": ', "not JSON", id="malformed"),
        pytest.param('{"auths": ' + "[" * 60_000, "not JSON", id="deep"),
        pytest.param("\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "not JSON", id="not text"),
        pytest.param([ENTRY], "not a JSON object", id="array"),
        pytest.param({"auths": {"quay.io": ENTRY}, "extra": 1}, "unknown field extra beside auths", id="unknown field"),
        pytest.param({"auths": {"quay.io": {"pass": "x"}}}, "quay.io has an unknown field pass", id="in an entry"),
        pytest.param({"auth": {"quay.io": ENTRY}}, "entry auth has an unknown field quay.io", id="auths misspelt"),
        pytest.param({"auths": {"username": "u", "password": "p"}}, "entry .* is not a JSON object", id="no fall-back"),
        pytest.param({"auths": None}, "auths is not a JSON object", id="auths null"),
        pytest.param({"auths": {"quay.io": {"auth": "%%%"}}}, "auth of the entry quay.io is not the base64", id="auth"),
        pytest.param({"auths": {"quay.io": {"auth": b64("robot")}}}, "USER:PASSWORD", id="no colon"),
        pytest.param({"auths": {"quay.io": {"auth": b64(b"\xff:x")}}}, "USER:PASSWORD", id="not UTF-8"),
        pytest.param({"auths": {"quay.io": {"auth": 7}}}, "auth of the entry quay.io is not a string", id="number"),
    ],
)
def test_a_document_that_cannot_be_read_is_named_with_the_field(document: Any, says: str) -> None:
    found = auths(secret(document), key="finalImagePushSecretName")
    assert isinstance(found, Problem)
    assert found.reason == "SecretInvalid"
    assert found.text.startswith("Secret mco/push, which finalImagePushSecretName names: ")
    assert re.search(says, found.text)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param(secret({}, "Opaque"), "unknown secret type Opaque", id="Opaque"),
        pytest.param(secret({}, ""), "unknown secret type none", id="no type"),
        pytest.param(secret({}, data={}), ".dockerconfigjson is missing or empty", id="nil"),
        pytest.param(secret({}, data={"config.json": b64("{}")}), ".dockerconfigjson is missing", id="unknown key"),
        pytest.param(secret({}, data={".dockerconfigjson": "{"}), ".dockerconfigjson is not base64", id="not base64"),
        pytest.param(
            secret({}, LEGACY, data={".dockercfg": b64("{}"), ".dockerconfigjson": b64("{}")}),
            "must not have the key .dockerconfigjson",
            id="both keys",
        ),
    ],
)  # fmt: skip
def test_a_secret_of_another_shape_is_refused(given: Secret, says: str) -> None:
    found = auths(given, key="baseImagePullSecretName")
    assert isinstance(found, Problem)
    assert says in found.text


def test_a_manifest_in_a_file_may_have_string_data() -> None:
    given = secret({}, string_data={".dockerconfigjson": json.dumps({"auths": {"quay.io": ENTRY}})})
    found = auths(given, key="baseImagePullSecretName")
    assert isinstance(found, Auths)
    assert found.login("quay.io") == ROBOT


@pytest.mark.parametrize(
    ("host", "path", "user"),
    [
        ("quay.io", "org/os", "os"),
        ("quay.io", "org/os/deep", "os"),
        ("quay.io", "org/other", "org"),
        ("quay.io", "organisation/os", "all"),
        ("quay.io", "", "all"),
        ("QUAY.io", "org/os", "os"),
        ("quay.io:443", "org/os", None),
        ("io", "", None),
    ],
)
def test_the_most_specific_entry_wins(host: str, path: str, user: str | None) -> None:
    written = {"quay.io": "all", "quay.io/org": "org", "quay.io/org/os": "os"}
    found = read({"auths": {key: {"auth": b64(f"{name}:x")} for key, name in written.items()}}).login(host, path)
    assert (found and found.username) == user


@pytest.mark.parametrize(
    ("key", "host"),
    [
        ("https://index.docker.io/v1/", "docker.io"),
        ("docker.io", "registry-1.docker.io"),
        ("https://a.example/v1/", "a.example"),
        ("https://a.example/v2", "a.example"),
        ("http://a.example:5000", "a.example:5000"),
        ("https://a.example/org", "a.example"),
        ("a.example/v1/", "a.example"),
        ("a.example/", "a.example"),
        ("A.example", "a.example"),
        ("[::1]:5000", "[::1]:5000"),
    ],
)
def test_hosts_are_found_however_they_are_written(key: str, host: str) -> None:
    found = read({"auths": {key: ENTRY}})
    assert found.login(host, "org/os") == found.login(host, "other") == ROBOT


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_spellings_of_one_host_the_plain_one_wins(order: int) -> None:
    entries = [("https://a.example/v1/", {"auth": b64("old:x")}), ("a.example", ENTRY)]
    assert read({"auths": dict(entries[::order])}).login("a.example") == ROBOT


def test_a_password_is_never_shown() -> None:
    found = read({"auths": {"quay.io": {"auth": b64("robot:s3cret"), "identitytoken": "t0ken"}}})
    shown = "".join(f"{each!r}{each}{pretty_repr(each)}" for each in (found, found.by_host, found.login("quay.io")))
    assert "robot" in shown
    assert not [word for word in ("s3cret", "t0ken", b64("robot:s3cret")) if word in shown]


json_values = st.recursive(
    st.none() | st.integers() | st.text("auth:sme", max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["auths", "auth", "a.io", "x"]), inner),
    max_leaves=8,
)


@given(document=json_values, type_=st.sampled_from([NEW, LEGACY]))
def test_any_json_is_read_or_refused_and_what_is_read_is_read_again_the_same(document: Any, type_: str) -> None:
    found = auths(secret(document, type_), key="baseImagePullSecretName")
    if isinstance(found, Auths):
        assert read(found.document.decode()) == found
