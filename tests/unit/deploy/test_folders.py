"""What holds for the kustomize folder of each capability: complete, consistent with the code, and restricted."""

import pytest

from windlass.cli.capabilities import CAPABILITIES
from windlass.kube.version import VERSION

from .folder import Folder

FOLDERS = [pytest.param(Folder(name), id=name) for name in CAPABILITIES]
DEPLOYMENTS = ("base/deployment.yaml", "components/metrics/deployment.yaml")
GENERATED = ("kustomization.yaml", "rbac.yaml", "crds.yaml", "policies.yaml", "impersonation.yaml")
OF_JOBS = ("service-account.yaml", "role-binding.yaml")
"""What is where build Jobs are."""
ENTRANCES = {
    "machine-sync": ("", "openshift", "components/policies"),
    "openstack": ("", "crds", "machine-api", "components/alerts", "components/metrics", "components/policies"),
    "os-build": ("", "openshift", "components/policies"),
    "update-status": ("", "crds", "openshift", "components/informers"),
}
"""The folders that a user names: nothing of ours mentions them."""

of_each = pytest.mark.parametrize("folder", FOLDERS)


@of_each
def test_every_file_is_mentioned_and_every_mentioned_file_exists(folder: Folder) -> None:
    kustomizations = folder.path.rglob("kustomization.yaml")
    seen = {path for kustomization in kustomizations for path in folder.mentioned(kustomization)}
    entrances = {folder.path / name / "kustomization.yaml" for name in ENTRANCES[folder.name]}
    assert seen | entrances == set(folder.path.rglob("*.yaml"))


@of_each
def test_the_crds_are_those_of_the_types(folder: Folder) -> None:
    shipped = [document for path in folder.path.rglob("crds.yaml") for document in folder.documents(path)]
    assert shipped == [owned.manifest() for owned in folder.installation.owned], "the types have changed: make generate"


@of_each
@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_the_program_takes_the_arguments_and_listens_where_the_ports_are(folder: Folder, path: str) -> None:
    listening = folder.options(folder.arguments(path))
    ports = {listening[f"{of}_bind_address"][1] for of in ("health_probe", "metrics")}
    assert {port["containerPort"] for port in folder.container(path)["ports"]} <= ports


@of_each
def test_the_pod_is_restricted_and_has_time_to_drain(folder: Folder) -> None:
    pod, container = folder.pod(), folder.container()
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}
    assert pod["serviceAccountName"] == folder.installation.service_account.name
    assert pod["terminationGracePeriodSeconds"] >= folder.options(folder.arguments())["drain"] + 15


@of_each
def test_two_replicas_survive_the_drain_of_a_node(folder: Folder) -> None:
    spec = folder.read("base/deployment.yaml")["spec"]
    assert spec["replicas"] == 2
    assert "podAntiAffinity" in spec["template"]["spec"]["affinity"]
    assert folder.read("base/pod-disruption-budget.yaml")["spec"]["maxUnavailable"] == 1


@of_each
def test_everything_that_selects_pods_selects_these(folder: Folder) -> None:
    deployment = folder.read("base/deployment.yaml")["spec"]
    selectors = [
        deployment["selector"]["matchLabels"],
        folder.read("base/pod-disruption-budget.yaml")["spec"]["selector"]["matchLabels"],
        folder.read("base/network-policy.yaml")["spec"]["podSelector"]["matchLabels"],
        folder.read("components/metrics/network-policy.yaml")["spec"]["podSelector"]["matchLabels"],
        folder.read("components/metrics/service.yaml")["spec"]["selector"],
    ]
    assert all(selector == deployment["template"]["metadata"]["labels"] for selector in selectors)


@of_each
def test_everything_is_at_home_but_what_is_cluster_wide_or_generated(folder: Folder) -> None:
    for file in folder.path.rglob("*.yaml"):
        for document in folder.documents(file) if file.name not in GENERATED + OF_JOBS else ():
            if document["kind"] not in ("ClusterRole", "ClusterRoleBinding"):
                assert document["metadata"]["namespace"] == folder.home, file


@of_each
def test_the_image_is_of_this_version(folder: Folder) -> None:
    (image,) = folder.read("base/kustomization.yaml")["images"]
    assert (image["name"], image["newTag"]) == (folder.container()["image"], VERSION)


@of_each
def test_who_may_view_may_change_nothing(folder: Folder) -> None:
    roles = [role for path in folder.path.rglob("view.yaml") for role in folder.documents(path)]
    assert {verb for role in roles for rule in role["rules"] for verb in rule["verbs"]} <= {"get", "list", "watch"}
