"""The ServiceAccount and RBAC of Machine sync, as Kubernetes documents generated from its declarations.

    from windlass.machine_sync import rbac

    for document in rbac.documents():
        print(yaml.safe_dump(document))          # what `windlass manifests rbac` prints

No permission is written here: `permissions` collects the declarations of the parts of the process, and
`windlass.capability.manifests.rights` turns them into roles. The namespaces of Machines are not among the documents:
they belong to the cluster, and deleting our manifests must not delete them.
"""

from collections.abc import Iterable
from typing import Final

from windlass.capability.installation import HOME, account, permissions_of
from windlass.capability.manifests import Manifest, rights
from windlass.capability.manifests.rights import ServiceAccount, Unread
from windlass.kube.control.permissions import Declaration
from windlass.machine_sync.activation import activation_permissions
from windlass.machine_sync.constants import LEASE_NAME, NAME, Namespaces
from windlass.machine_sync.controllers import controllers
from windlass.machine_sync.platform_list import SERVED
from windlass.machine_sync.platforms import PLATFORMS

DEFAULT_NAMESPACES: Final = Namespaces()
DEFAULT_SERVICE_ACCOUNT: Final = account(NAME, HOME)


def documents(
    *,
    namespaces: Namespaces = DEFAULT_NAMESPACES,
    service_account: ServiceAccount = DEFAULT_SERVICE_ACCOUNT,
    platforms: Iterable[str] = SERVED,
    acts_as: ServiceAccount | None = None,
) -> list[Manifest]:
    """Namespace, ServiceAccount, roles and bindings, in the order in which they can be applied.

    `namespaces` are those of the options of `windlass run machine-sync`. `platforms` are names as in `Infrastructure`;
    fewer platforms mean rights on fewer kinds. KeyError for a platform that does not exist. `acts_as`: the account that
    `windlass run machine-sync --as` names.
    """
    declared = permissions(namespaces=namespaces, platforms=platforms)
    return rights.documents(declared, service_account=service_account, theirs=namespaces, acts_as=acts_as)


def permissions(*, namespaces: Namespaces, platforms: Iterable[str]) -> tuple[Declaration, ...]:
    """All declarations of the parts of the process."""
    reader = Unread()
    declaring = [
        controller
        for name in sorted(set(platforms))
        for controller in controllers(reader, platform=PLATFORMS[name], namespaces=namespaces)
    ]
    of_process = permissions_of(declaring, lease=LEASE_NAME, namespace=namespaces.cluster_api)
    return (*activation_permissions(), *of_process)
