"""The kustomize folder of machines on OpenStack, beside what holds for every folder."""

import pytest

from windlass.openstack.capability import HOME, NAME
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.metrics import COUNTED

from .folder import Folder

FOLDER = Folder(NAME)


@pytest.mark.parametrize("path", ["base/deployment.yaml", "components/metrics/deployment.yaml"])
def test_the_image_runs_the_capability_and_looks_for_its_lease_at_home(path: str) -> None:
    arguments = FOLDER.container(path)["args"]
    assert arguments[:2] == ["run", NAME]
    assert f"--namespace={HOME}" in arguments


def test_the_pod_has_time_to_drain_requests_to_clouds() -> None:
    assert FOLDER.options(FOLDER.arguments())["drain"] > CreateServer.SECONDS


def test_who_may_view_the_cluster_may_view_the_kinds() -> None:
    role = FOLDER.read("base/view.yaml")
    (rule,) = role["rules"]
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert {kind.RESOURCE.plural for kind in COUNTED} <= set(rule["resources"])


def test_the_pod_may_write_the_certificates_of_clouds_to_files() -> None:
    (mount,) = FOLDER.container()["volumeMounts"]
    assert mount["mountPath"] == "/tmp"
    assert not mount.get("readOnly")
