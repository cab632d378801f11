"""Evictions and tokens on a real API server: what it grants, what it refuses, and which rights are enough."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.waiting import eventually
from windlass.api.authentication import BoundObjectReference, TokenReview
from windlass.api.core import ServiceAccount
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.control.executor import Executor
from windlass.kube.control.permissions import Declared, Permission, evicts_pods, reads, requests_tokens, rules
from windlass.kube.control.plan import Evict, Plan, RequestToken, Target
from windlass.kube.errors import Conflict, Forbidden, NotFound, Unevictable
from windlass.kube.verbs import PatchType
from windlass.testing import PlaneAccess

pytestmark = pytest.mark.plane


class Pod(Struct):
    RESOURCE: ClassVar[Resource] = Resource("", "v1", "Pod", "pods")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class PodDisruptionBudget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


async def a_running_pod(admin: Client, namespace: str, name: str, **spec: str) -> str:
    """A Pod that says it is ready, as a kubelet would; returns its uid."""
    container = {"name": "c", "image": "none"}
    body = {"metadata": {"name": name, "labels": {"app": "shop"}}, "spec": {"containers": [container], **spec}}
    made = await admin.create(Pod, body, namespace=namespace)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    patch = {"status": status}
    await admin.patch(Pod, name, patch, type=PatchType.MERGE, namespace=namespace, subresource="status")
    return made.uid


async def a_budget(admin: Client, namespace: str) -> None:
    """It needs one healthy Pod, has one, and so allows no disruption."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "shop"}}}
    await admin.create(PodDisruptionBudget, {"metadata": {"name": "shop"}, "spec": spec}, namespace=namespace)
    await counted(admin, namespace, healthy=1)


async def counted(admin: Client, namespace: str, *, healthy: int) -> None:
    """Wait until the budget has seen so many healthy Pods."""

    async def status() -> Any:
        budget = await admin.get(PodDisruptionBudget, "shop", namespace=namespace)
        return budget.tree().get("status", {}).get("currentHealthy")

    await eventually(status, lambda seen: seen == healthy)


@asynccontextmanager
async def with_rights(plane: PlaneAccess, namespace: str, *declared: Permission) -> AsyncIterator[Client]:
    """A client that may do what is declared, and nothing else."""
    where = {"name": "limited", "namespace": namespace}
    version = "rbac.authorization.k8s.io/v1"
    await plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where},
        {"apiVersion": version, "kind": "Role", "metadata": where, "rules": rules(declared)[namespace]},
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": where,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"},
            "subjects": [{"kind": "ServiceAccount", **where}],
        },
    )
    path = await plane.service_account_kubeconfig(namespace, "limited")
    async with Client(config.load(kubeconfig=path)) as client:
        yield client


@pytest.fixture
async def admin(windlass_plane: PlaneAccess) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=windlass_plane.kubeconfig())) as client:
        yield client


async def test_a_pod_that_its_budget_protects_is_not_evicted_and_the_error_says_why(
    admin: Client, windlass_namespace: str
) -> None:
    await a_running_pod(admin, windlass_namespace, "one")
    await a_budget(admin, windlass_namespace)
    with pytest.raises(Unevictable, match="disruption budget") as refused:
        await admin.evict(Pod, "one", namespace=windlass_namespace)
    (cause,) = refused.value.status.details.causes
    assert "shop needs 1 healthy pods and has 1 currently" in cause.message
    await a_running_pod(admin, windlass_namespace, "two")
    await counted(admin, windlass_namespace, healthy=2)
    await admin.evict(Pod, "one", namespace=windlass_namespace)
    with pytest.raises(NotFound):
        await admin.get(Pod, "one", namespace=windlass_namespace)


async def test_only_the_pod_that_was_seen_is_evicted(admin: Client, windlass_namespace: str) -> None:
    uid = await a_running_pod(admin, windlass_namespace, "one")
    with pytest.raises(Conflict):
        await admin.evict(Pod, "one", namespace=windlass_namespace, uid="another")
    await admin.evict(Pod, "one", namespace=windlass_namespace, uid=uid, grace_seconds=0)
    with pytest.raises(NotFound):
        await admin.evict(Pod, "one", namespace=windlass_namespace, uid=uid)


