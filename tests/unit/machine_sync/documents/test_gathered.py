"""What is read of a must-gather: what concerns machines, what was added to it, and nothing else."""

import json
from pathlib import Path

from windlass.capability.documents import read_path
from windlass.capability.documents.must_gather import files
from windlass.machine_sync.documents import MACHINES, convert_to_cluster_api

from .of_machine_api import infrastructure, machine

ROOT = "must-gather.local.1/quay-io-openshift-sha256-1"


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"kind: {path.stem}\n")


def found(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in files(root, MACHINES)]


def test_of_a_must_gather_only_what_concerns_machines_is_read(tmp_path: Path) -> None:
    concerning = [
        f"{ROOT}/cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml",
        f"{ROOT}/cluster-scoped-resources/config.openshift.io/infrastructures.yaml",
        f"{ROOT}/namespaces/a/cluster.x-k8s.io/machinesets/ms.yaml",
        f"{ROOT}/namespaces/a/infrastructure.cluster.x-k8s.io/awsmachines/m.yaml",
        f"{ROOT}/namespaces/b/machine.openshift.io/machines/m.yaml",
        f"{ROOT}/namespaces/b/machine.openshift.io/machines.yaml",
    ]
    write(tmp_path, *concerning)
    write(
        tmp_path,
        f"{ROOT}/cluster-scoped-resources/config.openshift.io/proxies/cluster.yaml",
        f"{ROOT}/cluster-scoped-resources/core/nodes/n.yaml",
        f"{ROOT}/namespaces/a/core/pods.yaml",
        f"{ROOT}/namespaces/a/pods/p/p.yaml",
        f"{ROOT}/monitoring/prometheus/rules.json",
        f"{ROOT}/aggregated-discovery-apis.yaml",
        f"{ROOT}/event-filter.html",
        f"{ROOT}/timestamp",
        f"{ROOT}/version",
    )
    (tmp_path / ROOT / "statistics.json").write_text("{broken")
    assert found(tmp_path) == concerning


def test_a_gathering_without_cluster_scoped_objects_is_known_by_its_groups(tmp_path: Path) -> None:
    write(
        tmp_path,
        "namespaces/a/machine.openshift.io/machines/m.yaml",
        "namespaces/a/core/pods.yaml",
        "monitoring/x.yaml",
    )
    assert found(tmp_path) == ["namespaces/a/machine.openshift.io/machines/m.yaml"]


def test_manifests_that_somebody_put_beside_what_was_gathered_are_read(tmp_path: Path) -> None:
    write(tmp_path, "namespaces/a/machine.openshift.io/machines/m.yaml", "infrastructure.yaml", "own/cluster.yaml")
    (tmp_path / "more.JSON").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    assert found(tmp_path) == [
        "namespaces/a/machine.openshift.io/machines/m.yaml",
        "infrastructure.yaml",
        "more.JSON",
    ]


def test_an_infrastructure_that_was_not_gathered_can_be_added(tmp_path: Path) -> None:
    for name, tree in (
        ("namespaces/openshift-machine-api/machine.openshift.io/machines/m.yaml", machine()),
        ("infrastructure.yaml", infrastructure()),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(tree))
    [outcome] = convert_to_cluster_api(read_path(tmp_path, interest=MACHINES))
    assert (outcome.object, outcome.errors, outcome.notes) == ("Machine/m", (), ())


def test_a_directory_that_only_has_a_name_in_common_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, "namespaces/prod/machines.yaml", "namespaces/prod/core/pods.yaml", "x.yaml")
    assert found(tmp_path) == ["namespaces/prod/core/pods.yaml", "namespaces/prod/machines.yaml", "x.yaml"]


def test_links_to_directories_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "a/x.yaml")
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "y.yaml").symlink_to(tmp_path / "a" / "x.yaml")
    assert found(tmp_path) == ["a/x.yaml", "y.yaml"]


def test_machines_of_a_must_gather_are_converted(tmp_path: Path) -> None:
    for name, tree in (
        ("namespaces/openshift-machine-api/machine.openshift.io/machines/m.yaml", machine()),
        ("cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml", infrastructure()),
    ):
        path = tmp_path / ROOT / name
        path.parent.mkdir(parents=True)
        path.write_text(f"---\n{json.dumps(tree)}")
    [outcome] = convert_to_cluster_api(read_path(tmp_path, interest=MACHINES))
    assert (outcome.object, outcome.errors, outcome.notes) == ("Machine/m", (), ())
