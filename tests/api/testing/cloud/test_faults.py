"""Faults in front of the services, one sort after the other; each test's own rules hit the test's own requests only."""

import time
from typing import Any

import pytest
import requests
from keystoneauth1.exceptions import ConnectFailure, HttpError
from keystoneauth1.session import Session
from openstack.exceptions import SDKException

from tests.api.testing.cloud.conftest import Boot
from windlass.testing.cloud import CloudAccess, Project, clouds


@pytest.fixture
def plain(project: Project) -> Session:
    """The session of a connection, which repeats nothing."""
    session = project.connect(user_agent="plain").session
    assert isinstance(session, Session)
    return session


def post_port(plain: Session, project: Project, **fields: Any) -> requests.Response:
    return plain.post(
        "/v2.0/ports",
        endpoint_filter={"service_type": "network"},
        endpoint_override=None,
        json={"port": {"network_id": project.network_id, **fields}},
        raise_exc=False,
    )


def test_429_with_retry_after_and_then_success(project: Project, plain: Session) -> None:
    fault = project.fault(
        "neutron", method="POST", path="/ports$", status=429, headers={"Retry-After": "1"}, count=2
    )  # fmt: skip
    answers = [post_port(plain, project) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 429, 201]
    assert answers[0].headers["Retry-After"] == "1"
    assert fault.hits == 2
    posts = project.requests("neutron", method="POST", path="/ports$", user_agent="plain")
    assert [(post.status, post.fault) for post in posts] == [(429, True), (429, True), (201, False)]
    project.may_leave("port")


def test_an_answer_that_is_lost_after_the_work_was_done(project: Project, plain: Session) -> None:
    project.fault("neutron", method="POST", path="/ports$", status=503, count=1, after=True)
    assert post_port(plain, project, description="lost").status_code == 503
    [port] = project.sdk.network.ports(description="lost")
    project.sdk.network.delete_port(port)


def test_a_connection_that_is_dropped_before_or_after_the_work(project: Project, plain: Session) -> None:
    project.fault("neutron", method="POST", path="/ports$", drop=True, count=1)
    project.fault("neutron", method="POST", path="/ports$", drop=True, count=1, after=True)
    for made in (0, 1):
        with pytest.raises(ConnectFailure):
            post_port(plain, project)
        assert len([*project.sdk.network.ports()]) == made
    dropped = project.requests("neutron", method="POST", path="/ports$")
    assert [request.status for request in dropped] == [0, 0]
    project.may_leave("port")


def test_a_delay_before_the_services_own_answer(project: Project) -> None:
    project.fault("nova", path="/flavors", delay=1, count=1)
    begun = time.monotonic()
    assert [*project.sdk.compute.flavors()]
    assert time.monotonic() - begun >= 1
    [request] = project.requests("nova", path="/flavors")
    assert request.seconds >= 1


def test_some_requests_pass_before_the_first_hit(project: Project, plain: Session) -> None:
    project.fault(
        "neutron", path="/networks", status=500, skip=1, body="not JSON", headers={"Content-Type": "text/html"}
    )
    network = {"service_type": "network"}
    assert plain.get("/v2.0/networks", endpoint_filter=network).status_code == 200
    answer = plain.get("/v2.0/networks", endpoint_filter=network, raise_exc=False)
    assert (answer.status_code, answer.text, answer.headers["Content-Type"]) == (500, "not JSON", "text/html")
    project.clear_faults()
    assert plain.get("/v2.0/networks", endpoint_filter=network).status_code == 200


def test_a_refused_token_is_replaced_once(project: Project) -> None:
    project.fault("neutron", path="/networks", status=401, count=1)
    assert [*project.sdk.network.networks(name=project.name)]
    logins = project.requests("keystone", method="POST", path="^/v3/auth/tokens")
    assert len(logins) == 2


@pytest.mark.parametrize("credential", ["password", "application credential"])
def test_a_login_is_hit_by_the_project_that_it_asks_for(project: Project, credential: str) -> None:
    entry = project.cloud if credential == "password" else project.application_credential()
    project.fault("keystone", method="POST", path="/auth/tokens", status=401, count=1)
    with pytest.raises(SDKException, match="Injected fault"):
        clouds.connect(entry).authorize()
    clouds.connect(entry).authorize()


def test_services_fail_each_other_on_behalf_of_one_project(project: Project, boot: Boot) -> None:
    fault = project.fault("neutron", method="POST", path="/ports", status=500, from_services=True)
    port = project.sdk.network.create_port(network_id=project.network_id)
    boot(until="ERROR")
    assert fault.hits >= 1
    assert {request.sender for request in project.requests("neutron", from_services=True)} == {"service"}
    project.sdk.network.delete_port(port)
    project.may_leave("server")


def test_neither_faults_nor_requests_of_one_project_are_seen_by_another(
    windlass_cloud: CloudAccess, project: Project
) -> None:
    other = windlass_cloud.new_project()
    try:
        fault = project.fault("neutron", status=503)
        before = len(project.requests("neutron"))
        assert [*other.sdk.network.networks(name=other.name)]
        assert fault.hits == 0
        assert len(project.requests("neutron")) == before
        assert other.requests("neutron", path="/networks")
        with pytest.raises(HttpError):
            project.connect().session.get("/v2.0/networks", endpoint_filter={"service_type": "network"})
    finally:
        other.delete()


def test_requests_are_told_apart_by_user_agent(windlass_cloud: CloudAccess, project: Project) -> None:
    [*project.connect(user_agent="windlass-test").network.networks()]
    assert project.requests("neutron", user_agent="^windlass-test")
    assert not project.requests("neutron", user_agent="^somebody-else")
    assert windlass_cloud.requests("neutron", project=project.id, user_agent="^windlass-test")
