"""A capability as it is installed: what the command line runs, plans for and prints manifests of.

    installed = machine_sync.installation.installation(home="windlass-system")
    rights.documents(installed.permissions(), service_account=installed.service_account)

Each part is a function, so that a command imports only the part that it uses. `steady` makes one whose
controllers are the same on every cluster.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.capability.manifests.rights import ServiceAccount, Unread
from windlass.kube.control.permissions import Declaration

if TYPE_CHECKING:
    from windlass.capability.manifests.policy import Policy
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame, Make
    from windlass.kube.control.controller import Controller
    from windlass.kube.crd import Owned

HOME: Final = "windlass-system"
"""The default namespace of ServiceAccounts and Deployments."""

Policies = Callable[[ServiceAccount, Sequence[str]], "Sequence[Policy]"]
"""Makes admission policies from the account that the capability acts as, and the users to exempt."""


class Installation(Struct, frozen=True, kw_only=True):
    """One capability with its settings (home, namespaces, platforms).

    name             as on the command line: `machine-sync`
    service_account  its identity on a cluster
    permissions      all permissions that its process declares
    frame            its election and its work, for the process
    planner          how its plans are made
    owned            the kinds whose CRDs belong to it: `deploy/NAME/crds` installs them, before it
    policies         its admission policies
    policies_follow  the code that the policies are derived from, for the head of the file, if there is something to say
    theirs           namespaces that belong to the cluster: our manifests never create them, and so never delete them
    """

    name: str
    service_account: ServiceAccount
    permissions: Callable[[], tuple[Declaration, ...]]
    frame: "Callable[[], Frame]"
    planner: "Callable[[], Planner]"
    owned: "tuple[Owned, ...]" = ()
    policies: Policies = lambda account, exempt: ()
    policies_follow: str = ""
    theirs: tuple[str, ...] = ()


def account(name: str, home: str) -> ServiceAccount:
    """The ServiceAccount of the capability `name`."""
    return ServiceAccount(home, f"windlass-{name}")


def permissions_of(
    controllers: "Iterable[Controller[Any, Any]]", *, lease: str, namespace: str
) -> tuple[Declaration, ...]:
    """All permissions of a process with these controllers: its metrics and its Lease in `namespace` need some too."""
    from windlass.kube.process.guard import guard_permissions
    from windlass.kube.process.lease import lease_permissions

    return (
        *guard_permissions(),
        *lease_permissions(lease, namespace=namespace),
        *(declared for controller in controllers for declared in controller.declared),
    )


def steady(
    name: str,
    makers: "Sequence[Make]",
    *,
    home: str = HOME,
    owned: "tuple[Owned, ...]" = (),
    reads: tuple[type[KubernetesObject], ...] = (),
    policies: Policies = lambda account, exempt: (),
) -> Installation:
    """An installation whose controllers, one for each of `makers`, are the same on every cluster.

    It has its own Lease in `home`. Plans are about the kind that each controller watches first. `reads`: kinds that
    controllers read or write and do not watch, for plans from files.
    """
    lease = f"windlass-{name}"

    def controllers(reader: Any) -> tuple[Any, ...]:
        return tuple(make(reader) for make in makers)

    def permissions() -> tuple[Declaration, ...]:
        return permissions_of(controllers(Unread()), lease=lease, namespace=home)

    def planner() -> "Planner":
        from windlass.capability.planning import Scope
        from windlass.capability.planning.planner import plain_planner

        watches = [controller.watches for controller in controllers(Unread())]
        kinds = dict.fromkeys((*(watch.kind for each in watches for watch in each), *reads))
        subjects = tuple(dict.fromkeys(each[0].kind for each in watches))
        return plain_planner(controllers, scope=Scope(kinds=tuple(kinds), subjects=subjects))

    def frame() -> "Frame":
        from windlass.capability.service import steady_frame

        return steady_frame(makers, lease=lease, namespace=home)

    return Installation(
        name=name,
        service_account=account(name, home),
        permissions=permissions,
        frame=frame,
        planner=planner,
        owned=owned,
        policies=policies,
    )
