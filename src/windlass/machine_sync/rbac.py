"""Who Machine sync is on a cluster and what it may do there, as Kubernetes documents made from its declarations.

    from windlass.machine_sync import rbac

    for document in rbac.documents():
        print(yaml.safe_dump(document))          # what `windlass manifests rbac` prints

Nothing here names a permission: `permissions` collects what the parts of the process declare, `documents` arranges it.
One Role in each namespace that has namespaced objects, one ClusterRole for what is cluster-scoped, each bound to the
one ServiceAccount. `windlass-metrics-reader` is bound to nobody: bind it to whoever scrapes.

Not among them: the namespaces of Machines. They belong to the cluster, and deleting our manifests must never delete
them.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from windlass.api.meta import K
from windlass.kube.control.permissions import Permission, rules
from windlass.kube.control.seen import Seen
from windlass.kube.object import Object
from windlass.kube.process.lease import lease_permissions
from windlass.kube.process.scrape import guard_permissions
from windlass.machine_sync.activation import SERVED, activation_permissions
from windlass.machine_sync.constants import LEASE_NAME, Namespaces
from windlass.machine_sync.controllers import controllers
from windlass.machine_sync.platforms import PLATFORMS

__all__ = ["SERVED", "Document", "ServiceAccount", "documents", "permissions"]

Document = dict[str, Any]
"""A Kubernetes object as JSON or YAML holds it."""

API_VERSION: Final = "rbac.authorization.k8s.io/v1"
METRICS_READER: Final = "windlass-metrics-reader"
"""ClusterRole for scrapers."""


class ServiceAccount(NamedTuple):
    """The identity of the process. Its namespace is also that of the Deployment."""

    namespace: str = "windlass-system"
    name: str = "windlass-machine-sync"

    @property
    def user(self) -> str:
        """As the API server names it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"


DEFAULT_NAMESPACES: Final = Namespaces()
DEFAULT_SERVICE_ACCOUNT: Final = ServiceAccount()


def documents(
    *,
    namespaces: Namespaces = DEFAULT_NAMESPACES,
    service_account: ServiceAccount = DEFAULT_SERVICE_ACCOUNT,
    platforms: Iterable[str] = SERVED,
    acts_as: ServiceAccount | None = None,
) -> list[Document]:
    """Namespace, ServiceAccount, roles and bindings, in the order in which they can be applied.

    `namespaces` are those that `windlass run machine-sync` is told of. `platforms` are names as in `Infrastructure`;
    with fewer of them fewer kinds may be touched. KeyError for a platform that does not exist. `acts_as`: the account
    that `windlass run machine-sync --as` names. It gets the rights then, and `service_account` may act in its name.
    """
    name = service_account.name
    granted = rules(permissions(namespaces=namespaces, platforms=platforms))
    result: list[Document] = []
    if service_account.namespace not in namespaces:
        result.append(_namespace(service_account.namespace))
    result.append(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": service_account.namespace},
        }
    )
    for namespace, allowed in granted.items():
        result += _role(name, namespace, allowed), _binding(name, namespace, acts_as or service_account)
    if acts_as:
        impersonation = f"{name}-as-{acts_as.name}"
        may = {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}
        result += (
            _role(impersonation, acts_as.namespace, [{**may, "resourceNames": [acts_as.name]}]),
            _binding(impersonation, acts_as.namespace, service_account),
        )
    result.append(_role(METRICS_READER, None, [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]))
    return result


def permissions(*, namespaces: Namespaces, platforms: Iterable[str]) -> tuple[Permission, ...]:
    """Everything the process declares: each part of it answers for itself."""
    reader = _Nobody()
    declaring = [
        controller
        for name in sorted(set(platforms))
        for controller in controllers(reader, platform=PLATFORMS[name], namespaces=namespaces)
    ]
    return (
        *activation_permissions(),
        *guard_permissions(),
        *lease_permissions(LEASE_NAME, namespace=namespaces.cluster_api),
        *(declared for controller in declaring for declared in controller.declared),
    )


def _namespace(name: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }


def _role(name: str, namespace: str | None, allowed: list[Document]) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": _metadata(name, namespace),
        "rules": allowed,
    }


def _binding(name: str, namespace: str | None, service_account: ServiceAccount) -> Document:
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


def _metadata(name: str, namespace: str | None) -> Document:
    return {"name": name, "namespace": namespace} if namespace else {"name": name}


class _Nobody:
    """A reader that is never asked: a controller is turned into RBAC here, not run."""

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        raise AssertionError("only running controllers read")

    def indexed(self, kind: type[K], index: str, value: str) -> list[Object[K]]:
        raise AssertionError("only running controllers read")

    known = indexed
