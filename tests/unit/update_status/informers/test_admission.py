"""Which informers are asked, and at what address. The number in a name is that of the control in the specification."""

import base64
from typing import Any

import msgspec
import pytest
import trustme
from msgspec.structs import replace

from windlass.api.core import Service
from windlass.api.update_informer import UpdateInformer, audience_of
from windlass.kube.addresses import refusal
from windlass.kube.control.seen import Absent, Seen, seen
from windlass.kube.object import Object
from windlass.update_status.informers.admission import MOST_ENABLED, Denied, Endpoint, Reason, admitted, candidates

PEM = trustme.CA().cert_pem.bytes()


def informer(name: str = "disks", **spec: Any) -> UpdateInformer:
    at = {"service": {"namespace": "storage", "name": "disks"}, "caBundle": base64.b64encode(PEM).decode()}
    tree = {"metadata": {"name": name}, "spec": {"enabled": True, "clientConfig": at, **spec}}
    return msgspec.convert(tree, UpdateInformer)


def made(name: str, created: str) -> UpdateInformer:
    one = informer(name)
    return replace(one, metadata=replace(one.metadata, creation_timestamp=created))


def service(**spec: Any) -> Seen[Service]:
    usual = {"type": "ClusterIP", "clusterIPs": ["172.30.1.2"], "ports": [{"port": 443, "protocol": "TCP"}]}
    tree = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "disks", "namespace": "storage"},
        "spec": {**usual, **spec},
    }
    return seen(Object.of(Service, tree))


def verdict(of: UpdateInformer | None = None, at: Seen[Service] | None = None, **given: Any) -> Endpoint | Denied:
    usual: dict[str, Any] = {"place": 0, "namespaces": (), **given}
    return admitted(of or informer(), at or service(), **usual)


def reason(*arguments: Any, **given: Any) -> Reason:
    found = verdict(*arguments, **given)
    assert isinstance(found, Denied)
    return found.reason


def test_an_enabled_informer_is_asked_at_the_cluster_ip_under_its_own_name() -> None:
    found = verdict()
    assert isinstance(found, Endpoint)
    assert (found.url, found.addresses) == ("https://disks.storage.svc:443/", ("172.30.1.2",))
    assert (found.authority, found.interval, found.timeout) == (PEM.decode(), 30.0, 5.0)


def test_control_1_an_informer_is_off_unless_somebody_enables_it() -> None:
    off = msgspec.convert({"spec": {"clientConfig": {"service": {"namespace": "a", "name": "b"}}}}, UpdateInformer)
    assert reason(off) is Reason.DISABLED


def test_control_1_namespaces_may_be_limited() -> None:
    assert reason(namespaces=("openshift-*",)) is Reason.NAMESPACE_NOT_ALLOWED
    assert isinstance(verdict(namespaces=("openshift-*", "storage")), Endpoint)
    assert reason(namespaces=("stor",)) is Reason.NAMESPACE_NOT_ALLOWED, "a pattern is the whole name"


def test_control_1_the_oldest_have_a_place_and_informers_that_are_not_asked_have_none() -> None:
    older, newer = made("z", "2026-01-01T00:00:00Z"), made("a", "2026-01-02T00:00:00Z")
    off = informer("off", enabled=False)
    elsewhere = informer("elsewhere", clientConfig={"service": {"namespace": "storage-of-another", "name": "disks"}})
    assert candidates([newer, off, elsewhere, older], ("storage",)) == [older, newer]


@pytest.mark.parametrize(
    ("at", "why"),
    [
        (Absent(confirmed=True), Reason.SERVICE_NOT_FOUND),
        (service(type="ExternalName", clusterIPs=[]), Reason.SERVICE_NOT_USABLE),
        (service(clusterIPs=["None"]), Reason.SERVICE_NOT_USABLE),
        (service(ports=[{"port": 80}]), Reason.SERVICE_NOT_USABLE),
        (service(ports=[{"port": 443, "protocol": "UDP"}]), Reason.SERVICE_NOT_USABLE),
        (service(clusterIPs=["127.0.0.1"]), Reason.ADDRESS_REFUSED),
        (service(clusterIPs=["172.30.1.2", "::1"]), Reason.ADDRESS_REFUSED),
        (service(clusterIPs=["172.30.0.1"]), Reason.ADDRESS_REFUSED),
    ],
)
def test_control_2_only_a_service_with_a_cluster_ip_is_asked(at: Seen[Service], why: Reason) -> None:
    assert reason(None, at, forbidden=("172.30.0.1",)) is why


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "::1",
        "0.0.0.0",
        "::",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "fe80::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "example.com",
        "172.30.0.1",
        "::ffff:172.30.0.1",
    ],
)
def test_control_2_addresses_that_are_never_asked(address: str) -> None:
    assert refusal(address, ["172.30.0.1"])


@pytest.mark.parametrize("address", ["172.30.1.2", "10.96.3.4", "fd02::17"])
def test_control_2_addresses_of_services(address: str) -> None:
    assert refusal(address, ["172.30.0.1"]) == ""


def test_control_3_each_informer_has_an_audience_of_its_own() -> None:
    assert audience_of("disks") == "update.openshift.io/informer/disks"
    assert audience_of("disks") != audience_of("others")


@pytest.mark.parametrize("bundle", ["!", "AAAA", base64.b64encode(b"no certificate").decode()])
def test_control_4_an_authority_that_is_none_does_not_mean_any(bundle: str) -> None:
    at = {"service": {"namespace": "storage", "name": "disks"}, "caBundle": bundle}
    broken = msgspec.json.decode(
        msgspec.json.encode({"spec": {"enabled": True, "clientConfig": at}}).replace(b"!", b"="), type=UpdateInformer
    )
    assert reason(broken) is Reason.INVALID_CA_BUNDLE


def test_control_4_an_authority_may_have_comments_in_any_language() -> None:
    bundle = "# Főtanúsítvány\n".encode() + PEM
    at = {"service": {"namespace": "storage", "name": "disks"}, "caBundle": base64.b64encode(bundle).decode()}
    given = verdict(informer(clientConfig=at))
    assert isinstance(given, Endpoint)
    assert given.authority.encode().endswith(PEM)


def test_control_4_an_authority_is_read_once_however_often_the_informer_is_looked_at() -> None:
    first, again = verdict(), verdict()
    assert isinstance(first, Endpoint)
    assert isinstance(again, Endpoint)
    assert first.authority is again.authority


@pytest.mark.parametrize("name", ["cpi", "ni"])
def test_control_5_the_controllers_own_names_are_never_asked(name: str) -> None:
    assert reason(informer(name)) is Reason.DISABLED


def test_control_15_more_informers_than_the_limit_are_told_so() -> None:
    assert reason(place=MOST_ENABLED) is Reason.TOO_MANY
    assert isinstance(verdict(place=MOST_ENABLED - 1), Endpoint)
