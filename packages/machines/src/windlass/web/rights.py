"""The rights of the page's own process, as manifests. What people may see is decided by their own rights."""

from collections.abc import Iterable
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


def additional(more: Iterable[Declaration], *, view: str, home: str = HOME) -> list[Manifest]:
    """What another view adds: roles of its own, named after it, so that views can come and go alone."""
    account = ServiceAccount(home, NAME)
    found = documents(more, service_account=account, theirs=(home,), roles=f"{NAME}-{view}")
    named = [one for one in found if one["kind"] not in ("ServiceAccount", "Namespace")]
    return [one for one in named if one["metadata"]["name"] != metrics_reader(f"{NAME}-{view}")]
