"""What `kubectl delete -k` of a folder takes with it: nothing that users made, and nothing that others need."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.kustomize import objects
from windlass.cli.capabilities import capability

from .folder import ROOT

DEPLOY = ROOT / "deploy"
INSTALL = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
KEEP = {
    "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
    "helm.sh/resource-policy": "keep",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
OURS = {"windlass-system", "windlass-openstack", "windlass-os-build", "windlass-update-status", "windlass-web"}
"""The namespaces of our processes, in which users keep nothing."""
NOT_NAMED_LIKE_US = {("ServiceAccount", "machine-os-builder")}
"""On OpenShift the Machine Config Operator makes it, so the folder for OpenShift leaves it out."""


def folders() -> Iterator[str]:
    """Every folder that `kubectl apply -k` takes: `base` and components are parts of others."""
    for file in sorted(DEPLOY.rglob("kustomization.yaml")):
        if yaml.safe_load(file.read_text(encoding="utf-8"))["kind"] == "Kustomization" and file.parent.name != "base":
            yield str(file.parent.relative_to(DEPLOY))


FOLDERS = [*folders()]
CRDS = [name for name in FOLDERS if Path(name).name == "crds"]
OTHERS = [name for name in FOLDERS if name not in CRDS]


@pytest.mark.parametrize("name", OTHERS)
def test_deleting_a_folder_that_runs_something_deletes_no_kind(name: str) -> None:
    found = objects(DEPLOY / name)
    assert "Deployment" in {each["kind"] for each in found}
    assert "CustomResourceDefinition" not in {each["kind"] for each in found}


@pytest.mark.parametrize("name", OTHERS)
def test_deleting_a_folder_deletes_only_what_is_named_like_us(name: str) -> None:
    for each in objects(DEPLOY / name):
        called = each["metadata"]["name"]
        if each["kind"] == "Namespace":
            assert called in OURS
        elif (each["kind"], called) not in NOT_NAMED_LIKE_US or name.endswith("openshift"):
            assert called.startswith("windlass-"), (each["kind"], called)


@pytest.mark.parametrize("name", CRDS)
def test_a_folder_of_kinds_holds_all_kinds_of_its_capability_and_nothing_else(name: str) -> None:
    chosen = capability(Path(name).parts[0])
    owned = [each.kind.RESOURCE.name for each in chosen.install(home=chosen.home).owned]
    found = objects(DEPLOY / name)
    assert {each["kind"] for each in found} == {"CustomResourceDefinition"}
    assert [each["metadata"]["name"] for each in found] == owned


@pytest.mark.parametrize("name", CRDS)
def test_tools_that_delete_what_left_their_source_keep_our_kinds(name: str) -> None:
    for crd in objects(DEPLOY / name):
        assert crd["metadata"]["annotations"] == KEEP, crd["metadata"]["name"]


@pytest.mark.parametrize("name", FOLDERS)
def test_the_page_of_installing_has_the_command_of_every_folder_kinds_first(name: str) -> None:
    at = command("apply", name, INSTALL)
    for kinds in CRDS:
        if Path(kinds).parts[0] == Path(name).parts[0]:
            assert command("apply", kinds, INSTALL) <= at


@pytest.mark.parametrize("name", [str(Path(name).parts[0]) for name in OTHERS if len(Path(name).parts) == 1])
def test_the_runbook_says_how_to_uninstall_every_capability(name: str) -> None:
    assert command("delete", name, RUNBOOK)


def command(verb: str, folder: str, page: str) -> int:
    """Where a line of the page begins that is this command. Fails if there is none."""
    found = re.search(rf"^ +kubectl {verb} -k deploy/{folder}(?= |$)", page, re.MULTILINE)
    assert found, f"no line `kubectl {verb} -k deploy/{folder}`"
    return found.start()
