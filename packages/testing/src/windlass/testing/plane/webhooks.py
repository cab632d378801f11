"""Points webhook configurations at a process on loopback: a certificate to serve with, and the rewritten objects.

    certificate = plane.serving_certificate(tmp_path)
    ...                                                 # serve on 127.0.0.1:PORT with certificate.server_context()
    for configuration in read_manifests([Path("deploy/webhooks.yaml")]):
        await plane.apply(at_loopback(configuration, port=PORT, certificate=certificate))

In a cluster these objects refer to a Service, and there is no network on a plane in which a Service could be reached.
"""

import base64
import copy
import shutil
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ServingCertificate:
    """A certificate for 127.0.0.1 and its key, as `tls.crt` and `tls.key` in one folder."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        return self.folder / "tls.key"

    @property
    def ca_bundle(self) -> str:
        """The value of `caBundle` in a client configuration: the certificate as PEM, in base64."""
        return base64.b64encode(self.certificate.read_bytes()).decode()

    def server_context(self) -> ssl.SSLContext:
        """What a server in Python takes, for example `aiohttp.web.TCPSite(ssl_context=...)`."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, self.key)
        return context


def copy_certificate(certificate: Path, key: Path, folder: Path) -> ServingCertificate:
    """Put `certificate` and `key` into `folder`, which is made if it is not there, under the names that servers read.

    There is no openssl and no cryptography library here to make others.
    """
    folder.mkdir(parents=True, exist_ok=True)
    copied = ServingCertificate(folder)
    shutil.copyfile(certificate, copied.certificate)
    copied.key.touch(mode=0o600)
    shutil.copyfile(key, copied.key)
    return copied


def at_loopback(document: Mapping[str, Any], *, port: int, certificate: ServingCertificate) -> dict[str, Any]:
    """A copy of a webhook configuration, or of a CRD with a conversion webhook, that calls `https://127.0.0.1:port`.

    The path of each `service` reference is kept. Raises ValueError for an object that refers to no webhook service.
    """
    rewritten: dict[str, Any] = copy.deepcopy(dict(document))
    found = 0
    for client in _client_configurations(rewritten):
        if (service := client.pop("service", None)) is None:
            continue
        path = service.get("path", "").lstrip("/")
        client |= {"url": f"https://127.0.0.1:{port}/{path}", "caBundle": certificate.ca_bundle}
        found += 1
    if not found:
        name = document.get("metadata", {}).get("name", "")
        raise ValueError(f"{document.get('kind')} {name} refers to no webhook service: apply it as it is")
    return rewritten


def _client_configurations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match document.get("kind"):
        case "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration":
            for webhook in document.get("webhooks") or ():
                yield webhook["clientConfig"]
        case "CustomResourceDefinition":
            conversion = document["spec"].get("conversion") or {}
            if "clientConfig" in (webhook := conversion.get("webhook") or {}):
                yield webhook["clientConfig"]
