"""The kustomize folder of machines on OpenStack, beside what holds for every folder."""

import re

import pytest
import yaml

from windlass.capability.manifests import rights
from windlass.cli.capabilities import capability
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.installation import HOME, NAME
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


def test_the_folder_for_the_machine_api_has_the_rights_of_its_arguments() -> None:
    (patch,) = FOLDER.read("machine-api/kustomization.yaml")["patches"]
    more = [operation["value"] for operation in yaml.safe_load(patch["patch"])]
    options = capability(NAME).own(FOLDER.options([*FOLDER.arguments(), *more]))
    made = capability(NAME).install(home=HOME, **options)
    expected = rights.documents(made.permissions(), service_account=made.service_account, theirs=made.theirs)
    assert FOLDER.documents("machine-api/rbac.yaml") == expected


def test_for_the_machine_api_nobody_may_read_secrets_or_write_machines_of_all_namespaces() -> None:
    roles = [role for role in FOLDER.documents("machine-api/rbac.yaml") if role["kind"] == "ClusterRole"]
    cluster_wide = {resource for role in roles for rule in role["rules"] for resource in rule.get("resources", ())}
    assert cluster_wide & {"secrets", "configmaps", "machines", "machines/status", "events"} == set()


def test_the_folder_for_the_machine_api_takes_everything_of_the_base_but_its_rights() -> None:
    (patch,) = FOLDER.read("machine-api/base/kustomization.yaml")["patches"]
    target = patch["target"]
    base = [each for path in ("rbac", "view", "deployment") for each in FOLDER.documents(f"base/{path}.yaml")]
    gone = [
        each
        for each in base
        if re.fullmatch(target["kind"], each["kind"]) and re.fullmatch(target["name"], each["metadata"]["name"])
    ]
    assert yaml.safe_load(patch["patch"])["$patch"] == "delete"
    assert gone == FOLDER.documents("base/rbac.yaml")
