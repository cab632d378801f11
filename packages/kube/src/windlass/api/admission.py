"""Webhook configurations, and the endpoints that answer for their Services: group admissionregistration.k8s.io, v1.

Only what tells whether a webhook is asked about a write, and whether somebody answers.
"""

from typing import Any, ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, Resource, always

GROUP = "admissionregistration.k8s.io"


class ServiceReference(Struct, frozen=True):
    namespace: str = ""
    name: str = ""


class WebhookClientConfig(Struct, frozen=True):
    """`service` None: the webhook has a `url`."""

    service: ServiceReference | None = None


class RuleWithOperations(Struct, rename="camel", frozen=True):
    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str = "*"


class Webhook(Struct, rename="camel", frozen=True):
    name: str = ""
    failure_policy: str = "Fail"
    client_config: WebhookClientConfig = WebhookClientConfig()
    rules: tuple[RuleWithOperations, ...] = ()
    namespace_selector: dict[str, Any] = field(default_factory=dict)
    object_selector: dict[str, Any] = field(default_factory=dict)
    match_conditions: tuple[Any, ...] = ()


class ValidatingWebhookConfiguration(Struct, kw_only=True, frozen=True):
    RESOURCE: ClassVar = Resource(
        GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
    )
    metadata: ObjectMeta = always(ObjectMeta)
    webhooks: tuple[Webhook, ...] = ()


class MutatingWebhookConfiguration(Struct, kw_only=True, frozen=True):
    RESOURCE: ClassVar = Resource(
        GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
    )
    metadata: ObjectMeta = always(ObjectMeta)
    webhooks: tuple[Webhook, ...] = ()


class EndpointConditions(Struct, frozen=True):
    ready: bool | None = None
    """None counts as ready, by the definition of the field."""


class Endpoint(Struct, frozen=True):
    conditions: EndpointConditions = EndpointConditions()


class EndpointSlice(Struct, kw_only=True, frozen=True):
    """Of group discovery.k8s.io."""

    RESOURCE: ClassVar = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
    metadata: ObjectMeta = always(ObjectMeta)
    endpoints: tuple[Endpoint, ...] | None = None
