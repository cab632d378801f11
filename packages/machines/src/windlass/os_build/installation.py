"""OS builds as a capability: the value that `windlass run`, `plan` and `manifests` use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from windlass.capability.installation import Installation, account, permissions_of
from windlass.capability.manifests.rights import ServiceAccount, Unread
from windlass.kube.control.permissions import Declaration
from windlass.os_build.constants import NAMESPACE
from windlass.os_build.settings import OsBuildSettings

if TYPE_CHECKING:
    from windlass.capability.manifests.policy import Policy
    from windlass.capability.planning import Planner
    from windlass.capability.service import Frame

NAME: Final = "os-build"
HOME: Final = "windlass-os-build"
"""The namespace of the ServiceAccount, the Deployment and the Lease."""


def installation(*, home: str = HOME, settings: OsBuildSettings | None = None) -> Installation:
    """OS builds with these settings; the Lease is in `home`."""
    chosen = settings or OsBuildSettings()

    def permissions() -> tuple[Declaration, ...]:
        from windlass.os_build.planning import Unasked
        from windlass.os_build.registry import Registry
        from windlass.os_build.retention.contents import ImagesCarrier
        from windlass.os_build.service import images_maker, lease, maker

        made = [maker(chosen, Unasked())(Unread())]
        if chosen.pools.keep_images is not None:
            made.append(images_maker(chosen, ImagesCarrier(Registry()))(Unread()))
        name, namespace = lease(chosen, home=home)
        return permissions_of(made, lease=name, namespace=namespace)

    def frame() -> "Frame":
        from windlass.os_build.service import frame

        return frame(chosen, home=home)

    def planner() -> "Planner":
        from windlass.os_build.planning import planner

        return planner(chosen, reader=Unread())

    def policies(service_account: ServiceAccount, exempt: Sequence[str]) -> "Sequence[Policy]":
        from windlass.os_build.policies import policies

        return policies(service_account, placement=chosen.placement)

    return Installation(
        name=NAME,
        service_account=account(NAME, home),
        permissions=permissions,
        frame=frame,
        planner=planner,
        policies=policies,
        policies_follow="the Jobs that os-build makes",
        theirs=(NAMESPACE,),
    )
