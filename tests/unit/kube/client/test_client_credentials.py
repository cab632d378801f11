"""Who the client says it is, how it recognises the server, and what happens when either changes."""

from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import pytest
from msgspec import Struct, field

from tests.unit.kube.http_script import Script, json, status, stream
from windlass.api.meta import ObjectMeta, Resource
from windlass.kube import errors
from windlass.kube.client import Client
from windlass.kube.config import (
    ClientCertificate,
    ClusterConfig,
    Credential,
    FixedCredential,
    FromFiles,
    Impersonation,
    Tls,
)
from windlass.kube.verbs import PatchType

from .tls import AUTHORITY, PEM, tls_server


class Widget(Struct):
    RESOURCE: ClassVar[Resource] = Resource("example.com", "v1", "Widget", "widgets", namespaced=False)
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


WIDGET = json(200, {"metadata": {"name": "a"}})


def certificate(name: str) -> ClientCertificate:
    key = "client.key" if name == "client" else f"{name}.key"
    return ClientCertificate((PEM / f"{name}.crt").read_bytes(), (PEM / key).read_bytes(), origin="the test")


@pytest.fixture
async def plain() -> AsyncIterator[Script]:
    async with Script() as script:
        yield script


@pytest.fixture
async def secure() -> AsyncIterator[Script]:
    async with Script(tls=tls_server("server")) as script:
        yield script


def rotating(*tokens: str) -> FromFiles:
    """A token file whose content changes each time it is read."""
    contents = iter(tokens)
    return FromFiles(lambda: Credential(f"Bearer {next(contents)}"))


async def test_a_refused_token_is_read_again_and_the_request_repeated(plain: Script) -> None:
    plain.then(status(401, "Unauthorized"), WIDGET, WIDGET)
    async with Client(ClusterConfig(server=plain.url, credentials=rotating("old", "new"))) as client:
        await client.patch(Widget, "a", {}, type=PatchType.MERGE)
        await client.get(Widget, "a")
    sent = [request.headers["Authorization"] for request in plain.requests]
    assert sent == ["Bearer old", "Bearer new", "Bearer new"]


async def test_a_refused_watch_is_repeated_with_a_new_token(plain: Script) -> None:
    plain.then(status(401, "Unauthorized"), stream())
    async with Client(ClusterConfig(server=plain.url, credentials=rotating("old", "new"))) as client:
        assert [event async for event in client.watch(Widget)] == []
    assert [request.headers["Authorization"] for request in plain.requests] == ["Bearer old", "Bearer new"]


async def test_a_new_token_that_is_refused_too_is_unauthorized(plain: Script) -> None:
    plain.then(status(401, "Unauthorized"), status(401, "Unauthorized"))
    async with Client(ClusterConfig(server=plain.url, credentials=rotating("old", "new", "newer"))) as client:
        with pytest.raises(errors.Unauthorized):
            await client.get(Widget, "a")
    assert len(plain.requests) == 2


async def test_credentials_that_cannot_change_are_not_tried_twice(plain: Script) -> None:
    plain.then(status(401, "Unauthorized"))
    async with Client(ClusterConfig(server=plain.url, credentials=FixedCredential(Credential("Bearer t")))) as client:
        with pytest.raises(errors.Unauthorized):
            await client.get(Widget, "a")
    assert len(plain.requests) == 1


async def test_impersonation_is_part_of_every_request(plain: Script) -> None:
    plain.then(WIDGET)
    jane = Impersonation(user="jane", groups=("dev", "ops"), uid="7", extra={"scopes": ("view",)})
    async with Client(ClusterConfig(server=plain.url, impersonate=jane)) as client:
        await client.get(Widget, "a")
    headers = plain.requests[0].headers
    assert headers["Impersonate-User"] == "jane"
    assert headers["Impersonate-Group"] == "dev,ops"
    assert headers["Impersonate-Uid"] == "7"
    assert headers["Impersonate-Extra-scopes"] == "view"


async def test_a_ca_without_key_usage_is_trusted_as_every_kubernetes_client_does(secure: Script) -> None:
    secure.then(WIDGET)
    async with Client(ClusterConfig(server=secure.url, tls=Tls(authority=AUTHORITY))) as client:
        assert (await client.get(Widget, "a")).name == "a"


async def test_a_server_of_an_unknown_ca_is_refused_with_a_remedy(secure: Script) -> None:
    config = ClusterConfig(server=secure.url, origin="context 'prod' of /etc/kubeconfig")
    async with Client(config) as client:
        with pytest.raises(
            errors.TransportError, match=r"not trusted: .*see certificate-authority .*context 'prod' of /etc/kubeconfig"
        ) as caught:
            await client.patch(Widget, "a", {}, type=PatchType.MERGE)
    assert not caught.value.unknown_outcome


async def test_an_insecure_configuration_believes_anybody(secure: Script) -> None:
    secure.then(WIDGET)
    async with Client(ClusterConfig(server=secure.url, tls=Tls(insecure=True))) as client:
        await client.get(Widget, "a")


async def test_a_server_may_be_known_by_another_name_than_that_of_its_url() -> None:
    async with Script(tls=tls_server("named")) as named:
        named.then(WIDGET)
        async with Client(ClusterConfig(server=named.url, tls=Tls(authority=AUTHORITY))) as client:
            with pytest.raises(errors.TransportError, match=r"not valid for '127.0.0.1'"):
                await client.get(Widget, "a")
        tls = Tls(authority=AUTHORITY, server_name="api.windlass.test")
        async with Client(ClusterConfig(server=named.url, tls=tls)) as client:
            await client.get(Widget, "a")


async def test_a_client_certificate_is_presented(secure: Script) -> None:
    secure.then(WIDGET)
    jane = FixedCredential(Credential(certificate=certificate("client")))
    async with Client(ClusterConfig(server=secure.url, tls=Tls(authority=AUTHORITY), credentials=jane)) as client:
        await client.get(Widget, "a")
    assert secure.requests[0].certificate["subject"] == ((("commonName", "jane"),),)


async def test_a_renewed_client_certificate_gets_a_connection_of_its_own(secure: Script) -> None:
    contents = iter([certificate("client"), certificate("client"), certificate("renewed")])
    now = [0.0]
    source = FromFiles(lambda: Credential(certificate=next(contents)), clock=lambda: now[0])
    secure.then(WIDGET, WIDGET, WIDGET)
    async with Client(ClusterConfig(server=secure.url, tls=Tls(authority=AUTHORITY), credentials=source)) as client:
        for now[0] in (0.0, 61.0, 122.0):
            await client.get(Widget, "a")
    assert [request.connection for request in secure.requests] == [1, 1, 2]
    serials = [request.certificate["serialNumber"] for request in secure.requests]
    assert serials[0] == serials[1] != serials[2]


async def test_a_renewed_ca_is_trusted_by_new_connections(secure: Script) -> None:
    contents = iter([Credential(authority=(PEM / "named.crt").read_bytes()), Credential(authority=AUTHORITY)])
    now = [0.0]
    source = FromFiles(lambda: next(contents), clock=lambda: now[0])
    secure.then(WIDGET)
    config = ClusterConfig(server=secure.url, tls=Tls(authority=b"that of the start"), credentials=source)
    async with Client(config) as client:
        with pytest.raises(errors.TransportError, match="not trusted"):
            await client.get(Widget, "a")
        now[0] = 61.0
        assert (await client.get(Widget, "a")).name == "a"


async def test_a_proxy_is_asked_to_connect_to_the_server(plain: Script) -> None:
    plain.then(json(407, {}))
    config = ClusterConfig(server="https://api.example.com:6443", proxy=plain.url)
    async with Client(config) as client:
        with pytest.raises(errors.TransportError, match="the proxy refused the connection: 407") as caught:
            await client.patch(Widget, "a", {}, type=PatchType.MERGE)
    assert not caught.value.unknown_outcome
    assert (plain.requests[0].method, plain.requests[0].path) == ("CONNECT", "api.example.com:6443")


def test_no_secret_is_shown_when_a_configuration_is_printed() -> None:
    source = Credential("Bearer very-secret", certificate("client"))
    config = ClusterConfig(server="https://api:6443", credentials=FixedCredential(source))
    printed = f"{config!r} {config} {source!r} {source.certificate!r}"
    assert "very-secret" not in printed
    assert "PRIVATE KEY" not in printed


@pytest.mark.parametrize("made", [lambda: rotating("a"), lambda: FixedCredential(Credential())])
async def test_sources_may_be_shared_by_clients(plain: Script, made: Callable[[], Any]) -> None:
    plain.then(WIDGET, WIDGET)
    config = ClusterConfig(server=plain.url, credentials=made())
    async with Client(config) as one, Client(config) as other:
        await one.get(Widget, "a")
        await other.get(Widget, "a")
    assert [request.connection for request in plain.requests] == [1, 2]
