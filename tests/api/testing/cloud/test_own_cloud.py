"""A cloud of a test's own, beside the shared one: with TLS, tokens of another life, and services that go away."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from keystoneauth1.exceptions import ConnectFailure, SSLError
from openstack.exceptions import HttpException

from tests.waiting import wait_until
from windlass.testing.cloud import Cloud, CloudAccess, Project, clouds

pytestmark = [pytest.mark.cloud, pytest.mark.sampled]

TOKEN_LIFE = 600
"""Seconds."""


@pytest.fixture(scope="module")
def own() -> Iterator[Cloud]:
    with Cloud(skip=("cinder", "octavia"), tls=True, token_life=TOKEN_LIFE) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def project(own: Cloud) -> Project:
    """It goes with its cloud."""
    return own.new_project()


def boot(project: Project) -> str:
    compute = project.sdk.compute
    server = compute.create_server(
        name="server",
        flavor_id=compute.find_flavor("m1.tiny", ignore_missing=False).id,
        image_id=project.sdk.image.find_image("cirros", ignore_missing=False).id,
        networks=[{"uuid": project.network_id}],
    )
    wait_until("the server is active", lambda: compute.get_server(server.id).status == "ACTIVE")
    ident: str = server.id
    return ident


def test_the_first_requests_to_a_service_may_come_all_at_once(own: Cloud) -> None:
    """Services load their policies when the first request comes, and not all of them guard that by a lock."""
    connections = [clouds.connect(own.clouds["admin"]) for _ in range(8)]
    for connection in connections:
        connection.authorize()
    with ThreadPoolExecutor(len(connections)) as pool:
        made = [*pool.map(lambda connection: connection.network.create_network(name="at-once"), connections)]
    assert len({network.id for network in made}) == len(connections)


def test_two_clouds_know_nothing_of_each_other(own: Cloud, project: Project, windlass_cloud: CloudAccess) -> None:
    assert not {*own.urls.values()} & {*windlass_cloud.urls.values()}
    assert own.admin.network.find_network(project.name) is not None
    assert windlass_cloud.admin.network.find_network(project.name) is None


def test_with_tls_clients_need_the_clouds_own_authority(own: Cloud) -> None:
    entry = own.clouds["demo"]
    assert entry["cacert"] == str(own.ca_file)
    assert all(url.startswith("https://127.0.0.1:") for url in own.urls.values())
    assert [*clouds.connect(entry).network.networks(name="public")]
    del entry["cacert"]
    session = clouds.connect(entry).session
    with pytest.raises(SSLError):
        session.get_token()


def test_tokens_live_as_long_as_the_cloud_says(own: Cloud) -> None:
    login: Any = own.connect().session
    token = login.auth.get_access(login)
    assert (token.expires - token.issued).total_seconds() == pytest.approx(TOKEN_LIFE, abs=1)


def test_a_service_goes_away_and_comes_back_with_what_it_knew(own: Cloud, project: Project) -> None:
    server = boot(project)
    own.stop_service("nova")
    assert not own.runs("nova")
    port = urlsplit(own.urls["nova"]).port
    with pytest.raises(OSError, match="already in use"):
        socket.create_server(("127.0.0.1", port))
    with pytest.raises(ConnectFailure):
        project.connect().session.get(f"{own.urls['nova']}/servers", connect_retries=0)
    own.start_service("nova")
    assert project.sdk.compute.get_server(server).status == "ACTIVE"

    own.stop_service("neutron")
    with pytest.raises(HttpException) as refused:
        project.sdk.compute.get_server(server)
    assert refused.value.status_code == 500
