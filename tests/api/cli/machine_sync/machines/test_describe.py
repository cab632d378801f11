"""`windlass machines describe` against a real API server, by somebody who may get and list, and no more."""

import json

import pytest

from tests.api.cli.plan.cluster import PlanCluster, synchronized
from tests.waiting import wait_until
from windlass.testing import ControlPlane

pytestmark = pytest.mark.plane


@pytest.fixture(scope="module")
def cluster(windlass_module_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> PlanCluster:
    """With one machine that is in sync."""
    found = PlanCluster(windlass_module_plane.blocking, tmp_path_factory.mktemp("home"))
    with found.machine_sync():
        wait_until("worker-0 is synchronized", lambda: synchronized(found, "worker-0"))
    return found


def test_a_machine_is_described_on_both_sides(cluster: PlanCluster) -> None:
    shown = cluster.windlass("machines", "describe", "worker-0")

    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    assert lines[:3] == ["Name:          worker-0", "Kind:          Machine", "Authority:     ClusterAPI"]
    assert lines[3].startswith("Synchronized:  True (ResourceSynchronized) for ")
    assert "Machine API: Machine openshift-machine-api/worker-0" in lines
    assert "Cluster API: Machine openshift-cluster-api/worker-0" in lines
    assert "Infrastructure: OpenStackMachine openshift-cluster-api/worker-0" in lines
    assert lines[-2:] == ["Plan:", "  nothing to do"]


def test_events_are_found_by_the_object_that_they_are_about(cluster: PlanCluster) -> None:
    uid = json.loads(cluster.windlass("machines", "describe", "worker-0", "-o", "json").stdout)["clusterAPI"]["uid"]
    for about in ("worker-0", "somebody-else"):
        cluster.rest.request(
            "POST",
            "/api/v1/namespaces/openshift-cluster-api/events",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{about}.1", "namespace": "openshift-cluster-api"},
                "involvedObject": {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Machine",
                    "namespace": "openshift-cluster-api",
                    "name": about,
                    "uid": uid,
                },
                "type": "Warning",
                "reason": "Odd",
                "message": f"{about} is odd",
                "source": {"component": "test"},
                "lastTimestamp": "2026-05-01T12:00:00Z",
            },
        )

    told = json.loads(cluster.windlass("machines", "describe", "worker-0", "-o", "json").stdout)["events"]

    assert [event["message"] for event in told if event["reason"] == "Odd"] == ["worker-0 is odd"]


def test_a_machine_set_is_described_too(cluster: PlanCluster) -> None:
    shown = cluster.windlass("machines", "describe", "machineset/workers")

    assert shown.returncode == 0, shown.stderr
    assert "Kind:          MachineSet" in shown.stdout
    assert "Replicas:" in shown.stdout


def test_a_name_that_nothing_has_is_an_error(cluster: PlanCluster) -> None:
    shown = cluster.windlass("machines", "describe", "none")

    assert (shown.returncode, shown.stdout) == (1, "")
    where = "openshift-machine-api or openshift-cluster-api"
    assert shown.stderr == f"error: no machine or MachineSet 'none' in {where}\n"


def test_get_and_list_are_all_that_it_takes(cluster: PlanCluster) -> None:
    cluster.windlass("machines", "describe", "worker-0")

    assert cluster.verbs_of_the_viewer() == {"get", "list"}
    assert cluster.refused_to_the_viewer() == set()
