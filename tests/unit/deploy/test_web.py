"""The kustomize folder of the web page: complete, consistent with the code, and restricted."""

from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from click.testing import CliRunner

from windlass.api.update import UpdateStatus
from windlass.api.update_record import UpdateRecord
from windlass.cli.program import cli
from windlass.cli.web import command as web
from windlass.kube.version import VERSION
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.view import machines
from windlass.openstack.view import clouds
from windlass.os_build.view import pools
from windlass.update_status.view import update
from windlass.web.rights import HOME

DEPLOY = Path(__file__).parents[3] / "deploy" / "web"
COMPONENTS = {"machines": "machine-sync", "openstack": "openstack", "os-build": "os-build"}
"""Each component with the view that it adds."""


def documents(path: str | Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / path).read_text(encoding="utf-8")))


def container(path: str) -> dict[str, Any]:
    (found,) = documents(path)[0]["spec"]["template"]["spec"]["containers"]
    tree: dict[str, Any] = found
    return tree


def options(*components: str) -> dict[str, Any]:
    """What the program makes of the arguments of the Deployment with these components."""
    command, *arguments = container("base/deployment.yaml")["args"]
    for component in components:
        [patches] = documents(f"components/{component}/view-argument.yaml")
        (patch,) = cast("list[dict[str, str]]", patches)
        assert (patch["op"], patch["path"]) == ("add", "/spec/template/spec/containers/0/args/-")
        arguments.append(patch["value"])
    assert command == "web"
    with web.make_context("web", arguments) as context:
        return context.params


@pytest.mark.parametrize(
    ("file", "view"),
    [("base", "update-status"), *((f"components/{folder}", view) for folder, view in COMPONENTS.items())],
)
def test_what_is_shipped_is_what_the_views_declare(file: str, view: str) -> None:
    result = CliRunner().invoke(cli, ["manifests", "web", "--view", view], standalone_mode=False)
    shipped = (DEPLOY / file / "rbac.yaml").read_text(encoding="utf-8")
    assert shipped == result.stdout, "declarations have changed; run: make generate"


def test_it_may_only_list_and_watch_and_ask() -> None:
    roles = [one for file in DEPLOY.rglob("rbac.yaml") for one in documents(file) if "rules" in one]
    rules = [(rule["resources"], set(rule["verbs"])) for role in roles for rule in role["rules"]]
    reviews = [["tokenreviews"], ["subjectaccessreviews"]]
    assert all(verbs == {"create"} for resources, verbs in rules if resources in reviews)
    assert all(verbs <= {"get", "list", "watch"} for resources, verbs in rules if resources not in reviews)


def test_the_rule_of_each_view_is_about_what_it_shows() -> None:
    group = UpdateStatus.RESOURCE.group
    asked = [(one.verb, one.group, one.resource, one.name) for one in update.RULE]
    assert asked == [("get", group, "updatestatuses", "cluster"), ("list", group, "updaterecords", "")]
    for needs, rule in (
        (machines.needs(Namespaces()), machines.rule(Namespaces())),
        (clouds.needs(), clouds.rule()),
        (pools.needs(), pools.RULE),
    ):
        shown = {(one.group, one.resource, one.namespace or "") for one in needs if one.verbs == ("list", "watch")}
        assert {(one.group, one.resource, one.namespace) for one in rule} == shown
        assert {one.verb for one in rule} == {"list"}
        # Beside what it shows, the process reads Leases, each by its name.
        others = [one for one in needs if one.verbs != ("list", "watch")]
        assert all((one.resource, one.verbs) == ("leases", ("get",)) and one.names for one in others)
    followed = {one.resource for one in update.needs()}
    assert followed == {"updatestatuses", UpdateRecord.RESOURCE.plural, "updatestatusheartbeats"}


def test_the_role_for_people_is_what_the_rule_asks_for() -> None:
    for component, rule in (("openstack", clouds.rule()), ("os-build", pools.RULE)):
        [role] = documents(f"components/{component}/view.yaml")
        lists = [one for one in role["rules"] if "list" in one["verbs"]]
        given = {(group, resource) for one in lists for group in one["apiGroups"] for resource in one["resources"]}
        assert {(one.group, one.resource) for one in rule} | {("", "events")} == given
        assert not {"secrets"} & {resource for _, resource in given}


def test_people_sign_in_over_tls_and_probes_find_it() -> None:
    taken = options()
    assert taken["bind"] == ("0.0.0.0", 8443)
    assert taken["probes"] == ("0.0.0.0", 8081)
    mount = documents("base/deployment.yaml")[0]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][0]
    for file in (taken["tls_cert"], taken["tls_key"]):
        assert file.parent == Path(mount["mountPath"])
    ports = {port["name"]: port["containerPort"] for port in container("base/deployment.yaml")["ports"]}
    assert ports == {"https": 8443, "probes": 8081}
    [service] = documents("base/service.yaml")
    secret = documents("base/deployment.yaml")[0]["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"]
    assert service["metadata"]["annotations"] == {"service.beta.openshift.io/serving-cert-secret-name": secret}


def test_each_component_adds_its_view_and_all_go_together() -> None:
    assert options()["names"] == ("update-status",)
    for component, view in COMPONENTS.items():
        assert options(component)["names"] == ("update-status", view)
    assert options(*COMPONENTS)["names"] == ("update-status", *COMPONENTS.values())


def test_the_network_policy_lets_in_what_listens_and_out_what_is_asked() -> None:
    [policy] = documents("base/network-policy.yaml")
    assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} == {8443, 8081}
    assert {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]} == {443, 6443, 53, 5353}
    labels = documents("base/deployment.yaml")[0]["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    assert documents("base/service.yaml")[0]["spec"]["selector"] == labels


def test_the_pod_is_restricted() -> None:
    pod = documents("base/deployment.yaml")[0]["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container("base/deployment.yaml")["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["serviceAccountName"] == "windlass-web"


def test_every_file_is_mentioned_and_the_image_is_of_this_version() -> None:
    mentioned = {DEPLOY / "kustomization.yaml", DEPLOY / "openshift" / "kustomization.yaml"}
    # Users choose components.
    mentioned |= {*(DEPLOY / "components").glob("*/kustomization.yaml")}
    for file in DEPLOY.rglob("kustomization.yaml"):
        [tree] = documents(file)
        patches = [patch["path"] for patch in tree.get("patches", ())]
        for name in (*tree.get("resources", ()), *tree.get("components", ()), *patches):
            path = (file.parent / name).resolve()
            mentioned.add(path / "kustomization.yaml" if path.is_dir() else path)
    assert mentioned == {*DEPLOY.rglob("*.yaml")}
    [base] = documents("base/kustomization.yaml")
    assert base["images"] == [{"name": container("base/deployment.yaml")["image"], "newTag": VERSION}]


def test_everything_namespaced_is_at_home() -> None:
    for file in DEPLOY.rglob("*.yaml"):
        if file.name not in ("kustomization.yaml", "rbac.yaml"):
            for one in documents(file):
                if isinstance(one, list):
                    continue  # a patch
                assert one["kind"] == "ClusterRole" or one["metadata"]["namespace"] == HOME, file
