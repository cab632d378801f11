"""Webhooks of the user, served on loopback by the test, judge what is written to the plane."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.patience import PATIENCE
from windlass.kube.process.serving import stop
from windlass.testing import ControlPlane, ServingCertificate, at_loopback
from windlass.testing.plane.errors import Refused

pytestmark = pytest.mark.plane


@pytest.fixture
def plane(windlass_module_plane: ControlPlane) -> ControlPlane:
    return windlass_module_plane


@pytest.fixture
def certificate(plane: ControlPlane, tmp_path: Path) -> ServingCertificate:
    return plane.serving_certificate(tmp_path / "certificate")


@pytest.fixture
async def port(certificate: ServingCertificate) -> AsyncIterator[int]:
    """A webhook that refuses ConfigMaps with the key `forbidden`, at /judge."""

    async def judge(request: web.Request) -> web.Response:
        review = (await request.json())["request"]
        allowed = "forbidden" not in (review["object"].get("data") or {})
        status = {"code": 403, "message": "this key is forbidden"}
        response = {"uid": review["uid"], "allowed": allowed, "status": status}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        return web.json_response(answer)

    application = web.Application()
    application.router.add_post("/judge", judge)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=certificate.server_context()).start()
    yield runner.addresses[0][1]
    await stop(runner)


def configuration(namespace: str) -> dict[str, Any]:
    """As it would be deployed to a cluster."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "judge"},
        "webhooks": [
            {
                "name": "judge.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"service": {"namespace": "judges", "name": "judge", "path": "/judge", "port": 8443}},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
            }
        ],
    }


async def test_a_webhook_on_loopback_refuses_a_config_map_and_admits_another(
    plane: ControlPlane, certificate: ServingCertificate, port: int
) -> None:
    namespace = await plane.create_namespace()
    await plane.apply(at_loopback(configuration(namespace), port=port, certificate=certificate))

    def config_map(name: str, key: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {key: "x"}}

    async def refusal() -> Refused:
        while True:  # The API server takes a moment to see a new configuration; until then it admits everything.
            try:
                await plane.apply(config_map(f"bad-{secrets.token_hex(4)}", "forbidden"))
            except Refused as refused:
                return refused

    refused = await asyncio.wait_for(refusal(), PATIENCE)
    assert refused.status == 403
    assert 'admission webhook "judge.example.com" denied the request: this key is forbidden' in str(refused)
    [admitted] = await plane.apply(config_map("good", "welcome"))
    assert admitted["data"] == {"welcome": "x"}
