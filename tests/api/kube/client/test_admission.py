"""What a real API server answers when admission refuses, and what becomes of it: webhooks of both kinds, policies."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.patience import PATIENCE
from windlass.api.core import ConfigMap
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.errors import ApiError, Forbidden, Invalid, WebhookFailed
from windlass.kube.process.serving import stop
from windlass.kube.verbs import PatchType
from windlass.testing import ControlPlane, ServingCertificate, at_loopback

pytestmark = pytest.mark.plane

Tree = dict[str, Any]
ADMISSION = "admissionregistration.k8s.io/v1"


@pytest.fixture
def plane(windlass_module_plane: ControlPlane) -> ControlPlane:
    return windlass_module_plane


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client(config.load(kubeconfig=plane.kubeconfig())) as client:
        yield client


@pytest.fixture
def certificate(plane: ControlPlane, tmp_path: Path) -> ServingCertificate:
    return plane.serving_certificate(tmp_path / "certificate")


@pytest.fixture
async def port(certificate: ServingCertificate) -> AsyncIterator[int]:
    """A webhook that refuses everything, with the code that the path has."""

    async def judge(request: web.Request) -> web.Response:
        uid = (await request.json())["request"]["uid"]
        status = {"code": int(request.match_info["code"]), "message": "not today"}
        response = {"uid": uid, "allowed": False, "status": status}
        return web.json_response({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    application = web.Application()
    application.router.add_post("/{code}", judge)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=certificate.server_context()).start()
    yield runner.addresses[0][1]
    await stop(runner)


def configuration(kind: str, namespace: str, *, path: str = "x") -> Tree:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    webhook = {
        "name": "judge.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"service": {"namespace": "judges", "name": "gone", "path": f"/{path}"}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "rules": [rule],
    }
    return {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": f"judge-{namespace}"}, "webhooks": [webhook]}


async def refusal(attempt: Callable[[], Awaitable[Any]]) -> ApiError:
    """The API server takes a moment to see a new configuration; until then it admits everything."""

    async def refused() -> ApiError:
        while True:
            try:
                await attempt()
            except ApiError as error:
                return error

    return await asyncio.wait_for(refused(), PATIENCE)


async def a_config_map(client: Client, namespace: str) -> Callable[[], Awaitable[Any]]:
    """One that exists, and a change of it."""
    await client.create(ConfigMap, {"metadata": {"name": "a"}}, namespace=namespace)
    count = iter(range(1_000_000))

    async def change() -> Any:
        body = {"data": {"x": str(next(count))}}
        return await client.patch(ConfigMap, "a", body, type=PatchType.MERGE, namespace=namespace)

    return change


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
async def test_a_webhook_whose_service_is_gone_is_told_from_a_server_that_fails(
    plane: ControlPlane, client: Client, kind: str
) -> None:
    namespace = await plane.create_namespace()
    change = await a_config_map(client, namespace)
    await plane.apply(configuration(kind, namespace))
    error = await refusal(change)
    assert type(error) is WebhookFailed
    assert 'failed calling webhook "judge.example.com"' in str(error)


@pytest.mark.parametrize("code", [404, 409, 429, 500])
async def test_a_webhook_that_says_no_is_believed_whatever_code_it_chooses(
    plane: ControlPlane, client: Client, certificate: ServingCertificate, port: int, code: int
) -> None:
    namespace = await plane.create_namespace()
    change = await a_config_map(client, namespace)
    registered = configuration("ValidatingWebhookConfiguration", namespace, path=str(code))
    await plane.apply(at_loopback(registered, port=port, certificate=certificate))
    error = await refusal(change)
    assert type(error) is Forbidden
    assert error.code == code
    # A 404 would mean that the object is gone, and a 409 that another writer was first.
    with pytest.raises(Forbidden, match="denied the request: not today"):
        await client.delete(ConfigMap, "a", namespace=namespace)


@pytest.mark.parametrize(("reason", "leaf"), [(None, Invalid), ("Forbidden", Forbidden)])
async def test_a_policy_that_says_no_is_a_refusal(
    plane: ControlPlane, client: Client, reason: str | None, leaf: type[ApiError]
) -> None:
    namespace = await plane.create_namespace()
    change = await a_config_map(client, namespace)
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["configmaps"]}
    validation = {"expression": "false", "message": "not today", **({"reason": reason} if reason else {})}
    constraints = {
        "resourceRules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    name = f"p-{namespace}"
    policy = {"matchConstraints": constraints, "validations": [validation]}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    await plane.apply(
        {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": policy},
        {
            "apiVersion": ADMISSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": binding,
        },
    )
    error = await refusal(change)
    assert type(error) is leaf
    assert "ValidatingAdmissionPolicy" in str(error)
