"""The kustomize folder of machines on OpenStack: complete, consistent with the code, and as restricted as it says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import windlass
from windlass.cli.run import command as run
from windlass.openstack.capability import HOME, NAME, capability
from windlass.openstack.cloud.requests import CreateServer
from windlass.openstack.metrics import COUNTED

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy" / "openstack"
DEPLOYMENTS = ("base/deployment.yaml", "components/metrics/deployment.yaml")

Tree = dict[str, Any]


def documents(path: str) -> list[Tree]:
    return list(yaml.safe_load_all((DEPLOY / path).read_text(encoding="utf-8")))


def read(path: str) -> Tree:
    (tree,) = documents(path)
    return tree


def container(path: str = "base/deployment.yaml") -> Tree:
    (found,) = read(path)["spec"]["template"]["spec"]["containers"]
    tree: Tree = found
    return tree


def mentioned(kustomization: Path) -> Iterator[Path]:
    tree = yaml.safe_load(kustomization.read_text(encoding="utf-8"))
    patches = [patch["path"] for patch in tree.get("patches", ()) if "path" in patch]
    for name in (*tree.get("resources", ()), *tree.get("components", ()), *patches):
        path = (kustomization.parent / name).resolve()
        yield path / "kustomization.yaml" if path.is_dir() else path


def options(arguments: list[str]) -> dict[str, Any]:
    found = run.get_command(click.Context(run), NAME)
    assert found is not None
    with found.make_context(NAME, arguments) as context:
        return context.params


def test_every_file_is_mentioned_and_every_mentioned_file_exists() -> None:
    seen = {path for kustomization in DEPLOY.rglob("kustomization.yaml") for path in mentioned(kustomization)}
    entrances = {folder / "kustomization.yaml" for folder in (DEPLOY,)}
    alone = {DEPLOY / "components" / name / "kustomization.yaml" for name in ("alerts", "metrics", "policies")}
    assert seen | entrances | alone == set(DEPLOY.rglob("*.yaml"))


def test_the_crds_are_those_of_the_types() -> None:
    shipped = documents("crds/crds.yaml")
    assert shipped == [owned.manifest() for owned in capability().owned], "the types have changed; run: make generate"


@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_the_program_takes_the_arguments_and_looks_for_its_lease_at_home(path: str) -> None:
    arguments = container(path)["args"][2:]
    assert f"--namespace={HOME}" in arguments
    listening = options(arguments)
    ports = {listening[f"{of}_bind_address"][1] for of in ("health_probe", "metrics")}
    assert {port["containerPort"] for port in container(path)["ports"]} <= ports


@pytest.mark.parametrize("path", DEPLOYMENTS)
def test_the_image_runs_the_capability(path: str) -> None:
    assert container(path)["args"][:2] == ["run", NAME]


def test_the_pod_is_restricted_and_has_time_to_drain_requests_to_clouds() -> None:
    pod = read("base/deployment.yaml")["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["serviceAccountName"] == capability().service_account.name
    drain = options(container()["args"][2:])["drain"]
    assert drain > CreateServer.SECONDS
    assert pod["terminationGracePeriodSeconds"] >= drain + 15


def test_two_replicas_survive_the_drain_of_a_node() -> None:
    spec = read("base/deployment.yaml")["spec"]
    assert spec["replicas"] == 2
    assert "podAntiAffinity" in spec["template"]["spec"]["affinity"]
    assert read("base/pod-disruption-budget.yaml")["spec"]["maxUnavailable"] == 1


def test_everything_that_selects_pods_selects_these() -> None:
    labels = read("base/deployment.yaml")["spec"]["template"]["metadata"]["labels"]
    selectors = [
        read("base/deployment.yaml")["spec"]["selector"]["matchLabels"],
        read("base/pod-disruption-budget.yaml")["spec"]["selector"]["matchLabels"],
        read("base/network-policy.yaml")["spec"]["podSelector"]["matchLabels"],
        read("components/metrics/network-policy.yaml")["spec"]["podSelector"]["matchLabels"],
        read("components/metrics/service.yaml")["spec"]["selector"],
    ]
    assert all(selector == labels for selector in selectors)


def test_everything_is_at_home_but_what_is_cluster_wide_or_generated() -> None:
    kinds = {"ClusterRole", "ClusterRoleBinding"}
    for file in DEPLOY.rglob("*.yaml"):
        if file.name in ("kustomization.yaml", "rbac.yaml", "crds.yaml", "policies.yaml"):
            continue
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if document["kind"] not in kinds:
                assert document["metadata"]["namespace"] == HOME, file


def test_who_may_view_may_read_the_kinds_and_change_nothing() -> None:
    role = read("base/view.yaml")
    (rule,) = role["rules"]
    assert role["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert set(rule["verbs"]) == {"get", "list", "watch"}
    assert {kind.RESOURCE.plural for kind in COUNTED} <= set(rule["resources"])


def test_the_pod_may_write_the_certificates_of_clouds_to_files() -> None:
    (mount,) = container()["volumeMounts"]
    assert mount["mountPath"] == "/tmp"
    assert not mount.get("readOnly")


def test_the_image_is_of_this_version() -> None:
    (image,) = read("base/kustomization.yaml")["images"]
    assert (image["name"], image["newTag"]) == (container()["image"], windlass.__version__)
