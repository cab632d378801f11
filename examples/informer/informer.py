"""An informer: tells which admission webhooks would stop the update, because they must be asked and cannot answer.

If the failurePolicy of a webhook is Fail and its Service has no ready endpoint, the API server refuses every request
that the webhook's rules match. If they match Pods or Nodes, no Pod can be evicted or started, and drains hang.

    python informer.py --certificate tls.crt --key tls.key
"""

import argparse
import asyncio
import signal
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from aiohttp import web
from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always
from windlass.informer import (
    LARGEST_QUESTION,
    InformedImpact,
    InformedInsight,
    InformedRemediation,
    InformedResource,
    InformedScope,
    UpdateInsightsRequest,
    informer_guard,
    informer_routes,
)
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.process.serving import TlsFiles, serve
from windlass.kube.verbs import ReadApi

NAME = "webhooks"
"""Of the UpdateInformer: tokens are made for it."""
ADMISSION = "admissionregistration.k8s.io"
REFERENCE = "https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#failure-policy"
VITAL = {"pods", "nodes", "*"}
"""No node can be drained while nobody judges requests about these."""


class ServiceName(Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class ClientConfig(Struct, frozen=True):
    service: ServiceName | None = None


class Rule(Struct, frozen=True):
    resources: list[str] = field(default_factory=list)


class Webhook(Struct, rename="camel", frozen=True):
    name: str = ""
    failure_policy: str = "Fail"
    client_config: ClientConfig = ClientConfig()
    rules: list[Rule] = field(default_factory=list)


class Validating(Struct, kw_only=True, frozen=True):
    RESOURCE: ClassVar = Resource(
        ADMISSION, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
    )
    metadata: ObjectMeta = always(ObjectMeta)
    webhooks: list[Webhook] = field(default_factory=list)


class Mutating(Validating, kw_only=True, frozen=True):
    RESOURCE: ClassVar = Resource(
        ADMISSION, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
    )


class EndpointConditions(Struct, frozen=True):
    ready: bool | None = None
    """None counts as ready, by the definition of the field."""


class Endpoint(Struct, frozen=True):
    conditions: EndpointConditions = EndpointConditions()


class EndpointSlice(Struct, kw_only=True, frozen=True):
    RESOURCE: ClassVar = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
    metadata: ObjectMeta = always(ObjectMeta)
    endpoints: list[Endpoint] | None = None


async def blocking(api: ReadApi) -> list[InformedInsight]:
    """An insight for each webhook that must be asked and cannot answer."""
    found = []
    answering: dict[tuple[str, str], bool] = {}
    for kind in (Validating, Mutating):
        for configuration in [one.decode() for one in (await api.list(kind)).items]:
            for webhook in configuration.webhooks:
                service = webhook.client_config.service
                if webhook.failure_policy != "Fail" or service is None:
                    continue
                place = (service.namespace, service.name)
                if place not in answering:
                    answering[place] = await is_answering(api, service)
                if not answering[place]:
                    found.append(insight(kind.RESOURCE, configuration.metadata.name, webhook, service))
    return found


async def is_answering(api: ReadApi, service: ServiceName) -> bool:
    label = f"kubernetes.io/service-name={service.name}"
    slices = (await api.list(EndpointSlice, namespace=service.namespace, label_selector=label)).items
    return any(one.conditions.ready is not False for each in slices for one in each.decode().endpoints or ())


def insight(kind: Resource, configuration: str, webhook: Webhook, service: ServiceName) -> InformedInsight:
    resources = sorted({each for rule in webhook.rules for each in rule.resources})
    vital = any(each.partition("/")[0] in VITAL for each in resources)
    place = f"{service.namespace}/{service.name}"
    return InformedInsight(
        # The same in each answer, whatever the texts say. A hash fits where names do not.
        uid=f"webhook-{sha256(f'{kind.plural}/{configuration}/{webhook.name}'.encode()).hexdigest()[:32]}",
        scope=InformedScope(
            resources=[
                InformedResource(group=kind.group, resource=kind.plural, name=configuration),
                InformedResource(resource="services", namespace=service.namespace, name=service.name),
            ]
        ),
        impact=InformedImpact(
            level="Error" if vital else "Warning",
            type="Update Stalled",
            summary=f"Nobody answers for webhook {webhook.name}: Service {place} has no ready endpoint",
            description=f"The API server asks it about {', '.join(resources)}, as {kind.kind} {configuration} says, "
            "and refuses the request if there is no answer (failurePolicy Fail). "
            f"{'Pods cannot be evicted or started, so nodes do not drain. ' if vital else ''}"
            "Find out why its Pods are not ready, or delete the configuration if nobody needs it.",
        ),
        remediation=InformedRemediation(reference=REFERENCE),
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description="Tell which admission webhooks would stop an update.")
    parser.add_argument("--certificate", type=Path, required=True)
    parser.add_argument("--key", type=Path, required=True)
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=8443)
    given = parser.parse_args()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)  # PID 1 of a container has no default
    where = config.load()
    async with Client(where) as client, Client(where) as reviews:

        async def insights(_: UpdateInsightsRequest) -> Sequence[InformedInsight]:
            return await blocking(client)

        app = web.Application(client_max_size=LARGEST_QUESTION)
        app.add_routes(informer_routes(insights, name=NAME, guard=informer_guard(reviews, NAME)))
        async with serve(app, host=given.host, port=given.port, tls=TlsFiles(given.certificate, given.key)) as url:
            print(f"listening at {url}", flush=True)
            await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
