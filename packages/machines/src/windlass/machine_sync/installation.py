"""Machine sync as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from windlass.capability.installation import HOME, Installation, account
from windlass.capability.manifests.rights import ServiceAccount
from windlass.kube.control.permissions import Declaration
from windlass.machine_sync.constants import NAME, Namespaces
from windlass.machine_sync.platform_list import SERVED

if TYPE_CHECKING:
    from windlass.capability.manifests.policy import Policy
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame


def installation(
    *,
    home: str = HOME,
    namespaces: Namespaces | None = None,
    platforms: Iterable[str] = SERVED,
    takes_taints: bool = False,
) -> Installation:
    """For machines in `namespaces`, with rights and policies for `platforms` (names as in `Infrastructure`).

    `takes_taints`: Cluster API's feature gate for taints is on, see `Platform`.
    """
    places = namespaces or Namespaces()
    chosen = tuple(platforms)

    def frame() -> "Frame":
        from windlass.machine_sync.service import frame

        return frame(places, takes_taints=takes_taints)

    def planner() -> "Planner":
        from windlass.machine_sync.planning import planner

        return planner(places, takes_taints=takes_taints)

    def policies(service_account: ServiceAccount, exempt: Sequence[str]) -> "Sequence[Policy]":
        from windlass.machine_sync.policies import policies

        return policies(namespaces=places, service_account=service_account, platforms=chosen, exempt=exempt)

    def declared() -> tuple[Declaration, ...]:
        from windlass.machine_sync.rbac import permissions

        return permissions(namespaces=places, platforms=chosen)

    return Installation(
        name=NAME,
        service_account=account(NAME, home),
        permissions=declared,
        frame=frame,
        planner=planner,
        policies=policies,
        policies_follow="what conversion can express",
        theirs=places,
    )
