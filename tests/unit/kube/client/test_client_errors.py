"""What becomes of every kind of answer, and of none: which error, and whether the request is sent again."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random
from typing import Any, ClassVar

import msgspec
import pytest
from msgspec import Struct, field

from tests.patience import PATIENCE
from tests.unit.kube.http_script import Answer, Script, cut, json, raw, silence, status, text, then
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import errors
from windlass.kube.backoff import Constant
from windlass.kube.client import Client, transport
from windlass.kube.client.retry import RetryPolicy
from windlass.kube.config import ClusterConfig
from windlass.kube.verbs import PatchType

SOON = RetryPolicy(attempts=3, backoff=Constant(0.001), spread=0.0)


class Widget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("example.com", "v1", "Widget", "widgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


WIDGET: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "a", "namespace": "here", "uid": "u", "resourceVersion": "7"},
}


@pytest.fixture
async def server() -> AsyncIterator[Script]:
    async with Script() as script:
        yield script


@pytest.fixture
async def client(server: Script) -> AsyncIterator[Client]:
    async with Client(ClusterConfig(server=server.url), retry=SOON, random=Random(1)) as client:
        yield client


async def read(client: Client) -> Any:
    return await client.get(Widget, "a", namespace="here")


async def write(client: Client) -> Any:
    return await client.patch(Widget, "a", {"spec": {}}, type=PatchType.MERGE, namespace="here")


@pytest.mark.parametrize(
    ("code", "reason", "leaf"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (500, "InternalError", errors.Unconfirmed),
        (503, "ServiceUnavailable", errors.Unconfirmed),
        (504, "Timeout", errors.Unconfirmed),
        (405, "MethodNotAllowed", errors.ApiError),
    ],
)
async def test_a_refused_write_raises_the_leaf_that_its_status_stands_for(
    client: Client, server: Script, code: int, reason: str, leaf: type[errors.ApiError]
) -> None:
    server.then(status(code, reason, message="it is so"))
    with pytest.raises(errors.ApiError, match=r"^it is so$") as caught:
        await write(client)
    assert type(caught.value) is leaf
    assert caught.value.code == code
    assert caught.value.reason == reason
    assert caught.value.request.startswith("PATCH /apis/example.com/v1/namespaces/here/widgets/a?")
    assert len(server.requests) == 1


NOT_CALLED = (
    'Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post "https://x"'
)
DENIED = 'admission webhook "check.example.com" denied the request: not today'


async def test_a_webhook_that_cannot_be_called_leaves_no_doubt_about_the_write(client: Client, server: Script) -> None:
    server.then(status(500, "InternalError", message=NOT_CALLED, headers={"Retry-After": "0"}))
    with pytest.raises(errors.WebhookFailed, match="failed calling webhook") as caught:
        await write(client)
    assert not caught.value.unknown_outcome, "admission comes before storage"
    assert not caught.value.transient, "the API server is well: somebody has to repair the webhook"
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [401, 404, 409, 410, 429, 500, 503])
async def test_the_refusal_of_a_webhook_is_no_other_error_whatever_its_code(
    client: Client, server: Script, code: int
) -> None:
    server.then(status(code, "Whatever", message=DENIED, headers={"Retry-After": "0"}))
    with pytest.raises(errors.Forbidden, match="denied") as caught:
        await write(client)
    assert caught.value.code == code
    assert not caught.value.transient
    assert not caught.value.unknown_outcome
    assert len(server.requests) == 1


@pytest.mark.parametrize(("code", "leaf"), [(400, errors.BadRequest), (422, errors.Invalid)])
async def test_the_refusal_of_a_webhook_keeps_the_leaf_that_fits(
    client: Client, server: Script, code: int, leaf: type[errors.ApiError]
) -> None:
    server.then(status(code, message=DENIED))
    with pytest.raises(leaf):
        await write(client)


async def test_a_proxy_cannot_say_that_a_webhook_failed(client: Client, server: Script) -> None:
    server.then(text(500, NOT_CALLED))
    with pytest.raises(errors.Unconfirmed):
        await write(client)


async def test_causes_of_a_refusal_reach_the_caller(client: Client, server: Script) -> None:
    cause = {"reason": "FieldValueInvalid", "message": "must be set", "field": "spec.size"}
    server.then(status(422, "Invalid", details={"name": "a", "kind": "Widget", "causes": [cause]}))
    with pytest.raises(errors.Invalid) as caught:
        await write(client)
    assert caught.value.status.details.causes == [errors.StatusCause("FieldValueInvalid", "must be set", "spec.size")]


async def test_a_missing_object_is_not_found(client: Client, server: Script) -> None:
    server.then(status(404, "NotFound", details={"name": "a", "group": "example.com", "kind": "widgets"}))
    with pytest.raises(errors.NotFound) as caught:
        await read(client)
    assert type(caught.value) is errors.NotFound


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(text(404, "404 page not found\n"), id="group-not-served"),
        pytest.param(
            status(404, "NotFound", message="the server could not find the requested resource", details={}),
            id="kind-not-served",
        ),
        pytest.param(
            status(
                404,
                "NotFound",
                message="the server could not find the requested resource (get widgets.example.com a)",
                details={"name": "a", "group": "example.com", "kind": "widgets"},
            ),
            id="relayed-by-a-go-client",
        ),
        pytest.param(status(404, "NotFound", message="not found", details={"kind": "widgets"}), id="names-no-object"),
    ],
)
async def test_a_missing_kind_is_not_served(client: Client, server: Script, answer: Answer) -> None:
    server.then(answer)
    with pytest.raises(errors.NotServed) as caught:
        await read(client)
    assert not isinstance(caught.value, errors.NotFound), "it proves nothing about the object"


@pytest.mark.parametrize("code", [404, 409, 410, 422])
async def test_only_an_api_server_can_say_what_decisions_rest_on(client: Client, server: Script, code: int) -> None:
    server.then(text(code, "<html><h1>No backend</h1></html>", headers={"Server": "haproxy"}))
    with pytest.raises(errors.ApiError, match=f"{code} .*from haproxy: <html><h1>No backend") as caught:
        await read(client)
    assert type(caught.value) is errors.ApiError


async def test_a_redirect_is_an_error_that_asks_for_the_right_url(client: Client, server: Script) -> None:
    server.then(text(302, "", headers={"Location": "https://sso.example.com/login"}))
    with pytest.raises(errors.ApiError, match=r"302 .*redirecting to https://sso.example.com/login"):
        await read(client)


async def test_an_error_page_of_a_proxy_keeps_its_code_and_is_busy(client: Client, server: Script) -> None:
    server.then(text(502, "<html>Bad Gateway</html>"))
    with pytest.raises(errors.Busy, match="502 Bad Gateway, not in the API server's form"):
        await read(client)


@pytest.mark.parametrize("ask", [read, write])
async def test_a_throttled_request_is_sent_again_whatever_it_is(client: Client, server: Script, ask: Any) -> None:
    server.then(text(429, "Too many requests", headers={"Retry-After": "0"}), status(429), json(200, WIDGET))
    assert (await ask(client)).name == "a"
    assert len(server.requests) == 3


async def test_an_eviction_that_a_disruption_budget_forbids_is_not_sent_again(client: Client, server: Script) -> None:
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget shop needs 1 healthy pods"}]
    server.then(status(429, details={"causes": causes}))
    with pytest.raises(errors.Unevictable) as caught:
        await client.evict(Widget, "a", namespace="default", uid="u", grace_seconds=5)
    assert not caught.value.transient
    (request,) = server.requests
    assert request.path == "/apis/example.com/v1/namespaces/default/widgets/a/eviction"
    sent = msgspec.json.decode(request.body)
    assert sent["deleteOptions"] == {"preconditions": {"uid": "u"}, "gracePeriodSeconds": 5}


async def test_a_read_is_sent_again_after_503_a_bounded_number_of_times(client: Client, server: Script) -> None:
    server.then(*[status(503)] * 3)
    with pytest.raises(errors.Busy):
        await read(client)
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", [500, 502, 504])
async def test_other_server_errors_are_not_repeated_unless_the_server_says_when(
    client: Client, server: Script, code: int
) -> None:
    server.then(status(code))
    with pytest.raises(errors.Busy):
        await read(client)
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [500, 502, 504])
async def test_a_read_follows_retry_after_on_other_server_errors(client: Client, server: Script, code: int) -> None:
    server.then(status(code, headers={"Retry-After": "0"}), json(200, WIDGET))
    assert (await read(client)).name == "a"


async def test_a_write_is_not_sent_again_after_503_even_if_asked_to(client: Client, server: Script) -> None:
    server.then(status(503, headers={"Retry-After": "0"}))
    with pytest.raises(errors.Busy) as caught:
        await write(client)
    assert caught.value.retry_after == 0
    assert len(server.requests) == 1


async def test_a_wait_beyond_the_deadline_is_left_to_the_caller(client: Client, server: Script) -> None:
    server.then(status(429, headers={"Retry-After": "3600"}))
    with pytest.raises(errors.Busy) as caught:
        await read(client)
    assert caught.value.retry_after == 300


async def test_retry_after_may_be_a_date(client: Client, server: Script) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=100)
    server.then(status(429, headers={"Retry-After": format_datetime(moment, usegmt=True)}))
    with pytest.raises(errors.Busy) as caught:
        await read(client)
    assert caught.value.retry_after == pytest.approx(100, abs=60)


async def test_retry_after_may_stand_in_the_status(client: Client, server: Script) -> None:
    server.then(status(429, details={"retryAfterSeconds": 200}))
    with pytest.raises(errors.Busy) as caught:
        await read(client)
    assert caught.value.retry_after == 200


async def test_nobody_listening_is_a_transport_error_even_for_a_write(server: Script) -> None:
    async with Script() as gone:
        url = gone.url
    async with Client(ClusterConfig(server=url)) as client:
        with pytest.raises(errors.TransportError, match=r"PATCH http://127.0.0.1:.*cannot connect") as caught:
            await write(client)
    assert not caught.value.unknown_outcome


async def test_a_write_whose_connection_broke_has_an_unknown_outcome(client: Client, server: Script) -> None:
    server.then(cut)
    with pytest.raises(errors.OutcomeUnknown, match="sent, but no answer came: the connection was closed"):
        await write(client)
    assert len(server.requests) == 1


async def test_a_delete_is_not_silently_sent_twice(client: Client, server: Script) -> None:
    server.then(json(200, WIDGET), cut)
    await read(client)
    with pytest.raises(errors.OutcomeUnknown):
        await client.delete(Widget, "a", namespace="here")
    assert [request.method for request in server.requests] == ["GET", "DELETE"]


async def test_a_read_over_a_connection_that_was_being_closed_is_sent_once_more(client: Client, server: Script) -> None:
    server.then(json(200, WIDGET), cut, json(200, WIDGET))
    await read(client)
    assert (await read(client)).name == "a"
    assert [request.connection for request in server.requests] == [1, 1, 2]


async def test_a_read_that_breaks_twice_is_a_transport_error(client: Client, server: Script) -> None:
    server.then(cut, cut)
    with pytest.raises(errors.TransportError) as caught:
        await read(client)
    assert not caught.value.unknown_outcome


HALF = raw(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"kind":')


async def test_half_an_answer_to_a_write_leaves_its_outcome_unknown(client: Client, server: Script) -> None:
    server.then(then(HALF, cut))
    with pytest.raises(errors.OutcomeUnknown):
        await write(client)


async def test_half_an_answer_to_a_read_is_a_transport_error(client: Client, server: Script) -> None:
    server.then(then(HALF, cut))
    with pytest.raises(errors.TransportError):
        await read(client)


async def test_no_answer_in_time_to_a_write_leaves_its_outcome_unknown(server: Script) -> None:
    server.then(json(200, WIDGET), silence)
    async with Client(ClusterConfig(server=server.url)) as client:
        await read(client)
        # On the connection that is there, so that all of the time is the answer's.
        with pytest.raises(errors.OutcomeUnknown, match="timed out"):
            await client.request("PATCH", "/a", body={}, timeout=0.2)


async def test_a_write_that_got_no_connection_in_time_was_not_sent(
    server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then(silence)
    async with Client(ClusterConfig(server=server.url), connections=1, timeout=PATIENCE) as client:
        holder = asyncio.create_task(client.request("GET", "/holds-the-only-connection"))
        await server.asked()
        # Far less than the request may take, so that the two limits are never reached in one turn of the loop.
        monkeypatch.setattr(transport, "CONNECT_SECONDS", 0.1)
        with pytest.raises(errors.TransportError, match="no connection came about in time") as caught:
            await client.request("PATCH", "/a", body={}, timeout=PATIENCE / 2)
        holder.cancel()
        await asyncio.gather(holder, return_exceptions=True)
    assert not caught.value.unknown_outcome
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        text(200, "<html>welcome</html>"),
        text(200, ""),
        text(200, "[" * 100_000),
        json(200, {"login": "/login"}),
        json(200, {"kind": "Status", "status": "Failure", "code": 503}),
        json(200, {"metadata": {"name": "b", "namespace": "here"}}),
        json(200, {"metadata": {"name": "b", "labels": 5}}),
    ],
    ids=["a page", "nothing", "deep", "JSON", "a Status", "another object", "another malformed object"],
)
async def test_an_answer_that_is_not_the_object_says_nothing_about_it(
    client: Client, server: Script, answer: Answer
) -> None:
    server.then(answer)
    with pytest.raises(errors.TransportError, match="widgets/a: the answer is none of an API server") as caught:
        await read(client)
    assert caught.value.transient


@pytest.mark.parametrize(
    "answer", [text(200, "<html>welcome</html>"), json(200, {"login": "/login"})], ids=["a page", "JSON"]
)
async def test_an_answer_that_is_no_list_is_not_an_empty_one(client: Client, server: Script, answer: Answer) -> None:
    server.then(answer)
    with pytest.raises(errors.DecodeError, match="not a list"):
        await client.list(Widget)


async def test_a_list_of_nothing_may_be_null(client: Client, server: Script) -> None:
    server.then(json(200, {"metadata": {"resourceVersion": "1"}, "items": None}))
    assert (await client.list(Widget)).items == []


async def test_an_object_with_malformed_metadata_is_a_decode_error(client: Client, server: Script) -> None:
    server.then(json(200, {"metadata": {"name": "a", "namespace": "here", "labels": 5}}))
    with pytest.raises(errors.DecodeError, match=r"Widget.example.com/v1"):
        await read(client)


@pytest.mark.parametrize(
    "write",
    [
        lambda client: client.create(Widget, {}, namespace="here"),
        lambda client: client.patch(Widget, "a", {}, type=PatchType.MERGE, namespace="here"),
        lambda client: client.delete(Widget, "a", namespace="here"),
    ],
    ids=["create", "patch", "delete"],
)
async def test_a_write_whose_answer_is_no_object_may_have_been_carried_out(
    client: Client, server: Script, write: Any
) -> None:
    server.then(text(200, ""))
    with pytest.raises(errors.DecodeError) as caught:
        await write(client)
    assert caught.value.unknown_outcome


async def test_a_client_that_was_closed_says_so_instead_of_opening_connections_that_nobody_closes(
    client: Client, server: Script
) -> None:
    server.then(json(200, WIDGET))
    await read(client)
    await client.close()
    for ask in (read, write):
        with pytest.raises(RuntimeError, match=r"/widgets/a.*: this transport was closed before: open another one$"):
            await ask(client)
    await client.close()
    assert len(server.requests) == 1


class Asked:
    """A fence that notes for how long writes want to take."""

    longest_write = PATIENCE

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def gate(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Closed(Asked):
    def gate(self, seconds: float) -> None:
        raise errors.Fenced("not the leader")


async def test_the_fence_is_asked_before_each_attempt_of_a_write_and_never_for_reads(server: Script) -> None:
    fence = Asked()
    async with Client(ClusterConfig(server=server.url), retry=SOON, fence=fence, timeout=PATIENCE) as client:
        server.then(json(200, WIDGET), status(429), json(200, WIDGET))
        await read(client)
        assert fence.seconds == []
        await write(client)
    first, leaving, second, leaving_again = fence.seconds
    assert first == PATIENCE
    assert 0 < leaving_again < second < leaving < PATIENCE


async def test_no_write_asks_for_more_time_than_the_fence_has(server: Script) -> None:
    fence = Asked()
    server.then(json(200, WIDGET), json(200, WIDGET))
    async with Client(ClusterConfig(server=server.url), fence=fence, timeout=2 * PATIENCE) as client:
        await write(client)
        await client.request("PATCH", "/a", body={}, timeout=3 * PATIENCE)
    asked = [seconds for seconds in fence.seconds if seconds >= PATIENCE]
    assert (asked, len(fence.seconds)) == ([PATIENCE, PATIENCE], 4)


async def test_a_write_that_the_fence_refuses_is_not_sent(server: Script) -> None:
    async with Client(ClusterConfig(server=server.url), fence=Closed()) as client:
        with pytest.raises(errors.Fenced):
            await write(client)
    assert server.requests == []


async def test_the_observer_hears_of_every_attempt(server: Script) -> None:
    heard: list[tuple[str, str, str, float]] = []
    async with Client(
        ClusterConfig(server=server.url), retry=SOON, observer=lambda *what: heard.append(what)
    ) as client:
        server.then(status(429), json(200, WIDGET), cut)
        await write(client)
        with pytest.raises(errors.OutcomeUnknown):
            await write(client)
    assert [what[:3] for what in heard] == [
        ("PATCH", "widgets.example.com", "429"),
        ("PATCH", "widgets.example.com", "200"),
        ("PATCH", "widgets.example.com", "<error>"),
    ]
    assert all(what[3] >= 0 for what in heard)


async def test_writes_are_strict_and_signed(client: Client, server: Script) -> None:
    server.then(json(201, WIDGET), json(200, WIDGET), json(200, WIDGET))
    await client.create(Widget, {"metadata": {"name": "a"}}, namespace="here")
    await write(client)
    await client.apply(Widget, "a", {"spec": {}}, namespace="here", field_manager="windlass/status")
    create, patch, apply = server.requests
    assert create.path == "/apis/example.com/v1/namespaces/here/widgets?fieldManager=windlass&fieldValidation=Strict"
    assert patch.path.endswith("/widgets/a?fieldManager=windlass&fieldValidation=Strict")
    assert apply.path.endswith("/widgets/a?fieldManager=windlass%2Fstatus&fieldValidation=Strict&force=true")
    assert msgspec.json.decode(create.body) == {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
    }
    assert patch.headers["Content-Type"] == "application/merge-patch+json"
    assert apply.headers["Content-Type"] == "application/apply-patch+yaml"


async def test_requests_say_who_we_are_and_ask_for_plain_json(client: Client, server: Script) -> None:
    server.then(json(200, WIDGET))
    await read(client)
    headers = server.requests[0].headers
    assert headers["User-Agent"].startswith("windlass/")
    assert headers["Accept"] == "application/json"
    assert headers["Accept-Encoding"] == "identity"
    assert "Authorization" not in headers
    assert "Content-Type" not in headers


async def test_preconditions_of_a_delete_travel_in_its_body(client: Client, server: Script) -> None:
    server.then(json(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    gone = await client.delete(Widget, "a", namespace="here", uid="u", resource_version="7", propagation="Foreground")
    assert gone is None
    assert msgspec.json.decode(server.requests[0].body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
    }


@pytest.mark.parametrize(
    ("metadata", "stays"),
    [
        ({"deletionGracePeriodSeconds": 30}, True),
        ({"deletionGracePeriodSeconds": 0, "finalizers": ["example.com/f"]}, True),
        ({"deletionGracePeriodSeconds": 0}, False),
    ],
)
async def test_a_deleted_object_stays_while_a_grace_period_or_a_finalizer_holds_it(
    client: Client, server: Script, metadata: dict[str, Any], stays: bool
) -> None:
    meta = {"name": "a", "deletionTimestamp": "2026-05-01T00:00:30Z", **metadata}
    server.then(json(200, {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": meta}))
    left = await client.delete(Widget, "a", namespace="here")
    assert (left is not None) == stays


@pytest.mark.parametrize("name", ["", "a/b", "..", "a%2Fb", "."])
async def test_a_name_that_is_no_path_segment_never_becomes_a_request(
    client: Client, server: Script, name: str
) -> None:
    with pytest.raises(errors.BadRequest, match="Widget: name"):
        await client.delete(Widget, name, namespace="here")
    assert server.requests == []


async def test_unusual_names_are_quoted(client: Client, server: Script) -> None:
    server.then(json(200, {**WIDGET, "metadata": {"name": "a b?c#d"}}))
    await client.get(Widget, "a b?c#d", namespace="here")
    assert server.requests[0].path == "/apis/example.com/v1/namespaces/here/widgets/a%20b%3Fc%23d"


async def test_a_namespaced_kind_needs_a_namespace(client: Client) -> None:
    with pytest.raises(ValueError, match="Widget 'a' is namespaced"):
        await client.get(Widget, "a")
    with pytest.raises(ValueError, match="Widget is namespaced"):
        await client.create(Widget, {})
