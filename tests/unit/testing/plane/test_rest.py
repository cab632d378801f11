"""A plane's plain requests: one connection as long as it lasts, another one when the server has closed it."""

import asyncio

import pytest

from tests.unit.kube.http_script import Script, cut, json, status
from windlass.testing.plane.errors import Refused, Unreachable
from windlass.testing.plane.rest import Rest


async def test_requests_come_over_one_connection_refusals_included() -> None:
    async with Script() as server:
        server.then(json(200, {"a": 1}), status(404, "NotFound", message="gone"), json(200, {"a": 2}))
        rest = Rest(server.url)

        def ask() -> list[int]:
            answers = [rest.request("GET", "/one")["a"]]
            with pytest.raises(Refused, match="gone") as caught:
                rest.request("PATCH", "/two", {})
            assert (caught.value.status, caught.value.reason) == (404, "NotFound")
            return [*answers, rest.request("GET", "/three")["a"]]

        assert await asyncio.to_thread(ask) == [1, 2]
        assert len({request.connection for request in server.requests}) == 1


async def test_a_connection_that_the_server_has_closed_is_replaced() -> None:
    async with Script() as server:
        server.then(json(200, {}), cut, json(200, {"again": True}))
        rest = Rest(server.url)

        def ask() -> object:
            rest.request("GET", "/one")
            return rest.request("GET", "/two")

        assert await asyncio.to_thread(ask) == {"again": True}
        assert [request.path for request in server.requests] == ["/one", "/two", "/two"]


async def test_a_new_connection_without_an_answer_is_no_server() -> None:
    async with Script() as server:
        server.then(cut)
        rest = Rest(server.url)
        with pytest.raises(Unreachable, match="GET http"):
            await asyncio.to_thread(rest.request, "GET", "/one")
