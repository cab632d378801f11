"""Makes the ServiceAccount, roles and bindings of a capability from its declared permissions.

    for document in rights.documents(permissions, service_account=ServiceAccount("windlass-system", "windlass-x")):
        print(yaml.safe_dump(document))

There is one Role in each namespace with namespaced permissions, and one ClusterRole for the cluster-scoped ones, all
bound to one ServiceAccount. One more, `NAME-metrics-reader`, is not bound: bind it to the scraper's account.
"""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from windlass.api.meta import K
from windlass.capability.manifests import Manifest
from windlass.kube.control.permissions import Declaration, rules
from windlass.kube.control.seen import Seen
from windlass.kube.object import Object

API_VERSION: Final = "rbac.authorization.k8s.io/v1"


class ServiceAccount(NamedTuple):
    """The identity of a process. Its namespace is also that of the Deployment."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """As the API server names it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    def within(self, namespace: str) -> "ServiceAccount":
        """The account of the same name in another namespace."""
        return ServiceAccount(namespace, self.name)


def metrics_reader(name: str) -> str:
    """The ClusterRole for scrapers of the process whose account has this name: one each, so that deleting a capability
    takes it from no other."""
    return f"{name}-metrics-reader"


def documents(
    permissions: Iterable[Declaration],
    *,
    service_account: ServiceAccount,
    theirs: Collection[str] = (),
    acts_as: ServiceAccount | None = None,
    roles: str = "",
) -> list[Manifest]:
    """Namespace, ServiceAccount, roles and bindings, in the order in which they can be applied.

    `theirs`: namespaces that belong to the cluster. They are never among the documents, because deleting our manifests
    must never delete them. `acts_as`: the account that `windlass run --as` names. It gets the rights then, and
    `service_account` may impersonate it. `roles`: the name of the roles; empty: that of the account.
    """
    name = roles or service_account.name
    result: list[Manifest] = []
    if service_account.namespace not in theirs:
        result.append(_namespace(service_account.namespace))
    result.append(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": service_account.name, "namespace": service_account.namespace},
        }
    )
    for namespace, allowed in rules(permissions).items():
        result += _role(name, namespace, allowed), _binding(name, namespace, acts_as or service_account)
    if acts_as:
        impersonation = f"{name}-as-{acts_as.name}"
        may = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
        result += (
            _role(impersonation, acts_as.namespace, [{**may, "resourceNames": [acts_as.name]}]),
            _binding(impersonation, acts_as.namespace, service_account),
        )
    result.append(_role(metrics_reader(name), None, [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]))
    return result


def _namespace(name: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }


def _role(name: str, namespace: str | None, allowed: list[Manifest]) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": _metadata(name, namespace),
        "rules": allowed,
    }


def _binding(name: str, namespace: str | None, service_account: ServiceAccount) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": _metadata(name, namespace),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role" if namespace else "ClusterRole",
            "name": name,
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": service_account.name, "namespace": service_account.namespace},
        ],
    }


def _metadata(name: str, namespace: str | None) -> Manifest:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


class Unread:
    """A reader that is never used, for controllers that are only turned into RBAC."""

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        raise AssertionError("only running controllers read")

    async def listed(
        self, kind: type[K], *, label_selector: str = "", field_selector: str = "", namespace: str | None = None
    ) -> list[Seen[K]]:
        raise AssertionError("only running controllers read")

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        raise AssertionError("only running controllers read")

    known = indexed
