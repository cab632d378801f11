"""config.openshift.io/v1: the configuration of an OpenShift cluster. Source: `github.com/openshift/api/config/v1`.

All kinds are cluster-scoped, and Windlass only reads them. Infrastructure and FeatureGate are singletons named
`cluster`, ClusterVersion is one named `version`; of ClusterOperator there is one for each operator.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, PlainCondition, Resource, always


class AWSPlatformStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    region: str = always(str)
    ip_family: str = ""
    """IPv4, DualStackIPv4Primary or DualStackIPv6Primary; empty means IPv4."""


class OpenStackPlatformLoadBalancer(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`type` is OpenShiftManagedDefault or UserManaged: then nothing of the cluster has the virtual addresses."""

    type: str = ""


class OpenStackPlatformStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    api_server_internal_ips: list[str] = field(default_factory=list, name="apiServerInternalIPs")
    ingress_ips: list[str] = field(default_factory=list, name="ingressIPs")
    cloud_name: str = ""
    load_balancer: OpenStackPlatformLoadBalancer | None = None


class GCPResourceLabel(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    key: str = always(str)
    value: str = always(str)


class GCPResourceTag(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    parent_id: str = always(str, name="parentID")
    key: str = always(str)
    value: str = always(str)


class GCPPlatformStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Labels and tags are those of all resources of the cluster."""

    project_id: str = always(str, name="projectID")
    region: str = always(str)
    resource_labels: list[GCPResourceLabel] = field(default_factory=list)
    resource_tags: list[GCPResourceTag] = field(default_factory=list)


class PowerVSPlatformStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    region: str = always(str)
    zone: str = always(str)
    resource_group: str = ""


class PlatformStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Where the cluster runs: `type` (AWS, GCP, OpenStack, PowerVS, None, ...) says which of the others is set."""

    type: str = always(str)
    aws: AWSPlatformStatus | None = None
    gcp: GCPPlatformStatus | None = None
    openstack: OpenStackPlatformStatus | None = None
    powervs: PowerVSPlatformStatus | None = None


class InfrastructureStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`infrastructure_name` is the prefix of all cloud resources, and the name of the Cluster API Cluster."""

    infrastructure_name: str = always(str)
    platform: str = ""
    """Deprecated name of the platform; read `platform_status` instead."""
    platform_status: PlatformStatus | None = None
    api_server_url: str = field(default="", name="apiServerURL")
    api_server_internal_uri: str = field(default="", name="apiServerInternalURI")
    control_plane_topology: str = ""
    infrastructure_topology: str = ""

    @property
    def is_hosted(self) -> bool:
        """Whether the control plane runs in another cluster."""
        return self.control_plane_topology == "External"


class Infrastructure(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group="config.openshift.io",
        version="v1",
        kind="Infrastructure",
        plural="infrastructures",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    status: InfrastructureStatus = always(InfrastructureStatus)


class FeatureGateName(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)


class FeatureGateDetails(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The gates of one release of the cluster; gates named in neither list are unknown to it."""

    version: str = always(str)
    enabled: list[FeatureGateName] = field(default_factory=list)
    disabled: list[FeatureGateName] = field(default_factory=list)


class FeatureGateStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """During an update there is one entry for the old release and one for the new."""

    feature_gates: list[FeatureGateDetails] = field(default_factory=list)


class FeatureGate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group="config.openshift.io", version="v1", kind="FeatureGate", plural="featuregates", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    status: FeatureGateStatus = always(FeatureGateStatus)


class Release(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`architecture` is Multi for a payload of several architectures, and otherwise empty."""

    version: str = always(str)
    image: str = always(str)
    architecture: str = ""


class UpdateHistory(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """One update, or the installation. `state` is Completed or Partial.

    A superseded update gets a completion time too, and stays Partial. `verified`: the signature of the release was
    checked. `accepted_risks`: what was overridden to begin it, in words.
    """

    state: str = always(str)
    started_time: str | None = None
    completion_time: str | None = None
    version: str = always(str)
    image: str = always(str)
    verified: bool = False
    accepted_risks: str = ""


class DesiredUpdate(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The release that somebody asks for: a version, an image, or both; or its payload for several architectures."""

    version: str = ""
    image: str = ""
    architecture: str = ""


class ClusterVersionSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`desired_update` stays when the cluster has arrived there. None: nobody has asked for an update."""

    desired_update: DesiredUpdate | None = None


class ClusterVersionStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`desired` is the release that the cluster runs or is being updated to; `history` has the newest item first."""

    desired: Release = always(Release)
    observed_generation: int = 0
    history: list[UpdateHistory] = field(default_factory=list)
    conditions: list[PlainCondition] = field(default_factory=list)


class ClusterVersion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group="config.openshift.io",
        version="v1",
        kind="ClusterVersion",
        plural="clusterversions",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ClusterVersionSpec = always(ClusterVersionSpec)
    status: ClusterVersionStatus = always(ClusterVersionStatus)


class OperandVersion(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """What an operator says it runs: its own release is `operator`, its image `operator-image`."""

    name: str = always(str)
    version: str = always(str)


class ClusterOperatorStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    conditions: list[PlainCondition] = field(default_factory=list)
    versions: list[OperandVersion] = field(default_factory=list)


class ClusterOperator(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(
        group="config.openshift.io",
        version="v1",
        kind="ClusterOperator",
        plural="clusteroperators",
        namespaced=False,
    )

    metadata: ObjectMeta = always(ObjectMeta)
    status: ClusterOperatorStatus = always(ClusterOperatorStatus)
