"""The kustomize folder of OS builds, beside what holds for every folder."""

import pytest
import yaml

from windlass.os_build.backends.job import SERVICE_ACCOUNT
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.installation import HOME, NAME
from windlass.os_build.registry import ProbeUpload

from .folder import Folder

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


def test_on_openshift_the_certificate_of_the_registry_inside_the_cluster_is_trusted() -> None:
    patches = FOLDER.read("components/service-ca/kustomization.yaml")["patches"]
    [argument] = [each["value"] for patch in patches for each in yaml.safe_load(patch.get("patch", "[]"))]
    option, _, path = argument.partition("=")
    container, pod = (each("components/service-ca/deployment.yaml") for each in (FOLDER.container, FOLDER.pod))
    [mount], [volume] = container["volumeMounts"], pod["volumes"]
    assert (option, mount["mountPath"], mount["name"]) == ("--registry-ca", path, volume["name"])
    # The option takes the *.crt of a folder; the ConfigMap may come after the Pod.
    assert [item["path"] for item in volume["configMap"]["items"]] == ["service-ca.crt"]
    assert (volume["configMap"]["name"], volume["configMap"]["optional"]) == ("openshift-service-ca.crt", True)
    # A patch that sets arguments replaces all of them.
    components = FOLDER.read("openshift/kustomization.yaml")["components"]
    assert components.index("../components/service-ca") > components.index("../components/metrics")


def test_who_may_view_reads_no_secrets() -> None:
    roles = FOLDER.documents("base/view.yaml")
    assert "secrets" not in {resource for role in roles for rule in role["rules"] for resource in rule["resources"]}
    assert not any("aggregate" in label for role in roles for label in role["metadata"].get("labels", ()))


def test_jobs_have_an_account_everywhere_and_on_openshift_may_have_its_uid() -> None:
    account = FOLDER.read("components/job-account/service-account.yaml")
    binding = FOLDER.read("components/anyuid/role-binding.yaml")
    name = {"name": SERVICE_ACCOUNT, "namespace": NAMESPACE}
    assert account["metadata"] == name
    assert binding["subjects"] == [{"kind": "ServiceAccount", **name}]
    assert binding["metadata"]["namespace"] == NAMESPACE
    assert binding["roleRef"]["name"] == "system:openshift:scc:anyuid"
    # There the account is the Machine Config Operator's: whoever deletes the folder keeps it.
    used = {place: FOLDER.read(f"{place}/kustomization.yaml")["components"] for place in (".", "openshift")}
    assert used["."] == ["components/job-account"]
    assert "../components/anyuid" in used["openshift"]
    assert "../components/job-account" not in used["openshift"]