async def test_a_plan_evicts_with_the_declared_right_and_is_told_of_a_budget(
    admin: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    declared = (reads(Pod, namespace=windlass_namespace), evicts_pods(namespace=windlass_namespace))
    uid = await a_running_pod(admin, windlass_namespace, "one")
    plan = Plan.of(Evict(target=Target(Pod, "one", windlass_namespace, uid=uid), why="it must move"))
    await a_budget(admin, windlass_namespace)
    async with with_rights(windlass_plane, windlass_namespace, *declared) as client:
        executor = Executor(client, permits=Declared(declared))
        assert isinstance((await executor.apply(plan)).error, Unevictable)
        await admin.delete(PodDisruptionBudget, "shop", namespace=windlass_namespace)
        await eventually(lambda: _evicts(executor, plan))
        with pytest.raises(NotFound):
            await client.get(Pod, "one", namespace=windlass_namespace)
        with pytest.raises(Forbidden):
            await client.delete(Pod, "one", namespace=windlass_namespace)


async def _evicts(executor: Executor, plan: Plan) -> bool:
    """The API server's own cache may show the budget for a moment after its deletion."""
    return (await executor.apply(plan)).error is None


async def test_a_token_is_for_its_audience_expires_as_asked_and_needs_the_right(
    admin: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    declared = requests_tokens("limited", namespace=windlass_namespace)
    async with with_rights(windlass_plane, windlass_namespace, declared) as client:
        status = await client.request_token(
            "limited", namespace=windlass_namespace, audiences=["registry.example"], seconds=1200
        )
        with pytest.raises(Forbidden):
            await client.request_token("default", namespace=windlass_namespace)
    claims = _claims(status.token)
    assert claims["aud"] == ["registry.example"]
    assert claims["exp"] - claims["iat"] == 1200
    assert status.expiration_timestamp is not None
    assert int(status.expiration_timestamp.timestamp()) == claims["exp"]
    assert status.token not in repr(status)
    for audience, accepted in (("registry.example", True), ("somebody.else", False)):
        spec = {"token": status.token, "audiences": [audience]}
        review = (await admin.create(TokenReview, {"spec": spec})).decode()
        assert review.status.authenticated is accepted
    with pytest.raises(NotFound):
        await admin.request_token("nobody", namespace=windlass_namespace)


async def test_a_plan_requests_a_token_that_is_bound_to_a_pod_with_the_declared_right(
    admin: Client, windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    declared = requests_tokens("limited", namespace=windlass_namespace)

    def request(name: str, bound: str) -> Plan:
        pod = BoundObjectReference(kind="Pod", api_version="v1", name="one", uid=bound)
        target = Target(ServiceAccount, name, windlass_namespace)
        return Plan.of(RequestToken(target=target, audiences=("registry.example",), seconds=1200, bound=pod))

    async with with_rights(windlass_plane, windlass_namespace, declared) as client:
        uid = await a_running_pod(admin, windlass_namespace, "one", serviceAccountName="limited")
        outcome = await Executor(client, permits=Declared([declared])).apply(request("limited", uid))
        another = await Executor(client).apply(request("limited", "another"))
        undeclared = await Executor(client).apply(request("default", uid))
    assert outcome.error is None
    claims = _claims(outcome.results[0].answer.token)
    assert (claims["aud"], claims["exp"] - claims["iat"]) == (["registry.example"], 1200)
    assert claims["kubernetes.io"]["pod"] == {"name": "one", "uid": uid}
    assert outcome.results[0].answer.token not in repr(outcome)
    assert isinstance(another.error, Conflict), "the Pod that was seen is not the one that has its name now"
    assert isinstance(undeclared.error, Forbidden)


def _claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims
