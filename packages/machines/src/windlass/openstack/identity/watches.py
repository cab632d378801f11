"""What a controller watches to have credentials: Secrets, OpenStackClusterIdentities and the labels of Namespaces.

    Watch(OpenStackServer, ..., indexes={BY_IDENTITY: identities})
    *identity_watches(reader, OpenStackServer, namespace=namespace)

A change wakes the objects that need it, by `(namespace, name)`: those that name the Secret, those that name an
OpenStackClusterIdentity that names the Secret, and, when the labels of a Namespace change, those in it that name an
OpenStackClusterIdentity.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct, field

from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.core import Namespace, Secret
from windlass.api.meta import KubernetesObject
from windlass.kube.control.controller import Watch
from windlass.kube.control.seen import IndexedReader
from windlass.kube.object import NamespacedName, Object
from windlass.openstack.identity.find import BY_NAME, CLUSTER_IDENTITY

BY_IDENTITY: Final = "identity"
"""Index of kinds with `spec.identityRef`: by what `identities` gives."""
BY_SECRET: Final = "secret"
"""Index of OpenStackClusterIdentities: by the `namespace/name` of their Secret."""


class _Reference(Struct, rename="camel", gc=False):
    type: str = ""
    name: str = ""
    namespace: str = ""


class _Spec(Struct, rename="camel", gc=False):
    identity_ref: _Reference | None = None
    secret_ref: _Reference | None = None


class _References(Struct, gc=False):
    """The fields that indexes need, even if others are malformed."""

    spec: _Spec = field(default_factory=_Spec)


def by_secret(namespace: str | None, name: str) -> str:
    """The value of `BY_IDENTITY` for objects that name this Secret."""
    return f"Secret/{namespace}/{name}"


def by_cluster_identity(name: str) -> str:
    """The value of `BY_IDENTITY` for objects that name this OpenStackClusterIdentity."""
    return f"{CLUSTER_IDENTITY}/{name}"


def _in_namespace(name: str) -> str:
    return f"in/{name}"


def identities(found: Object[Any]) -> tuple[str, ...]:
    """The index `BY_IDENTITY`."""
    seen = found.glimpse(_References)
    ref = seen.spec.identity_ref if seen is not None else None
    if ref is None or not ref.name:
        return ()
    if ref.type == CLUSTER_IDENTITY:
        return (by_cluster_identity(ref.name), _in_namespace(found.namespace or ""))
    return (by_secret(found.namespace, ref.name),)


def secrets(found: Object[Any]) -> tuple[str, ...]:
    """The index `BY_SECRET`."""
    seen = found.glimpse(_References)
    ref = seen.spec.secret_ref if seen is not None else None
    return (f"{ref.namespace}/{ref.name}",) if ref is not None and ref.name else ()


def own_name(found: Object[Any]) -> tuple[str, ...]:
    """The index `BY_NAME`."""
    return (f"{found.namespace}/{found.name}",)


def identity_watches(
    reader: IndexedReader, kind: type[KubernetesObject], *, namespace: str | None = None
) -> tuple[Watch[NamespacedName], ...]:
    """The watches for a controller of `kind`, whose own watch has the index `BY_IDENTITY`."""

    def of(value: str) -> Iterator[NamespacedName]:
        return (found.key for found in reader.known(kind, BY_IDENTITY, value))

    def of_secret(secret: Object[Any]) -> Iterable[NamespacedName]:
        yield from of(by_secret(*secret.key))
        for identity in reader.known(OpenStackClusterIdentity, BY_SECRET, f"{secret.namespace}/{secret.name}"):
            yield from of(by_cluster_identity(identity.name))

    return (
        Watch(Secret, of_secret, namespace=namespace, indexes={BY_NAME: own_name}, metadata_only=True),
        Watch(
            OpenStackClusterIdentity,
            lambda identity: of(by_cluster_identity(identity.name)),
            indexes={BY_SECRET: secrets},
            cache_only=True,
        ),
        Watch(Namespace, lambda found: of(_in_namespace(found.name)), when=_labels_differ, cache_only=True),
    )


def _labels_differ(old: Object[Any] | None, new: Object[Any] | None) -> bool:
    return (old.metadata.labels if old else {}) != (new.metadata.labels if new else {})
