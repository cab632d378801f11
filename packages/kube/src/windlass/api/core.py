"""Core kinds, version v1, that the runtime itself reads and writes. Source: `k8s.io/api/core/v1`.

Only fields in use are declared. MicroTime and Time are strings, as the API server sends them.
"""

from typing import ClassVar

from msgspec import Struct, field

from windlass.api.meta import ObjectMeta, PlainCondition, Resource, always


class ObjectReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference to any object, by name or to a certain version of it."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """The reporter of an Event, for older readers: `kubectl describe` shows `component`."""

    component: str = ""
    host: str = ""


class Event(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Something a person should know about an object.

    It stands in the object's namespace (`default` for cluster-scoped ones). `type` is Normal or Warning; `message` has
    at most 1,024 characters. With `event_time` set (MicroTime) the API server also demands action, reporting_component
    and reporting_instance.
    """

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Event", plural="events")

    metadata: ObjectMeta = always(ObjectMeta)
    involved_object: ObjectReference = always(ObjectReference)
    reason: str = ""
    message: str = ""
    source: EventSource = always(EventSource)
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    count: int = 0
    type: str = ""
    event_time: str | None = None
    action: str = ""
    reporting_component: str = ""
    reporting_instance: str = ""

    @property
    def last_seen(self) -> str:
        """When it happened last, RFC 3339; senders fill in different fields."""
        return self.last_timestamp or self.event_time or self.metadata.creation_timestamp or ""


class NamespaceStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    phase: str = ""
    """Active or Terminating."""


class Namespace(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Read to see whether it exists or is being deleted."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False
    )

    metadata: ObjectMeta = always(ObjectMeta)
    status: NamespaceStatus = always(NamespaceStatus)


class ServiceAccount(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Named when a token is requested for it."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="ServiceAccount", plural="serviceaccounts")

    metadata: ObjectMeta = always(ObjectMeta)


class ServicePort(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A port that a Service listens on; an empty `protocol` is TCP."""

    port: int = always(int)
    protocol: str = ""


class ServiceSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`cluster_ips` are empty for ExternalName, and `None` is the one of a headless Service."""

    type: str = ""
    cluster_ips: list[str] = field(default_factory=list, name="clusterIPs")
    ports: list[ServicePort] = field(default_factory=list)


class Service(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Service", plural="services")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: ServiceSpec = always(ServiceSpec)


class Secret(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`data` values are base64 text, as the API server sends them; watched as metadata only, read live by name."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Secret", plural="secrets", confidential=True)

    metadata: ObjectMeta = always(ObjectMeta)
    immutable: bool | None = None
    data: dict[str, str] = field(default_factory=dict)
    string_data: dict[str, str] = field(default_factory=dict)
    type: str = ""


class Taint(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`time_added`: when the node got it."""

    key: str = always(str)
    value: str = ""
    effect: str = always(str)
    time_added: str | None = None


class NodeSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    provider_id: str = field(default="", name="providerID")
    unschedulable: bool = False
    taints: list[Taint] = field(default_factory=list)


class NodeAddress(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    type: str = always(str)
    address: str = always(str)


class NodeInfo(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Software of the node. (The rest of nodeInfo is not used.)"""

    kubelet_version: str = always(str)
    os_image: str = always(str)


class NodeStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    conditions: list[PlainCondition] = field(default_factory=list)
    addresses: list[NodeAddress] = field(default_factory=list)
    node_info: NodeInfo = always(NodeInfo)


class Node(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Node", plural="nodes", namespaced=False)

    metadata: ObjectMeta = always(ObjectMeta)
    spec: NodeSpec = always(NodeSpec)
    status: NodeStatus = always(NodeStatus)


class ConfigMap(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`binary_data` values are base64 text. All keys and values together are at most 1 MiB."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="ConfigMap", plural="configmaps")

    metadata: ObjectMeta = always(ObjectMeta)
    immutable: bool | None = None
    data: dict[str, str] = field(default_factory=dict)
    binary_data: dict[str, str] = field(default_factory=dict)


class ContainerStateWaiting(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class ContainerStateTerminated(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`message` is what the container wrote to its termination log, at most 4,096 bytes."""

    exit_code: int = always(int)
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class ContainerStateRunning(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    started_at: str | None = None


class ContainerState(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """At most one is set; none means waiting."""

    running: ContainerStateRunning | None = None
    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    name: str = always(str)
    state: ContainerState = always(ContainerState)


class PodStatus(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`phase` is Pending, Running, Succeeded, Failed or Unknown."""

    phase: str = ""
    conditions: list[PlainCondition] = field(default_factory=list)
    reason: str = ""
    message: str = ""
    init_container_statuses: list[ContainerStatus] = field(default_factory=list)
    container_statuses: list[ContainerStatus] = field(default_factory=list)


class PodSpec(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`node_name` is empty until the Pod is scheduled."""

    node_name: str = ""


class Pod(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Read to see how it ended, what runs on a Node, and what keeps it there."""

    RESOURCE: ClassVar[Resource] = Resource(group="", version="v1", kind="Pod", plural="pods")

    metadata: ObjectMeta = always(ObjectMeta)
    spec: PodSpec = always(PodSpec)
    status: PodStatus = always(PodStatus)
