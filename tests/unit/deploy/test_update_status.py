"""The kustomize folder of Update status, beside what holds for every folder."""

import tomllib

import pytest
import yaml

from windlass.update_status.capability import NAME
from windlass.update_status.reading.kept import HOME, LEASE

from .folder import ROOT, Folder

FOLDER = Folder(NAME)


@pytest.mark.parametrize("path", ["base/deployment.yaml", "components/metrics/deployment.yaml"])
def test_the_program_looks_for_its_lease_at_home(path: str) -> None:
    assert f"--namespace={HOME}" in FOLDER.arguments(path)


def test_the_program_is_one_that_is_installed() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    (program,) = FOLDER.container()["command"]
    assert scripts[program] == "windlass.cli:run_update_status"


def test_who_may_view_may_read_the_objects_and_the_lease_and_no_more() -> None:
    rules = FOLDER.read("base/view.yaml")["rules"]
    assert {resource for rule in rules for resource in rule["resources"]} == {
        *(owned.kind.RESOURCE.plural for owned in FOLDER.capability.owned),
        "leases",
    }
    assert [rule["resourceNames"] for rule in rules if "leases" in rule["resources"]] == [[LEASE]]


def test_on_openshift_the_pod_asks_thanos_querier_and_may_reach_it() -> None:
    overlay = FOLDER.read("openshift/kustomization.yaml")
    assert "release.openshift.io/feature-set" in overlay["commonAnnotations"]
    assert any(key.startswith("include.release.openshift.io/") for key in overlay["commonAnnotations"])
    deployment, policy = (yaml.safe_load(patch["patch"]) for patch in overlay["patches"])
    (url,) = [each["value"] for each in deployment if each["path"].endswith("/args/-")]
    assert FOLDER.options([url])["alerts_url"].startswith("https://thanos-querier.openshift-monitoring.svc:9091")
    (port,) = policy[0]["value"]["ports"]
    assert port == {"protocol": "TCP", "port": 9091}
