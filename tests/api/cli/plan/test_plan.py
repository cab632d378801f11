"""`windlass plan machine-sync` against a real API server, by somebody who may get and list, and no more."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.cli.plan.cluster import PlanCluster, synchronized
from tests.waiting import wait_until
from windlass.api import capi, config, mapi
from windlass.testing import ControlPlane

pytestmark = pytest.mark.plane


@pytest.fixture(scope="module")
def cluster(windlass_module_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> PlanCluster:
    return PlanCluster(windlass_module_plane.blocking, tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def nothing_is_written(cluster: PlanCluster) -> Iterator[None]:
    """The audit log says so, after every test."""
    yield
    assert cluster.verbs_of_the_viewer() <= {"get", "list"}


def test_the_plan_of_a_cluster_is_shown_and_nothing_is_done(cluster: PlanCluster) -> None:
    before = cluster.get(capi.Machine, "worker-0")

    shown = cluster.windlass("plan", "machine-sync", "machine/worker-0", "machine/alone")

    assert (shown.returncode, shown.stderr) == (3, "")
    lines = shown.stdout.splitlines()
    assert lines[:2] == [
        "machine/alone",
        "  nothing to do: an independent Cluster API machine: no v1beta2 MachineSet owns it",
    ]
    assert any(
        line.startswith("  create Machine.machine.openshift.io openshift-machine-api/worker-0: ") for line in lines
    )
    assert '    + spec.providerSpec.value.flavor: "m1.large"' in lines
    assert "\x1b" not in shown.stdout
    assert cluster.get(mapi.Machine, "worker-0") is None
    assert cluster.get(capi.Machine, "worker-0") == before


def test_get_and_list_are_all_that_it_takes(cluster: PlanCluster) -> None:
    cluster.windlass("plan", "machine-sync")

    assert cluster.verbs_of_the_viewer() == {"get", "list"}
    assert cluster.refused_to_the_viewer() == set()


def test_a_right_that_is_missing_is_named(cluster: PlanCluster, tmp_path: Path) -> None:
    shown = cluster.windlass("--as", "nobody", "plan", "machine-sync", as_viewer=False)

    assert (shown.returncode, shown.stdout) == (1, "")
    assert 'cannot get resource "infrastructures"' in shown.stderr
    assert "ask an administrator" in shown.stderr


def test_a_cluster_where_machine_sync_idles_is_planned_for_with_a_warning(cluster: PlanCluster) -> None:
    with cluster.changed(config.FeatureGate, featureGates=[{"version": "4.21.0"}]):
        shown = cluster.windlass("plan", "machine-sync", "machine/worker-0")

    assert shown.returncode == 3
    assert shown.stdout.startswith("machine/worker-0\n")
    assert "Machine sync idles on this cluster: feature gate MachineAPIMigration is not enabled" in shown.stderr


def test_a_platform_that_is_not_served_is_an_error(cluster: PlanCluster) -> None:
    with cluster.changed(config.Infrastructure, platformStatus={"type": "BareMetal"}):
        shown = cluster.windlass("plan", "machine-sync")

    assert (shown.returncode, shown.stdout) == (1, "")
    assert "Machine sync does not serve platform BareMetal" in shown.stderr


def test_namespaces_without_machines_are_said(cluster: PlanCluster) -> None:
    empty = ("--machine-api-namespace", "kube-public", "--cluster-api-namespace", "kube-node-lease")

    shown = cluster.windlass("plan", "machine-sync", *empty)

    assert (shown.returncode, shown.stdout) == (0, "")
    assert shown.stderr == "No machines or MachineSets found in kube-public or kube-node-lease.\n"


def test_what_is_planned_is_what_machine_sync_does_and_then_nothing_is_left_to_do(cluster: PlanCluster) -> None:
    planned = json.loads(cluster.windlass("plan", "machine-sync", "machine/worker-0", "-o", "json").stdout)
    (create,) = [action for action in planned["items"][0]["actions"] if action["verb"] == "create"]

    with cluster.machine_sync():
        wait_until("worker-0 is synchronized", lambda: synchronized(cluster, "worker-0"))

    mirror = cluster.get(mapi.Machine, "worker-0")
    assert mirror is not None
    for change in create["diff"]:
        assert _at(mirror, change["path"]) == change["after"], change
    after = cluster.windlass("plan", "machine-sync", "machine/worker-0")
    assert (after.returncode, after.stdout) == (0, "machine/worker-0\n  nothing to do\n")


def _at(tree: object, path: str) -> object:
    """The value at a path of a diff; keys may have dots, so the longest that fits is taken."""
    if not path:
        return tree
    if isinstance(tree, list):
        name, _, rest = path.removeprefix("[").partition("]")
        return _at(next(item for item in tree if name in (item.get("type"), item.get("name"))), rest.removeprefix("."))
    assert isinstance(tree, dict), path
    key = max((key for key in tree if f"{path}.".startswith((f"{key}.", f"{key}["))), key=len)
    return _at(tree[key], path.removeprefix(key).removeprefix("."))
