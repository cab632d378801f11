"""The kustomize folder of Update status, beside what holds for every folder."""

import tomllib
from collections.abc import Iterator

import pytest
import yaml

from windlass.api.update_informer import UpdateInformer
from windlass.update_status.installation import NAME
from windlass.update_status.reading.kept import HOME

from .folder import ROOT, Folder

FOLDER = Folder(NAME)


@pytest.mark.parametrize("path", ["base/deployment.yaml", "components/metrics/deployment.yaml"])
def test_the_program_looks_for_its_lease_at_home(path: str) -> None:
    assert f"--namespace={HOME}" in FOLDER.arguments(path)


def test_the_program_is_one_that_is_installed() -> None:
    package = ROOT / "packages" / "machines" / "pyproject.toml"
    scripts = tomllib.loads(package.read_text(encoding="utf-8"))["project"]["scripts"]
    (program,) = FOLDER.container()["command"]
    assert scripts[program] == "windlass.cli:run_update_status"


def test_control_11_who_may_view_may_read_our_objects_and_no_more() -> None:
    rules = FOLDER.read("base/view.yaml")["rules"]
    own = {owned.kind.RESOURCE.plural for owned in FOLDER.installation.owned}
    assert {resource for rule in rules for resource in rule["resources"]} == own


def test_on_openshift_the_pod_asks_thanos_querier_and_may_reach_it() -> None:
    overlay = FOLDER.read("openshift/kustomization.yaml")
    assert "release.openshift.io/feature-set" in overlay["commonAnnotations"]
    assert any(key.startswith("include.release.openshift.io/") for key in overlay["commonAnnotations"])
    deployment, policy = (yaml.safe_load(patch["patch"]) for patch in overlay["patches"])
    (url,) = [each["value"] for each in deployment if each["path"].endswith("/args/-")]
    assert FOLDER.options([url])["alerts_url"].startswith("https://thanos-querier.openshift-monitoring.svc:9091")
    (port,) = policy[0]["value"]["ports"]
    assert port == {"protocol": "TCP", "port": 9091}


def rules(path: str) -> Iterator[tuple[str, set[str], set[str], set[str]]]:
    """Of all roles in a file: the namespace, groups, resources and verbs."""
    for role in FOLDER.documents(path):
        for rule in role.get("rules", ()):
            resources = {*rule.get("resources", ())}
            yield role["metadata"].get("namespace", ""), {*rule.get("apiGroups", ())}, resources, {*rule["verbs"]}


READING = {"get", "list", "watch"}
RBAC = ["base/rbac.yaml", "components/informers/rbac.yaml"]


@pytest.mark.parametrize("path", RBAC)
def test_control_13_it_reads_no_secrets_and_writes_nothing_but_its_own(path: str) -> None:
    written = set()
    for namespace, groups, resources, verbs in rules(path):
        assert "*" not in groups | resources | verbs
        assert not resources & {"secrets", "configmaps"}
        if verbs - READING:
            written |= {(namespace, resource) for resource in resources}
    own = {owned.kind.RESOURCE.plural for owned in FOLDER.installation.owned}
    reviews = {("", "tokenreviews"), ("", "subjectaccessreviews")}
    kept = {(namespace, one) for namespace, one in written if one.partition("/")[0] not in own}
    tokens = {(HOME, "serviceaccounts/token")} if "informers" in path else set()
    assert kept == {("default", "events"), (HOME, "leases")} | reviews | tokens


def test_control_13_it_makes_tokens_of_its_own_account_alone() -> None:
    roles = FOLDER.documents("components/informers/rbac.yaml")
    made = [
        rule for role in roles for rule in role.get("rules", ()) if "serviceaccounts/token" in rule.get("resources", ())
    ]
    assert [rule["resourceNames"] for rule in made] == [[FOLDER.installation.service_account.name]]


def test_control_13_the_network_is_closed_but_for_the_api_server_dns_and_informers() -> None:
    policy = FOLDER.read("base/network-policy.yaml")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert {port["port"] for rule in policy["egress"] for port in rule["ports"]} == {443, 6443, 53, 5353}
    component = FOLDER.read("components/informers/kustomization.yaml")
    (patch,) = [one for one in component["patches"] if one.get("target", {}).get("kind") == "NetworkPolicy"]
    (opened,) = yaml.safe_load(patch["patch"])
    label = {"update.openshift.io/informer": "true"}
    assert opened["path"] == "/spec/egress/-"
    assert opened["value"] == {"to": [{"namespaceSelector": {}, "podSelector": {"matchLabels": label}}]}


def test_control_1_only_cluster_administrators_may_register_an_informer() -> None:
    """No role that is shipped may write one, and none is aggregated to roles of others."""
    kind = UpdateInformer.RESOURCE.plural
    for file in FOLDER.path.rglob("*.yaml"):
        for role in FOLDER.documents(file):
            assert not any("aggregate" in label for label in (role or {}).get("metadata", {}).get("labels", {})), file
        for _, _, resources, verbs in rules(str(file.relative_to(FOLDER.path))) if file.name != "crds.yaml" else ():
            assert kind not in resources or verbs <= READING, file


def test_control_14_no_flag_turns_the_verification_of_informers_off() -> None:
    flags = {name for name in FOLDER.options([]) if name.startswith("informer")}
    assert flags == {"informers", "informer_namespaces", "informers_ca"}
