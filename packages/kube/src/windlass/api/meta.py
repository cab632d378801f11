"""Types that all Kubernetes objects share: the identity of a kind, metadata, conditions, references.

Source: the Kubernetes API conventions and `k8s.io/apimachinery/pkg/apis/meta/v1`.
"""

from collections.abc import Callable
from types import NoneType
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from windlass.api.integers import Int64
from windlass.api.schema import REQUIRED

T = TypeVar("T")


def always(factory: Callable[[], T], *, name: str | None = None) -> T:
    """A field that is always encoded, with the default `factory()`; `name` is its JSON name if not camelCase.

    msgspec leaves out defaults that are *constants* (or empty built-in collections); a default made by any other
    factory is always written. Go does the same for struct-typed fields and for fields without `omitempty`.
    """
    return field(default_factory=factory, name=name)


class Resource(Struct, frozen=True):
    """The identity of a kind at the API server: its names, and the path where its objects are served.

    `confidential`: the content of its objects must not stay in memory longer than it is used.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    confidential: bool = False

    @property
    def api_version(self) -> str:
        """`group/version`, or just the version for the core group, as written in `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """`plural.group`, as kubectl and RBAC name it: `machines.cluster.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, name: str | None = None, *, namespace: str | None = None, subresource: str = "") -> str:
        """The URL path of the collection, or of the object `name`, at the API server.

        `namespace` None means all namespaces, which only makes sense without `name` for a namespaced kind.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if self.namespaced and namespace is not None:
            root += f"/namespaces/{namespace}"
        elif self.namespaced and name is not None:
            raise ValueError(f"{self.kind} {name!r} is namespaced: say in which namespace")
        root += f"/{self.plural}"
        if name is not None:
            root += f"/{name}"
        return f"{root}/{subresource}" if subresource else root

    def __str__(self) -> str:
        return f"{self.kind}.{self.api_version}"


class OwnerReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    api_version: str = always(str)
    kind: str = always(str)
    name: str = always(str)
    uid: str = always(str)
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Metadata of an object, without managedFields (nothing here decides on them)."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: list[OwnerReference] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)


class Condition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`metav1.Condition`: the observed state of one aspect of an object."""

    type: Annotated[str, REQUIRED] = always(str)
    status: str = always(str)
    observed_generation: int = 0
    last_transition_time: str | None = None
    reason: str = always(str)
    message: str = always(str)


class ConvertedCondition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """`metav1.Condition` as conversion makes it: the time is an explicit null until a controller sets it."""

    type: str = always(str)
    status: str = always(str)
    observed_generation: Int64 = 0
    last_transition_time: str | None = always(NoneType)
    reason: str = always(str)
    message: str = always(str)


class PlainCondition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A condition of Nodes, Pods, Jobs, ClusterOperators or pools: no observed generation, and perhaps no reason."""

    type: str = always(str)
    status: str = always(str)
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class SeverityCondition(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A condition of the Machine API, or of Cluster API's older contract, which has a severity.

    `severity` is Error, Warning or Info; empty when `status` is True.
    """

    type: str = always(str)
    status: str = always(str)
    severity: str = ""
    last_transition_time: str | None = always(NoneType)
    reason: str = ""
    message: str = ""


class LabelSelectorRequirement(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    key: str = always(str)
    operator: str = always(str)  # In, NotIn, Exists or DoesNotExist
    values: list[str] = field(default_factory=list)


class LabelSelector(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    # No docstring: it would be a description in our CRDs, whose source, Cluster API's provider, has none.
    # All requirements must hold; an empty selector selects everything.
    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[LabelSelectorRequirement] = field(default_factory=list)


class LocalReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference by name to an object in the same namespace."""

    name: str = ""


class NamedReference(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """A reference by a name that is always written."""

    name: str = always(str)


class KubernetesObject(Protocol):
    """A top-level type: it has a `RESOURCE` and metadata."""

    RESOURCE: ClassVar[Resource]

    @property
    def metadata(self) -> ObjectMeta: ...


K = TypeVar("K", bound=KubernetesObject)


def owner_reference(
    kind: type[KubernetesObject],
    owner: ObjectMeta,
    *,
    controller: bool | None = None,
    block_owner_deletion: bool | None = None,
) -> OwnerReference:
    """The object of this kind with this metadata, as an entry of `metadata.ownerReferences`."""
    return OwnerReference(
        api_version=kind.RESOURCE.api_version,
        kind=kind.RESOURCE.kind,
        name=owner.name,
        uid=owner.uid,
        controller=controller,
        block_owner_deletion=block_owner_deletion,
    )


def without_nulls(tree: Any) -> Any:
    """`tree` with every null-valued key left out, at any depth (null items of lists stay).

    Kubernetes reads an explicit null like an absent field, and files printed by Go programs are full of them
    (`creationTimestamp: null`).
    """
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [without_nulls(item) for item in tree]
    return tree


def tree(value: Any) -> Any:
    """The plain JSON tree (dicts, lists, scalars) that encoding `value` would give."""
    return msgspec.to_builtins(value)
