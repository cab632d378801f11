"""The manifests of `examples/informer`: complete, restricted, and in step with those of the controller."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from examples.informer import informer
from windlass.api.update_informer import UpdateInformer
from windlass.informer import ASKER
from windlass.kube.object import Object
from windlass.kube.version import VERSION
from windlass.update_status.installation import NAME

from .folder import Folder

FOLDER = Folder(NAME)
EXAMPLE = Path(__file__).parents[3] / "examples" / "informer"
HOME = "webhook-informer"
LABEL = {"update.openshift.io/informer": "true"}


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((EXAMPLE / name).read_text(encoding="utf-8")))


def only(name: str, kind: str = "") -> dict[str, Any]:
    (found,) = [one for one in documents(name) if not kind or one["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    template: dict[str, Any] = only("deployment.yaml")["spec"]["template"]
    return template


def container() -> dict[str, Any]:
    (found,) = pod()["spec"]["containers"]
    tree: dict[str, Any] = found
    return tree


def test_every_file_is_mentioned_and_the_image_is_of_this_version() -> None:
    mentioned = only("kustomization.yaml")
    assert {*mentioned["resources"], "kustomization.yaml"} == {file.name for file in EXAMPLE.glob("*.yaml")}
    assert mentioned["images"] == [{"name": container()["image"], "newTag": VERSION}]
    assert f"FROM windlass:{VERSION}\n" in (EXAMPLE / "Containerfile").read_text(encoding="utf-8")


def test_everything_namespaced_is_at_home() -> None:
    cluster_wide = {"ClusterRole", "ClusterRoleBinding", "Kustomization", "Namespace", "UpdateInformer"}
    for file in EXAMPLE.glob("*.yaml"):
        for one in documents(file.name):
            assert one["kind"] in cluster_wide or one["metadata"]["namespace"] == HOME, file


def test_the_pod_is_restricted() -> None:
    assert pod()["spec"]["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    (namespace,) = [one for one in documents("rbac.yaml") if one["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}


def test_control_1_the_registration_is_off_and_names_the_service_and_the_informer() -> None:
    found = Object.of(UpdateInformer, only("update-informer.yaml")).decode()
    assert not found.spec.enabled
    assert found.metadata.name == informer.NAME
    service = only("service.yaml")
    at = found.spec.client_config.service
    assert (at.namespace, at.name) == (service["metadata"]["namespace"], service["metadata"]["name"])
    assert at.port in {each["port"] for each in service["spec"]["ports"]}


def test_the_service_leads_to_the_port_of_the_pods_and_its_certificate_is_theirs() -> None:
    service = only("service.yaml")
    (port,) = container()["ports"]
    assert [each["targetPort"] for each in service["spec"]["ports"]] == [port["name"]]
    assert port["containerPort"] == 8443
    assert service["spec"]["selector"].items() <= pod()["metadata"]["labels"].items()
    (volume,) = pod()["spec"]["volumes"]
    annotation = "service.beta.openshift.io/serving-cert-secret-name"
    assert service["metadata"]["annotations"][annotation] == volume["secret"]["secretName"]
    (mount,) = container()["volumeMounts"]
    assert mount["mountPath"] == "/etc/informer/tls"
    assert container()["args"] == ["--certificate=/etc/informer/tls/tls.crt", "--key=/etc/informer/tls/tls.key"]


def test_control_13_both_network_policies_let_the_question_through() -> None:
    component = FOLDER.read("components/informers/kustomization.yaml")
    (patch,) = [yaml.safe_load(one["patch"]) for one in component["patches"] if _about(one) == "NetworkPolicy"]
    (out,) = [one["value"]["to"] for one in patch]
    assert out == [{"namespaceSelector": {}, "podSelector": {"matchLabels": LABEL}}]
    assert LABEL.items() <= pod()["metadata"]["labels"].items()
    policy = only("network-policy.yaml")["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= pod()["metadata"]["labels"].items()
    (rule,) = policy["ingress"]
    (source,) = rule["from"]
    assert source["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": FOLDER.home}
    asking = FOLDER.read("base/deployment.yaml")["spec"]["template"]["metadata"]["labels"]
    assert source["podSelector"]["matchLabels"] == asking
    assert {each["port"] for each in rule["ports"]} == {container()["ports"][0]["containerPort"]}
    assert policy["egress"] == FOLDER.read("base/network-policy.yaml")["spec"]["egress"]


def _about(patch: dict[str, Any]) -> str:
    return str(patch.get("target", {}).get("kind", ""))


def test_it_answers_the_account_that_is_shipped() -> None:
    account = FOLDER.installation.service_account
    assert f"system:serviceaccount:{account.namespace}:{account.name}" == ASKER


def test_control_13_it_may_list_what_it_reads_and_no_more() -> None:
    (role,) = [one for one in documents("rbac.yaml") if one["kind"] in ("ClusterRole", "Role")]
    read = {resource.RESOURCE.plural for resource in (informer.Validating, informer.Mutating, informer.EndpointSlice)}
    assert {each for rule in role["rules"] for each in rule["resources"]} == read
    assert all(rule["verbs"] == ["list"] for rule in role["rules"])


def test_the_image_without_test_tools_has_all_that_it_imports() -> None:
    absent = "sys.modules['windlass.testing'] = sys.modules['openstack'] = None"
    start = "runpy.run_path('informer.py', run_name='__main__')"
    program = [sys.executable, "-c", f"import runpy, sys; {absent}; {start}", "--help"]
    said = subprocess.run(program, cwd=EXAMPLE, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout.startswith("usage: ")) == (0, True), said.stderr
