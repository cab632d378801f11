"""The page as it is deployed: who may see it, and how a browser signs in."""

from pathlib import Path
from typing import Any, Final

import yaml

from tests.api.web.conftest import OpenTab
from windlass.testing import BlockingAccess

DEPLOY: Final = Path(__file__).parents[3] / "deploy"
HOME: Final = "windlass-web"
"""The namespace of its ServiceAccount."""


def token_of(plane: BlockingAccess, name: str) -> str:
    path = plane.service_account_kubeconfig(HOME, name)
    token: str = yaml.safe_load(path.read_text())["users"][0]["user"]["token"]
    return token


def bind(plane: BlockingAccess, person: str, role: str, *, namespace: str = "") -> str:
    """Returns the path of the binding."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    name = f"{person}-{role}"
    plane.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": person, "namespace": HOME}],
        }
    )
    where = f"/namespaces/{namespace}/rolebindings" if namespace else "/clusterrolebindings"
    return f"/apis/rbac.authorization.k8s.io/v1{where}/{name}"


async def sign_in(tab: OpenTab, base: str, token: str, path: str = "/") -> Any:
    page = await tab(base + path, ignore_https_errors=True)
    await page.get_by_label("Token of the cluster").fill(token)
    await page.get_by_role("button", name="Sign in").click()
    return page


async def until_live(page: Any) -> None:
    await page.locator("#state", has_text="Live").wait_for()
