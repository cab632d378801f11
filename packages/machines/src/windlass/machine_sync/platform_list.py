"""The list of platforms: the one place, beside its folder and its types, that a new platform is added to.

It imports none of them, for a process that idles needs only their names.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from windlass.api.meta import KubernetesObject


def _gcp_cluster() -> "type[KubernetesObject]":
    from windlass.api.capg import GCPCluster

    return GCPCluster


class Listed(NamedTuple):
    """One platform, of a `folder` of `windlass.machine_sync.platforms`.

    `served`: machines are synchronized, not only converted. `cluster_kind`: only if the API server serves this kind;
    nothing else says whether the cluster has Cluster API's provider of the platform.
    """

    folder: str
    served: bool = True
    cluster_kind: "Callable[[], type[KubernetesObject]] | None" = None


LISTED: Final = {
    "AWS": Listed("aws"),
    # The gates of the cluster that are for this platform are enabled in no feature set of OpenShift.
    "GCP": Listed("gcp", cluster_kind=_gcp_cluster),
    "OpenStack": Listed("openstack"),
    # Has conversions, but idles, as in OpenShift's own controller.
    "PowerVS": Listed("powervs", served=False),
}
"""By the type in `Infrastructure.status.platformStatus`."""

SERVED: Final = tuple(name for name, one in LISTED.items() if one.served)


def named(names: tuple[str, ...]) -> str:
    """The names in a sentence.

    >>> named(("a", "b", "c"))
    'a, b and c'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
