"""The life of a plane: started, disturbed, stopped, and gone when its owner is killed."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.testing import BlockingControlPlane, ControlPlane
from windlass.testing.plane.errors import NotRunning, PlaneError, Refused, StartFailed, Unreachable
from windlass.testing.plane.rest import Rest
from windlass.testing.plane.waiting import wait_for

pytestmark = pytest.mark.plane

OWNER = """
import json, time
from windlass.testing import BlockingControlPlane
plane = BlockingControlPlane()
plane.start()
print(json.dumps({"directory": str(plane.connection.directory)}), flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def plane(windlass_module_plane: ControlPlane) -> BlockingControlPlane:
    """A plane that the tests of this module may kill; each leaves it running."""
    return windlass_module_plane.blocking


def remember(plane: BlockingControlPlane, value: str) -> str:
    """Write a ConfigMap and return its resource version."""
    metadata = {"name": "memory", "namespace": "default"}
    [written] = plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}})
    version: str = written["metadata"]["resourceVersion"]
    return version


def recall(plane: BlockingControlPlane) -> str:
    value: str = plane.rest.request("GET", "/api/v1/namespaces/default/configmaps/memory")["data"]["value"]
    return value


def first_event_since(plane: BlockingControlPlane, version: str) -> dict[str, Any]:
    path = f"/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=2&resourceVersion={version}"
    line = wait_for(lambda: next(iter(plane.rest.text("GET", path).splitlines()), None), seconds=PATIENCE)
    assert line is not None
    event: dict[str, Any] = json.loads(line)
    return event


def test_objects_survive_a_killed_api_server_which_comes_back_at_the_same_address(plane: BlockingControlPlane) -> None:
    remember(plane, "kept")
    url = plane.url
    plane.kill_apiserver()
    with pytest.raises(OSError, match="already in use"):
        socket.create_server(("127.0.0.1", int(url.rpartition(":")[2])))
    with pytest.raises(Unreachable):
        recall(plane)
    plane.restart_apiserver()
    assert plane.url == url
    assert recall(plane) == "kept"


def test_tokens_of_service_accounts_survive_a_restart_too(plane: BlockingControlPlane) -> None:
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    kubeconfig = plane.service_account_kubeconfig("default", "robot").read_text()
    plane.restart_apiserver()
    token = kubeconfig.split("token: ")[1].split()[0]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    robot = Rest(plane.url, ca_file=plane.connection.ca_file, token=token)
    answer = robot.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"


def test_compaction_makes_etcd_forget(plane: BlockingControlPlane) -> None:
    old = remember(plane, "first")
    remember(plane, "second")
    assert plane.compact() > int(old)
    path = f"/api/v1/namespaces/default/configmaps?resourceVersion={old}&resourceVersionMatch=Exact&limit=1"
    plane.restart_apiserver()
    assert refused_status(plane.rest, path) == 410


def test_after_forgetting_history_a_watch_from_before_is_gone(plane: BlockingControlPlane) -> None:
    old = remember(plane, "first")
    remember(plane, "second")
    assert first_event_since(plane, old)["object"]["data"] == {"value": "second"}
    plane.forget_history()
    assert first_event_since(plane, old)["object"]["code"] == 410


def test_owner_references_are_collected_and_namespaces_emptied(plane: BlockingControlPlane) -> None:
    """The controllers of kube-controller-manager that one takes for part of the API server do run."""
    namespace = plane.create_namespace()
    meta = {"namespace": namespace}
    [owner] = plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", **meta}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    owned = {"name": "owned", **meta, "ownerReferences": [reference]}
    plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": owned})
    rest, base = plane.rest, f"/api/v1/namespaces/{namespace}"
    rest.request("DELETE", f"{base}/configmaps/owner")
    assert wait_for(lambda: gone(rest, f"{base}/configmaps/owned"), seconds=PATIENCE)
    plane.delete_namespace(namespace)
    plane.wait_until_namespace_is_gone(namespace, seconds=PATIENCE)
    assert refused_status(rest, base) == 404


