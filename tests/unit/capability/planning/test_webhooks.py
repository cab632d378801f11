"""Planned writes that a webhook would stop, as nobody answers for its Service."""

from typing import Any

import pytest

from windlass.api.admission import EndpointSlice, MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Service
from windlass.capability.planning.webhooks import stopped_writes
from windlass.kube.control.plan import Action, Create, Delete, Emit, Merge, Target
from windlass.kube.errors import Forbidden, Status
from windlass.model import MemoryApi

Tree = dict[str, Any]

AIM = Target(OpenStackServer, "a", "prod", "u", "7")
CREATE = Create(target=Target(OpenStackServer, "a", "prod"), body={})
CHANGE = Merge(target=AIM, observed={}, desired={"spec": {"x": 1}})
STATUS = Merge(target=AIM, observed={}, desired={"status": {"x": 1}}, part="status")
DELETE = Delete(target=AIM)
RULE: Tree = {
    "apiGroups": ["infrastructure.cluster.x-k8s.io"],
    "apiVersions": ["v1alpha1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["openstackservers"],
}


def tree(kind: type[Any], name: str, namespace: str = "", **content: Any) -> Tree:
    place = {"namespace": namespace} if namespace else {}
    meta = {"name": name, **place, **content.pop("metadata", {})}
    return {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": meta, **content}


def configuration(kind: type[Any] = ValidatingWebhookConfiguration, rule: Tree | None = None, **webhook: Any) -> Tree:
    service = {"service": {"namespace": "capo-system", "name": "capo-webhook-service"}}
    rules = [{**RULE, **(rule or {})}]
    one = {"name": "check.example.com", "failurePolicy": "Fail", "clientConfig": service, "rules": rules, **webhook}
    return tree(kind, "capo", webhooks=[one])


def service(**spec: Any) -> Tree:
    return tree(Service, "capo-webhook-service", "capo-system", spec=spec)


def endpoints(*ready: bool | None) -> Tree:
    labels = {"kubernetes.io/service-name": "capo-webhook-service"}
    each = [{"addresses": ["10.0.0.1"], "conditions": {} if one is None else {"ready": one}} for one in ready]
    return tree(EndpointSlice, "s", "capo-system", metadata={"labels": labels}, endpoints=each)


def cluster(*trees: Tree) -> MemoryApi:
    kinds = (ValidatingWebhookConfiguration, MutatingWebhookConfiguration, Service, EndpointSlice)
    api = MemoryApi(*kinds)
    api.load(*trees)
    return api


async def told(api: MemoryApi, *actions: Action) -> list[str]:
    return [f"{level}: {text}" for level, text in await stopped_writes(api, actions)]


async def test_a_webhook_without_endpoints_stops_creates_and_changes() -> None:
    (text,) = await told(cluster(configuration(), service(), endpoints()), CREATE, CHANGE)
    assert text == (
        "warning: the API server refuses to write OpenStackServer.infrastructure.cluster.x-k8s.io prod/a: it cannot "
        "ask webhook check.example.com of ValidatingWebhookConfiguration capo, because Service "
        "capo-system/capo-webhook-service has no ready endpoint. Start what serves it; if it was removed, save and "
        "delete that configuration"
    )


@pytest.mark.parametrize(
    ("trees", "action"),
    [
        pytest.param([configuration(), service(), endpoints(True)], CREATE, id="somebody answers"),
        pytest.param([configuration(), service(), endpoints(False, None)], CREATE, id="readiness is not told"),
        pytest.param([configuration(), service(), endpoints()], STATUS, id="the status"),
        pytest.param([configuration(), service(), endpoints()], DELETE, id="a deletion, which it does not judge"),
        pytest.param([configuration(failurePolicy="Ignore"), service(), endpoints()], CREATE, id="it may be ignored"),
        pytest.param([configuration(clientConfig={"url": "https://x"})], CREATE, id="it has a URL"),
        pytest.param([configuration(), service(type="ExternalName")], CREATE, id="its Service is elsewhere"),
        pytest.param([configuration(rule={"resources": ["openstackmachines"]})], CREATE, id="of another resource"),
        pytest.param([configuration(rule={"apiGroups": ["cluster.x-k8s.io"]})], CREATE, id="of another group"),
        pytest.param([configuration(rule={"scope": "Cluster"})], CREATE, id="of another scope"),
        pytest.param([], CREATE, id="there is none"),
    ],
)
async def test_nothing_is_told_when_the_write_passes(trees: list[Tree], action: Action) -> None:
    assert await told(cluster(*trees), action) == []


@pytest.mark.parametrize(
    ("rule", "action"),
    [
        pytest.param({"resources": ["*"]}, CREATE, id="all resources"),
        pytest.param({"apiGroups": ["*"]}, CREATE, id="all groups"),
        pytest.param({"operations": ["*"]}, DELETE, id="all operations"),
        pytest.param({"operations": ["DELETE"]}, DELETE, id="deletions"),
        pytest.param({"resources": ["openstackservers/status"]}, STATUS, id="the status"),
        pytest.param({"resources": ["*/*"]}, STATUS, id="all parts of all resources"),
    ],
)
async def test_a_rule_is_read_as_the_api_server_reads_it(rule: Tree, action: Action) -> None:
    assert len(await told(cluster(configuration(rule=rule), service()), action)) == 1


async def test_an_endpoint_that_is_not_ready_answers_nothing() -> None:
    assert len(await told(cluster(configuration(), service(), endpoints(False)), CREATE)) == 1


async def test_a_mutating_webhook_whose_service_is_gone_stops_them_too() -> None:
    (text,) = await told(cluster(configuration(MutatingWebhookConfiguration)), CREATE)
    assert (
        "of MutatingWebhookConfiguration capo, because Service capo-system/capo-webhook-service does not exist" in text
    )


async def test_a_webhook_that_selects_objects_may_stop_them() -> None:
    api = cluster(configuration(objectSelector={"matchLabels": {"a": "b"}}))
    (text,) = await told(api, CREATE)
    assert "the API server may refuse to write" in text


async def test_many_objects_are_counted() -> None:
    many = [Create(target=Target(OpenStackServer, f"s{number}", "prod"), body={}) for number in range(9)]
    (text,) = await told(cluster(configuration()), *many)
    assert "prod/s2 and 6 more: it cannot ask" in text


async def test_who_may_not_look_is_told_so_and_nothing_is_looked_at_without_writes() -> None:
    api = cluster()
    refused = Forbidden(Status(code=403, message="you may not list"))
    api.fail_next("list", ValidatingWebhookConfiguration, refused)
    assert await told(api, Emit(target=AIM, type="Normal", reason="R", note="n", source="s")) == []
    assert await told(api, CREATE) == [
        "note: whether admission webhooks stop these writes is not known: you may not list"
    ]
