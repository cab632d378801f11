"""The platform of the cluster, and whether Machine sync would run there."""

from msgspec import Struct

from windlass.api.config import ClusterVersion, FeatureGate, Infrastructure
from windlass.capability.planning import NoGround
from windlass.kube.control.seen import NotServedKind, Present, Reader, Seen, Unreadable
from windlass.kube.errors import Forbidden
from windlass.machine_sync.activation import FEATURE_GATE, Idle, needed_cluster, verdict
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE
from windlass.machine_sync.platform_list import SERVED, named
from windlass.machine_sync.platforms import PLATFORMS, Platform


class NoPlatform(NoGround):
    """The platform is unknown, or Machine sync does not serve it. The text has the remedy."""


class Standing(Struct, frozen=True):
    """The platform, and why Machine sync would idle (empty: it would work).

    `gate` is the result of reading FeatureGate `cluster`; None if it may not be read, and then `idle` is empty.
    """

    platform: Platform
    gate: Seen[FeatureGate] | None
    idle: str = ""


async def standing_of(reader: Reader, *, namespace: str = CLUSTER_API_NAMESPACE) -> Standing:
    """Read the objects that decide; the infra cluster is in `namespace`.

    Raises NoPlatform, and KubeErrors of reading the Infrastructure.
    """
    infrastructure = await reader.see(Infrastructure, "cluster")
    platform = _platform(infrastructure)
    try:
        gate = await reader.see(FeatureGate, "cluster")
        version = await reader.see(ClusterVersion, "version")
        needed = needed_cluster(infrastructure)
        cluster = await reader.see(*needed, namespace=namespace, confirm=True) if needed else None
    except Forbidden:
        # This does not change the plan, only whether Machine sync would carry it out.
        return Standing(platform, None)
    found = verdict(infrastructure=infrastructure, gate=gate, version=version, infra_cluster=cluster)
    return Standing(platform, gate, idle=found.why if isinstance(found, Idle) else "")


def remedy_for(idle: str) -> str:
    """What a user can do if Machine sync idles because of `idle`."""
    if FEATURE_GATE in idle:
        return f"enable the feature gate {FEATURE_GATE} (spec.featureSet of FeatureGate cluster)"
    return "see docs/runbook.md"


def _platform(infrastructure: Seen[Infrastructure]) -> Platform:
    match infrastructure:
        case Present(object=found):
            status = found.status.platform_status
            name = status.type if status is not None else ""
        case Unreadable(why=why) | NotServedKind(why=why):
            raise NoPlatform(f"Infrastructure cluster cannot be read: {why}: it says for which platform to plan")
        case _:
            raise NoPlatform(
                "Infrastructure cluster does not exist: it says for which platform to plan; "
                "get it with kubectl get infrastructure cluster -o yaml"
            )
    if not name:
        raise NoPlatform(
            "Infrastructure cluster does not say on which platform the cluster runs: "
            "status.platformStatus.type must be set"
        )
    if name not in SERVED:
        raise NoPlatform(
            f"Machine sync does not serve platform {name} (status.platformStatus.type of Infrastructure cluster), "
            f"only {named(SERVED)}: nothing is ever done there"
        )
    return PLATFORMS[name]
