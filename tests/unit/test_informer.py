"""An informer that `windlass.informer` serves, asked as the controller asks. Numbers are those of the controls."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import trustme
from aiohttp import web

from windlass.api.update_informer import AskedUpdate, audience_of
from windlass.informer import (
    ASKER,
    InformedImpact,
    InformedInsight,
    UpdateInsightsRequest,
    informer_guard,
    informer_routes,
)
from windlass.kube.client import Client
from windlass.kube.config import ClusterConfig
from windlass.kube.process.serving import TlsFiles, serve
from windlass.update_status.informers.admission import Endpoint
from windlass.update_status.informers.answers import read_answer
from windlass.update_status.informers.fetching import Fetcher, NoAnswer

HOST = "disks.storage.svc"
TOKENS: dict[str, tuple[str, list[str]]] = {
    "good": (ASKER, [audience_of("disks")]),
    "for-another-informer": (ASKER, [audience_of("others")]),
    "for-the-api-server": (ASKER, ["https://kubernetes.default.svc"]),
    "of-an-authenticator-without-audiences": (ASKER, []),
    "of-somebody": ("system:serviceaccount:shop:default", [audience_of("disks")]),
}
"""The user and the audiences of each token."""


async def _review(request: web.Request) -> web.Response:
    """As the API server answers: it names the audiences of the token among those that are asked for.

    A webhook that knows no audiences accepts the token, and then the API server names none.
    """
    spec = (await request.json())["spec"]
    user, audiences = TOKENS.get(spec["token"], ("", []))
    shared = [one for one in spec.get("audiences", []) if one in audiences]
    authenticated = bool(shared or (user and not audiences))
    status: dict[str, Any] = {"authenticated": authenticated, "user": {"username": user}, "audiences": shared}
    return web.json_response({"status": status})


async def _tell(asked: UpdateInsightsRequest) -> Sequence[InformedInsight]:
    if asked.update is not None and asked.update.target == "broken":
        raise RuntimeError("no disks")
    return [InformedInsight(uid="disk-full", impact=InformedImpact(level="Warning", summary="A disk is full"))]


@asynccontextmanager
async def informing(tmp_path: Any) -> AsyncIterator[Endpoint]:
    """The informer `disks` behind TLS."""
    authority = trustme.CA()
    made = authority.issue_cert(HOST)
    made.private_key_pem.write_to_path(str(tmp_path / "key"))
    made.cert_chain_pems[0].write_to_path(str(tmp_path / "certificate"))
    reviews = web.Application()
    reviews.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", _review)
    async with serve(reviews, host="127.0.0.1", port=0) as server, Client(ClusterConfig(server)) as client:
        app = web.Application()
        app.add_routes(informer_routes(_tell, name="disks", guard=informer_guard(client, "disks"), path="/insights"))
        async with serve(
            app, host="127.0.0.1", port=0, tls=TlsFiles(tmp_path / "certificate", tmp_path / "key")
        ) as url:
            yield Endpoint(
                host=HOST,
                port=int(url.rpartition(":")[2]),
                path="/insights",
                addresses=(),
                authority=authority.cert_pem.bytes().decode(),
                interval=10.0,
                timeout=5.0,
            )


async def ask(endpoint: Endpoint, token: str, *, informer: str = "disks", update: AskedUpdate | None = None) -> bytes:
    asks = Fetcher(resolve=lambda _: ("127.0.0.1",))
    return await asks(endpoint, UpdateInsightsRequest(informer=informer, update=update), token=token)


async def test_what_the_function_tells_is_what_the_controller_takes(tmp_path: Any) -> None:
    async with informing(tmp_path) as endpoint:
        answer = read_answer(await ask(endpoint, "good"), now=0)
    assert [one.insight.summary for one in answer.insights] == ["A disk is full"]
    assert answer.refused == ()


@pytest.mark.parametrize(
    "token", ["for-another-informer", "for-the-api-server", "of-an-authenticator-without-audiences", "unknown"]
)
async def test_control_3_a_token_for_another_audience_is_refused(tmp_path: Any, token: str) -> None:
    async with informing(tmp_path) as endpoint:
        with pytest.raises(NoAnswer, match="it answered 401"):
            await ask(endpoint, token)


async def test_control_3_another_user_is_refused_with_a_token_for_the_informer(tmp_path: Any) -> None:
    async with informing(tmp_path) as endpoint:
        with pytest.raises(NoAnswer, match="it answered 403"):
            await ask(endpoint, "of-somebody")


async def test_a_question_for_another_informer_is_refused(tmp_path: Any) -> None:
    async with informing(tmp_path) as endpoint:
        with pytest.raises(NoAnswer, match="it answered 400"):
            await ask(endpoint, "good", informer="others")


async def test_an_error_of_the_function_is_logged_and_not_told(tmp_path: Any) -> None:
    async with informing(tmp_path) as endpoint:
        with pytest.raises(NoAnswer, match="it answered 500"):
            await ask(endpoint, "good", update=AskedUpdate(target="broken"))


def test_control_11_a_question_names_no_cluster() -> None:
    asked = UpdateInsightsRequest(informer="disks", update=AskedUpdate(previous="4.16.0", target="4.16.1"))
    assert msgspec.to_builtins(asked) == {
        "apiVersion": "update.openshift.io/v1alpha1",
        "kind": "UpdateInsightsRequest",
        "informer": "disks",
        "update": {"previous": "4.16.0", "target": "4.16.1"},
    }
