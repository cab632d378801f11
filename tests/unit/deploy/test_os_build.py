"""The kustomize folder of OS builds, beside what holds for every folder."""

import pytest

from windlass.os_build.backends.job import JobSettings
from windlass.os_build.capability import HOME, NAME
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.registry import ProbeUpload

from .folder import ROOT, Folder

FOLDER = Folder(NAME)
DEPLOYMENTS = ("base/deployment.yaml", "components/metrics/deployment.yaml")


@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_the_image_runs_the_capability_and_looks_for_its_lease_at_home(path: str) -> None:
    arguments = FOLDER.container(path)["args"]
    assert arguments[:2] == ["run", NAME]
    assert f"--namespace={HOME}" in arguments


@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_nothing_is_built_in_the_pod_of_the_controller(path: str) -> None:
    assert FOLDER.options(FOLDER.arguments(path))["local_builds"] is None


def test_the_pod_has_time_to_hear_the_answer_of_a_registry() -> None:
    assert FOLDER.options(FOLDER.arguments())["drain"] > ProbeUpload.SECONDS


def test_it_writes_nothing_to_its_file_system() -> None:
    assert "volumeMounts" not in FOLDER.container()


def test_who_may_view_reads_no_secrets() -> None:
    roles = FOLDER.documents("base/view.yaml")
    assert "secrets" not in {resource for role in roles for rule in role["rules"] for resource in rule["resources"]}
    assert not any("aggregate" in label for role in roles for label in role["metadata"].get("labels", ()))


def test_the_page_says_how_to_make_the_account_of_jobs() -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert f"-n {NAMESPACE} create serviceaccount {JobSettings().service_account}" in page
