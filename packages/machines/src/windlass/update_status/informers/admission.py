"""Decides which informers are asked, and at what address: pure functions.

| the UpdateInformer | it is asked |
|---|---|
| not enabled | no |
| in a namespace that `--informer-namespaces` leaves out | no: `NamespaceNotAllowed` |
| beyond the `MOST_ENABLED` oldest | no: `TooMany` |
| its Service is missing, or has no cluster IP or no such port | no: `ServiceNotFound`, `ServiceNotUsable` |
| its Service has an address that is forbidden | no: `AddressRefused` |
| its caBundle is no PEM | no: `InvalidCABundle` |
| otherwise | at the cluster IP, under the name `<name>.<namespace>.svc` |

The address comes from the Service object and not from DNS, so no answer of a name server leads elsewhere.
"""

import base64
from collections.abc import Iterable, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from msgspec import Struct

from windlass.api.core import Service
from windlass.api.update import MOST_INFORMERS, OWN_INFORMERS
from windlass.api.update_informer import UpdateInformer, is_enabled
from windlass.kube.addresses import refusal
from windlass.kube.control.seen import Present, Seen
from windlass.kube.pem import certificates

MOST_ENABLED: Final = MOST_INFORMERS - len(OWN_INFORMERS)
"""Informers that are asked: so many have a place in the UpdateStatus."""


class Reason(StrEnum):
    """Of the condition Online."""

    ANSWERING = "Answering"
    INSIGHTS_REFUSED = "InsightsRefused"
    NOT_ASKED_YET = "NotAskedYet"
    NOT_ANSWERING = "NotAnswering"
    DISABLED = "Disabled"
    NAMESPACE_NOT_ALLOWED = "NamespaceNotAllowed"
    TOO_MANY = "TooMany"
    SERVICE_NOT_FOUND = "ServiceNotFound"
    SERVICE_NOT_USABLE = "ServiceNotUsable"
    ADDRESS_REFUSED = "AddressRefused"
    INVALID_CA_BUNDLE = "InvalidCABundle"


class Endpoint(Struct, frozen=True, kw_only=True):
    """Where an informer is asked. `authority`: PEM; "" for the service CA. Times are seconds."""

    host: str
    port: int
    path: str
    addresses: tuple[str, ...]
    authority: str = ""
    interval: float
    timeout: float

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}{self.path}"


class Denied(Struct, frozen=True):
    """Why an informer is not asked, with the remedy."""

    reason: Reason
    message: str


def candidates(informers: Iterable[UpdateInformer], namespaces: Sequence[str]) -> list[UpdateInformer]:
    """Those that are enabled and in a namespace that `namespaces` allows (none: all), the oldest first. Of these, the
    first `MOST_ENABLED` are asked."""
    found = [
        one
        for one in informers
        if _is_enabled(one) and _is_allowed(one.spec.client_config.service.namespace, namespaces)
    ]
    return sorted(found, key=lambda one: (one.metadata.creation_timestamp or "", one.metadata.name))


def _is_enabled(informer: UpdateInformer) -> bool:
    return is_enabled(informer.spec) and informer.metadata.name not in OWN_INFORMERS


def _is_allowed(namespace: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(namespace, pattern) for pattern in patterns)


def admitted(
    informer: UpdateInformer,
    service: Seen[Service] | None,
    *,
    place: int,
    namespaces: Sequence[str],
    forbidden: Iterable[str] = (),
) -> Endpoint | Denied:
    """The endpoint of an informer, or why it is not asked.

    `place`: how many candidates are older. `namespaces`: patterns; none: all. `forbidden`: addresses that are never
    asked, such as the API server's. `service` None: it was not looked at.
    """
    spec = informer.spec
    at = spec.client_config.service
    if not _is_enabled(informer):
        return Denied(Reason.DISABLED, "spec.state is not Enabled")
    if not _is_allowed(at.namespace, namespaces):
        allowed = ", ".join(namespaces)
        return Denied(
            Reason.NAMESPACE_NOT_ALLOWED, f"--informer-namespaces allows {allowed}, not {at.namespace}: add it there"
        )
    if place >= MOST_ENABLED:
        return Denied(Reason.TOO_MANY, f"only the {MOST_ENABLED} oldest informers are asked: disable another one")
    where = f"Service {at.namespace}/{at.name}"
    if not isinstance(service, Present):
        return Denied(Reason.SERVICE_NOT_FOUND, f"{where} is not there: create it or correct spec.clientConfig.service")
    found = service.object.spec
    addresses = tuple(address for address in found.cluster_ips if address not in ("", "None"))
    if found.type == "ExternalName" or not addresses:
        return Denied(Reason.SERVICE_NOT_USABLE, f"{where} has no cluster IP: make it one of type ClusterIP")
    if not any(each.port == at.port and each.protocol in ("", "TCP") for each in found.ports):
        return Denied(
            Reason.SERVICE_NOT_USABLE, f"{where} has no TCP port {at.port}: correct spec.clientConfig.service"
        )
    for address in addresses:
        if why := refusal(address, forbidden):
            return Denied(Reason.ADDRESS_REFUSED, f"{where} has the address {address}, {why}")
    authority = _pem(spec.client_config.ca_bundle)
    if authority is None:
        return Denied(
            Reason.INVALID_CA_BUNDLE,
            "spec.clientConfig.caBundle is not base64 of PEM certificates: correct it, or omit it for the service CA",
        )
    return Endpoint(
        host=f"{at.name}.{at.namespace}.svc",
        port=at.port,
        path=at.path,
        addresses=addresses,
        authority=authority,
        interval=float(spec.interval_seconds),
        timeout=float(spec.timeout_seconds),
    )


@lru_cache(maxsize=MOST_ENABLED)
def _pem(bundle: str) -> str | None:
    """The PEM text, or None if a TLS library would not take it.

    Results are kept: a bundle of the longest size takes 15 ms to check, and each decision about an informer asks.
    """
    if not bundle:
        return ""
    try:
        return certificates(base64.b64decode(bundle, validate=True))
    except ValueError:  # no base64, or NoCertificate
        return None
