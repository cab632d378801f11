"""RBAC as the declarations say it, and as it is shipped."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from windlass.capability.manifests import Manifest
from windlass.capability.manifests.rights import ServiceAccount, metrics_reader
from windlass.cli.capabilities import CAPABILITIES
from windlass.cli.program import cli
from windlass.machine_sync import rbac
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT

DEPLOY = Path(__file__).parents[3] / "deploy"


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["manifests", "rbac", *arguments], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.stdout


def named(documents: list[Manifest], kind: str, namespace: str | None = None) -> list[Manifest]:
    return [one for one in documents if one["kind"] == kind and one["metadata"].get("namespace") == namespace]


@pytest.mark.parametrize("name", CAPABILITIES)
def test_what_is_shipped_is_what_the_controllers_declare(name: str) -> None:
    shipped = (DEPLOY / name / "base" / "rbac.yaml").read_text(encoding="utf-8")
    assert shipped == printed(name), "declarations have changed; run: make generate"


def test_there_is_no_wildcard() -> None:
    rules = [rule for one in rbac.documents() for rule in one.get("rules", ())]
    assert rules
    assert not [rule for rule in rules if "*" in str(rule)]


def test_only_what_has_no_namespace_is_granted_cluster_wide() -> None:
    role, reader = named(rbac.documents(), "ClusterRole")
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == {
        *("clusterversions", "featuregates", "infrastructures", "subjectaccessreviews", "tokenreviews"),
        *("customresourcedefinitions", "namespaces"),
    }
    assert reader["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_every_role_is_bound_to_the_service_account_but_that_of_scrapers() -> None:
    documents = rbac.documents()
    roles = {(one["kind"], one["metadata"].get("namespace")) for one in documents if one["kind"].endswith("Role")}
    bindings = [one for one in documents if one["kind"].endswith("Binding")]
    assert {(one["roleRef"]["kind"], one["metadata"].get("namespace")) for one in bindings} == roles
    subjects = {(one["namespace"], one["name"]) for binding in bindings for one in binding["subjects"]}
    assert subjects == {DEFAULT_SERVICE_ACCOUNT}
    assert metrics_reader(DEFAULT_SERVICE_ACCOUNT.name) not in {one["roleRef"]["name"] for one in bindings}


def test_namespaces_of_machines_are_not_ours_to_create() -> None:
    sides = Namespaces("mapi", "capi")
    documents = rbac.documents(namespaces=sides, service_account=ServiceAccount("mapi", "sync"))
    assert named(documents, "Namespace") == []
    assert named(documents, "Role", "mapi")
    assert named(documents, "Role", "capi")


def test_a_platform_that_is_left_out_is_not_granted() -> None:
    def resources(**chosen: Any) -> set[str]:
        rules = [rule for one in rbac.documents(**chosen) for rule in one.get("rules", ())]
        return {resource for rule in rules for resource in rule.get("resources", ())}

    assert resources() - resources(platforms=["OpenStack", "GCP"]) == {
        *("awsclusters", "awsmachines", "awsmachines/status", "awsmachinetemplates")
    }


def test_the_command_takes_names_of_namespaces() -> None:
    text = printed("machine-sync", "--machine-api-namespace=mapi", "--cluster-api-namespace=capi", "-n", "elsewhere")
    assert "openshift-machine-api" not in text
    assert "windlass-system" not in text
    assert "namespace: elsewhere" in text


def test_the_namespace_of_the_machine_api_counts_for_openstack_where_it_serves_that() -> None:
    text = printed("openstack", "--machine-api", "--machine-api-namespace=mapi", "--watch-namespace=capi")
    assert "openshift-machine-api" not in text
    assert "namespace: mapi" in text
    assert printed("openstack", "--machine-api-namespace=mapi") == printed("openstack")


@pytest.mark.parametrize("name", ["PowerVS", "openstack"])
def test_a_platform_that_is_not_served_is_a_usage_error(name: str) -> None:
    result = CliRunner().invoke(cli, ["manifests", "rbac", "machine-sync", "--platform", name])
    assert result.exit_code != 0
    assert "machine-sync serves AWS, GCP and OpenStack" in result.output
