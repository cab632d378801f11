"""What an answer of a cloud means: bodies as a real one gave them."""

import time
from datetime import UTC, datetime

import pytest

from windlass.openstack.cloud.classify import classify
from windlass.openstack.cloud.failures import (
    CloudFailure,
    Denied,
    Doubtful,
    InConflict,
    Missing,
    OverQuota,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from windlass.openstack.cloud.session import Reply
from windlass.openstack.cloud.wire import Http, Method

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)


def asked(method: Method = "POST", *, microversion: str = "") -> Http:
    return Http("compute", method, "/servers", microversion=microversion)


def reply(status: int, body: str = "", **headers: str) -> Reply:
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode())


@pytest.mark.parametrize(
    ("status", "method", "headers", "body", "kind"),
    [
        (429, "POST", {"retry_after": "7"}, "", Throttled),
        (413, "POST", {"retry_after": "7"}, '{"overLimit": {"message": "This request was rate-limited."}}', Throttled),
        (503, "POST", {"retry_after": "7"}, "", Throttled),
        (503, "POST", {}, "", Doubtful),
        (503, "GET", {}, "", Unavailable),
        (500, "DELETE", {}, '{"computeFault": {"code": 500, "message": "Unexpected API Error."}}', Doubtful),
        (502, "GET", {}, "<html><body>Bad Gateway</body></html>", Unavailable),
        (504, "PUT", {}, "", Doubtful),
        (
            401,
            "GET",
            {},
            '{"error": {"code": 401, "message": "The request you have made requires..."}}',
            Unauthenticated,
        ),
        (403, "POST", {}, '{"forbidden": {"message": "Policy does not allow this"}}', Denied),
        (403, "POST", {}, '{"forbidden": {"message": "Quota exceeded for cores: Requested 1"}}', OverQuota),
        (409, "POST", {}, '{"NeutronError": {"message": "Quota exceeded for resources: [\'port\']."}}', OverQuota),
        (
            413,
            "POST",
            {"retry_after": "0"},
            '{"overLimit": {"message": "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota '
            "'volumes'.\"}}",
            OverQuota,
        ),
        (404, "GET", {}, '{"itemNotFound": {"message": "Instance x could not be found."}}', Missing),
        (409, "DELETE", {}, '{"NeutronError": {"message": "Port in use"}}', InConflict),
        (400, "POST", {}, '{"badRequest": {"message": "Invalid key_name provided."}}', Rejected),
        (406, "GET", {}, '{"computeFault": {"message": "Version 2.999 is not supported by the API."}}', Rejected),
    ],
)
def test_each_answer_has_one_class(
    status: int, method: Method, headers: dict[str, str], body: str, kind: type[CloudFailure]
) -> None:
    assert type(classify(asked(method), reply(status, body, **headers), now=NOW)) is kind


@pytest.mark.parametrize("status", [200, 201, 202, 204, 300])
def test_a_success_is_no_failure(status: int) -> None:
    assert classify(asked(), reply(status)) is None


def test_what_is_to_be_deleted_may_be_gone_already() -> None:
    assert classify(asked("DELETE"), reply(404)) is None


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("Quota exceeded for instances: Requested 1, but already used 10 of 10 instances", "instances"),
        ("Quota exceeded for cores, ram: Requested 4, 8192, but already used 8, 1 of 8, 1", "cores, ram"),
        ("Quota exceeded for resources: ['port'].", "port"),
        ("Maximum number of volumes allowed (10) exceeded for quota 'volumes'.", "volumes"),
    ],
)
def test_the_quota_that_is_used_up_is_named(text: str, resource: str) -> None:
    failure = classify(asked(), reply(403, f'{{"forbidden": {{"message": "{text}"}}}}'))
    assert isinstance(failure, OverQuota)
    assert failure.resource == resource


def test_text_and_request_id_are_told() -> None:
    body = '{"NeutronError": {"type": "HTTPBadRequest", "message": "Invalid input for network_id.", "detail": ""}}'
    failure = classify(asked(), reply(400, body, x_openstack_request_id="req-1"))
    assert str(failure) == "compute (400): Invalid input for network_id. [req-1]"


def test_a_microversion_that_is_too_new_is_named() -> None:
    failure = classify(asked(microversion="2.60"), reply(406, '{"computeFault": {"message": "Maximum is 2.53."}}'))
    assert "version 2.60 of the compute API is not supported" in str(failure)


@pytest.mark.parametrize(
    "body",
    [
        b"<" * 1_000_000,
        b"<html><head>" + b"<p" * 500_000,
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b'{"message": "\xff"}',
        b'{"itemNotFound": {"message": "' + b"<" * 1_000_000 + b'"}}',
    ],
    ids=["brackets", "open tags", "deep lists", "deep maps", "no UTF-8", "a long message"],
)
def test_a_body_of_any_size_and_depth_is_explained_at_once(body: bytes) -> None:
    began = time.process_time()
    failure = classify(asked("GET"), Reply(404, {}, body))
    assert isinstance(failure, Missing)
    assert len(failure.fault) <= 1000
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"error": {"code": 401, "message": "wrong", "title": "Unauthorized"}}', "wrong"),
        (
            '{"itemNotFound": {"code": 404, "message": "Instance x could not be found."}}',
            "Instance x could not be found.",
        ),
        ('{"NeutronError": {"type": "T", "message": "Port in use", "detail": ""}}', "Port in use"),
        ('{"NeutronError": "Port in use"}', "Port in use"),
        ('{"faultcode": "Client", "faultstring": "no such pool", "debuginfo": null}', "no such pool"),
        ('{"message": "no image<br /><br />\\n", "code": "404 Not Found", "title": "Not Found"}', "no image"),
        ('{"errors": [{"status": 404, "title": "Not Found", "detail": "no such trait"}]}', "no such trait"),
    ],
    ids=["Keystone", "Nova", "Neutron", "Neutron's text", "Octavia", "Glance", "Placement"],
)
def test_the_errors_of_each_service_are_quoted(body: str, text: str) -> None:
    failure = classify(asked("GET"), reply(404, body))
    assert failure is not None
    assert failure.fault == text


@pytest.mark.parametrize(
    "body",
    [
        "internal page: db_password=hunter2",
        "<html><h1>hunter2</h1></html>",
        '"hunter2"',
        '["hunter2"]',
        '{"message": "hunter2"}',
        '{"detail": "hunter2", "error": "hunter2"}',
        '{"kind": "Status", "message": "hunter2", "reason": "NotFound", "code": 404}',
        '{"data": {"message": "hunter2", "AWS_SECRET_ACCESS_KEY": "hunter2"}}',
        '{"error": {"data": {"message": "hunter2"}}}',
        "",
    ],
)
def test_what_another_server_says_is_not_quoted(body: str) -> None:
    """The URL comes from a Secret: a condition would show its author what only this process can reach."""
    failure = classify(asked("GET"), reply(404, body))
    assert str(failure) == "compute (404): HTTP 404 Not Found without a message of OpenStack"
    assert "HTTP 599 without" in str(classify(asked("GET"), reply(599, body)))


def test_a_request_id_is_short() -> None:
    assert len(str(classify(asked(), reply(400, "", x_openstack_request_id="r" * 60_000)))) < 200
