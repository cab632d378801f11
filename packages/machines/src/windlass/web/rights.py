"""The rights of the page's own process, as manifests. What people may see is decided by their own rights."""

from collections.abc import Iterable, Sequence
from typing import Final

from windlass.capability.manifests import Manifest
from windlass.capability.manifests.rights import ServiceAccount, documents, metrics_reader
from windlass.kube.control.permissions import Declaration
from windlass.kube.process.guard import guard_permissions

HOME: Final = "windlass-web"
NAME: Final = "windlass-web"


def rights(needs: Iterable[Declaration], *, home: str = HOME) -> list[Manifest]:
    """Namespace, ServiceAccount, roles and bindings of a process whose views need these rights."""
    found = documents((*guard_permissions(), *needs), service_account=ServiceAccount(home, NAME))
    return [one for one in found if one["metadata"]["name"] != metrics_reader(NAME)]


def additional(more: Sequence[Declaration], *, to: Sequence[Declaration], home: str = HOME) -> list[Manifest]:
    """What another view adds to the rights of those that need `to`: roles in its namespaces."""
    before = rights(to, home=home)
    return [one for one in rights((*to, *more), home=home) if one not in before]