def test_the_api_server_says_which_kubernetes_it_is(plane: BlockingControlPlane) -> None:
    version = plane.rest.request("GET", "/version")
    assert (version["major"], version["minor"], version["gitVersion"]) == ("1", "36", "v1.36.3")


def test_a_running_plane_cannot_be_started_again(plane: BlockingControlPlane) -> None:
    with pytest.raises(PlaneError, match="running already"):
        plane.start()


async def test_two_planes_run_side_by_side_and_know_nothing_of_each_other(plane: BlockingControlPlane) -> None:
    async with ControlPlane(users={"alice": ["readers"]}) as other:
        assert other.url != plane.url
        name = await other.create_namespace("only-here-")
        with pytest.raises(Refused):
            plane.rest.request("GET", f"/api/v1/namespaces/{name}")
        alice = Rest(other.url, ca_file=other.connection.ca_file, token=other.connection.tokens["alice"])
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        said = alice.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)["status"]["userInfo"]
        assert said["username"] == "alice"
        assert "readers" in said["groups"]
        directory = other.connection.directory
    assert not directory.exists()
    assert processes_of(directory) == []
    with pytest.raises(NotRunning, match="use it inside `with`"):
        other.kubeconfig()
    assert plane.rest.text("GET", "/readyz/ping") == "ok"


def test_another_program_runs_until_the_plane_ends(tmp_path: Path) -> None:
    with BlockingControlPlane(directory=tmp_path) as plane:
        said = tmp_path / "logs" / "guest.log"
        plane.run("guest", ["/bin/sh", "-c", "echo here; exec sleep 1000"], ready=lambda: said.read_text() == "here\n")
        assert plane.runs("guest")
    assert not plane.runs("guest")
    assert processes_of(tmp_path) == []
    assert said.exists(), "a directory that the caller names is kept"


def test_another_program_that_ends_before_it_is_ready_shows_the_end_of_its_log(plane: BlockingControlPlane) -> None:
    with pytest.raises(StartFailed, match=r"(?s)guest ended with code 3 before it was ready.*no cake"):
        plane.run("guest", ["/bin/sh", "-c", "echo no cake; exit 3"], ready=lambda: False)
    assert not plane.runs("guest")


def test_a_process_that_cannot_start_shows_the_end_of_its_log_and_where_the_rest_is(tmp_path: Path) -> None:
    plane = BlockingControlPlane(apiserver_flags=["--no-such-flag"], directory=tmp_path)
    with pytest.raises(StartFailed) as caught:
        plane.start()
    assert "kube-apiserver ended with code 1 before it was ready" in str(caught.value)
    assert "unknown flag: --no-such-flag" in str(caught.value)
    assert str(tmp_path / "logs" / "kube-apiserver.log") in str(caught.value)
    assert processes_of(tmp_path) == []


def test_nothing_is_left_when_the_owner_of_a_plane_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as owner:
        assert owner.stdout is not None
        directory = Path(json.loads(owner.stdout.readline())["directory"])
        data = Path(next(one for one in processes_of(directory) if "_supervisor" in one).split()[-2])
        assert data.exists()
        assert len(processes_of(directory)) == 3, "the supervisor, kube-apiserver and kube-controller-manager"
        assert len(processes_of(data)) == 2, "the supervisor and etcd"
        owner.send_signal(signal.SIGKILL)
    for folder in (directory, data):
        assert wait_for(lambda folder=folder: None if processes_of(folder) else True, seconds=PATIENCE)  # type: ignore[misc]
        assert wait_for(lambda folder=folder: None if folder.exists() else True, seconds=PATIENCE)  # type: ignore[misc]


def processes_of(folder: Path) -> list[str]:
    """The command lines of running processes that mention `folder`."""
    listed = subprocess.run(["ps", "-axww", "-o", "args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder) in line]


def refused_status(rest: Rest, path: str) -> int:
    try:
        rest.request("GET", path)
    except Refused as refused:
        return refused.status
    return 200


def gone(rest: Rest, path: str) -> bool | None:
    return True if refused_status(rest, path) == 404 else None
