"""Machines on OpenStack as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from windlass.capability.extras import require
from windlass.capability.installation import Installation, account, permissions_of
from windlass.capability.manifests.rights import ServiceAccount, Unread
from windlass.kube.control.controller import Controller
from windlass.kube.control.permissions import Declaration
from windlass.openstack.beside import PROVIDER_NAMESPACE, beside_permissions
from windlass.openstack.cloud.clouds import Clouds, PollTimes
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.owned import OWNED
from windlass.openstack.service import OWN_LEASE

if TYPE_CHECKING:
    from windlass.capability.manifests.policy import Policy
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame

NAME: Final = "openstack"
HOME: Final = "windlass-openstack"
"""The namespace of the ServiceAccount, the Deployment and the Lease."""


def installation(
    *,
    home: str = HOME,
    namespaces: Sequence[str] = (),
    provider_namespace: str = PROVIDER_NAMESPACE,
    polls: PollTimes | None = None,
    credentials: Callable[[], Credentials] | None = None,
    machine_api: str = "",
) -> Installation:
    """For objects in `namespaces` (none: in all namespaces). The provider of Cluster API is looked for in
    `provider_namespace`. Plans from files ask the cloud of `credentials`, if there are any. `machine_api`: the one
    namespace whose Machines of the Machine API get their servers here too; empty: none do."""

    def controllers(reader: Any, clouds: Clouds) -> tuple[Controller[Any, Any], ...]:
        from windlass.openstack.controllers import makers

        return tuple(make(reader) for make in makers(clouds, namespaces, machine_api=machine_api))

    def permissions() -> tuple[Declaration, ...]:
        declared = permissions_of(controllers(Unread(), Clouds()), lease=OWN_LEASE, namespace=home)
        return (*declared, *beside_permissions(machine_api=machine_api))

    def frame() -> "Frame":
        require("openstack")
        from windlass.openstack.service import frame

        return frame(
            home=home,
            namespaces=namespaces,
            provider_namespace=provider_namespace,
            polls=polls or PollTimes(),
            machine_api=machine_api,
        )

    def planner() -> "Planner":
        require("openstack")
        from windlass.openstack.planning.planner import planner

        return planner(controllers, reader=Unread(), credentials=credentials, machine_api=machine_api)

    def policies(service_account: ServiceAccount, exempt: Sequence[str]) -> "Sequence[Policy]":
        from windlass.openstack.policies import policies

        return policies(exempt)

    return Installation(
        name=NAME,
        service_account=account(NAME, home),
        permissions=permissions,
        frame=frame,
        planner=planner,
        owned=OWNED,
        policies=policies,
        theirs=(machine_api,) if machine_api else (),
    )
