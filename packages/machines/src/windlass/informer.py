"""Serves an informer: a program that tells what its part of a cluster means for the update that is going on.

    async def insights(asked: UpdateInsightsRequest) -> list[InformedInsight]:
        return [InformedInsight(uid="disk-full", impact=InformedImpact(level="Warning", summary="A disk is full"))]

    async with Client(config.load()) as client:
        app = web.Application(client_max_size=LARGEST_QUESTION)
        app.add_routes(informer_routes(insights, name="disks", guard=informer_guard(client, "disks", asker=ASKER)))
        async with serve(app, host="0.0.0.0", port=8443, tls=TlsFiles(certificate, key)):
            ...

`name` is that of the UpdateInformer. Only `asker`, the controller's ServiceAccount, is answered, and only with a token
that was made for this informer; the API server says so (TokenReview), for which the informer needs the ClusterRole
system:auth-delegator. `serve` is `windlass.kube.process.serving`.

| answer | when |
|---|---|
| 200 | the insights of the function |
| 400 | the question is none |
| 401, 403 | another token, another user |
| 429, 500 | the API server cannot be asked about the token now; the function raised an error, which is logged |
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec
from aiohttp import web

from windlass.api.update_informer import (
    API_VERSION,
    InformedImpact,
    InformedInsight,
    InformedRemediation,
    InformedResource,
    InformedScope,
    UpdateInsightsRequest,
    UpdateInsightsResponse,
    audience_of,
)
from windlass.kube.foreign import Malformed, read_json
from windlass.kube.logger import Logger
from windlass.kube.process.guard import Guard
from windlass.kube.verbs import Api

__all__ = [
    "InformedImpact",
    "InformedInsight",
    "InformedRemediation",
    "InformedResource",
    "InformedScope",
    "Insights",
    "UpdateInsightsRequest",
    "informer_guard",
    "informer_routes",
]

ASKER: Final = "system:serviceaccount:windlass-update-status:windlass-update-status"
"""The controller, where its manifests put it."""
LARGEST_QUESTION: Final = 64 * 1024
"""Bytes."""

Insights = Callable[[UpdateInsightsRequest], Awaitable[Sequence[InformedInsight]]]
"""All insights that hold now. `update` of the question is None if none is going on."""


def informer_guard(api: Api, name: str, *, asker: str = ASKER) -> Guard:
    """Lets in `asker` alone, with a token for the informer `name`. Give it a client of its own."""
    return Guard(api, audience=audience_of(name), users=[asker])


def informer_routes(insights: Insights, *, name: str, guard: Guard, path: str = "/") -> list[web.RouteDef]:
    """The route that the controller asks. `path` is that of `spec.clientConfig.service` of the UpdateInformer."""
    log = Logger(__name__)

    async def handle(request: web.Request) -> web.Response:
        ruling = await guard.judge(request.headers.get("Authorization", ""))
        if not ruling.allowed:
            return web.Response(status=ruling.status, text=ruling.why + "\n")
        try:
            asked = read_json(await request.read(), UpdateInsightsRequest)
        except Malformed as error:
            return web.Response(status=400, text=f"this is no UpdateInsightsRequest: {error}\n")
        if asked.informer != name:
            return web.Response(status=400, text=f"this is the informer {name}\n")
        try:
            found = await insights(asked)
        except Exception:
            log.exception("the insights could not be told", informer=name)
            return web.Response(status=500, text="the insights could not be told\n")
        answer = UpdateInsightsResponse(
            api_version=API_VERSION, insights=[msgspec.Raw(msgspec.json.encode(one)) for one in found]
        )
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    return [web.post(path, handle)]
