"""The kustomize folders: complete, consistent with the code, and as restricted as they say."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import windlass
from windlass.capability.manifests.rights import ServiceAccount
from windlass.cli.run import command as run
from windlass.machine_sync import rbac
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT

_found = run.get_command(click.Context(run), "machine-sync")
assert _found is not None
machine_sync = _found
ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy" / "machine-sync"
KUSTOMIZATIONS = sorted(DEPLOY.rglob("kustomization.yaml"))
CHOSEN = DEPLOY / "components" / "policies"
"""The component that users add themselves."""
DISGUISE = DEPLOY / "components" / "as-capi-controllers"
"""The component that acts in the name of OpenShift's controllers."""
OPENSHIFT = ServiceAccount("openshift-cluster-api", "capi-controllers")

Tree = dict[str, Any]


def read(path: str) -> Tree:
    tree: Tree = yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))
    return tree


def mentioned(kustomization: Path) -> Iterator[Path]:
    tree = yaml.safe_load(kustomization.read_text(encoding="utf-8"))
    patches = [patch["path"] for patch in tree.get("patches", ()) if "path" in patch]
    for name in (*tree.get("resources", ()), *tree.get("components", ()), *patches):
        path = (kustomization.parent / name).resolve()
        yield path / "kustomization.yaml" if path.is_dir() else path


def pod(path: str = "base/deployment.yaml") -> Tree:
    spec: Tree = read(path)["spec"]["template"]["spec"]
    return spec


def arguments(path: str) -> list[str]:
    (container,) = pod(path)["containers"]
    args: list[str] = container["args"]
    return args


def test_every_file_is_mentioned_and_every_mentioned_file_exists() -> None:
    seen = {path for kustomization in KUSTOMIZATIONS for path in mentioned(kustomization)}
    entrances = {folder / "kustomization.yaml" for folder in (DEPLOY, DEPLOY / "openshift", CHOSEN)}
    assert seen | entrances == set(DEPLOY.rglob("*.yaml"))


def test_plain_kubernetes_needs_no_crds() -> None:
    files = list(mentioned(DEPLOY / "base" / "kustomization.yaml"))
    kinds = {one["apiVersion"] for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))}
    assert {version for version in kinds if "." in version and not version.split("/")[0].endswith(".k8s.io")} == set()


def test_everything_is_in_the_namespace_of_the_service_account() -> None:
    of_all = {DEPLOY / "base" / "rbac.yaml", CHOSEN / "policies.yaml", DISGUISE / "impersonation.yaml"}
    for file in set(DEPLOY.rglob("*.yaml")) - set(KUSTOMIZATIONS) - of_all:
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if document["kind"] != "ClusterRoleBinding":
                assert document["metadata"]["namespace"] == DEFAULT_SERVICE_ACCOUNT.namespace, file


def test_the_image_is_of_this_version() -> None:
    (image,) = read("base/kustomization.yaml")["images"]
    (container,) = pod()["containers"]
    assert (image["name"], image["newTag"]) == (container["image"], windlass.__version__)


@pytest.mark.parametrize("path", ["base/deployment.yaml", "components/metrics/deployment.yaml"])
def test_the_command_line_takes_the_arguments(path: str) -> None:
    run, name, *rest = arguments(path)
    assert (run, name) == ("run", "machine-sync")
    with machine_sync.make_context("machine-sync", rest) as context:
        assert isinstance(context, click.Context)


def test_the_pod_has_time_to_drain() -> None:
    with machine_sync.make_context("machine-sync", arguments("base/deployment.yaml")[2:]) as context:
        assert pod()["terminationGracePeriodSeconds"] >= context.params["drain"] + 15


def test_the_ports_are_those_that_are_listened_on() -> None:
    for path in ("base/deployment.yaml", "components/metrics/deployment.yaml"):
        (container,) = pod(path)["containers"]
        with machine_sync.make_context("machine-sync", arguments(path)[2:]) as context:
            listening = {context.params[f"{of}_bind_address"][1] for of in ("health_probe", "metrics")}
        assert {port["containerPort"] for port in container["ports"]} <= listening


def test_the_pod_is_restricted() -> None:
    spec = pod()
    (container,) = spec["containers"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert spec["serviceAccountName"] == DEFAULT_SERVICE_ACCOUNT.name
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert set(container["resources"]["limits"]) == {"memory"}


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


def test_who_acts_in_another_name_has_what_the_command_prints() -> None:
    """The component changes the base into what `windlass manifests rbac --acts-as` prints."""
    extra = list(yaml.safe_load_all((DISGUISE / "impersonation.yaml").read_text(encoding="utf-8")))
    bindings, deployment = (yaml.safe_load(one["patch"]) for one in read_kustomization(DISGUISE)["patches"])
    subjects = bindings[0]["value"]
    changed = [{**one, "subjects": subjects} if "subjects" in one else one for one in rbac.documents()]
    printed = rbac.documents(acts_as=OPENSHIFT)
    assert [one for one in printed if one in extra] == extra
    assert [one for one in printed if one not in extra] == changed
    assert deployment[0]["value"] == f"--as={OPENSHIFT.user}"


def read_kustomization(folder: Path) -> Tree:
    tree: Tree = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    return tree
