"""References to a Service become URLs on loopback; nothing else of the object changes."""

import copy
import stat
from pathlib import Path
from typing import Any

import pytest

from windlass.testing.plane.webhooks import ServingCertificate, at_loopback, copy_certificate

SERVICE = {"namespace": "system", "name": "webhooks", "path": "/judge", "port": 8443}
LOOPBACK = {"url": "https://127.0.0.1:4443/judge", "caBundle": "UEVN"}


@pytest.fixture
def certificate(tmp_path: Path) -> ServingCertificate:
    for name, text in (("apiserver.crt", "PEM"), ("apiserver.key", "KEY")):
        (tmp_path / name).write_text(text)
    return copy_certificate(tmp_path / "apiserver.crt", tmp_path / "apiserver.key", tmp_path / "certificates")


def configuration(kind: str, **client: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "c"}, "webhooks": [{"name": "a", "clientConfig": client}]}


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_an_admission_webhook_calls_loopback(kind: str, certificate: ServingCertificate) -> None:
    deployed = configuration(kind, service=SERVICE, caBundle="b2xk")
    before = copy.deepcopy(deployed)
    assert at_loopback(deployed, port=4443, certificate=certificate) == configuration(kind, **LOOPBACK)
    assert deployed == before


def test_a_conversion_webhook_calls_loopback(certificate: ServingCertificate) -> None:
    def crd(**client: Any) -> dict[str, Any]:
        conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
        return {"kind": "CustomResourceDefinition", "spec": {"group": "example.com", "conversion": conversion}}

    assert at_loopback(crd(service=SERVICE), port=4443, certificate=certificate) == crd(**LOOPBACK)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "ConfigMap", "metadata": {"name": "c"}},
        {"kind": "CustomResourceDefinition", "metadata": {"name": "c"}, "spec": {"conversion": {"strategy": "None"}}},
        configuration("ValidatingWebhookConfiguration", url="https://elsewhere.example.com"),
    ],
    ids=lambda document: document["kind"],
)
def test_an_object_without_a_webhook_service_is_refused(
    document: dict[str, Any], certificate: ServingCertificate
) -> None:
    with pytest.raises(ValueError, match=f"{document['kind']} c refers to no webhook service: apply it as it is"):
        at_loopback(document, port=4443, certificate=certificate)


def test_the_key_is_readable_by_its_owner_alone(certificate: ServingCertificate) -> None:
    assert stat.S_IMODE(certificate.key.stat().st_mode) == 0o600
