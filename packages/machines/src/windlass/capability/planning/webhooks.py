"""Finds the planned writes that the API server would refuse, because an admission webhook must be asked and cannot be.

That is so after the program that serves the webhook was removed, or scaled to zero, and its configuration was not:
failurePolicy is Fail, and its Service has no ready endpoint. It needs the rights to list webhook configurations and
EndpointSlices. Nothing is sent to the webhook, and nothing is written, not even as a dry run: that would need the right
to write, and policies that know our ServiceAccount would answer something else to a person.

Webhooks with a `url` are taken to answer. So is a Service of type ExternalName, which has no endpoints.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from windlass.api.admission import (
    EndpointSlice,
    MutatingWebhookConfiguration,
    RuleWithOperations,
    ServiceReference,
    ValidatingWebhookConfiguration,
    Webhook,
)
from windlass.api.core import Service
from windlass.capability.planning.planner import Remark
from windlass.kube.control.plan import Action, Call, Create, Delete, Emit, Evict, RequestToken
from windlass.kube.errors import KubeError, NotFound
from windlass.kube.verbs import ReadApi

NAMED: Final = 3
"""Objects that a message names."""
_KINDS: Final = (ValidatingWebhookConfiguration, MutatingWebhookConfiguration)
_SERVICE_LABEL: Final = "kubernetes.io/service-name"


class _Asked(Struct, frozen=True):
    """A webhook that must be asked, and the objects whose planned writes it is asked about."""

    configuration: str
    webhook: Webhook
    service: ServiceReference
    objects: tuple[str, ...]


async def stopped_writes(api: ReadApi, actions: Iterable[Action]) -> list[Remark]:
    """A warning for each webhook that would stop some of `actions`, or a note why that cannot be told."""
    writes = [each for each in actions if not isinstance(each, Call | Emit)]
    if not writes:
        return []
    try:
        asked = [each for kind in _KINDS for found in (await api.list(kind)).items for each in _asked(found, writes)]
        answers = {each.service: await _answers(api, each.service) for each in asked}
    except KubeError as error:
        return [("note", f"whether admission webhooks stop these writes is not known: {error}")]
    return [("warning", _remark(each, answers[each.service])) for each in asked if answers[each.service]]


def _asked(found: Any, writes: list[Action]) -> Iterator[_Asked]:
    configuration = found.decode()
    for webhook in configuration.webhooks:
        service = webhook.client_config.service
        if webhook.failure_policy != "Fail" or service is None:
            continue
        objects = [str(each.target) for each in writes if any(_matches(rule, each) for rule in webhook.rules)]
        if objects:
            name = f"{configuration.RESOURCE.kind} {configuration.metadata.name}"
            yield _Asked(name, webhook, service, tuple(dict.fromkeys(objects)))


def _matches(rule: RuleWithOperations, action: Action) -> bool:
    """By group, resource and operation. Versions are not compared: by default they count as equivalent."""
    resource = action.target.kind.RESOURCE
    operation, part = _operation(action)
    return (
        _has(rule.api_groups, resource.group)
        and _has(rule.operations, operation)
        and any(_is_of(each, resource.plural, part) for each in rule.resources)
        and rule.scope in ("*", "Namespaced" if resource.namespaced else "Cluster")
    )


def _operation(action: Action) -> tuple[str, str]:
    """The operation and the subresource, as rules name them."""
    match action:
        case Create():
            return "CREATE", ""
        case Evict():
            return "CREATE", "eviction"
        case RequestToken():
            return "CREATE", "token"
        case Delete():
            return "DELETE", ""
    return "UPDATE", action.subresource


def _is_of(pattern: str, plural: str, part: str) -> bool:
    """`machines` is without its subresources, `machines/status` one of them, `machines/*` all."""
    name, _, sub = pattern.partition("/")
    return name in ("*", plural) and sub in ("*", part)


def _has(wanted: tuple[str, ...], value: str) -> bool:
    return "*" in wanted or value in wanted


async def _answers(api: ReadApi, service: ServiceReference) -> str:
    """Why nobody answers for the Service; empty if somebody does."""
    place = f"Service {service.namespace}/{service.name}"
    try:
        found = (await api.get(Service, service.name, namespace=service.namespace)).tree()
    except NotFound:
        return f"{place} does not exist"
    if (found.get("spec") or {}).get("type") == "ExternalName":
        return ""
    label = f"{_SERVICE_LABEL}={service.name}"
    slices = (await api.list(EndpointSlice, namespace=service.namespace, label_selector=label)).items
    ready = any(one.conditions.ready is not False for each in slices for one in each.decode().endpoints or ())
    return "" if ready else f"{place} has no ready endpoint"


def _remark(asked: _Asked, why: str) -> str:
    webhook, objects = asked.webhook, asked.objects
    narrowed = webhook.namespace_selector or webhook.object_selector or webhook.match_conditions
    named = ", ".join(objects[:NAMED]) + (f" and {len(objects) - NAMED} more" if len(objects) > NAMED else "")
    return (
        f"the API server {'may refuse' if narrowed else 'refuses'} to write {named}: it cannot ask webhook "
        f"{webhook.name} of {asked.configuration}, because {why}. Start what serves it; if it was removed, save and "
        "delete that configuration"
    )
