"""Lists in pages and watches: every way in which they go on, end, break and begin anew."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, field

from tests.patience import PATIENCE
from tests.unit.kube.http_script import Script, cut, json, status, stream, text, then
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import errors
from windlass.kube.client import Client
from windlass.kube.client.reading import Page
from windlass.kube.client.watch import Event, EventType, events
from windlass.kube.config import ClusterConfig
from windlass.kube.object import Object


class Widget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("example.com", "v1", "Widget", "widgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


@pytest.fixture
async def server() -> AsyncIterator[Script]:
    async with Script() as script:
        yield script


@pytest.fixture
async def client(server: Script) -> AsyncIterator[Client]:
    async with Client(ClusterConfig(server=server.url)) as client:
        yield client


def widget(name: str, version: int = 1, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "here", "uid": name, "resourceVersion": str(version), **more}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}


def line(type_: str, tree: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": type_, "object": tree}) + b"\n"


def page(*names: str, version: str = "10", more: str = "") -> Any:
    return json(
        200,
        {
            "kind": "WidgetList",
            "apiVersion": "example.com/v1",
            "metadata": {"resourceVersion": version, "continue": more},
            "items": [widget(name) for name in names],
        },
    )


def asked(server: Script) -> list[dict[str, str]]:
    return [{key: value[0] for key, value in parse_qs(urlsplit(one.path).query).items()} for one in server.requests]


def names(one: Page[Widget]) -> list[str]:
    return [item.name for item in one.items]


async def seen(client: Client, **how: Any) -> list[Event[Widget]]:
    return [event async for event in client.watch(Widget, **how)]


async def follow(client: Client, into: list[Event[Widget]], **how: Any) -> None:
    """As `seen`, but what came before an error is kept."""
    async for event in client.watch(Widget, **how):
        into.append(event)  # noqa: PERF401 - a comprehension would lose them


async def test_a_list_is_fetched_in_pages_and_put_together(client: Client, server: Script) -> None:
    server.then(page("a", "b", more="token=1"), page("c"))
    listed = await client.list(Widget, label_selector="tier in (one,two)", field_selector="metadata.name!=x")
    assert [item.name for item in listed.items] == ["a", "b", "c"]
    assert listed.resource_version == "10"
    selectors = {"labelSelector": "tier in (one,two)", "fieldSelector": "metadata.name!=x"}
    assert asked(server) == [{"limit": "500", **selectors}, {"limit": "500", **selectors, "continue": "token=1"}]
    assert urlsplit(server.requests[0].path).path == "/apis/example.com/v1/widgets"


async def test_an_expired_page_begins_the_list_anew_and_says_so(client: Client, server: Script) -> None:
    server.then(page("a", more="t"), status(410, "Expired"), page("b", version="20", more="u"), page("c", version="20"))
    pages = [one async for one in client.list_pages(Widget, namespace="here", page_size=1)]
    assert [(names(one), one.first, one.resource_version) for one in pages] == [
        (["a"], True, "10"),
        (["b"], True, "20"),
        (["c"], False, "20"),
    ]
    assert [query.get("continue") for query in asked(server)] == [None, "t", None, "u"]


async def test_what_was_listed_before_a_new_beginning_is_forgotten(client: Client, server: Script) -> None:
    server.then(page("a", more="t"), status(410, "Expired"), page("b", version="20"))
    listed = await client.list(Widget)
    assert [item.name for item in listed.items] == ["b"]
    assert listed.resource_version == "20"


async def test_a_list_that_always_expires_ends_as_gone(client: Client, server: Script) -> None:
    server.then(*[page("a", more="t"), status(410, "Expired")] * 9)
    with pytest.raises(errors.Gone):
        await client.list(Widget)
    assert len(server.requests) == 8


async def test_an_empty_list_may_have_no_items_at_all(client: Client, server: Script) -> None:
    server.then(json(200, {"metadata": {"resourceVersion": "3"}, "items": None}))
    assert (await client.list(Widget)).items == []


async def test_items_without_kind_get_it_as_single_objects_have_it(client: Client, server: Script) -> None:
    server.then(json(200, {"metadata": {"resourceVersion": "3"}, "items": [{"metadata": {"name": "a"}}]}))
    listed = await client.list(Widget)
    assert listed.items[0].tree() == {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "a"}}


async def test_an_unreadable_item_is_reported_and_left_out_if_somebody_listens(client: Client, server: Script) -> None:
    poisoned = json(200, {"metadata": {"resourceVersion": "3"}, "items": [{"metadata": {"name": 5}}, widget("b")]})
    server.then(poisoned, poisoned)
    heard: list[errors.DecodeError] = []
    pages = [one async for one in client.list_pages(Widget, on_unreadable=heard.append)]
    assert names(pages[0]) == ["b"]
    assert len(heard) == 1
    with pytest.raises(errors.DecodeError):
        await client.list(Widget)


async def test_a_watch_asks_for_what_it_was_told(client: Client, server: Script) -> None:
    server.then(stream(), stream())
    assert await seen(client, namespace="here", resource_version="7", timeout_seconds=300) == []
    assert await seen(client, send_initial_events=True, bookmarks=False) == []
    assert asked(server) == [
        {"watch": "true", "resourceVersion": "7", "allowWatchBookmarks": "true", "timeoutSeconds": "300"},
        {"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
    ]


async def test_events_are_typed_and_in_order(client: Client, server: Script) -> None:
    end = {"metadata": {"resourceVersion": "4", "annotations": {"k8s.io/initial-events-end": "true"}}}
    server.then(
        stream(
            line("ADDED", widget("a", 1)),
            line("BOOKMARK", end) + line("MODIFIED", widget("a", 5)),
            line("DELETED", widget("a", 6)),
            line("BOOKMARK", {"metadata": {"resourceVersion": "9"}}),
        )
    )
    happened = await seen(client)
    assert [(event.type, event.object.resource_version) for event in happened] == [
        (EventType.ADDED, "1"),
        (EventType.BOOKMARK, "4"),
        (EventType.MODIFIED, "5"),
        (EventType.DELETED, "6"),
        (EventType.BOOKMARK, "9"),
    ]
    assert [event.ends_initial_events for event in happened] == [False, True, False, False, False]


async def test_a_line_may_be_longer_than_any_buffer(client: Client, server: Script) -> None:
    big = widget("a", annotations={"note": "x" * 3_000_000})
    whole = line("ADDED", big)
    server.then(stream(*[whole[start : start + 60_000] for start in range(0, len(whole), 60_000)]))
    (event,) = await seen(client)
    assert len(event.object.metadata.annotations["note"]) == 3_000_000


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(0, 5))
def test_lines_are_found_however_the_stream_is_cut(cuts: list[int], count: int) -> None:
    whole = b"".join(line("ADDED", widget(f"w-{number}")) for number in range(count))

    async def pieces() -> AsyncIterator[bytes]:
        start = 0
        for length in cuts:
            yield whole[start : start + length]
            start += length
        yield whole[start:]

    async def collect() -> list[str]:
        return [event.object.name async for event in events(pieces(), Widget, request="WATCH")]

    assert asyncio.run(collect()) == [f"w-{number}" for number in range(count)]


async def test_an_error_event_is_raised_as_what_it_says(client: Client, server: Script) -> None:
    too_old = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (9)"}
    server.then(stream(line("ADDED", widget("a")), line("ERROR", too_old)))
    happened: list[Event[Widget]] = []
    with pytest.raises(errors.Gone, match="too old resource version"):
        await follow(client, happened)
    assert [event.type for event in happened] == [EventType.ADDED]


async def test_an_error_event_in_no_known_form_is_busy(client: Client, server: Script) -> None:
    server.then(stream(line("ERROR", {"kind": "Surprise"})))
    with pytest.raises(errors.Busy, match="Surprise"):
        await seen(client)


async def test_a_watch_from_too_old_a_version_is_gone_from_the_start(client: Client, server: Script) -> None:
    server.then(status(410, "Expired"))
    with pytest.raises(errors.Gone):
        await seen(client, resource_version="1")


async def test_an_end_in_the_middle_of_an_event_is_a_transport_error(client: Client, server: Script) -> None:
    server.then(stream(line("ADDED", widget("a")) + b'{"type":"ADD'))
    with pytest.raises(errors.TransportError, match="broke off in the middle"):
        await seen(client)


async def test_the_last_event_may_have_no_newline(client: Client, server: Script) -> None:
    server.then(stream(line("ADDED", widget("a")).rstrip()))
    assert [event.object.name for event in await seen(client)] == ["a"]
    server.then(stream(line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}).rstrip()))
    with pytest.raises(errors.Gone):
        await seen(client)


@pytest.mark.parametrize(
    ("quiet", "slow", "ends"), [(0, 140, False), (3600, 140, False), (0, 160, True), (3600, 160, True)]
)
async def test_bytes_that_never_become_an_event_end_the_watch(quiet: float, slow: float, ends: bool) -> None:
    now = 0.0

    async def trickle() -> AsyncIterator[bytes]:
        nonlocal now
        yield line("ADDED", widget("a"))
        now += quiet
        for piece in (b'{"type":', b'"MODIFIED",', b'"object":'):
            yield piece
            now += slow / 3
        yield msgspec.json.encode(widget("b"))
        yield b"}\n"

    found = events(trickle(), Widget, request="WATCH /a", clock=lambda: now)
    assert (await anext(found)).object.name == "a"
    if ends:
        with pytest.raises(errors.TransportError, match="WATCH /a: sent no whole event for 150 s"):
            await anext(found)
    else:
        assert (await anext(found)).object.name == "b"


async def test_a_list_that_never_gets_further_is_a_transport_error(client: Client, server: Script) -> None:
    server.then(page("a", more="token"), page("b", more="token"))
    with pytest.raises(errors.TransportError, match="the same continue token twice"):
        await client.list(Widget)


async def test_fields_of_metadata_that_are_null_are_absent(client: Client, server: Script) -> None:
    nothing: dict[str, Any] = {"labels": None, "finalizers": None, "ownerReferences": None}
    server.then(stream(line("ADDED", widget("a", **nothing))))
    [event] = await seen(client)
    assert (event.object.name, event.object.metadata.labels, event.object.metadata.finalizers) == ("a", {}, [])


async def test_a_watch_whose_server_dies_is_a_transport_error(client: Client, server: Script) -> None:
    server.then(then(stream(line("ADDED", widget("a")), end=False), cut))
    with pytest.raises(errors.TransportError, match=r"GET http://127.0.0.1:"):
        await seen(client)


async def test_a_watch_that_says_nothing_for_too_long_is_silent(
    client: Client, server: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.then(stream(line("ADDED", widget("a")), end=False))
    happened: list[Event[Widget]] = []
    loop = asyncio.get_running_loop()

    async def follow_into_the_future() -> None:
        async for event in client.watch(Widget, inactivity=600):
            happened.append(event)
            late = loop.time() + 600
            monkeypatch.setattr(loop, "time", lambda late=late: late)

    with pytest.raises(errors.Silent, match=r"nothing came for 600 s"):
        await follow_into_the_future()
    monkeypatch.undo()
    assert [event.object.name for event in happened] == ["a"]


async def test_a_page_that_is_no_stream_of_events_is_a_transport_error(client: Client, server: Script) -> None:
    server.then(text(200, "<html>please log in</html>\n"))
    with pytest.raises(errors.TransportError, match="not a watch event: b'<html>please log in"):
        await seen(client)


async def test_unknown_event_types_are_skipped(client: Client, server: Script) -> None:
    server.then(stream(line("RENAMED", widget("a")), line("ADDED", widget("b"))))
    assert [event.object.name for event in await seen(client)] == ["b"]


async def test_an_unreadable_object_does_not_end_the_watch_if_somebody_listens(client: Client, server: Script) -> None:
    poisoned = widget("a", labels={"tier": ["not", "text"]})
    both = stream(line("ADDED", poisoned), line("ADDED", widget("b")))
    server.then(both, both)
    heard: list[errors.DecodeError] = []
    assert [event.object.name for event in await seen(client, on_unreadable=heard.append)] == ["b"]
    assert len(heard) == 1
    with pytest.raises(errors.DecodeError):
        await seen(client)


def deep(name: str) -> bytes:
    tree = {**widget(name), "spec": "HERE"}
    return msgspec.json.encode(tree).replace(b'"HERE"', b'{"a":' * 1_100 + b"1" + b"}" * 1_100)


async def test_an_object_of_1100_levels_is_the_trouble_of_nobody_else(client: Client, server: Script) -> None:
    watched = b'{"type":"ADDED","object":' + deep("a") + b"}\n"
    server.then(stream(watched, line("ADDED", widget("b"))))
    items = b",".join([deep("a"), msgspec.json.encode(widget("b"))])
    whole = b'{"metadata":{"resourceVersion":"3"},"items":[' + items + b"]}"
    server.then(text(200, whole.decode()))
    server.then(text(200, deep("a").decode()), text(200, deep("a").decode()))
    for found in (
        [event.object for event in await seen(client)],
        (await client.list(Widget)).items,
        [await client.get(Widget, "a", namespace="here"), Object.of(Widget, widget("b"))],
    ):
        assert [one.name for one in found] == ["a", "b"]
        with pytest.raises(errors.DecodeError, match="Widget here/a: nested more than 200 levels deep"):
            found[0].decode()
        found[1].decode()
    assert await client.delete(Widget, "a", namespace="here") is None


async def test_leaving_a_watch_closes_its_connection(client: Client, server: Script) -> None:
    server.then(stream(line("ADDED", widget("a")), end=False))
    async with aclosing(client.watch(Widget)) as happening:
        async for event in happening:
            assert event.object.name == "a"
            break
    async with asyncio.timeout(PATIENCE):
        await server.all_closed()


async def test_watches_do_not_take_the_connections_of_requests(server: Script) -> None:
    watches, opened = 3, asyncio.Semaphore(0)
    server.then(*[stream(end=False)] * watches, page("a"), page("b"))
    async with Client(ClusterConfig(server=server.url), connections=1, timeout=PATIENCE) as client:

        async def follow() -> None:
            async with aclosing(client.watch(Widget, inactivity=PATIENCE, on_open=opened.release)) as happening:
                async for _ in happening:
                    pass

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            following = [tasks.create_task(follow()) for _ in range(watches)]
            for _ in range(watches):
                await opened.acquire()
            assert [item.name for item in (await client.list(Widget)).items] == ["a"]
            assert [item.name for item in (await client.list(Widget)).items] == ["b"]
            for each in following:
                each.cancel()
    assert [request.connection for request in server.requests] == [1, 2, 3, 4, 4]


async def test_metadata_is_asked_for_without_content(client: Client, server: Script) -> None:
    server.then(json(200, widget("a")), page("a"), stream(line("ADDED", widget("a"))))
    await client.metadata.get(Widget, "a", namespace="here")
    await client.metadata.list(Widget)
    async for _ in client.metadata.watch(Widget):
        pass
    single = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    many = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    assert [request.headers["Accept"] for request in server.requests] == [single, many, single]
