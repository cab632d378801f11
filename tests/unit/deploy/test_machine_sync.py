"""The kustomize folder of Machine sync, beside what holds for every folder."""

import pytest
import yaml

from windlass.capability.manifests.rights import ServiceAccount
from windlass.machine_sync import rbac

from .folder import Folder

FOLDER = Folder("machine-sync")
DISGUISE = "components/as-capi-controllers"
"""The component that acts in the name of OpenShift's controllers."""
OPENSHIFT = ServiceAccount("openshift-cluster-api", "capi-controllers")


@pytest.mark.parametrize("path", ["base/deployment.yaml", "components/metrics/deployment.yaml"])
def test_the_image_runs_the_capability(path: str) -> None:
    assert FOLDER.container(path)["args"][:2] == ["run", "machine-sync"]


def test_plain_kubernetes_needs_no_crds() -> None:
    files = FOLDER.mentioned(FOLDER.path / "base" / "kustomization.yaml")
    kinds = {one["apiVersion"] for file in files for one in FOLDER.documents(file)}
    assert {version for version in kinds if "." in version and not version.split("/")[0].endswith(".k8s.io")} == set()


def test_who_acts_in_another_name_has_what_the_command_prints() -> None:
    """The component changes the base into what `windlass manifests rbac --acts-as` prints."""
    extra = FOLDER.documents(f"{DISGUISE}/impersonation.yaml")
    patches = FOLDER.read(f"{DISGUISE}/kustomization.yaml")["patches"]
    bindings, deployment = (yaml.safe_load(one["patch"]) for one in patches)
    subjects = bindings[0]["value"]
    changed = [{**one, "subjects": subjects} if "subjects" in one else one for one in rbac.documents()]
    printed = rbac.documents(acts_as=OPENSHIFT)
    assert [one for one in printed if one in extra] == extra
    assert [one for one in printed if one not in extra] == changed
    assert deployment[0]["value"] == f"--as={OPENSHIFT.user}"
