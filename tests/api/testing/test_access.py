"""What a test does with the shared plane: objects, CRDs, identities, and the record of who did what."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.authorizer import allowed
from tests.patience import PATIENCE
from windlass.testing import PlaneAccess
from windlass.testing.plane.audit import Permission
from windlass.testing.plane.errors import NotServed, PlaneError, Refused
from windlass.testing.plane.rest import Rest
from windlass.testing.plane.waiting import wait_for

pytestmark = pytest.mark.plane


def client_of(kubeconfig: Path, plane: PlaneAccess) -> Rest:
    content = yaml.safe_load(kubeconfig.read_text())
    return Rest(
        content["clusters"][0]["cluster"]["server"],
        ca_file=plane.connection.ca_file,
        token=content["users"][0]["user"]["token"],
    )


def status_of(client: Rest, method: str, path: str, body: Any = None) -> int:
    try:
        client.request(method, path, body)
    except Refused as refused:
        return refused.status
    return 200


def config_map(namespace: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": namespace},
        "data": data,
    }


async def test_objects_are_applied_and_returned(windlass_plane: PlaneAccess, windlass_namespace: str) -> None:
    [made] = await windlass_plane.apply(config_map(windlass_namespace, colour="blue"))
    assert made["metadata"]["uid"]
    [changed] = await windlass_plane.apply(config_map(windlass_namespace, colour="red"))
    assert changed["data"] == {"colour": "red"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_crd_is_served_when_apply_crds_returns(
    windlass_plane: PlaneAccess, windlass_namespace: str, widget_crd: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "widgets.yaml").write_text(yaml.safe_dump(widget_crd))
    await windlass_plane.apply_crds(tmp_path)
    widget = {
        "apiVersion": "plane.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": windlass_namespace},
    }
    [made] = await windlass_plane.apply(widget)
    assert made["metadata"]["generation"] == 1


async def test_files_may_hold_objects_before_the_crds_that_they_need(
    windlass_plane: PlaneAccess, windlass_namespace: str, widget_crd: dict[str, Any], tmp_path: Path
) -> None:
    widget_crd["metadata"]["name"] = "gadgets.plane.example.com"
    widget_crd["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    gadget = {
        "apiVersion": "plane.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "g", "namespace": windlass_namespace},
    }
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([gadget, widget_crd]))
    applied = await windlass_plane.apply_files(tmp_path / "all.yaml")
    assert [one["kind"] for one in applied] == ["CustomResourceDefinition", "Gadget"]


async def test_a_crd_whose_names_are_taken_is_refused_with_the_servers_words(
    windlass_plane: PlaneAccess, widget_crd: dict[str, Any]
) -> None:
    await windlass_plane.apply_crds(widget_crd)
    widget_crd["metadata"]["name"] = "doodads.plane.example.com"
    widget_crd["spec"]["names"] = {"plural": "doodads", "kind": "Widget"}
    with pytest.raises(NotServed, match=r"CRD doodads\.plane\.example\.com is refused: .*Conflict"):
        await windlass_plane.apply_crds(widget_crd)


async def test_a_refusal_of_the_server_keeps_its_status_and_its_words(
    windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    broken = config_map(windlass_namespace) | {"data": {"not a key": "x"}}
    with pytest.raises(Refused, match=r"settings.*Invalid") as caught:
        await windlass_plane.apply(broken)
    assert (caught.value.status, caught.value.reason) == (422, "Invalid")


async def robot(plane: PlaneAccess, namespace: str, *verbs: str) -> Rest:
    """A client of a new service account that may do `verbs` to ConfigMaps in `namespace`."""
    here = {"namespace": namespace}
    rbac = "rbac.authorization.k8s.io"
    await plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", **here}},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "Role",
            "metadata": {"name": "robot", **here},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs)}],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "robot", **here},
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "robot"},
            "subjects": [{"kind": "ServiceAccount", "name": "robot", **here}],
        },
    )
    account = f"system:serviceaccount:{namespace}:robot"
    for verb in verbs:
        await allowed(plane.blocking.rest, account, verb, "configmaps", namespace=namespace)
    return client_of(await plane.service_account_kubeconfig(namespace, "robot"), plane)


async def test_a_service_account_may_do_what_it_is_granted_and_no_more_and_the_audit_log_knows(
    windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    client = await robot(windlass_plane, windlass_namespace, "list")
    base = f"/api/v1/namespaces/{windlass_namespace}"
    assert client.request("GET", f"{base}/configmaps")["kind"] == "ConfigMapList"
    assert status_of(client, "GET", f"{base}/secrets") == 403
    used = windlass_plane.audit.permissions_used(f"system:serviceaccount:{windlass_namespace}:robot")
    assert used == {Permission("list", "", "configmaps")}


async def test_blocking_an_owner_needs_the_right_to_update_its_finalizers_as_on_openshift(
    windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    client = await robot(windlass_plane, windlass_namespace, "create")
    [owner] = await windlass_plane.apply(config_map(windlass_namespace))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": owner["metadata"]["uid"]}

    def create(name: str, **more: bool) -> int:
        body = config_map(windlass_namespace)
        body["metadata"] |= {"name": name, "ownerReferences": [reference | more]}
        return status_of(client, "POST", f"/api/v1/namespaces/{windlass_namespace}/configmaps", body)

    assert create("owned") == 200
    assert create("blocking", blockOwnerDeletion=True) == 403


def test_an_unknown_user_is_refused_with_the_way_to_make_one(windlass_plane: PlaneAccess) -> None:
    with pytest.raises(PlaneError, match=r"no user 'alice', only admin, .*ControlPlane\(users="):
        windlass_plane.kubeconfig("alice")


def test_a_namespace_has_a_service_account_that_can_be_used_at_once(
    windlass_plane: PlaneAccess, windlass_namespace: str
) -> None:
    kubeconfig = windlass_plane.blocking.service_account_kubeconfig(windlass_namespace, "default")
    client = client_of(kubeconfig, windlass_plane)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["username"] == f"system:serviceaccount:{windlass_namespace}:default"


async def test_a_namespace_that_does_not_go_is_an_error_that_says_what_keeps_it(windlass_plane: PlaneAccess) -> None:
    namespace = await windlass_plane.create_namespace()
    kept = config_map(namespace)
    kept["metadata"]["finalizers"] = ["example.com/kept"]
    await windlass_plane.apply(kept)
    await windlass_plane.delete_namespace(namespace)
    path = f"/api/v1/namespaces/{namespace}"
    rest = windlass_plane.blocking.rest

    def noticed() -> bool | None:
        return True if rest.request("GET", path)["status"].get("conditions") else None

    assert await asyncio.to_thread(wait_for, noticed, seconds=PATIENCE)
    with pytest.raises(PlaneError, match=r"still exists after 0\.1 s: .*example\.com/kept in 1 resource"):
        await windlass_plane.wait_until_namespace_is_gone(namespace, seconds=0.1)
    kept["metadata"]["finalizers"] = []
    await windlass_plane.apply(kept)
    await windlass_plane.wait_until_namespace_is_gone(namespace, seconds=PATIENCE)
